#include "checks.hpp"

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/names.hpp"

namespace sluice::api {

void require_define_mode(const Dataset& dataset) {
  if (!dataset.in_define_mode)
    throw Error(NC_ENOTINDEFINE, dataset.path + " is in data mode: call ncmpi_redef first");
}

void require_data_mode(const Dataset& dataset) {
  if (dataset.in_define_mode)
    throw Error(NC_EINDEFINE, dataset.path + " is in define mode: call ncmpi_enddef first");
}

void require_writable(const Dataset& dataset) {
  if (!dataset.is_writable)
    throw Error(NC_EPERM, dataset.path + " was opened for reading: open it with NC_WRITE to change it");
}

void require_variable(const Dataset& dataset, int varid) {
  if (varid == -1) throw Error(NC_EGLOBAL, "NC_GLOBAL is not allowed here: this call needs a variable");
  if (varid < 0 || varid >= dataset.header.variable_count())
    throw Error(NC_ENOTVAR, dataset.path + " has no variable with id " + std::to_string(varid));
}

void require_dimension(const Dataset& dataset, int dimid) {
  if (dimid < 0 || dimid >= dataset.header.dimension_count())
    throw Error(NC_EBADDIM, dataset.path + " has no dimension with id " + std::to_string(dimid));
}

namespace {

void require_good_name(const char* name, int status) {
  if (status == NC_NOERR) return;
  throw Error(static_cast<Status>(status),
              "the name '" + std::string(name).substr(0, 300) +
                  (status == NC_EMAXNAME ? "' is too long" : "' is not allowed"));
}

void require_name(const char* name) {
  if (name == nullptr || *name == '\0') throw Error(NC_EBADNAME, "a name is empty or a null pointer");
}

}  // namespace

void require_wanted_name(const char* name) {
  require_name(name);
  require_good_name(name, formats::check_wanted_name(name));
}

std::string checked_name(const char* name) {
  require_name(name);
  require_good_name(name, formats::check_name(name));
  return formats::normalised_name(name);
}

void require_type(const Dataset& dataset, int type) {
  const auto external = static_cast<formats::Type>(type);
  if (type < 0 || !formats::is_valid(external))
    throw Error(NC_EBADTYPE, std::to_string(type) + " is not an external type of the classic formats");
  if (dataset.header.version != formats::Version::cdf5 && formats::needs_cdf5(external))
    throw Error(NC_ESTRICTCDF2, std::string(formats::type_name(external)) +
                                    " needs the CDF-5 format: create " + dataset.path +
                                    " with NC_64BIT_DATA");
}

int check_record_offsets(const Dataset& dataset, int varid, std::int64_t record_end) noexcept {
  std::int64_t bytes = 0;
  const bool overflows = __builtin_mul_overflow(record_end, dataset.layout.record_size, &bytes) ||
                         __builtin_add_overflow(bytes, dataset.header.variable(varid).begin, &bytes);
  return overflows ? NC_EINTOVERFLOW : NC_NOERR;
}

bool is_old_variable(const Dataset& dataset, int varid) {
  return dataset.header_before_redef && varid < dataset.header_before_redef->variable_count();
}

void metadata_changed(Dataset& dataset) {
  if (dataset.in_define_mode) return;
  write_header(dataset, dataset.layout);
}

void write_header(Dataset& dataset, const formats::Layout& layout) {
  dataset.driver->write_header(dataset.header, layout);
  dataset.layout = layout;
  dataset.layout.header_size = formats::encoded_size(dataset.header);
  if (dataset.comm.is_root()) dataset.put_bytes += dataset.layout.header_size;
}

}  // namespace sluice::api
