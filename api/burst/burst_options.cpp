#include "burst_options.hpp"

#include <strings.h>

#include <algorithm>
#include <cstdlib>

#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {
namespace {

using Hints = std::map<std::string, std::string>;

std::string value_of(const Hints& hints, const std::string& key) {
  const auto found = hints.find(key);
  return found == hints.end() ? std::string() : found->second;
}

bool is(const Hints& hints, const std::string& key, const char* value) {
  return ::strcasecmp(value_of(hints, key).c_str(), value) == 0;
}

const char* enabled_or_not(bool is_enabled) noexcept {
  return is_enabled ? "enable" : "disable";
}

}  // namespace

BurstOptions burst_options(const Hints& hints, const std::string& netcdf_path) {
  BurstOptions options;
  options.is_enabled = is(hints, "nc_burst_buf", "enable");
  options.deletes_on_close = !is(hints, "nc_burst_buf_del_on_close", "disable");
  options.overwrites = is(hints, "nc_burst_buf_overwrite", "enable");
  options.directory = storage::without_prefix(value_of(hints, "nc_burst_buf_dirname"));
  if (options.directory.empty()) options.directory = storage::directory_of(netcdf_path);
  // Any number base, as in PnetCDF.
  const auto size = value_of(hints, "nc_burst_buf_flush_buffer_size");
  options.flush_buffer_bytes = std::max<std::int64_t>(0, std::strtoll(size.c_str(), nullptr, 0));
  return options;
}

Hints as_hints(const BurstOptions& options) {
  return {{"nc_burst_buf", enabled_or_not(options.is_enabled)},
          {"nc_burst_buf_dirname", options.directory},
          {"nc_burst_buf_del_on_close", enabled_or_not(options.deletes_on_close)},
          {"nc_burst_buf_overwrite", enabled_or_not(options.overwrites)},
          {"nc_burst_buf_flush_buffer_size", std::to_string(options.flush_buffer_bytes)}};
}

bool is_log_disk_full(const Error& error) noexcept {
  return error.status() == NC_ENO_SPACE || error.status() == NC_EQUOTA;
}

}  // namespace sluice::api
