#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/storage/burst_log_reader.hpp"
#include "sluice/storage/file_system.hpp"
#include "sluice/storage/log_replay.hpp"

namespace sluice::storage {

/// Something that is no log although it looks like one, or is damaged.
struct LogStatement {
  std::string path;
  std::string what;
};

struct FoundLog {
  std::string metadata_path;
  std::int64_t rank = 0;
  std::int64_t step = 0;           ///< of a workflow; else 0
  std::int64_t entries = 0;        ///< that are complete, as its header says
  std::int64_t process_count = 0;  ///< that had the file open, as its header says
};

/// The logs of one netCDF file in one directory. A program's own logs are for the file that is there. Those
/// of a workflow (docs/formats/burst-buffer-log.md, "Logs of a workflow") are of steps that continue one
/// another, and the file is made of them.
struct LogGroup {
  std::string netcdf_path;           ///< as the logs name it
  std::int64_t origin = 0;           ///< of the steps of a workflow, the first; else 0
  std::vector<FoundLog> logs;        ///< by step, then by rank
  std::int64_t process_count = 0;    ///< that had the file open, as most logs say
  std::vector<LogStatement> damage;  ///< logs whose headers say what cannot be
  bool has_unreadable_logs = false;  ///< of this file, as far as their names tell: they are not in `logs`

  [[nodiscard]] bool is_of_workflow() const noexcept { return origin != 0; }
};

struct FoundLogs {
  std::vector<LogGroup> groups;          ///< by netCDF file, those of a workflow in the order of their steps
  std::vector<LogStatement> unreadable;  ///< logs whose metadata is missing or cannot be understood
};

/// All logs of a directory. Throws IoError where the directory cannot be read.
[[nodiscard]] FoundLogs find_logs(FileSystem& system, const std::string& directory);

/// What recovering one file has done.
struct Recovery {
  ReplayResult replay;
  std::vector<LogStatement> problems;  ///< of logs: what is torn or damaged
  bool is_in_use = false;              ///< a running program writes the logs: nothing was done
  bool is_new_file = false;            ///< the file was made of the logs alone
};

/// Replays the logs of a group into `netcdf_path`, few at a time where there are very many. Those of a
/// workflow become a new file, which takes the place of one that is there, when it is complete and synced;
/// what nobody put are fill values. Where that file has the same header and is newer than the logs, they are
/// added to it: it is what another node's logs, or these, were brought to before. Throws IoError, FormatError
/// where the netCDF file cannot be written or understood.
[[nodiscard]] Recovery recover_file(FileSystem& system, const LogGroup& group, const std::string& netcdf_path,
                                    const ReplayOptions& options = {});

/// Copies a file to a name that appears when the copy is complete and synced. Throws IoError.
void copy_file(FileSystem& system, const std::string& from, const std::string& to);

}  // namespace sluice::storage
