// Changes a file through the interface, as a program does: open for writing, put, redefine, put again, close.
// Puts are read back.
#include <pnetcdf.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <vector>

#include "require.hpp"
#include "scratch.hpp"

using sluice::fuzz::require;

namespace {

constexpr MPI_Offset small = 3;

/// A damaged file may claim that its data is far away. Writing there must fail, and not make a huge file.
void limit_file_size() {
  constexpr rlim_t bytes = rlim_t{1} << 20;
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
}

/// A part of a variable of at most `small` elements in each dimension.
struct Part {
  std::vector<MPI_Offset> start, count;
  std::size_t elements = 1;
  nc_type type = NC_NAT;

  Part(int file, int varid, MPI_Offset record) {
    int dimensions = 0;
    require(ncmpi_inq_varndims(file, varid, &dimensions) == NC_NOERR, "a variable has a rank");
    std::vector<int> dimids(static_cast<std::size_t>(dimensions) + 1);
    require(ncmpi_inq_vardimid(file, varid, dimids.data()) == NC_NOERR, "a variable has dimensions");
    require(ncmpi_inq_vartype(file, varid, &type) == NC_NOERR, "a variable has a type");
    dimids.pop_back();
    int record_dimension = -1;
    ncmpi_inq_unlimdim(file, &record_dimension);
    for (const int id : dimids) {
      MPI_Offset length = 0;
      require(ncmpi_inq_dimlen(file, id, &length) == NC_NOERR, "a dimension has a length");
      const bool is_record = id == record_dimension;
      count.push_back(is_record ? 1 : std::min(length, small));
      start.push_back(is_record ? record : length - count.back());
      elements *= static_cast<std::size_t>(count.back());
    }
  }
};

constexpr std::size_t many_dimensions = 8;

int put(int file, int varid, const Part& part, double value) {
  if (part.start.size() > many_dimensions) return NC_EINVAL;
  if (part.type == NC_CHAR) {
    const std::vector<char> text(part.elements + 1, 'x');
    return ncmpi_put_vara_text_all(file, varid, part.start.data(), part.count.data(), text.data());
  }
  const std::vector<double> values(part.elements + 1, value);
  return ncmpi_put_vara_double_all(file, varid, part.start.data(), part.count.data(), values.data());
}

void expect(int file, int varid, const Part& part, double value) {
  if (part.type == NC_CHAR) return;
  std::vector<double> values(part.elements + 1, -1);
  require(
      ncmpi_get_vara_double_all(file, varid, part.start.data(), part.count.data(), values.data()) == NC_NOERR,
      "what was put is read");
  for (std::size_t i = 0; i < part.elements; ++i) require(values[i] == value, "what is read was put");
}

void put_everywhere(int file, double value) {
  int variables = 0;
  MPI_Offset records = 0;
  int record_dimension = -1;
  require(ncmpi_inq(file, nullptr, &variables, nullptr, &record_dimension) == NC_NOERR,
          "a file is described");
  if (record_dimension >= 0) ncmpi_inq_dimlen(file, record_dimension, &records);
  for (int id = 0; id < std::min(variables, 8); ++id) {
    for (const MPI_Offset record : {MPI_Offset{0}, records, MPI_Offset{1} << 62}) {
      const Part part(file, id, record);
      if (put(file, id, part, value) == NC_NOERR) expect(file, id, part, value);
    }
    ncmpi_fill_var_rec(file, id, records);
  }
}

/// Another definition of each kind, and an attribute large enough to move the data.
void redefine(int file) {
  int fixed = -1;
  int record = -1;
  int dimid = -1;
  int record_dimension = -1;
  if (ncmpi_redef(file) != NC_NOERR) return;
  const std::vector<char> text(600, 'a');
  ncmpi_put_att_text(file, NC_GLOBAL, "fuzz attribute", static_cast<MPI_Offset>(text.size()), text.data());
  ncmpi_inq_unlimdim(file, &record_dimension);
  if (ncmpi_def_dim(file, "fuzz dimension", 5, &dimid) == NC_NOERR) {
    const int of_record[] = {record_dimension, dimid};
    ncmpi_def_var(file, "fuzz fixed", NC_INT, 1, &dimid, &fixed);
    if (record_dimension >= 0) ncmpi_def_var(file, "fuzz record", NC_SHORT, 2, of_record, &record);
    if (fixed >= 0) ncmpi_def_var_fill(file, fixed, 0, nullptr);
    if (record >= 0) ncmpi_def_var_fill(file, record, 0, nullptr);
  }
  if (ncmpi_enddef(file) != NC_NOERR) return;
  for (const int varid : {fixed, record}) {
    if (varid < 0) continue;
    const Part part(file, varid, 1);
    if (put(file, varid, part, 7) == NC_NOERR) expect(file, varid, part, 7);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const sluice::fuzz::Mpi mpi;
  static const sluice::fuzz::Scratch scratch;
  static const bool is_limited = (limit_file_size(), true);
  static_cast<void>(is_limited);
  const auto path = scratch.write(data, size);
  int file = -1;
  if (ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_WRITE, MPI_INFO_NULL, &file) != NC_NOERR) return 0;
  // Redefinition alone keeps the data. Earlier puts may have been refused, and may fail at the end.
  if (size % 2 == 0) put_everywhere(file, 3);
  redefine(file);
  put_everywhere(file, 4);
  ncmpi_close(file);
  // The header is valid, whatever the data is.
  if (ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &file) != NC_NOERR) return 0;
  int variables = 0;
  require(ncmpi_inq_nvars(file, &variables) == NC_NOERR, "a changed file has variables");
  require(ncmpi_close(file) == NC_NOERR, "a changed file is closed");
  return 0;
}
