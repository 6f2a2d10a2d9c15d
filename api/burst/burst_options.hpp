#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "sluice/formats/error.hpp"

namespace sluice::api {

/// PnetCDF's hints for burst buffering, with the values in force for a file.
struct BurstOptions {
  bool is_enabled = false;              ///< nc_burst_buf
  std::string directory;                ///< nc_burst_buf_dirname, or the netCDF file's directory
  bool deletes_on_close = true;         ///< nc_burst_buf_del_on_close
  bool overwrites = false;              ///< nc_burst_buf_overwrite: existing logs may be removed
  std::int64_t flush_buffer_bytes = 0;  ///< nc_burst_buf_flush_buffer_size; 0: no limit was set
};

/// `netcdf_path` has no MPI-IO prefix. Invalid values become the defaults.
[[nodiscard]] BurstOptions burst_options(const std::map<std::string, std::string>& hints,
                                         const std::string& netcdf_path);

/// Whether a log write failed because the disk is full.
[[nodiscard]] bool is_log_disk_full(const Error& error) noexcept;

/// The options as hints, for ncmpi_inq_file_info.
[[nodiscard]] std::map<std::string, std::string> as_hints(const BurstOptions& options);

}  // namespace sluice::api
