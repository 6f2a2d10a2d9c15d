// Opens a file through the interface, as a program does: every inquiry, small parts of every variable, close.
#include <pnetcdf.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "require.hpp"
#include "scratch.hpp"

using sluice::fuzz::require;

namespace {

constexpr MPI_Offset small = 3;
constexpr MPI_Offset large_attribute = 1 << 16;

/// Whether a name can be looked up: it must be UTF-8 in normal form.
bool is_plain(const char* name) {
  return *name != '\0' && std::all_of(name, name + std::strlen(name),
                                      [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

void walk_attributes(int file, int varid, int count) {
  for (int i = 0; i < count; ++i) {
    char name[NC_MAX_NAME + 1];
    nc_type type = NC_NAT;
    MPI_Offset length = 0;
    require(ncmpi_inq_attname(file, varid, i, name) == NC_NOERR, "an attribute has a name");
    // A damaged file may repeat the name of an attribute; then the first one is found.
    if (!is_plain(name)) continue;
    int found = -1;
    require(ncmpi_inq_attid(file, varid, name, &found) == NC_NOERR && found <= i,
            "an attribute is found by its name");
    require(ncmpi_inq_att(file, varid, name, &type, &length) == NC_NOERR,
            "an attribute has a type and a length");
    if (length > large_attribute) continue;
    std::vector<double> values(static_cast<std::size_t>(length) + 1);
    std::vector<char> text(static_cast<std::size_t>(length) + 1);
    if (type == NC_CHAR)
      ncmpi_get_att_text(file, varid, name, text.data());
    else
      ncmpi_get_att_double(file, varid, name, values.data());
  }
}

void walk_dimensions(int file, int count) {
  for (int id = 0; id < count; ++id) {
    char name[NC_MAX_NAME + 1];
    MPI_Offset length = -1;
    int found = -1;
    require(ncmpi_inq_dim(file, id, name, &length) == NC_NOERR && length >= 0,
            "a dimension has a name and a length");
    require(!is_plain(name) || ncmpi_inq_dimid(file, name, &found) == NC_NOERR,
            "a dimension is found by its name");
  }
}

/// At most `small` elements of each dimension: its first ones, or its last ones.
void read_part(int file, int varid, const std::vector<int>& dimids, bool at_end) {
  std::vector<MPI_Offset> start, count, stride;
  std::size_t elements = 1;
  for (const int id : dimids) {
    MPI_Offset length = 0;
    require(ncmpi_inq_dimlen(file, id, &length) == NC_NOERR, "a variable's dimension has a length");
    count.push_back(std::min(length, small));
    start.push_back(at_end ? length - count.back() : 0);
    stride.push_back(!at_end && length > 2 * small ? 2 : 1);
    elements *= static_cast<std::size_t>(count.back());
  }
  nc_type type = NC_NAT;
  require(ncmpi_inq_vartype(file, varid, &type) == NC_NOERR, "a variable has a type");
  // Data that is not in the file gives an error or zeros, never a crash.
  std::vector<double> values(elements + 1);
  std::vector<char> text(elements + 1);
  if (type == NC_CHAR)
    ncmpi_get_vars_text_all(file, varid, start.data(), count.data(), stride.data(), text.data());
  else
    ncmpi_get_vars_double_all(file, varid, start.data(), count.data(), stride.data(), values.data());
}

void walk_variables(int file, int count) {
  for (int id = 0; id < count; ++id) {
    char name[NC_MAX_NAME + 1];
    nc_type type = NC_NAT;
    int dimensions = -1;
    int attributes = -1;
    int found = -1;
    int no_fill = 0;
    MPI_Offset offset = -1;
    double fill = 0;
    require(ncmpi_inq_varndims(file, id, &dimensions) == NC_NOERR && dimensions >= 0,
            "a variable has a rank");
    std::vector<int> dimids(static_cast<std::size_t>(dimensions) + 1);
    require(ncmpi_inq_var(file, id, name, &type, nullptr, dimids.data(), &attributes) == NC_NOERR,
            "a variable is described");
    dimids.pop_back();
    require(!is_plain(name) || ncmpi_inq_varid(file, name, &found) == NC_NOERR,
            "a variable is found by its name");
    require(ncmpi_inq_varoffset(file, id, &offset) == NC_NOERR && offset >= 0, "a variable has an offset");
    ncmpi_inq_var_fill(file, id, &no_fill, &fill);
    walk_attributes(file, id, attributes);
    if (dimensions > 8) continue;
    read_part(file, id, dimids, false);
    read_part(file, id, dimids, true);
  }
}

void walk(int file) {
  int dimensions = -1, variables = -1, attributes = -1, record_dimension = -2, format = -1;
  int records = 0, fixed = 0;
  MPI_Offset size = -1;
  require(ncmpi_inq(file, &dimensions, &variables, &attributes, &record_dimension) == NC_NOERR,
          "a file is described");
  require(ncmpi_inq_format(file, &format) == NC_NOERR, "a file has a format");
  require(ncmpi_inq_header_size(file, &size) == NC_NOERR && size > 0, "a header has a size");
  require(ncmpi_inq_header_extent(file, &size) == NC_NOERR && size >= 0, "a header has an extent");
  require(ncmpi_inq_recsize(file, &size) == NC_NOERR && size >= 0, "a record has a size");
  require(ncmpi_inq_num_rec_vars(file, &records) == NC_NOERR, "record variables are counted");
  require(ncmpi_inq_num_fix_vars(file, &fixed) == NC_NOERR && records + fixed == variables,
          "fixed-size variables are counted");
  walk_dimensions(file, dimensions);
  walk_attributes(file, NC_GLOBAL, attributes);
  walk_variables(file, variables);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const sluice::fuzz::Mpi mpi;
  static const sluice::fuzz::Scratch scratch;
  const auto path = scratch.write(data, size);
  int file = -1;
  if (ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &file) != NC_NOERR) return 0;
  walk(file);
  require(ncmpi_close(file) == NC_NOERR, "a file that was read is closed");
  return 0;
}
