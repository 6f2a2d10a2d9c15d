// Times parallel accesses to an ordinary netCDF file through the PnetCDF interface. Linked with Debian's
// libpnetcdf; bench/files runs it with and without Sluice's library preloaded, and compares.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "file_case.hpp"

namespace {

using namespace sluice::bench;

using Offsets = std::vector<MPI_Offset>;

/// A variable and the part of it that this process writes and reads.
struct Part {
  Offsets start, count, stride;
};

/// Divides `total` among `parts`: returns the first index of part `i`.
MPI_Offset first_of(MPI_Offset total, int parts, int i) {
  return total * i / parts;
}

/// This process's block of an array that is divided among a grid of processes.
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

/// One array of doubles; each process writes its block in one collective call.
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

/// Columns in turn among the processes, with one nonblocking request each.
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

/// Very many variables, with a piece of each on every process and one wait for all.
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

/// One record after the other, with a collective call each.
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

std::vector<int> grid_of(int dimensions) {
  std::vector<int> grid(static_cast<std::size_t>(dimensions), 0);
  MPI_Dims_create(process_count, dimensions, grid.data());
  return grid;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = begin_program(argc, argv);
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
  for (const auto& make : cases) {
    const Case test = make();
    if (arguments.only.empty() || arguments.only == test.name) run(test, arguments);
  }
  MPI_Finalize();
  return 0;
}
