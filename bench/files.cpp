// Times parallel accesses to an ordinary netCDF file through the PnetCDF interface. Linked with Debian's
// libpnetcdf; bench/files runs it with and without our library preloaded and compares. Prints for each case:
// name, MiB, seconds of writing and of reading.
#include <mpi.h>
#include <pnetcdf.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

using Offsets = std::vector<MPI_Offset>;

int rank_of_process = 0;
int process_count = 1;

void check(int status, const char* what) {
  if (status == NC_NOERR) return;
  std::fprintf(stderr, "bench/files: %s: %s\n", what, ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// A variable and the part of it that this process writes and reads.
struct Part {
  Offsets start, count, stride;
};

struct Case {
  std::string name;
  std::int64_t bytes = 0;  ///< of all processes
  std::function<void(int)> define;
  std::function<void(int)> write;
  std::function<void(int)> read;
};

/// Divides `total` among `parts`: the first of part `i`.
MPI_Offset first_of(MPI_Offset total, int parts, int i) {
  return total * i / parts;
}

/// The process grid and this process's block of an array: dimensions are divided as `grid` says.
Part block_of(const Offsets& shape, const std::vector<int>& grid) {
  Part part;
  int rest = rank_of_process;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    int inner = 1;
    for (std::size_t e = d + 1; e < shape.size(); ++e) inner *= grid[e];
    const int i = rest / inner;
    rest %= inner;
    part.start.push_back(first_of(shape[d], grid[d], i));
    part.count.push_back(first_of(shape[d], grid[d], i + 1) - part.start.back());
  }
  return part;
}

MPI_Offset elements_of(const Offsets& count) {
  MPI_Offset n = 1;
  for (const MPI_Offset c : count) n *= c;
  return n;
}

void define_array(int file, const Offsets& shape, nc_type type) {
  std::vector<int> dimids(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d)
    check(ncmpi_def_dim(file, ("d" + std::to_string(d)).c_str(), shape[d], &dimids[d]), "def_dim");
  int varid = 0;
  check(ncmpi_def_var(file, "array", type, static_cast<int>(shape.size()), dimids.data(), &varid), "def_var");
}

/// One array of doubles, each process its block, in one collective call.
Case block_case(const std::string& name, const Offsets& shape, const std::vector<int>& grid, nc_type type) {
  Case result;
  result.name = name;
  result.bytes = elements_of(shape) * (type == NC_DOUBLE ? 8 : 4);
  const Part part = block_of(shape, grid);
  auto buffer = std::make_shared<std::vector<double>>(static_cast<std::size_t>(elements_of(part.count)), 1.5);
  result.define = [=](int file) { define_array(file, shape, type); };
  result.write = [=](int file) {
    check(ncmpi_put_vara_double_all(file, 0, part.start.data(), part.count.data(), buffer->data()), "put");
  };
  result.read = [=](int file) {
    check(ncmpi_get_vara_double_all(file, 0, part.start.data(), part.count.data(), buffer->data()), "get");
  };
  return result;
}

/// Every process has each n-th row and column of an array.
Case strided_case(const Offsets& shape) {
  Case result;
  result.name = "strided";
  Part part{{0, rank_of_process}, {shape[0], shape[1] / process_count}, {1, process_count}};
  result.bytes = elements_of(part.count) * 4 * process_count;
  auto buffer = std::make_shared<std::vector<int>>(static_cast<std::size_t>(elements_of(part.count)), 7);
  result.define = [=](int file) { define_array(file, shape, NC_INT); };
  result.write = [=](int file) {
    check(ncmpi_put_vars_int_all(file, 0, part.start.data(), part.count.data(), part.stride.data(),
                                 buffer->data()),
          "put");
  };
  result.read = [=](int file) {
    check(ncmpi_get_vars_int_all(file, 0, part.start.data(), part.count.data(), part.stride.data(),
                                 buffer->data()),
          "get");
  };
  return result;
}

void wait_for_all(int file, std::vector<int>& requests) {
  std::vector<int> statuses(requests.size());
  check(ncmpi_wait_all(file, static_cast<int>(requests.size()), requests.data(), statuses.data()),
        "wait_all");
  for (const int status : statuses) check(status, "request");
}

/// Columns dealt out in turn, one nonblocking request each.
Case column_requests_case(const Offsets& shape) {
  Case result;
  result.name = "column requests";
  result.bytes = elements_of(shape) * 4;
  auto column = std::make_shared<std::vector<int>>(static_cast<std::size_t>(elements_of(shape)), 3);
  result.define = [=](int file) { define_array(file, shape, NC_INT); };
  const auto transfer = [=](int file, bool is_put) {
    std::vector<int> requests;
    int* buffer = column->data();
    for (MPI_Offset x = rank_of_process; x < shape[1]; x += process_count, buffer += shape[0]) {
      const MPI_Offset start[] = {0, x};
      const MPI_Offset count[] = {shape[0], 1};
      requests.push_back(0);
      check(is_put ? ncmpi_iput_vara_int(file, 0, start, count, buffer, &requests.back())
                   : ncmpi_iget_vara_int(file, 0, start, count, buffer, &requests.back()),
            "post");
    }
    wait_for_all(file, requests);
  };
  result.write = [=](int file) { transfer(file, true); };
  result.read = [=](int file) { transfer(file, false); };
  return result;
}

/// Very many variables, a piece of each on every process, one wait for all.
Case small_variables_case(int variables, MPI_Offset length) {
  Case result;
  result.name = "small variables";
  result.bytes = variables * length * 8;
  const Part part = block_of({length}, {process_count});
  auto buffer =
      std::make_shared<std::vector<double>>(static_cast<std::size_t>(variables * part.count[0]), 2.5);
  result.define = [=](int file) {
    int dimid = 0;
    int varid = 0;
    check(ncmpi_def_dim(file, "x", length, &dimid), "def_dim");
    for (int i = 0; i < variables; ++i)
      check(ncmpi_def_var(file, ("v" + std::to_string(i)).c_str(), NC_DOUBLE, 1, &dimid, &varid), "def_var");
  };
  const auto transfer = [=](int file, bool is_put) {
    std::vector<int> requests(static_cast<std::size_t>(variables));
    for (int i = 0; i < variables; ++i) {
      double* values = buffer->data() + i * part.count[0];
      int* request = &requests[static_cast<std::size_t>(i)];
      check(is_put ? ncmpi_iput_vara_double(file, i, part.start.data(), part.count.data(), values, request)
                   : ncmpi_iget_vara_double(file, i, part.start.data(), part.count.data(), values, request),
            "post");
    }
    wait_for_all(file, requests);
  };
  result.write = [=](int file) { transfer(file, true); };
  result.read = [=](int file) { transfer(file, false); };
  return result;
}

/// One record after the other, a collective call each.
Case records_case(MPI_Offset records, MPI_Offset length) {
  Case result;
  result.name = "records";
  result.bytes = records * length * 8;
  const Part part = block_of({1, length}, {1, process_count});
  auto buffer = std::make_shared<std::vector<double>>(static_cast<std::size_t>(part.count[1]), 2.5);
  result.define = [=](int file) { define_array(file, {NC_UNLIMITED, length}, NC_DOUBLE); };
  const auto transfer = [=](int file, bool is_put) {
    for (MPI_Offset record = 0; record < records; ++record) {
      const MPI_Offset start[] = {record, part.start[1]};
      check(is_put ? ncmpi_put_vara_double_all(file, 0, start, part.count.data(), buffer->data())
                   : ncmpi_get_vara_double_all(file, 0, start, part.count.data(), buffer->data()),
            "transfer");
    }
  };
  result.write = [=](int file) { transfer(file, true); };
  result.read = [=](int file) { transfer(file, false); };
  return result;
}

/// A process's requests of a decomposition: E3SM's maps give offsets and lengths for 16 processes, which are
/// dealt out.
struct Decomposition {
  Offsets starts, counts;  ///< of each request, dimensions one after the other
  MPI_Offset elements = 0;
};

Decomposition read_decomposition(const char* path, MPI_Offset rows, MPI_Offset columns) {
  int file = 0;
  check(ncmpi_open(MPI_COMM_SELF, path, NC_NOWRITE, MPI_INFO_NULL, &file), path);
  const auto read = [&](const char* name) {
    int varid = 0;
    int dimid = 0;
    MPI_Offset length = 0;
    check(ncmpi_inq_varid(file, name, &varid), name);
    check(ncmpi_inq_vardimid(file, varid, &dimid), name);
    check(ncmpi_inq_dimlen(file, dimid, &length), name);
    std::vector<int> values(static_cast<std::size_t>(length));
    check(ncmpi_get_var_int_all(file, varid, values.data()), name);
    return values;
  };
  const auto nreqs = read("D3.nreqs");
  const auto offsets = read("D3.offsets");
  check(ncmpi_close(file), "close");
  Decomposition mine;
  std::size_t at = 0;
  for (std::size_t process = 0; process < nreqs.size(); ++process) {
    const bool is_mine =
        static_cast<int>(process) * process_count / static_cast<int>(nreqs.size()) == rank_of_process;
    for (int i = 0; i < nreqs[process]; ++i, ++at) {
      if (!is_mine) continue;
      mine.starts.insert(mine.starts.end(), {offsets[at] / columns % rows, offsets[at] % columns});
      mine.counts.insert(mine.counts.end(), {1, 1});
      ++mine.elements;
    }
  }
  return mine;
}

/// E3SM's F case: many variables of 72 levels by 866 columns, elements one by one.
Case climate_case(const char* map, int variables) {
  constexpr MPI_Offset rows = 72;
  constexpr MPI_Offset columns = 866;
  Case result;
  result.name = "E3SM F case";
  result.bytes = rows * columns * 4 * variables;
  auto mine = std::make_shared<Decomposition>(read_decomposition(map, rows, columns));
  auto buffer =
      std::make_shared<std::vector<float>>(static_cast<std::size_t>(mine->elements * variables), 2.5F);
  auto starts = std::make_shared<std::vector<MPI_Offset*>>();
  auto counts = std::make_shared<std::vector<MPI_Offset*>>();
  for (MPI_Offset i = 0; i < mine->elements; ++i) {
    starts->push_back(mine->starts.data() + 2 * i);
    counts->push_back(mine->counts.data() + 2 * i);
  }
  result.define = [=](int file) {
    int dimids[2];
    int varid = 0;
    check(ncmpi_def_dim(file, "lev", rows, &dimids[0]), "def_dim");
    check(ncmpi_def_dim(file, "ncol", columns, &dimids[1]), "def_dim");
    for (int i = 0; i < variables; ++i)
      check(ncmpi_def_var(file, ("v" + std::to_string(i)).c_str(), NC_FLOAT, 2, dimids, &varid), "def_var");
  };
  const auto transfer = [=](int file, bool is_put) {
    std::vector<int> requests(static_cast<std::size_t>(variables));
    const int n = static_cast<int>(mine->elements);
    for (int i = 0; i < variables; ++i) {
      float* values = buffer->data() + i * mine->elements;
      int* request = &requests[static_cast<std::size_t>(i)];
      check(is_put ? ncmpi_iput_varn_float(file, i, n, starts->data(), counts->data(), values, request)
                   : ncmpi_iget_varn_float(file, i, n, starts->data(), counts->data(), values, request),
            "post");
    }
    wait_for_all(file, requests);
  };
  result.write = [=](int file) { transfer(file, true); };
  result.read = [=](int file) { transfer(file, false); };
  return result;
}

/// The longest time of all processes.
template <class Work>
double seconds(const Work& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  work();
  double elapsed = MPI_Wtime() - begin;
  MPI_Allreduce(MPI_IN_PLACE, &elapsed, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return elapsed;
}

/// From create to close and from open to close; the best of several.
void run(const Case& test, const std::string& path, int repetitions) {
  double write = 1e9;
  double read = 1e9;
  for (int i = 0; i < repetitions; ++i) {
    write = std::min(
        write, seconds([&] {
          int file = 0;
          check(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file),
                "create");
          test.define(file);
          check(ncmpi_enddef(file), "enddef");
          test.write(file);
          check(ncmpi_close(file), "close");
        }));
    read =
        std::min(read, seconds([&] {
                   int file = 0;
                   check(ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &file), "open");
                   test.read(file);
                   check(ncmpi_close(file), "close");
                 }));
  }
  if (rank_of_process == 0) {
    std::printf("%s\t%.1f\t%.6f\t%.6f\n", test.name.c_str(), static_cast<double>(test.bytes) / (1 << 20),
                write, read);
    std::fflush(stdout);
    ncmpi_delete(path.c_str(), MPI_INFO_NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

std::vector<int> grid_of(int dimensions) {
  std::vector<int> grid(static_cast<std::size_t>(dimensions), 0);
  MPI_Dims_create(process_count, dimensions, grid.data());
  return grid;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_process);
  MPI_Comm_size(MPI_COMM_WORLD, &process_count);
  if (argc < 3) {
    if (rank_of_process == 0)
      std::fprintf(stderr, "usage: %s directory repetitions [map_f_case_16p.nc [case]]\n", argv[0]);
    MPI_Finalize();
    return 2;
  }
  const std::string path = std::string(argv[1]) + "/bench_files.nc";
  const int repetitions = std::atoi(argv[2]);
  const std::string only = argc > 4 ? argv[4] : "";
  const int p = process_count;
  std::vector<std::function<Case()>> cases{
      [&] {
        return block_case("contiguous", {256, 256, 128}, {p, 1, 1}, NC_DOUBLE);
      },
      [&] {
        return block_case("contiguous to float", {256, 256, 128}, {p, 1, 1}, NC_FLOAT);
      },
      [&] {
        return block_case("block-block", {2048, 4096}, grid_of(2), NC_DOUBLE);
      },
      [&] {
        return block_case("block-block-block", {256, 256, 128}, grid_of(3), NC_DOUBLE);
      },
      [&] {
        return block_case("columns", {65536, 32}, {1, p}, NC_DOUBLE);
      },
      [&] {
        return strided_case({1024, 1024});
      },
      [&] {
        return column_requests_case({4096, 64});
      },
      [&] { return small_variables_case(2000, 400); },
      [&] { return records_case(400, 4096); },
  };
  if (argc > 3 && argv[3][0] != '\0') cases.push_back([&] { return climate_case(argv[3], 40); });
  for (const auto& make : cases) {
    const Case test = make();
    if (only.empty() || only == test.name) run(test, path, repetitions);
  }
  MPI_Finalize();
  return 0;
}
