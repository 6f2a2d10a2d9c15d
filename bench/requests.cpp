// Times many small requests on coupled files. It is an ordinary PnetCDF program: the writer and the reader of
// a workflow that tools/bench makes.
//   small      one process puts single doubles, the other gets them, in independent mode
//   variables  one process puts 500 variables of 16 KiB, the other gets them, in collective mode
//   climate    E3SM's F case: the writers have the 62 352 elements of a 72 x 866 variable in pieces of one
//              element each, by map D3 of its I/O benchmark (--map); the reader gets them by one request a
//              piece (in the order of the map), then the variable as a whole
//   history    a step of the 387 variables of the F case's history file that its maps divide (3 by D1, 321 by
//              D2, 63 by D3): nonblocking requests, one wait; the reader wants the parts of the map, too
// Writes a line for each step: nanoseconds of the puts or gets, and of copying as many bytes with memcpy.
#include <mpi.h>
#include <pnetcdf.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "step_block.hpp"

namespace {

using sluice::bench::now_ns;
using sluice::bench::require;

constexpr MPI_Offset single_elements = 10000;
constexpr int variable_count = 500;
constexpr MPI_Offset variable_elements = 2048;
constexpr MPI_Offset levels = 72;
constexpr MPI_Offset columns = 866;

int rank = 0;
int size = 1;

/// Bytes to copy, and bytes to copy at a time.
struct CopySizes {
  std::size_t bytes = 0;
  std::size_t at_once = 0;
};

/// The times of one step in one process.
struct Times {
  std::int64_t requests_ns = 0;        ///< puts, or gets
  std::int64_t copies_ns = 0;          ///< memcpy of the same bytes, warm
  std::int64_t other_requests_ns = 0;  ///< climate: the get of the whole
  CopySizes copies = {};               ///< the copies that copies_ns measures
};

/// The pieces of a map that this process has, as arguments for varn.
struct Pieces {
  std::vector<MPI_Offset> numbers;
  std::vector<MPI_Offset*> starts, counts;
  MPI_Offset elements = 0;
};

struct Options {
  std::string role;
  std::string what;
  std::string map;
  std::string times;
  int steps = 20;
};

std::vector<int> read_numbers(int file, const char* name) {
  int varid = 0;
  int dimid = 0;
  MPI_Offset length = 0;
  require(ncmpi_inq_varid(file, name, &varid), name);
  require(ncmpi_inq_vardimid(file, varid, &dimid), name);
  require(ncmpi_inq_dimlen(file, dimid, &length), name);
  std::vector<int> values(static_cast<std::size_t>(length));
  require(ncmpi_get_var_int_all(file, varid, values.data()), name);
  return values;
}

/// Dimensions: the record, if there is one, the level, if there is one, and the column.
Pieces read_pieces(const std::string& path, const std::string& map, bool has_levels, bool has_record) {
  int file = 0;
  require(ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &file), path.c_str());
  const auto parts = read_numbers(file, (map + ".nreqs").c_str());
  const auto offsets = read_numbers(file, (map + ".offsets").c_str());
  const auto lengths = read_numbers(file, (map + ".lengths").c_str());
  require(ncmpi_close(file), "close the map");
  Pieces pieces;
  std::size_t at = 0;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (int i = 0; i < parts[part]; ++i, ++at) {
      if (static_cast<int>(part) % size != rank) continue;
      for (const bool is_count : {false, true}) {
        if (has_record) pieces.numbers.push_back(is_count ? 1 : 0);
        if (has_levels) pieces.numbers.push_back(is_count ? 1 : offsets[at] / columns);
        pieces.numbers.push_back(is_count ? lengths[at] : offsets[at] % columns);
      }
      pieces.elements += lengths[at];
    }
  }
  const std::size_t dimensions = 1U + (has_levels ? 1U : 0U) + (has_record ? 1U : 0U);
  for (std::size_t i = 0; i < pieces.numbers.size(); i += 2 * dimensions) {
    pieces.starts.push_back(pieces.numbers.data() + i);
    pieces.counts.push_back(pieces.numbers.data() + i + dimensions);
  }
  return pieces;
}

