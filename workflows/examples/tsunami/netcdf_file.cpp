#include "netcdf_file.hpp"

#include <utility>

namespace tsunami {

namespace {
constexpr int closed = -1;
}

FileError::FileError(const std::string& path, const std::string& action, int status)
    : std::runtime_error(path + ": " + action + ": " + ncmpi_strerror(status)), status_(status) {}

NetcdfFile NetcdfFile::create(MPI_Comm comm, const std::string& path) {
  int ncid = closed;
  const int status = ncmpi_create(comm, path.c_str(), NC_CLOBBER | NC_64BIT_OFFSET, MPI_INFO_NULL, &ncid);
  if (status != NC_NOERR) throw FileError(path, "cannot create", status);
  return {ncid, path};
}

NetcdfFile NetcdfFile::open(MPI_Comm comm, const std::string& path) {
  int ncid = closed;
  const int status = ncmpi_open(comm, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &ncid);
  if (status != NC_NOERR) throw FileError(path, "cannot open", status);
  return {ncid, path};
}

NetcdfFile::NetcdfFile(NetcdfFile&& other) noexcept
    : ncid_(std::exchange(other.ncid_, closed)), path_(std::move(other.path_)) {}

NetcdfFile::~NetcdfFile() {
  if (ncid_ != closed) ncmpi_close(ncid_);
}

void NetcdfFile::close() {
  check(ncmpi_close(std::exchange(ncid_, closed)), "cannot close");
}

void NetcdfFile::check(int status, const std::string& action) const {
  if (status != NC_NOERR) throw FileError(path_, action, status);
}

int NetcdfFile::define_dimension(const std::string& name, MPI_Offset length) {
  int id = -1;
  check(ncmpi_def_dim(ncid_, name.c_str(), length, &id), "cannot define dimension " + name);
  return id;
}

int NetcdfFile::define_variable(const std::string& name, nc_type type, const std::vector<int>& dimensions) {
  int id = -1;
  check(ncmpi_def_var(ncid_, name.c_str(), type, static_cast<int>(dimensions.size()), dimensions.data(), &id),
        "cannot define variable " + name);
  return id;
}

void NetcdfFile::attribute(int variable, const std::string& name, const std::string& value) {
  check(
      ncmpi_put_att_text(ncid_, variable, name.c_str(), static_cast<MPI_Offset>(value.size()), value.c_str()),
      "cannot write attribute " + name);
}

void NetcdfFile::end_definitions() {
  check(ncmpi_enddef(ncid_), "cannot write the header");
}

int NetcdfFile::variable(const std::string& name) const {
  int id = -1;
  check(ncmpi_inq_varid(ncid_, name.c_str(), &id), "variable " + name);
  return id;
}

MPI_Offset NetcdfFile::dimension_length(const std::string& name) const {
  int id = -1;
  MPI_Offset length = 0;
  check(ncmpi_inq_dimid(ncid_, name.c_str(), &id), "dimension " + name);
  check(ncmpi_inq_dimlen(ncid_, id, &length), "dimension " + name);
  return length;
}

std::vector<double> NetcdfFile::read_axis(const std::string& name) const {
  std::vector<double> values(static_cast<std::size_t>(dimension_length(name)));
  check(ncmpi_get_var_double_all(ncid_, variable(name), values.data()), "cannot read " + name);
  return values;
}

}  // namespace tsunami
