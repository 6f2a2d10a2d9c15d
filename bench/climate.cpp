// Times history output of E3SM's atmosphere (its F case), written and read through the PnetCDF interface.
// There are hundreds of variables, and the processes hold their elements in tiny pieces. Each variable has
// one nonblocking request with a list of the pieces; one wait follows for all. bench/files runs this program
// and bench_files. The decompositions come from map_f_case_16p.nc, the file of E3SM's I/O benchmark. Its 16
// parts are divided among the processes.
#include <cstdio>
#include <memory>

#include "file_case.hpp"

namespace {

using namespace sluice::bench;

constexpr MPI_Offset level_count = 72;
constexpr MPI_Offset column_count = 866;

/// The pieces of a decomposition that this process has, as arguments for varn.
struct Pieces {
  std::vector<MPI_Offset> numbers;  ///< start and count of each piece, dimensions one after the other
  std::vector<MPI_Offset*> starts, counts;
  MPI_Offset elements = 0;
};

/// Variables of one kind.
struct Group {
  int variables = 0;
  nc_type type = NC_FLOAT;
  std::vector<int> dimensions;  ///< 0 time, 1 lev, 2 ncol
  std::shared_ptr<const Pieces> pieces;
};

std::vector<int> read_numbers(int file, const std::string& name) {
  int varid = 0;
  int dimid = 0;
  MPI_Offset length = 0;
  check(ncmpi_inq_varid(file, name.c_str(), &varid), name.c_str());
  check(ncmpi_inq_vardimid(file, varid, &dimid), name.c_str());
  check(ncmpi_inq_dimlen(file, dimid, &length), name.c_str());
  std::vector<int> values(static_cast<std::size_t>(length));
  check(ncmpi_get_var_int_all(file, varid, values.data()), name.c_str());
  return values;
}

/// This process's pieces of decomposition `map` ("D1", …), for variables of `dimensions` dimensions.
std::shared_ptr<const Pieces> read_pieces(const std::string& path, const std::string& map, int dimensions) {
  int file = 0;
  check(ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &file), path.c_str());
  const auto parts = read_numbers(file, map + ".nreqs");
  const auto offsets = read_numbers(file, map + ".offsets");
  const auto lengths = read_numbers(file, map + ".lengths");
  check(ncmpi_close(file), "close the map");
  auto pieces = std::make_shared<Pieces>();
  std::size_t at = 0;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const auto owner = static_cast<int>(part) * process_count / static_cast<int>(parts.size());
    for (int i = 0; i < parts[part]; ++i, ++at) {
      if (owner != rank_of_process) continue;
      const MPI_Offset start[] = {0, offsets[at] / column_count, offsets[at] % column_count};
      const MPI_Offset count[] = {1, 1, lengths[at]};
      for (const auto* numbers : {start, count}) {
        if (dimensions == 3) pieces->numbers.insert(pieces->numbers.end(), numbers, numbers + 3);
        if (dimensions == 2) pieces->numbers.insert(pieces->numbers.end(), {numbers[0], numbers[2]});
        if (dimensions == 1) pieces->numbers.push_back(numbers[2]);
      }
      pieces->elements += lengths[at];
    }
  }
  const auto step = static_cast<std::size_t>(dimensions);
  for (std::size_t i = 0; i < pieces->numbers.size(); i += 2 * step) {
    pieces->starts.push_back(pieces->numbers.data() + i);
    pieces->counts.push_back(pieces->numbers.data() + i + step);
  }
  return pieces;
}

/// The 414 variables of the F case: the variables with maps, and small ones of rank 0. The numbers of each
/// kind are from E3SM's history file h0.
std::vector<Group> groups_of(const std::string& map) {
  const auto along_columns = [&](const char* name, int dimensions) {
    return read_pieces(map, name, dimensions);
  };
  auto whole = std::make_shared<Pieces>();
  if (rank_of_process == 0) {
    whole->numbers = {0, level_count};
    whole->starts = {whole->numbers.data()};
    whole->counts = {whole->numbers.data() + 1};
    whole->elements = level_count;
  }
  return {
      {1, NC_DOUBLE, {2}, along_columns("D1", 1)},
      {2, NC_DOUBLE, {2}, along_columns("D2", 1)},
      {27, NC_DOUBLE, {1}, whole},
      {321, NC_FLOAT, {0, 2}, along_columns("D2", 2)},
      {63, NC_FLOAT, {0, 1, 2}, along_columns("D3", 3)},
  };
}

