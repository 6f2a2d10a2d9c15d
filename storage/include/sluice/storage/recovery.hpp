#pragma once
#include <cstdint>
#include <optional>
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

/// What belongs together of the logs of one netCDF file in one directory, by what they say themselves. A
/// program's own logs are for the file that is there. Those of a workflow (docs/formats/burst-buffer-log.md,
/// "Logs of a workflow") are of steps of one run that continue one another, and the file is made of them.
struct LogGroup {
  std::string netcdf_path;           ///< as the logs name it
  std::int64_t origin = 0;           ///< of the steps of a workflow, the first; else 0
  std::vector<FoundLog> logs;        ///< by step, then by rank
  std::int64_t process_count = 0;    ///< that had the file open, as most logs say
  std::vector<LogStatement> damage;  ///< logs whose headers say what cannot be
  bool has_unreadable_logs = false;  ///< of this file, as far as their names tell: they are not in `logs`

  std::optional<formats::BurstLogIdentity> identity = {};  ///< of all of them
  std::int64_t owner = 0;                                  ///< the user whose they are
  std::string refusal = {};  ///< why they cannot be recovered, where they do not fit together

  [[nodiscard]] bool is_of_workflow() const noexcept { return origin != 0; }
};

/// A file that is, or may be, a log of somebody else.
struct OthersLog {
  std::string path;
  std::int64_t owner = 0;
};

struct FoundLogs {
  std::vector<LogGroup> groups;          ///< by netCDF file, the earlier create first
  std::vector<OthersLog> of_others;      ///< they are left out
  std::vector<LogStatement> unreadable;  ///< logs whose metadata is missing or cannot be understood
};

enum class LogOwners { myself, anybody };

/// All logs of a directory. Throws IoError where the directory cannot be read.
[[nodiscard]] FoundLogs find_logs(FileSystem& system, const std::string& directory,
                                  LogOwners owners = LogOwners::myself);

/// What recovering one file has done.
struct Recovery {
  ReplayResult replay;
  std::vector<LogStatement> problems;  ///< of logs: what is torn or damaged
  bool is_in_use = false;              ///< a running program writes the logs: nothing was done
  bool is_new_file = false;            ///< the file was made of the logs alone
  /// What the file is where nothing was done to it.
  enum class Unchanged { no, has_all_already, is_of_later_step, is_of_later_run };
  Unchanged unchanged = Unchanged::no;
  std::int64_t later_begin_ns = 0;  ///< of the later run
  std::string kept_as;              ///< what was there before, and nobody knows what it is, has this name now
};

/// Whether what the file says of where it comes from counts (storage/file_mark.hpp).
enum class FileMarks { obeyed, ignored };

/// Replays the logs of a group into a copy of `netcdf_path`, few at a time where there are very many; the
/// copy takes the file's place when it is complete and synced. Those of a workflow become a new file, where
/// what nobody put are fill values; or, where the file at `netcdf_path` has something of the same steps, from
/// another node or a drain, are added to a copy of it. A file of a later step or run stays. Throws IoError,
/// FormatError where the netCDF file cannot be written or understood, Error(NC_EINVAL) where the logs are not
/// for the file that is there, or do not fit together.
[[nodiscard]] Recovery recover_file(FileSystem& system, const LogGroup& group, const std::string& netcdf_path,
                                    const ReplayOptions& options = {}, FileMarks marks = FileMarks::obeyed);

/// Copies a file to a name that appears when the copy is complete and synced. Throws IoError.
void copy_file(FileSystem& system, const std::string& from, const std::string& to);

}  // namespace sluice::storage
