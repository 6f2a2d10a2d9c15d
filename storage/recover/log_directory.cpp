#include "log_directory.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
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
/// The space that the writer reserves when it creates a file.
constexpr std::int64_t first_room_bytes = 64 << 10;

/// The first bytes of a file; fewer if it is shorter, and none if it does not exist.
std::string start_of(FileSystem& system, const std::string& path, std::size_t bytes) {
  if (!system.exists(path)) return {};
  std::string start(bytes, '\0');
  start.resize(system.open(path, OpenMode::read)->read(0, std::as_writable_bytes(std::span(start))));
  return start;
}

bool is_zero(std::string_view text) noexcept {
  return text.find_first_not_of('\0') == std::string_view::npos;
}

/// Whether the data log contains only its magic.
bool has_no_data(FileSystem& system, const std::string& path) {
  const auto start = start_of(system, path, static_cast<std::size_t>(first_room_bytes) + 1);
  if (std::ssize(start) > first_room_bytes) return false;
  return start.size() <= formats::burst_log_magic.size() ||
         is_zero(std::string_view(start).substr(formats::burst_log_magic.size()));
}

/// Whether a process ended while it created the log.
bool is_log_in_the_making(FileSystem& system, const BurstLogPaths& paths) {
  return is_zero(start_of(system, paths.metadata, magic.size())) && has_no_data(system, paths.data);
}

/// Whether the files form parts of a log. Other programs may have files of these names; only a log has them
/// together.
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
    logs.damaged.push_back({path, path + " is damaged: it does not begin with \"PnetCDF0\", although " +
                                      paths.data + " exists. The data of this log cannot be recovered"});
  }
}

/// Adds a data log without metadata. `remove_log` first removes the metadata, and leaves a mark until it has
/// finished. The checks follow this order, so that a log that is being removed now is not reported.
void add_data(FileSystem& system, const std::string& path, ListedLogs& logs) {
  const auto base = path.substr(0, path.size() - data_suffix.size());
  const auto paths = burst_log_paths_of(base + std::string(metadata_suffix));
  if (system.exists(paths.metadata) || system.exists(removal_mark_of(paths.metadata))) return;
  if (!has_parts_of_a_log(system, paths) || has_no_data(system, path)) return;
  logs.damaged.push_back({paths.metadata, paths.metadata + " is missing, although " + path +
                                              " exists. The data of this log cannot be recovered. Remove " +
                                              path + " if the netCDF file does not need it"});
}

/// "x.nc_3_" from ".../x.nc_3_12.meta": the logs of all processes of one open share this prefix.
std::string name_without_rank(const std::string& metadata_path) {
  const auto name = name_of(metadata_path);
  return name.substr(0, name.find_last_of('_') + 1);
}

