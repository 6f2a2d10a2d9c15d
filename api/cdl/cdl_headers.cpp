// The functions cdl_hdr_*: they read the header that a CDL file describes. Local, without MPI; every result
// pointer may be null.
#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <system_error>

#include "cdl.hpp"
#include "functions.hpp"
#include "give.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::api::ncmpi {
namespace {

using formats::Header;

constexpr int max_open_headers = 1024;  // NC_MAX_NFILES
constexpr int global_varid = -1;        // NC_GLOBAL

struct CdlTable {
  std::mutex mutex;
  std::array<std::shared_ptr<Header>, max_open_headers> headers;  // shared with other threads' calls
};

/// C callers only have ids, so a table must map them. Like the table of datasets, it is never destroyed.
CdlTable& table() {
  static CdlTable* const only = std::make_unique<CdlTable>().release();
  return *only;
}

[[noreturn]] void throw_bad_id(const std::string& what) {
  throw Error(NC_EBADID, what);
}

std::shared_ptr<Header> header_of(int hid) {
  auto& all = table();
  const std::lock_guard lock(all.mutex);
  auto header = hid < 0 || hid >= max_open_headers ? nullptr : all.headers[static_cast<std::size_t>(hid)];
  if (!header) throw_bad_id("hid " + std::to_string(hid) + " does not name an open CDL header");
  return header;
}

formats::Variable& variable_of(Header& header, int varid) {
  if (varid < 0 || varid >= header.variable_count())
    throw_bad_id("the CDL header has no variable " + std::to_string(varid));
  return header.variable(varid);
}

formats::Attributes& attributes_of(Header& header, int varid) {
  return varid == global_varid ? header.attributes : variable_of(header, varid).attributes;
}

/// The interface returns pointers without const, but the caller must not change the data.
void give_name(char** result, const std::string& name) {
  if (result != nullptr) *result = const_cast<char*>(name.c_str());
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError(errno == EACCES ? NC_EACCESS : NC_ENOENT, errno, path, "open");
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) throw IoError(NC_EREAD, errno, path, "read");
  return text;
}

/// Adds an uncounted zero after text, and ensures that every attribute's values have an address.
void terminate_values(formats::Attributes& attributes) {
  for (int i = 0; i < attributes.size(); ++i) attributes[i].values.push_back(std::byte{0});
}

}  // namespace

int cdl_hdr_open(const char* filename, int* hid) {
  if (filename == nullptr || hid == nullptr)
    throw Error(NC_EINVAL, "cdl_hdr_open needs a path and a pointer for the id");
  auto header = std::make_shared<Header>(cdl::parse_cdl(read_text(filename), filename));
  terminate_values(header->attributes);
  for (int id = 0; id < header->variable_count(); ++id) terminate_values(header->variable(id).attributes);

  auto& all = table();
  const std::lock_guard lock(all.mutex);
  const auto free = std::ranges::find(all.headers, nullptr);
  if (free == all.headers.end()) throw Error(NC_ENFILE, "too many CDL headers are open: close some");
  *free = std::move(header);
  *hid = static_cast<int>(free - all.headers.begin());
  return NC_NOERR;
}

int cdl_hdr_close(int hid) {
  static_cast<void>(header_of(hid));
  auto& all = table();
  const std::lock_guard lock(all.mutex);
  all.headers[static_cast<std::size_t>(hid)].reset();
  return NC_NOERR;
}

int cdl_hdr_inq_format(int hid, int* format) {
  give(format, header_of(hid)->version);
  return NC_NOERR;
}

int cdl_hdr_inq_ndims(int hid, int* ndims) {
  give(ndims, header_of(hid)->dimension_count());
  return NC_NOERR;
}

int cdl_hdr_inq_dim(int hid, int dimid, char** name, MPI_Offset* size) {
  const auto header = header_of(hid);
  if (dimid < 0 || dimid >= header->dimension_count())
    throw_bad_id("the CDL header has no dimension " + std::to_string(dimid));
  give_name(name, header->dimension(dimid).name);
  give(size, header->dimension(dimid).length);
  return NC_NOERR;
}

int cdl_hdr_inq_nvars(int hid, int* nvars) {
  give(nvars, header_of(hid)->variable_count());
  return NC_NOERR;
}

int cdl_hdr_inq_var(int hid, int varid, char** name, nc_type* xtype, int* ndims, int** dimids) {
  const auto header = header_of(hid);
  auto& variable = variable_of(*header, varid);
  give_name(name, variable.name);
  give(xtype, variable.type);
  give(ndims, variable.dimids.size());
  give(dimids, variable.dimids.data());
  return NC_NOERR;
}

int cdl_hdr_inq_nattrs(int hid, int varid, int* nattrs) {
  give(nattrs, attributes_of(*header_of(hid), varid).size());
  return NC_NOERR;
}

int cdl_hdr_inq_attr(int hid, int varid, int attrid, char** name, nc_type* xtype, MPI_Offset* nelems,
                     void** value) {
  const auto header = header_of(hid);
  auto& attributes = attributes_of(*header, varid);
  if (attrid < 0 || attrid >= attributes.size())
    throw_bad_id("there is no attribute " + std::to_string(attrid) + " in the CDL header");
  give_name(name, attributes[attrid].name);
  give(xtype, attributes[attrid].type);
  give(nelems, attributes[attrid].count);
  give(value, attributes[attrid].values.data());
  return NC_NOERR;
}

}  // namespace sluice::api::ncmpi
