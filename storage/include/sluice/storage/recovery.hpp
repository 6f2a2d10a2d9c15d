#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/storage/burst_log_reader.hpp"
#include "sluice/storage/file_system.hpp"
#include "sluice/storage/log_replay.hpp"

namespace sluice::storage {

/// The logs of one netCDF file in one directory.
struct LogGroup {
  std::string netcdf_path;                  ///< as the logs name it
  std::vector<std::string> metadata_paths;  ///< by rank
  std::vector<std::int64_t> ranks;          ///< of these
  std::int64_t process_count = 0;           ///< that had the file open
};

/// Something that is no log although it looks like one, or is damaged.
struct LogStatement {
  std::string path;
  std::string what;
};

struct FoundLogs {
  std::vector<LogGroup> groups;          ///< by netCDF file
  std::vector<LogStatement> unreadable;  ///< metadata logs whose header cannot be understood
};

/// All metadata logs of a directory: files ".meta" that begin as such. Throws IoError where the directory
/// cannot be read.
[[nodiscard]] FoundLogs find_logs(FileSystem& system, const std::string& directory);

/// What recovering one file has done.
struct Recovery {
  ReplayResult replay;
  std::vector<LogStatement> problems;  ///< of logs: what is torn or damaged
  bool is_in_use = false;              ///< a running program writes the logs: nothing was done
};

/// Replays the logs of a group into `netcdf_path`, few at a time where there are very many. Throws IoError,
/// FormatError where the netCDF file cannot be written or understood.
[[nodiscard]] Recovery recover_file(FileSystem& system, const LogGroup& group, const std::string& netcdf_path,
                                    const ReplayOptions& options = {});

/// Copies a file to a name that appears when the copy is complete and synced. Throws IoError.
void copy_file(FileSystem& system, const std::string& from, const std::string& to);

}  // namespace sluice::storage
