#include <sys/resource.h>

#include <algorithm>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>
#include <boost/program_options/variables_map.hpp>
#include <iostream>
#include <optional>
#include <set>

#include "commands.hpp"
#include "exit_status.hpp"
#include "format.hpp"
#include "sluice/formats/subfiles.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "sluice/storage/recovery.hpp"

namespace sluice::coordinator {
namespace {

namespace program_options = boost::program_options;

constexpr int status_incomplete = 1;  // something is torn or damaged, or a file could not be written; told

struct CommandLine {
  std::string directory;
  std::string output_directory;  ///< empty: the files are where the logs say
  bool deletes = false;
};

constexpr const char* help = R"(sluice recover [options] DIRECTORY
Brings what burst-buffer logs hold to the netCDF files that they name, after a program
ended before it could. Doing it twice changes nothing.

)";

std::optional<CommandLine> read_command_line(const Arguments& arguments, int& status) {
  program_options::options_description options("Options");
  auto add = options.add_options();
  add("output-directory,o", program_options::value<std::string>()->value_name("DIR"),
      "complete copies of the netCDF files in this directory, and leave the files themselves alone");
  add("delete", "delete the logs of a file when everything in them has reached it (default: they are kept)");
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
      std::cout << help << options;
      status = status_ok;
      return std::nullopt;
    }
    if (values.count("directory") == 0) throw program_options::error("no directory with logs was given");
    CommandLine line;
    line.directory = values["directory"].as<std::string>();
    if (values.count("output-directory") != 0)
      line.output_directory = values["output-directory"].as<std::string>();
    line.deletes = values.count("delete") != 0;
    return line;
  } catch (const program_options::error& error) {
    std::cerr << "sluice recover: " << error.what() << "\nwrite sluice recover DIRECTORY\n";
    status = status_mistake;
    return std::nullopt;
  }
}

/// Many processes leave many logs.
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

/// The file that the logs are replayed into: in the output directory a copy, made now if it is not there.
std::string target_of(storage::FileSystem& system, const CommandLine& line, const storage::LogGroup& group) {
  const std::string& netcdf_path = group.netcdf_path;
  if (line.output_directory.empty()) return netcdf_path;
  auto target = line.output_directory + "/" + storage::name_of(netcdf_path);
  if (group.is_of_workflow() || system.exists(target)) return target;
  const auto header = storage::read_header(*system.open(netcdf_path, storage::OpenMode::read)).decoded.header;
  for (int i = 0; i < formats::subfile_count(header); ++i)
    storage::copy_file(system, formats::subfile_path(netcdf_path, i), formats::subfile_path(target, i));
  storage::copy_file(system, netcdf_path, target);
  return target;
}

void delete_logs(storage::FileSystem& system, const storage::LogGroup& group) {
  for (const storage::FoundLog& log : group.logs) storage::remove_log(system, log.metadata_path);
}

void print_result(const std::string& target, const storage::LogGroup& group,
                  const storage::Recovery& recovery) {
  const auto& replay = recovery.replay;
  std::cout << target << ": " << format_count(static_cast<std::uint64_t>(replay.puts), "put") << ", "
            << format_bytes(static_cast<std::uint64_t>(replay.data_bytes)) << ", from "
            << format_count(group.logs.size(), "log");
  if (replay.record_count > 0)
    std::cout << "; " << format_count(static_cast<std::uint64_t>(replay.record_count), "record");
  if (group.is_of_workflow() && replay.puts == 0) std::cout << "; nothing had been put";
  std::cout << (recovery.is_new_file ? "; a new file\n" : "\n");
  for (const auto* const problems : {&group.damage, &recovery.problems}) {
    for (const auto& problem : *problems) std::cout << "  " << problem.path << ": " << problem.what << '\n';
  }
  if (replay.out_of_range > 0)
    std::cout << "  " << format_count(static_cast<std::uint64_t>(replay.out_of_range), "put")
              << " had values that the variable's type cannot hold: they are fill values now\n";
}

/// Whether everything that the logs hold is in the file.
bool recover_group(storage::FileSystem& system, const CommandLine& line, const storage::LogGroup& group) {
  try {
    const auto target = target_of(system, line, group);
    const auto recovery = storage::recover_file(system, group, target);
    if (recovery.is_in_use) {
      std::cerr << "sluice recover: " << group.netcdf_path
                << ": a running program writes its logs\nwait until it has ended\n";
      return false;
    }
    print_result(target, group, recovery);
    const auto missing = describe_missing_ranks(group);
    if (!missing.empty())
      std::cout << "  not here: logs of the processes " << missing << " of " << group.process_count
                << (group.is_of_workflow() ? ": they put nothing, or their logs are on another node" : "")
                << "; where nodes have directories of their own, recover on each\n";
    const bool is_complete = recovery.problems.empty() && group.damage.empty() && !group.has_unreadable_logs;
    if (line.deletes && is_complete)
      delete_logs(system, group);
    else if (line.deletes)
      std::cout << "  the logs are kept, for they are not all sound\n";
    return is_complete;
  } catch (const Error& error) {
    std::cerr << "sluice recover: " << group.netcdf_path << " cannot be recovered: " << error.what()
              << "\nits logs are kept\n";
    return false;
  }
}

}  // namespace

int recover_command(const Arguments& arguments) {
  int status = status_ok;
  const auto line = read_command_line(arguments, status);
  if (!line) return status;
  allow_many_open_files();
  storage::PosixFileSystem system;
  storage::FoundLogs found;
  try {
    found = storage::find_logs(system, line->directory);
  } catch (const Error& error) {
    std::cerr << "sluice recover: " << error.what() << "\ngive the directory that holds the logs\n";
    return status_mistake;
  }
  bool is_complete = found.unreadable.empty();
  for (const auto& log : found.unreadable) std::cerr << "sluice recover: " << log.what << '\n';
  if (found.groups.empty() && found.unreadable.empty())
    std::cout << "no burst-buffer logs in " << line->directory << '\n';
  for (const auto& group : found.groups) is_complete = recover_group(system, *line, group) && is_complete;
  try {
    if (line->deletes) storage::finish_removals(system, line->directory);
  } catch (const Error& error) {
    std::cerr << "sluice recover: " << error.what() << '\n';
    is_complete = false;
  }
  return is_complete ? status_ok : status_incomplete;
}

}  // namespace sluice::coordinator