double value_of(std::size_t element, int step) {
  return static_cast<double>(element % 1000003) + step;
}

template <class T>
void fill(std::vector<T>& values, int step) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(value_of(i, step));
}

template <class T>
void compare(const std::vector<T>& values, int step) {
  std::vector<T> expected(values.size());
  fill(expected, step);
  require(values == expected ? NC_NOERR : NC_EINVAL, "wrong data");
}

std::int64_t time_of_copy(const CopySizes& sizes) {
  const auto [bytes, at_once] = sizes;
  static std::vector<char> from, to;
  from.resize(bytes, 1);
  to.resize(bytes, 2);
  std::int64_t least = 0;
  for (int round = 0; round < 3; ++round) {
    const std::int64_t begin = now_ns();
    for (std::size_t done = 0; done < bytes; done += at_once)
      std::memcpy(to.data() + done, from.data() + done, at_once);
    const std::int64_t time = now_ns() - begin;
    if (round == 0 || time < least) least = time;
  }
  return least;
}

int open_step(const Options& options, int step) {
  char path[32];
  std::snprintf(path, sizeof path, "step_%04d.nc", step);
  int ncid = -1;
  if (options.role == "write") {
    require(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid), "create");
  } else {
    require(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &ncid), "open");
  }
  return ncid;
}

/// The writer begins the next step when the reader has finished this one, as in programs that compute between
/// their steps. Memory is warm then.
void meet(const Options& options, int step) {
  char path[32];
  std::snprintf(path, sizeof path, "ack_%04d.nc", step);
  int ncid = -1;
  if (options.role == "read") {
    require(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER, MPI_INFO_NULL, &ncid), "create");
    require(ncmpi_enddef(ncid), "enddef");
  } else {
    require(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &ncid), "open");
  }
  require(ncmpi_close(ncid), "close");
}

Times small_step(const Options& options, int step) {
  const int ncid = open_step(options, step);
  const bool writes = options.role == "write";
  int varid = 0;
  std::vector<double> values(single_elements, -1);
  if (writes) {
    int dimid = 0;
    require(ncmpi_def_dim(ncid, "x", single_elements, &dimid), "def_dim");
    require(ncmpi_def_var(ncid, "v", NC_DOUBLE, 1, &dimid, &varid), "def_var");
    require(ncmpi_enddef(ncid), "enddef");
    fill(values, step);
  }
  require(ncmpi_begin_indep_data(ncid), "begin_indep_data");
  const std::int64_t begin = now_ns();
  for (MPI_Offset i = 0; i < single_elements; ++i) {
    double* const value = values.data() + i;
    require(writes ? ncmpi_put_var1_double(ncid, varid, &i, value)
                   : ncmpi_get_var1_double(ncid, varid, &i, value),
            "var1");
  }
  const std::int64_t time = now_ns() - begin;
  require(ncmpi_end_indep_data(ncid), "end_indep_data");
  require(ncmpi_close(ncid), "close");
  if (!writes) compare(values, step);
  return {time, 0, 0, {values.size() * sizeof(double), sizeof(double)}};
}

Times variables_step(const Options& options, int step) {
  const int ncid = open_step(options, step);
  const bool writes = options.role == "write";
  std::vector<double> values(variable_count * variable_elements, -1);
  if (writes) {
    int dimid = 0;
    require(ncmpi_def_dim(ncid, "x", variable_elements, &dimid), "def_dim");
    for (int v = 0; v < variable_count; ++v) {
      int varid = 0;
      char name[16];
      std::snprintf(name, sizeof name, "v%d", v);
      require(ncmpi_def_var(ncid, name, NC_DOUBLE, 1, &dimid, &varid), "def_var");
    }
    require(ncmpi_enddef(ncid), "enddef");
    fill(values, step);
  }
  const std::int64_t begin = now_ns();
  for (int v = 0; v < variable_count; ++v) {
    double* const data = values.data() + v * variable_elements;
    require(writes ? ncmpi_put_var_double_all(ncid, v, data) : ncmpi_get_var_double_all(ncid, v, data),
            "var");
  }
  const std::int64_t time = now_ns() - begin;
  require(ncmpi_close(ncid), "close");
  if (!writes) compare(values, step);
  return {time, 0, 0, {values.size() * sizeof(double), variable_elements * sizeof(double)}};
}

