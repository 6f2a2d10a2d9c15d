#include "log_directory.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "sluice/formats/burst_log.hpp"
#include "sluice/storage/burst_log_writer.hpp"

namespace sluice::storage {
namespace {

constexpr std::string_view metadata_suffix = ".meta";
constexpr std::string_view data_suffix = ".data";
constexpr std::string_view magic = formats::burst_log_magic.substr(0, formats::burst_log_magic.size() - 1);
/// Room that the writer takes ahead when it creates a file.
constexpr std::int64_t first_room_bytes = 64 << 10;

/// The first bytes of a file, or fewer; empty where it is not there.
std::string start_of(FileSystem& system, const std::string& path, std::size_t bytes) {
  if (!system.exists(path)) return {};
  std::string start(bytes, '\0');
  start.resize(system.open(path, OpenMode::read)->read(0, std::as_writable_bytes(std::span(start))));
  return start;
}

bool is_zero(std::string_view text) noexcept {
  return text.find_first_not_of('\0') == std::string_view::npos;
}

/// Whether the data log has nothing but its magic.
bool has_no_data(FileSystem& system, const std::string& path) {
  const auto start = start_of(system, path, static_cast<std::size_t>(first_room_bytes) + 1);
  if (std::ssize(start) > first_room_bytes) return false;
  return start.size() <= formats::burst_log_magic.size() ||
         is_zero(std::string_view(start).substr(formats::burst_log_magic.size()));
}

/// Whether a process has ended while it created the log.
bool is_log_in_the_making(FileSystem& system, const BurstLogPaths& paths) {
  return is_zero(start_of(system, paths.metadata, magic.size())) && has_no_data(system, paths.data);
}

/// Of files that other programs might have, too: those that are beside one another only in a log.
bool has_parts_of_a_log(FileSystem& system, const BurstLogPaths& paths) {
  if (!system.exists(paths.data)) return false;
  return system.exists(paths.header) || start_of(system, paths.data, magic.size()) == magic;
}

void add_metadata(FileSystem& system, const std::string& path, ListedLogs& logs) {
  const auto paths = burst_log_paths_of(path);
  const auto start = start_of(system, path, magic.size());
  if (is_log_in_the_making(system, paths)) return;
  if (start == magic.substr(0, start.size())) {
    logs.metadata.push_back(path);
  } else if (has_parts_of_a_log(system, paths)) {
    logs.damaged.push_back({path, path + " is damaged: it does not begin with \"PnetCDF0\", and " +
                                      paths.data + " is beside it. What is in that log cannot be recovered"});
  }
}

/// A data log whose metadata is gone. `remove_log` takes the metadata away first, and leaves a mark until it
/// has come to its end; in this order nothing is told of a log that somebody removes now.
void add_data(FileSystem& system, const std::string& path, ListedLogs& logs) {
  const auto base = path.substr(0, path.size() - data_suffix.size());
  const auto paths = burst_log_paths_of(base + std::string(metadata_suffix));
  if (system.exists(paths.metadata) || system.exists(removal_mark_of(paths.metadata))) return;
  if (!has_parts_of_a_log(system, paths) || has_no_data(system, path)) return;
  logs.damaged.push_back({paths.metadata, paths.metadata + " is missing, and " + path +
                                              " is there. What is in that log cannot be recovered; if the "
                                              "file does not need it, remove what is left of it"});
}

/// "x.nc_3_" of ".../x.nc_3_12.meta": the same for the logs of all processes that have opened it together.
std::string name_without_rank(const std::string& metadata_path) {
  const auto name = name_of(metadata_path);
  return name.substr(0, name.find_last_of('_') + 1);
}

/// The rank in the name of a log; none where the log has another name than programs give.
std::optional<std::int64_t> rank_in_name(const std::string& metadata_path, const std::string& netcdf_path) {
  const auto name = name_of(metadata_path);
  if (!name.starts_with(name_of(netcdf_path) + "_") || !name.ends_with(metadata_suffix)) return std::nullopt;
  const auto begin = name.find_last_of('_') + 1;
  const auto digits = name.substr(begin, name.size() - metadata_suffix.size() - begin);
  if (digits.empty() || digits.size() > 10 || digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoll(digits);
}

/// What most of them say; of numbers that as many say the smaller one.
std::int64_t common_process_count(std::span<const FoundLog* const> logs) {
  std::map<std::int64_t, int> votes;
  for (const FoundLog* const log : logs) ++votes[log->process_count];
  return std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; })->first;
}

void compare_process_counts(std::span<const FoundLog* const> logs, LogGroup& group) {
  const auto common = common_process_count(logs);
  for (const FoundLog* const log : logs) {
    const bool is_possible = log->process_count <= std::numeric_limits<std::int32_t>::max();
    if (log->process_count == common && is_possible) continue;
    group.damage.push_back(
        {log->metadata_path, "damaged: it says that " + std::to_string(log->process_count) +
                                 " processes had the file open" +
                                 (is_possible ? "; other logs say " + std::to_string(common) : "")});
  }
  if (common <= std::numeric_limits<std::int32_t>::max())
    group.process_count = std::max(group.process_count, common);
}

}  // namespace

ListedLogs list_logs(FileSystem& system, const std::string& directory) {
  ListedLogs logs;
  for (const auto& name : system.list(directory)) {
    const auto path = directory + "/" + name;
    const bool is_metadata = name.ends_with(metadata_suffix);
    if (!is_metadata && !name.ends_with(data_suffix)) continue;
    try {
      is_metadata ? add_metadata(system, path, logs) : add_data(system, path, logs);
    } catch (const Error& error) {
      // Data that cannot be read is told with its metadata.
      if (is_metadata) logs.damaged.push_back({path, error.what()});
    }
  }
  return logs;
}

void compare_headers(LogGroup& group) {
  std::map<std::pair<std::int64_t, std::string>, std::vector<const FoundLog*>> together;
  for (const FoundLog& log : group.logs) {
    together[{log.step, name_without_rank(log.metadata_path)}].push_back(&log);
    const auto rank = rank_in_name(log.metadata_path, group.netcdf_path);
    if (rank && *rank != log.rank)
      group.damage.push_back({log.metadata_path, "damaged: it says that it is of rank " +
                                                     std::to_string(log.rank) + ", its name says " +
                                                     std::to_string(*rank)});
  }
  for (const auto& [key, logs] : together) compare_process_counts(logs, group);
}

bool belongs_to(const LogStatement& damaged, const LogGroup& group) {
  return name_of(damaged.path).starts_with(name_of(group.netcdf_path) + "_");
}

}  // namespace sluice::storage
