#include "sluice/storage/unflushed_logs.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

#include "sluice/storage/burst_log_reader.hpp"
#include "sluice/storage/file_mark.hpp"

namespace sluice::storage {
namespace {

bool is_same_file(const std::string& path, const std::string& other) {
  std::error_code error;
  return path == other || std::filesystem::equivalent(path, other, error);
}

std::optional<FileMark> mark_at(FileSystem& files, const std::string& path) {
  return files.exists(path) ? mark_of(*files.open(path, OpenMode::read)) : std::nullopt;
}

/// Whether the file has what the log holds, or was written by a later program.
bool needs_log(const std::optional<FileMark>& mark, const formats::BurstLogHeader& log) {
  if (!mark || !log.identity) return true;
  FileMark of_log;
  of_log.run = log.identity->run;
  of_log.created_ns = log.identity->created_ns;
  of_log.group = log.identity->group;
  if (!mark->is_of_same(of_log)) return !of_log.is_before(*mark);
  return !mark->ranks.contains(log.rank);
}

/// Whether the log holds puts for the file. The logs of a workflow's step are for a file that is still to be
/// made.
bool holds_puts_of(BurstLogReader& log, const std::string& netcdf_path, const std::optional<FileMark>& mark) {
  const auto& header = log.header();
  return header.entry_count > 0 && !header.step && is_same_file(header.path, netcdf_path) &&
         needs_log(mark, header) && log.next().has_value();
}

}  // namespace

std::vector<UnflushedLog> unflushed_logs(FileSystem& files, const std::string& directory,
                                         const std::string& netcdf_path) {
  const auto begin = name_of(netcdf_path) + "_";
  const auto owner = files.owner_of(netcdf_path);
  const auto mark = mark_at(files, netcdf_path);
  std::vector<UnflushedLog> found;
  for (const auto& name : files.list(directory)) {
    if (!name.starts_with(begin) || !name.ends_with(".meta")) continue;
    const auto path = directory + "/" + name;
    const auto log_owner = files.owner_of(path);
    if (log_owner != files.user() && log_owner != owner) continue;
    try {
      BurstLogReader log(files, path);
      if (holds_puts_of(log, netcdf_path, mark)) found.push_back({path, is_in_use(files, path)});
    } catch (const Error&) {
      // Another program's file, or a log that was removed meanwhile.
    }
  }
  return found;
}

std::string describe_unflushed(const std::vector<UnflushedLog>& logs, const std::string& netcdf_path) {
  const bool is_one = logs.size() == 1;
  return std::to_string(logs.size()) + (is_one ? " log of " : " logs of ") + netcdf_path + " still " +
         (is_one ? "holds data (" : "hold data (") + logs.front().metadata_path + (is_one ? ")" : ", …)");
}

void expect_no_unflushed_logs(FileSystem& files, const std::string& directory,
                              const std::string& netcdf_path) {
  auto logs = unflushed_logs(files, directory_of(netcdf_path), netcdf_path);
  if (!is_same_file(directory, directory_of(netcdf_path)))
    std::ranges::copy(unflushed_logs(files, directory, netcdf_path), std::back_inserter(logs));
  std::erase_if(logs, [](const UnflushedLog& log) { return log.is_in_use; });
  if (logs.empty()) return;
  throw Error(NC_EFILE,
              describe_unflushed(logs, netcdf_path) +
                  ": the program that wrote it ended too early. Recover first, with 'sluice recover "
                  "--delete " +
                  directory_of(logs.front().metadata_path) +
                  "', or give the data up with the hint nc_burst_buf_overwrite=enable");
}

}  // namespace sluice::storage