Times climate_step(const Options& options, int step, Pieces& pieces) {
  const int ncid = open_step(options, step);
  const bool writes = options.role == "write";
  const int count = static_cast<int>(pieces.starts.size());
  std::vector<float> values(pieces.starts.size(), -1);
  const auto fill_pieces = [&](std::vector<float>& data) {
    for (std::size_t i = 0; i < data.size(); ++i) {
      const MPI_Offset element = pieces.starts[i][0] * columns + pieces.starts[i][1];
      data[i] = static_cast<float>(value_of(static_cast<std::size_t>(element), step));
    }
  };
  Times times;
  if (writes) {
    int dimids[2];
    int varid = 0;
    require(ncmpi_def_dim(ncid, "lev", levels, &dimids[0]), "def_dim");
    require(ncmpi_def_dim(ncid, "ncol", columns, &dimids[1]), "def_dim");
    require(ncmpi_def_var(ncid, "v", NC_FLOAT, 2, dimids, &varid), "def_var");
    require(ncmpi_enddef(ncid), "enddef");
    fill_pieces(values);
  }
  std::int64_t begin = now_ns();
  require(writes ? ncmpi_put_varn_float_all(ncid, 0, count, pieces.starts.data(), pieces.counts.data(),
                                            values.data())
                 : ncmpi_get_varn_float_all(ncid, 0, count, pieces.starts.data(), pieces.counts.data(),
                                            values.data()),
          "varn");
  times.requests_ns = now_ns() - begin;
  times.copies = {values.size() * sizeof(float), values.size() * sizeof(float)};
  if (!writes) {
    std::vector<float> expected(values.size());
    fill_pieces(expected);
    require(values == expected ? NC_NOERR : NC_EINVAL, "wrong data");
    std::vector<float> whole(levels * columns, -1);
    begin = now_ns();
    require(ncmpi_get_var_float_all(ncid, 0, whole.data()), "get_var");
    times.other_requests_ns = now_ns() - begin;
    compare(whole, step);
  }
  require(ncmpi_close(ncid), "close");
  return times;
}

/// Variables of the same dimensions and pieces.
struct Kind {
  int variables = 0;
  bool has_levels = false;
  Pieces pieces;
};

std::vector<Kind> history_kinds(const std::string& map) {
  std::vector<Kind> kinds;
  kinds.push_back({3, false, read_pieces(map, "D1", false, true)});
  kinds.push_back({321, false, read_pieces(map, "D2", false, true)});
  kinds.push_back({63, true, read_pieces(map, "D3", true, true)});
  return kinds;
}

void define_history(int ncid, const std::vector<Kind>& kinds) {
  int dimids[3];
  require(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dimids[0]), "def_dim");
  require(ncmpi_def_dim(ncid, "lev", levels, &dimids[1]), "def_dim");
  require(ncmpi_def_dim(ncid, "ncol", columns, &dimids[2]), "def_dim");
  const int flat[] = {dimids[0], dimids[2]};
  int number = 0;
  for (const Kind& kind : kinds) {
    for (int v = 0; v < kind.variables; ++v) {
      int varid = 0;
      char name[16];
      std::snprintf(name, sizeof name, "v%d", number++);
      require(ncmpi_def_var(ncid, name, NC_FLOAT, kind.has_levels ? 3 : 2, kind.has_levels ? dimids : flat,
                            &varid),
              "def_var");
    }
  }
  require(ncmpi_enddef(ncid), "enddef");
}