/// The rank in the name of a log; none if the name does not have a program's form.
std::optional<std::int64_t> rank_in_name(const std::string& metadata_path, const std::string& netcdf_path) {
  const auto name = name_of(metadata_path);
  if (!name.starts_with(name_of(netcdf_path) + "_") || !name.ends_with(metadata_suffix)) return std::nullopt;
  const auto begin = name.find_last_of('_') + 1;
  const auto digits = name.substr(begin, name.size() - metadata_suffix.size() - begin);
  if (digits.empty() || digits.size() > 10 || digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoll(digits);
}

/// The most frequent number of processes; among equally frequent numbers, the smallest.
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

/// "0123456789abcdef": the group in the name of a workflow's log; empty for other names.
std::string group_in_name(const std::string& name_without_rank) {
  constexpr std::size_t digits = 16;
  if (name_without_rank.size() < digits + 2) return {};
  const auto begin = name_without_rank.size() - digits - 1;
  const auto group = name_without_rank.substr(begin, digits);
  const bool is_group =
      name_without_rank[begin - 1] == '_' && group.find_first_not_of("0123456789abcdef") == std::string::npos;
  return is_group ? group : std::string();
}

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

/// A workflow's log with its group.
struct StepLog {
  LogGroup* group = nullptr;
  const FoundLog* log = nullptr;

  /// The statements of the log that are the same in all logs of a step, as text.
  [[nodiscard]] std::vector<std::string> statements() const {
    const auto identity = group->identity.value_or(formats::BurstLogIdentity{});
    return {"file " + group->netcdf_path,
            "step " + std::to_string(log->step),
            "origin " + std::to_string(group->origin),
            "base " + std::to_string(log->base),
            "run " + hexadecimal(identity.run),
            "begin of the run " + std::to_string(identity.created_ns),
            "group " + hexadecimal(log->group)};
  }
};

/// How the log contradicts its name; empty if it does not.
std::string contradiction_to_name(const StepLog& each) {
  const auto name = name_of(each.log->metadata_path);
  const auto prefix = name_without_rank(name);
  if (!each.group->is_of_workflow()) return "it does not name its step";
  if (!prefix.starts_with(name_of(each.group->netcdf_path) + "_"))
    return "it names the file " + each.group->netcdf_path;
  const auto group = hexadecimal(each.log->group);
  if (each.group->identity && group != group_in_name(prefix)) return "it names the group " + group;
  return {};
}

void refuse(const StepLog& each, const std::string& why) {
  if (each.group->refusal.empty())
    each.group->refusal =
        why +
        ". One of these logs is damaged or was renamed. Nothing is recovered from logs that may not "
        "belong together: move the wrong one to another directory";
}

void refuse_contradictions_to_names(const std::vector<StepLog>& logs) {
  for (const StepLog& each : logs) {
    const auto what = contradiction_to_name(each);
    if (what.empty()) continue;
    const auto is_other = [&](const StepLog& log) { return log.log != each.log; };
    const auto other = std::ranges::find_if(logs, is_other);
    const auto text =
        "the log " + each.log->metadata_path + " contradicts its name: " + what +
        (other == logs.end() ? "" : "; " + other->log->metadata_path + " is of the same step by its name");
    for (const StepLog& refused : logs) refuse(refused, text);
  }
}

/// Compares each log with the first one. `why`: what they have in common.
void refuse_differences(const std::vector<StepLog>& logs, const std::string& why) {
  const auto expected = logs.front().statements();
  for (const StepLog& each : logs) {
    const auto found = each.statements();
    const auto [wanted, other] = std::ranges::mismatch(expected, found);
    if (other == found.end()) continue;
    const auto text = "the logs " + logs.front().log->metadata_path + " and " + each.log->metadata_path +
                      " are of one step " + why + ", but the first says " + *wanted + ", the second " +
                      *other;
    for (const StepLog& refused : logs) refuse(refused, text);
  }
}

/// Steps that continue one another are of the same file, and begin with the first of them.
void refuse_wrong_origins(const std::map<std::int64_t, std::vector<StepLog>>& steps_of_run) {
  for (const auto& [step, logs] : steps_of_run) {
    for (const StepLog& each : logs) {
      const auto origin = each.group->origin;
      if (origin > step)
        refuse(each, "the log " + each.log->metadata_path + " says that its step " + std::to_string(step) +
                         " continues the later step " + std::to_string(origin));
      const auto first = steps_of_run.find(origin);
      if (first == steps_of_run.end()) continue;
      const StepLog& other = first->second.front();
      if (other.group->netcdf_path == each.group->netcdf_path && other.group->origin == origin) continue;
      const auto text = "the log " + each.log->metadata_path + " continues step " + std::to_string(origin) +
                        " of " + each.group->netcdf_path + ", but " + other.log->metadata_path +
                        " says that this step continues step " + std::to_string(other.group->origin) +
                        " of " + other.group->netcdf_path;
      refuse(each, text);
      refuse(other, text);
    }
  }
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
      // Unreadable data is reported with its metadata.
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
      group.damage.push_back({log.metadata_path, "damaged: the log says rank " + std::to_string(log.rank) +
                                                     ", but its name says rank " + std::to_string(*rank)});
  }
  for (const auto& [key, logs] : together) compare_process_counts(logs, group);
}

void refuse_contradictions(std::vector<LogGroup>& groups) {
  std::map<std::pair<std::int64_t, std::string>, std::vector<StepLog>> by_name;  // and owner
  std::map<std::pair<std::int64_t, std::uint64_t>, std::map<std::int64_t, std::vector<StepLog>>> by_run;
  for (LogGroup& group : groups) {
    for (const FoundLog& log : group.logs) {
      const auto name = name_without_rank(log.metadata_path);
      if (group_in_name(name).empty()) continue;
      by_name[{group.owner, name}].push_back({&group, &log});
      if (group.identity) by_run[{group.owner, group.identity->run}][log.step].push_back({&group, &log});
    }
  }
  for (const auto& [name, logs] : by_name) {
    refuse_contradictions_to_names(logs);
    refuse_differences(logs, "by their names");
  }
  for (const auto& [run, steps] : by_run) {
    for (const auto& [step, logs] : steps) refuse_differences(logs, "of one run");
    refuse_wrong_origins(steps);
  }
}

bool belongs_to(const LogStatement& damaged, const LogGroup& group) {
  return name_of(damaged.path).starts_with(name_of(group.netcdf_path) + "_");
}

}  // namespace sluice::storage
