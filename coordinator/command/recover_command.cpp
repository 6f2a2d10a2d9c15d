#include <grp.h>
#include <pwd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>
#include <boost/program_options/variables_map.hpp>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include "commands.hpp"
#include "exit_status.hpp"
#include "format.hpp"
#include "saved_recovery.hpp"
#include "sluice/formats/blobs.hpp"
#include "sluice/formats/process_blobs.hpp"
#include "sluice/formats/subfiles.hpp"
#include "sluice/storage/blobs_without_master.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/interruptible_file_system.hpp"
#include "sluice/storage/merge.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "sluice/storage/recovery.hpp"
#include "sluice/storage/run_lock.hpp"
#include "sluice/storage/saved_file.hpp"
#include "stop_signals.hpp"

namespace sluice::coordinator {
namespace {

namespace program_options = boost::program_options;

constexpr int status_incomplete = 1;  // an entry is torn or damaged, or a file could not be written; reported

struct RecoverOptions {
  std::string directory;
  std::string output_directory;  ///< empty: the logs name the files' directories
  bool deletes = false;
  bool takes_any_owner = false;
  bool is_forced = false;
};

constexpr const char* recover_help = R"(sluice recover [options] DIRECTORY
Writes the data of burst-buffer logs into the netCDF files that the logs name,
after a program ended too early to do so, and makes files that were saved at an
fsync. A second recovery changes nothing.
Example: sluice recover /scratch/logs

)";

std::optional<RecoverOptions> read_recover_options(const Arguments& arguments, int& status) {
  program_options::options_description options("Options");
  auto add = options.add_options();
  add("output-directory,o", program_options::value<std::string>()->value_name("DIR"),
      "write completed copies of the netCDF files to DIR, and do not change the files");
  add("delete", "delete the logs of a file when the file has all their data (default: keep them)");
  add("any-owner", "for root: recover the logs of all users, each with the rights of its owner");
  add("force", "write a file even if it is from a later step or run than the logs");
  add("help,h", "print this");
  program_options::options_description all = options;
  all.add_options()("directory", program_options::value<std::string>());
  program_options::positional_options_description positions;
  positions.add("directory", 1);
  try {
    program_options::variables_map values;
    program_options::store(
        program_options::command_line_parser(arguments).options(all).positional(positions).run(), values);
    if (values.count("help") != 0) {
      std::cout << recover_help << options;
      status = status_ok;
      return std::nullopt;
    }
    if (values.count("directory") == 0) throw program_options::error("no directory with logs was given");
    RecoverOptions line;
    line.directory = values["directory"].as<std::string>();
    if (values.count("output-directory") != 0)
      line.output_directory = values["output-directory"].as<std::string>();
    line.deletes = values.count("delete") != 0;
    line.is_forced = values.count("force") != 0;
    line.takes_any_owner = values.count("any-owner") != 0;
    if (line.takes_any_owner && ::geteuid() != 0) throw program_options::error("--any-owner is for root");
    return line;
  } catch (const program_options::error& error) {
    std::cerr << "sluice recover: " << error.what() << "\nwrite sluice recover DIRECTORY\n";
    status = status_mistake;
    return std::nullopt;
  }
}

/// Raises the limit on open files, because many processes leave many logs.
void allow_many_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// "2, 5, 7 and 90 others"
std::string describe_missing_ranks(const storage::LogGroup& group) {
  constexpr int most = 10;
  std::set<std::int64_t> ranks;
  for (const storage::FoundLog& log : group.logs) {
    if (log.rank < group.process_count) ranks.insert(log.rank);
  }
  const std::int64_t missing = group.process_count - std::ssize(ranks);
  std::string text;
  int named = 0;
  for (std::int64_t rank = 0; named < std::min<std::int64_t>(missing, most); ++rank) {
    if (ranks.contains(rank)) continue;
    text += (named++ == 0 ? "" : ", ") + std::to_string(rank);
  }
  if (missing > most) text += " and " + std::to_string(missing - most) + " others";
  return text;
}

/// "anna", or the number for a user without a name.
std::string name_of_user(std::int64_t user) {
  const passwd* const entry = ::getpwuid(static_cast<uid_t>(user));
  return entry != nullptr ? entry->pw_name : "user " + std::to_string(user);
}

/// While an object lives, the process acts with the rights of that user, and no more: logs may name any file.
class ActingAs {
 public:
  explicit ActingAs(std::int64_t user) {
    if (user == ::geteuid()) return;
    const passwd* const entry = ::getpwuid(static_cast<uid_t>(user));
    const gid_t group = entry != nullptr ? entry->pw_gid : static_cast<gid_t>(user);
    groups_.resize(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
    if (::getgroups(static_cast<int>(groups_.size()), groups_.data()) < 0) fail(user);
    is_other_ = true;
    const bool has_groups =
        entry != nullptr ? ::initgroups(entry->pw_name, group) == 0 : ::setgroups(0, nullptr) == 0;
    if (!has_groups || ::setegid(group) != 0 || ::seteuid(static_cast<uid_t>(user)) != 0) {
      go_back();
      fail(user);
    }
  }
  ~ActingAs() { go_back(); }
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;

 private:
  [[noreturn]] static void fail(std::int64_t user) {
    throw Error(NC_EPERM, "this process cannot act as " + name_of_user(user));
  }
  void go_back() noexcept {
    if (!is_other_) return;
    // Returns to root, which may always do so.
    (void)!::seteuid(::getuid());
    (void)!::setegid(::getgid());
    (void)!::setgroups(groups_.size(), groups_.data());
  }

  bool is_other_ = false;
  std::vector<gid_t> groups_;
};

std::string describe_time(std::int64_t since_1970_ns) {
  const auto seconds = static_cast<std::time_t>(since_1970_ns / 1'000'000'000);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  (void)std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

/// Resolves a link: the link stays, and the file that it names is replaced.
std::string behind_links(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const auto target = std::filesystem::weakly_canonical(path, error);
  return error ? path : target.string();
}

/// Makes one file of a dataset in blobs, from which parts may be missing that are still in logs. Returns
/// false for other files.
bool merge_blobs(storage::FileSystem& system, const std::string& netcdf_path, const std::string& target) {
  if (!storage::are_blobs_without_master(system, netcdf_path)) {
    const auto header =
        storage::read_header(*system.open(netcdf_path, storage::OpenMode::read)).decoded.header;
    if (formats::blob_file_count(header) == 0 && formats::process_blob_file_count(header) == 0) return false;
  }
  storage::MergeOptions options;
  options.ignores_logs = options.takes_short_files = true;
  (void)storage::merge_files(system, netcdf_path, target, options);
  return true;
}

/// The file that receives the logs' data, and what was made for it.
class Target {
 public:
  Target(storage::FileSystem& system, std::string path) : system_(system), path_(std::move(path)) {}
  /// Removes what was made if the recovery has failed: it would look complete.
  ~Target() {
    for (const auto& copy : made_) remove(copy.to);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// In the output directory, the file is a copy; makes it if it does not exist.
  void make_copy_of(const std::string& netcdf_path);
  /// The recovery has succeeded.
  void keep() noexcept { made_.clear(); }

 private:
  void remove(const std::string& path) noexcept {
    try {
      system_.remove(path);
    } catch (const Error&) {
      // It was not made yet.
    }
  }

  storage::FileSystem& system_;
  std::string path_;
  std::vector<storage::FileCopy> made_;
};

void Target::make_copy_of(const std::string& netcdf_path) {
  if (system_.exists(path_)) return;
  if (merge_blobs(system_, netcdf_path, path_)) {
    made_.push_back({netcdf_path, path_});
    return;
  }
  const auto header =
      storage::read_header(*system_.open(netcdf_path, storage::OpenMode::read)).decoded.header;
  std::vector<storage::FileCopy> copies;
  for (int i = 0; i < formats::subfile_count(header); ++i)
    copies.push_back({formats::subfile_path(netcdf_path, i), formats::subfile_path(path_, i)});
  copies.push_back({netcdf_path, path_});
  storage::copy_files(system_, copies);
  made_ = std::move(copies);
}

std::string target_path(const RecoverOptions& line, const storage::LogGroup& group) {
  if (line.output_directory.empty()) return behind_links(group.netcdf_path);
  return line.output_directory + "/" + storage::name_of(group.netcdf_path);
}

void delete_logs(storage::FileSystem& system, const storage::LogGroup& group) {
  for (const storage::FoundLog& log : group.logs) storage::remove_log(system, log.metadata_path);
}

void print_problems(const storage::LogGroup& group, const storage::Recovery& recovery) {
  for (const auto* const problems : {&group.damage, &recovery.problems}) {
    for (const auto& problem : *problems) std::cout << "  " << problem.path << ": " << problem.what << '\n';
  }
}

/// Whether all logs of the group could be read; prints the damage.
bool is_sound(const storage::LogGroup& group, const storage::Recovery& recovery) {
  return recovery.problems.empty() && group.damage.empty() && !group.has_unreadable_logs;
}

/// Prints why the file was left unchanged. Returns whether the logs are obsolete.
bool print_unchanged(const std::string& target, const storage::LogGroup& group,
                     const storage::Recovery& recovery) {
  using enum storage::Recovery::Unchanged;
  if (recovery.unchanged == has_all_already) {
    std::cout << target << ": already has all data of " << format_count(group.logs.size(), "log") << '\n';
    print_problems(group, recovery);
    return is_sound(group, recovery);
  }
  if (recovery.unchanged == is_of_later_step) {
    std::cout << target << ": is from a later step of the same run; "
              << format_count(group.logs.size(), "log") << " of an earlier step "
              << (group.logs.size() == 1 ? "is" : "are") << " not needed\n";
    return true;
  }
  std::cerr << "sluice recover: " << target << " is from a later run (began "
            << describe_time(recovery.later_begin_ns) << ") than " << format_count(group.logs.size(), "log")
            << " (" << group.logs.front().metadata_path << ", …";
  if (group.identity) std::cerr << "; their run began " << describe_time(group.identity->created_ns);
  std::cerr << ")\nthe logs are unchanged; use --output-directory or --force to recover them anyway\n";
  return false;
}

void print_result(const std::string& target, const storage::LogGroup& group,
                  const storage::Recovery& recovery) {
  const auto& replay = recovery.replay;
  std::cout << target << ": " << format_count(static_cast<std::uint64_t>(replay.puts), "put") << ", "
            << format_bytes(static_cast<std::uint64_t>(replay.data_bytes)) << ", from "
            << format_count(group.logs.size(), "log");
  if (replay.record_count > 0)
    std::cout << "; " << format_count(static_cast<std::uint64_t>(replay.record_count), "record");
  if (group.is_of_workflow() && replay.puts == 0) std::cout << "; the program had put nothing";
  std::cout << (recovery.is_new_file ? "; a new file\n" : "\n");
  print_problems(group, recovery);
  if (replay.out_of_range > 0)
    std::cout << "  " << format_count(static_cast<std::uint64_t>(replay.out_of_range), "put")
              << " had values that the variable's type cannot hold: these values are now fill values\n";
}

/// Recovers one group. Returns whether the file has all data of the logs.
bool recover_group(storage::FileSystem& system, const RecoverOptions& line, const storage::LogGroup& group) {
  try {
    const ActingAs owner(group.owner);
    Target target(system, target_path(line, group));
    if (!line.output_directory.empty() && !group.is_of_workflow()) target.make_copy_of(group.netcdf_path);
    const auto marks = line.is_forced ? storage::FileMarks::ignored : storage::FileMarks::obeyed;
    const auto recovery = storage::recover_file(system, group, target.path(), {}, marks);
    if (!recovery.is_in_use) target.keep();
    if (recovery.is_in_use) {
      std::cerr << "sluice recover: " << group.netcdf_path
                << ": a running program writes the logs of this file\nwait until the program has ended\n";
      return false;
    }
    if (recovery.unchanged != storage::Recovery::Unchanged::no) {
      const bool is_done = print_unchanged(target.path(), group, recovery);
      if (is_done && line.deletes) delete_logs(system, group);
      return is_done;
    }
    print_result(target.path(), group, recovery);
    if (!recovery.kept_as.empty())
      std::cout << "  the existing file does not say which run wrote it: it was renamed to "
                << recovery.kept_as << '\n';
    const auto missing = describe_missing_ranks(group);
    if (!missing.empty())
      std::cout << "  missing: logs of the processes " << missing << " of " << group.process_count
                << (group.is_of_workflow() ? ". They put nothing, or their logs are on another node" : "")
                << ". If each node has its own directory, run sluice recover on each node\n";
    const bool is_complete = is_sound(group, recovery);
    if (line.deletes && is_complete)
      delete_logs(system, group);
    else if (line.deletes)
      std::cout << "  the logs are kept, because some are torn or damaged\n";
    return is_complete;
  } catch (const Error& error) {
    std::cerr << "sluice recover: " << group.netcdf_path << " cannot be recovered: " << error.what()
              << "\nits logs are kept\n";
    return false;
  }
}

bool recover_groups(storage::FileSystem& system, const RecoverOptions& line,
                    const std::vector<storage::LogGroup>& groups) {
  bool is_complete = true;
  std::map<std::string, std::string> copies;  // copies in the output directory, with their original files
  for (const auto& group : groups) {
    const auto& path = group.netcdf_path;
    const auto& taken = copies.try_emplace(storage::name_of(path), path).first->second;
    if (!line.output_directory.empty() && taken != path) {
      std::cerr
          << "sluice recover: " << path << " and " << taken << " would have the same name in "
          << line.output_directory
          << "\nmove the logs of one of them to another directory, and recover that directory separately\n";
      is_complete = false;
      continue;
    }
    is_complete = recover_group(system, line, group) && is_complete;
  }
  return is_complete;
}

/// Reports logs of other users: their owners must recover them.
void print_left_out(const std::vector<storage::OthersLog>& logs) {
  std::map<std::int64_t, std::vector<std::string>> by_owner;
  for (const auto& log : logs) by_owner[log.owner].push_back(log.path);
  for (const auto& [owner, paths] : by_owner) {
    std::cout << format_count(paths.size(), "log") << " of user " << name_of_user(owner)
              << (paths.size() == 1 ? " was" : " were") << " left out (" << paths.front()
              << (paths.size() > 1 ? ", …" : "")
              << "): each user recovers their own logs; root recovers all with --any-owner\n";
  }
}

struct SavedFiles {
  std::size_t count = 0;
  bool are_complete = true;
};

/// Files that programs have synced by the C library.
SavedFiles recover_saved(storage::FileSystem& system, const RecoverOptions& line) {
  SavedFiles found;
  std::set<std::string> done;
  for (const std::string& path : saved_files_in(system, line.directory)) {
    const auto owner = system.owner_of(path);
    if (!owner || (owner != system.user() && !line.takes_any_owner)) continue;
    ++found.count;
    try {
      const ActingAs acting(*owner);
      const SavedRecoveryOptions options{line.output_directory, line.deletes, line.is_forced};
      found.are_complete = recover_saved_file(system, path, options, done) && found.are_complete;
    } catch (const Error& error) {
      std::cerr << "sluice recover: " << path << " cannot be recovered, and is kept: " << error.what()
                << '\n';
      found.are_complete = false;
    }
  }
  return found;
}

int recover(const RecoverOptions& line) {
  storage::PosixFileSystem posix;
  storage::InterruptibleFileSystem system(posix, check_stop_signals);
  storage::FoundLogs found;
  try {
    const auto owners = line.takes_any_owner ? storage::LogOwners::anybody : storage::LogOwners::myself;
    found = storage::find_logs(system, line.directory, owners);
  } catch (const Error& error) {
    std::cerr << "sluice recover: " << error.what() << "\ngive the directory that holds the logs\n";
    return status_mistake;
  }
  bool is_complete = found.unreadable.empty();
  for (const auto& log : found.unreadable) std::cerr << "sluice recover: " << log.what << '\n';
  print_left_out(found.of_others);
  const SavedFiles saved = recover_saved(system, line);
  if (found.groups.empty() && found.unreadable.empty() && found.of_others.empty() && saved.count == 0)
    std::cout << "no burst-buffer logs in " << line.directory << '\n';
  is_complete = recover_groups(system, line, found.groups) && saved.are_complete && is_complete;
  try {
    if (line.deletes) {
      storage::finish_removals(system, line.directory);
      storage::remove_stale_run_locks(system, line.directory);
    }
  } catch (const Error& error) {
    std::cerr << "sluice recover: " << error.what() << '\n';
    is_complete = false;
  }
  return is_complete ? status_ok : status_incomplete;
}

}  // namespace

int recover_command(const Arguments& arguments) {
  int status = status_ok;
  const auto line = read_recover_options(arguments, status);
  if (!line) return status;
  allow_many_open_files();
  catch_stop_signals();
  try {
    return recover(*line);
  } catch (const Interrupted& interrupted) {
    return status_of_interruption(interrupted, "sluice recover",
                                  "the file that was being recovered is as it was before, and all its logs "
                                  "are kept. Recover again at any time");
  }
}

}  // namespace sluice::coordinator