/// This process's elements of all variables, group by group; floats in the file are floats here.
struct Values {
  std::vector<std::vector<float>> floats;
  std::vector<std::vector<double>> doubles;
};

class History {
 public:
  explicit History(const std::string& map)
      : groups_(groups_of(map)), written_(make(true)), read_(make(false)) {}

  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t bytes = 0;
    for (const Group& group : groups_) {
      const std::int64_t size = group.type == NC_FLOAT ? 4 : 8;
      bytes += group.variables * size * group.pieces->elements;
    }
    MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return bytes;
  }

  void define(int file) const {
    int dimids[3];
    check(ncmpi_def_dim(file, "time", NC_UNLIMITED, &dimids[0]), "def_dim");
    check(ncmpi_def_dim(file, "lev", level_count, &dimids[1]), "def_dim");
    check(ncmpi_def_dim(file, "ncol", column_count, &dimids[2]), "def_dim");
    int count = 0;
    for (const Group& group : groups_) {
      std::vector<int> shape;
      for (const int d : group.dimensions) shape.push_back(dimids[d]);
      for (int i = 0; i < group.variables; ++i) {
        int varid = 0;
        check(ncmpi_def_var(file, ("v" + std::to_string(count++)).c_str(), group.type,
                            static_cast<int>(shape.size()), shape.data(), &varid),
              "def_var");
      }
    }
  }

  void write(int file) { transfer(file, true); }
  void read(int file) { transfer(file, false); }

  void compare() const {
    if (written_.floats != read_.floats || written_.doubles != read_.doubles) {
      std::fprintf(stderr, "bench: rank %d read other values than it wrote\n", rank_of_process);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }

 private:
  [[nodiscard]] Values make(bool is_filled) const {
    Values values;
    for (const Group& group : groups_) {
      const auto elements = static_cast<std::size_t>(group.variables * group.pieces->elements);
      const auto value = [&](std::size_t i) {
        return is_filled ? static_cast<float>(i % 100003) + 0.25F * static_cast<float>(rank_of_process) : -1;
      };
      auto& floats = values.floats.emplace_back(group.type == NC_FLOAT ? elements : 0);
      auto& doubles = values.doubles.emplace_back(group.type == NC_FLOAT ? 0 : elements);
      for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = value(i);
      for (std::size_t i = 0; i < doubles.size(); ++i) doubles[i] = value(i);
    }
    return values;
  }

  void transfer(int file, bool is_put) {
    std::vector<int> requests;
    Values& values = is_put ? written_ : read_;
    int varid = 0;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Group& group = groups_[g];
      for (int i = 0; i < group.variables; ++i, ++varid) {
        if (group.pieces->elements == 0) continue;
        const MPI_Offset first = i * group.pieces->elements;
        requests.push_back(0);
        check(
            group.type == NC_FLOAT
                ? post(file, varid, *group.pieces, values.floats[g].data() + first, is_put, requests.back())
                : post(file, varid, *group.pieces, values.doubles[g].data() + first, is_put, requests.back()),
            "post");
      }
    }
    wait_for_all(file, requests);
  }

  template <class Value>
  static int post(int file, int varid, const Pieces& pieces, Value* values, bool is_put, int& request) {
    const auto type = sizeof(Value) == 4 ? MPI_FLOAT : MPI_DOUBLE;
    const auto n = static_cast<int>(pieces.starts.size());
    return is_put ? ncmpi_iput_varn(file, varid, n, pieces.starts.data(), pieces.counts.data(), values,
                                    pieces.elements, type, &request)
                  : ncmpi_iget_varn(file, varid, n, pieces.starts.data(), pieces.counts.data(), values,
                                    pieces.elements, type, &request);
  }

  std::vector<Group> groups_;
  Values written_;
  Values read_;
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = begin_program(argc, argv);
  if (arguments.map.empty()) {
    if (rank_of_process == 0)
      std::fprintf(stderr,
                   "bench_climate: skipped: it takes E3SM's map_f_case_16p.nc as its third argument\n");
    MPI_Finalize();
    return 0;
  }
  {
    History history(arguments.map);
    Case test;
    test.name = "E3SM F case";
    test.bytes = history.bytes();
    test.define = [&](int file) { history.define(file); };
    test.write = [&](int file) { history.write(file); };
    test.read = [&](int file) { history.read(file); };
    test.check = [&] { history.compare(); };
    run(test, arguments);
  }
  MPI_Finalize();
  return 0;
}
