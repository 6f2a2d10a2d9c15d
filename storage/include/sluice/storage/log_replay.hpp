#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "sluice/storage/burst_log_reader.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

struct ReplayOptions {
  std::int64_t memory_bytes = std::int64_t{128} << 20;  ///< of data at a time, all logs together
  std::int64_t window_bytes = std::int64_t{4} << 20;    ///< of the netCDF file, written at a time
  std::int64_t most_records = std::numeric_limits<std::int64_t>::max();  ///< puts that make more are damaged
};

/// What a replay has done.
struct ReplayResult {
  std::int64_t puts = 0;
  std::int64_t data_bytes = 0;
  std::int64_t record_count = 0;  ///< of the file, afterwards
  std::int64_t out_of_range = 0;  ///< puts with values that the variable's type cannot hold: fill values now
  bool raised_record_count = false;
};

/// Puts all complete entries of the logs of one netCDF file (and its subfiles) into it, by POSIX access:
/// merged by their place in the file, each log in its own order (between logs there is no order). Then the
/// number of records, which only grows, and sync. Doing it twice changes nothing. What is wrong with the logs
/// is told by their problems(). Throws IoError, FormatError where the netCDF file cannot be understood; then
/// a part may have been written.
ReplayResult replay_logs(FileSystem& system, std::span<BurstLogReader> logs, const std::string& netcdf_path,
                         const ReplayOptions& options = {});

}  // namespace sluice::storage
