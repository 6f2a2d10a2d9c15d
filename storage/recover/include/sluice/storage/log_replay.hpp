#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "sluice/storage/burst_log_reader.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

struct ReplayOptions {
  std::int64_t memory_bytes = std::int64_t{128} << 20;  ///< bytes of data in memory, for all logs together
  std::int64_t window_bytes = std::int64_t{4} << 20;  ///< bytes of the netCDF file that are written at a time
  std::int64_t most_records =
      std::numeric_limits<std::int64_t>::max();  ///< puts that make more records are damaged
};

/// The result of a replay.
struct ReplayResult {
  std::int64_t puts = 0;
  std::int64_t data_bytes = 0;
  std::int64_t record_count = 0;  ///< number of records in the file afterwards
  std::int64_t out_of_range =
      0;  ///< puts with values that the variable's type cannot hold: these values are now fill values
  bool raised_record_count = false;
};

/// Writes all complete entries of the logs of one netCDF file (and its subfiles) into the file, by POSIX
/// access. Entries are merged by file position. Entries of one log keep their order; there is no order
/// between logs. Then updates the number of records, which only grows, and syncs. A second replay changes
/// nothing. The logs' problems() report damage. Throws IoError. Throws FormatError if the netCDF file cannot
/// be parsed; then a part may have been written.
ReplayResult replay_logs(FileSystem& system, std::span<BurstLogReader> logs, const std::string& netcdf_path,
                         const ReplayOptions& options = {});

}  // namespace sluice::storage