/// The values that this process puts, or should get. They depend on variable and position only, so the two
/// sides may be divided differently.
std::vector<float> history_values(const std::vector<Kind>& kinds, int step) {
  std::vector<float> values;
  int varid = 0;
  for (const Kind& kind : kinds) {
    for (int v = 0; v < kind.variables; ++v, ++varid) {
      for (std::size_t i = 0; i < kind.pieces.starts.size(); ++i) {
        const MPI_Offset* const start = kind.pieces.starts[i];
        const MPI_Offset first = kind.has_levels ? start[1] * columns + start[2] : start[1];
        const MPI_Offset count = kind.pieces.counts[i][kind.has_levels ? 2 : 1];
        for (MPI_Offset element = first; element < first + count; ++element)
          values.push_back(static_cast<float>(value_of(static_cast<std::size_t>(element + varid), step)));
      }
    }
  }
  return values;
}

Times history_step(const Options& options, int step, std::vector<Kind>& kinds) {
  const int ncid = open_step(options, step);
  const bool writes = options.role == "write";
  std::vector<float> values = history_values(kinds, step);
  if (writes) {
    define_history(ncid, kinds);
  } else {
    std::ranges::fill(values, -1.0F);
  }
  const std::int64_t begin = now_ns();
  float* next = values.data();
  int varid = 0;
  for (Kind& kind : kinds) {
    Pieces& pieces = kind.pieces;
    const int count = static_cast<int>(pieces.starts.size());
    for (int v = 0; v < kind.variables; ++v, ++varid, next += pieces.elements) {
      require(writes ? ncmpi_iput_varn_float(ncid, varid, count, pieces.starts.data(), pieces.counts.data(),
                                             next, nullptr)
                     : ncmpi_iget_varn_float(ncid, varid, count, pieces.starts.data(), pieces.counts.data(),
                                             next, nullptr),
              "varn");
    }
  }
  require(ncmpi_wait_all(ncid, writes ? NC_PUT_REQ_ALL : NC_GET_REQ_ALL, nullptr, nullptr), "wait_all");
  const std::int64_t time = now_ns() - begin;
  require(ncmpi_close(ncid), "close");
  if (!writes) require(values == history_values(kinds, step) ? NC_NOERR : NC_EINVAL, "wrong data");
  return {time, 0, 0, {values.size() * sizeof(float), values.size() * sizeof(float)}};
}

Options parse(int argc, char** argv) {
  Options options;
  if (argc > 2) options.role = argv[1], options.what = argv[2];
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--map") options.map = argv[i + 1];
    if (name == "--times") options.times = argv[i + 1];
    if (name == "--steps") options.steps = std::atoi(argv[i + 1]);
  }
  const bool is_known = options.what == "small" || options.what == "variables" || options.what == "climate" ||
                        options.what == "history";
  if ((options.role != "write" && options.role != "read") || !is_known) {
    std::fprintf(
        stderr,
        "usage: %s write|read small|variables|climate|history [--steps N] [--map FILE] [--times FILE]\n",
        argv[0]);
    std::exit(2);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const Options options = parse(argc, argv);
  Pieces pieces;
  std::vector<Kind> kinds;
  if (options.what == "climate") pieces = read_pieces(options.map, "D3", true, false);
  if (options.what == "history") kinds = history_kinds(options.map);
  std::vector<Times> times;
  for (int step = 0; step < options.steps; ++step) {
    times.push_back(options.what == "small"       ? small_step(options, step)
                    : options.what == "variables" ? variables_step(options, step)
                    : options.what == "history"   ? history_step(options, step, kinds)
                                                  : climate_step(options, step, pieces));
    // Copy while the other side is idle: otherwise these copies would slow down its requests.
    const bool reads = options.role == "read";
    if (reads) times.back().copies_ns = time_of_copy(times.back().copies);
    meet(options, step);
    if (!reads) times.back().copies_ns = time_of_copy(times.back().copies);
  }
  if (rank == 0 && !options.times.empty()) {
    std::FILE* file = std::fopen(options.times.c_str(), "w");
    if (file == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
    for (const Times& step : times) {
      std::fprintf(file, "%lld %lld %lld\n", static_cast<long long>(step.requests_ns),
                   static_cast<long long>(step.copies_ns), static_cast<long long>(step.other_requests_ns));
    }
    std::fclose(file);
  }
  MPI_Finalize();
  return 0;
}
