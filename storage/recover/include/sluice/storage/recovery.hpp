#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sluice/storage/burst_log_reader.hpp"
#include "sluice/storage/file_system.hpp"
#include "sluice/storage/log_replay.hpp"

namespace sluice::storage {

/// A file that looks like a log but is not one, or a damaged log.
struct LogStatement {
  std::string path;
  std::string what;
};

struct FoundLog {
  std::string metadata_path;
  std::int64_t rank = 0;
  std::int64_t step = 0;           ///< step of a workflow, the first of the log; otherwise 0
  std::int64_t entries = 0;        ///< number of complete entries, by the log's header
  std::int64_t process_count = 0;  ///< number of processes that had the file open, by the log's header
  std::uint64_t group = 0;         ///< number of the group that had the file open, by the log's header
  std::int64_t last_step = 0;      ///< last step of the log: with a put, or closed
  std::int64_t closed_step = 0;    ///< last step that the process has closed; 0: none
  std::int64_t base = 0;           ///< the step that `step` contains; 0: unknown or none
  std::vector<formats::BurstLogStepMark> headers = {};  ///< BurstLogReader::headers
};

/// Logs of one netCDF file in one directory that belong together, by their own content. A program's own logs
/// complete the existing file. A workflow's logs (docs/formats/burst-buffer-log.md, "Logs of a workflow")
/// belong to steps of one run that continue one another, and the file is made from them.
struct LogGroup {
  std::string netcdf_path;           ///< path in the logs
  std::int64_t origin = 0;           ///< the first of the workflow's steps; otherwise 0
  std::vector<FoundLog> logs;        ///< by step, then by rank
  std::int64_t process_count = 0;    ///< number of processes that had the file open, by most logs
  std::vector<LogStatement> damage;  ///< logs with impossible headers
  bool has_unreadable_logs = false;  ///< logs of this file, judged by their names, that are not in `logs`

  std::optional<formats::BurstLogIdentity> identity = {};  ///< common to all logs of a step
  std::int64_t owner = 0;                                  ///< the user who owns the logs
  std::string refusal = {};  ///< why the logs do not fit together and cannot be recovered
  /// Recovery makes the file as this step left it, of that step and of those that it contains.
  std::int64_t until_step = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] bool is_of_workflow() const noexcept { return origin != 0; }
};

/// A file of another user that is, or may be, a log.
struct OthersLog {
  std::string path;
  std::int64_t owner = 0;
};

struct FoundLogs {
  std::vector<LogGroup> groups;          ///< by netCDF file; earlier creates first
  std::vector<OthersLog> of_others;      ///< these logs are left out
  std::vector<LogStatement> unreadable;  ///< logs whose metadata is missing or cannot be parsed
};

/// The logs of the group that have a part of the step `until_step`, or of a step that this one contains: each
/// with its last such step. A step that was discarded belongs to none.
[[nodiscard]] std::vector<FoundLog> logs_until(const LogGroup& group);

enum class LogOwners { myself, anybody };

/// Finds all logs of a directory. Throws IoError if the directory cannot be read.
[[nodiscard]] FoundLogs find_logs(FileSystem& system, const std::string& directory,
                                  LogOwners owners = LogOwners::myself);

/// The result of recovering one file.
struct Recovery {
  ReplayResult replay;
  std::vector<LogStatement> problems;  ///< torn or damaged entries of logs
  bool is_in_use = false;              ///< a running program writes the logs: nothing was changed
  bool is_new_file = false;            ///< the file was made from the logs alone
  /// Why the file was left unchanged.
  enum class Unchanged { no, has_all_already, is_of_later_step, is_of_later_run };
  Unchanged unchanged = Unchanged::no;
  std::int64_t later_begin_ns = 0;  ///< begin of the later run
  std::string kept_as;              ///< the new name of the existing file, if its origin was unknown
};

/// Whether the file's mark (storage/file_mark.hpp) is considered.
enum class FileMarks { obeyed, ignored };

/// Replays the logs of a group into a copy of `netcdf_path`, a few at a time if there are very many. The copy
/// replaces the file when it is complete and synced. A workflow's logs become a new file, and unwritten
/// elements read as fill values. If the file at `netcdf_path` has data of the same steps, from another node
/// or a drain, the logs are added to a copy of the file. A file of a later step or run is left unchanged.
/// Throws IoError. Throws FormatError if the netCDF file cannot be written or parsed. Throws Error(NC_EINVAL)
/// if the logs are not for the existing file, or do not fit together.
[[nodiscard]] Recovery recover_file(FileSystem& system, const LogGroup& group, const std::string& netcdf_path,
                                    const ReplayOptions& options = {}, FileMarks marks = FileMarks::obeyed);

struct FileCopy {
  std::string from;
  std::string to;
};

/// Copies files to names that appear, in this order, when all copies are complete and synced. Throws IoError.
void copy_files(FileSystem& system, const std::vector<FileCopy>& copies);

}  // namespace sluice::storage
