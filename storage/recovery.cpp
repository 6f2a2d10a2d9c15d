#include "sluice/storage/recovery.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "log_directory.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/log_round.hpp"
#include "sluice/storage/partial_file.hpp"
#include "sluice/storage/record_limit.hpp"
#include "sluice/storage/step_file.hpp"

namespace sluice::storage {
namespace {

/// Logs that are open at once, two files each: fewer than a process may have.
constexpr std::size_t most_open_logs = 400;

/// What belongs together.
struct GroupKey {
  std::string netcdf_path;
  std::int64_t origin = 0;
  auto operator<=>(const GroupKey&) const = default;
};

void add_log(FileSystem& system, const std::string& path, std::map<GroupKey, LogGroup>& groups) {
  const BurstLogReader log(system, path);
  const formats::BurstLogHeader& header = log.header();
  const auto step = header.step.value_or(formats::BurstLogStep{});
  auto& group = groups[{header.path, step.origin}];
  group.netcdf_path = header.path;
  group.origin = step.origin;
  group.logs.push_back({path, header.rank, step.step, header.entry_count, header.process_count});
}

void collect_problems(const BurstLogReader& log, std::vector<LogStatement>& problems) {
  for (const auto& problem : log.problems()) {
    const bool is_torn = problem.kind == BurstLogProblem::Kind::torn;
    problems.push_back({log.paths().metadata,
                        (is_torn ? "torn: entry " : "damaged: entry ") + std::to_string(problem.entry) +
                            " at byte " + std::to_string(problem.offset_bytes) + ": " + problem.what});
  }
}

void add(const ReplayResult& part, ReplayResult& all) {
  all.puts += part.puts;
  all.data_bytes += part.data_bytes;
  all.record_count = std::max(all.record_count, part.record_count);
  all.out_of_range += part.out_of_range;
  all.raised_record_count = all.raised_record_count || part.raised_record_count;
}

bool is_in_use(FileSystem& system, const LogGroup& group) {
  return std::ranges::any_of(group.logs,
                             [&](const FoundLog& log) { return is_in_use(system, log.metadata_path); });
}

/// Those of one step: what processes of different steps have put has an order.
void replay_step(FileSystem& system, std::span<const FoundLog> found, const std::string& path,
                 const ReplayOptions& options, Recovery& recovery) {
  for (std::size_t first = 0; first < found.size(); first += most_open_logs) {
    const auto last = std::min(found.size(), first + most_open_logs);
    std::vector<BurstLogReader> logs;
    for (std::size_t i = first; i < last; ++i) logs.emplace_back(system, found[i].metadata_path);
    add(replay_logs(system, logs, path, options), recovery.replay);
    for (const auto& log : logs) collect_problems(log, recovery.problems);
  }
}

void replay(FileSystem& system, const LogGroup& group, const std::string& path, const ReplayOptions& options,
            Recovery& recovery) {
  const std::span<const FoundLog> logs(group.logs);
  for (std::size_t first = 0; first < logs.size();) {
    const auto of_step = [&](const FoundLog& log) { return log.step == logs[first].step; };
    const auto end = std::ranges::find_if_not(logs.subspan(first), of_step);
    const auto count = static_cast<std::size_t>(end - logs.subspan(first).begin());
    replay_step(system, logs.subspan(first, count), path, options, recovery);
    first += count;
  }
}

/// The header that the steps' processes have left, and when the last one did.
struct LeftHeader {
  formats::Header header;
  std::int64_t modified_ns = 0;
};

/// The newest: of the last step, and of those that differ the one that knows most. Processes that were ended
/// in the middle of a redefinition have the old one; they have put nothing that it does not know.
LeftHeader left_header(FileSystem& system, const LogGroup& group) {
  std::optional<LeftHeader> best;
  std::int64_t best_step = 0;
  for (const FoundLog& log : group.logs) {
    const auto path = burst_log_paths_of(log.metadata_path).header;
    if (path.empty() || !system.exists(path)) continue;
    LeftHeader left{read_header(*system.open(path, OpenMode::read)).decoded.header, system.modified_ns(path)};
    const auto variables = left.header.variable_count();
    const bool is_better = !best || log.step > best_step || variables > best->header.variable_count() ||
                           (variables == best->header.variable_count() &&
                            formats::encoded_size(left.header) > formats::encoded_size(best->header));
    const auto newest = std::max(left.modified_ns, best ? best->modified_ns : std::int64_t{0});
    if (is_better) best = std::move(left);
    best->modified_ns = newest;
    best_step = std::max(best_step, log.step);
  }
  if (!best)
    throw Error(NC_ENOTNC, "no header of " + group.netcdf_path +
                               " is beside its logs: nothing had been defined when the run ended");
  return std::move(*best);
}

/// The number of records that the logs know of.
std::int64_t records_in(FileSystem& system, const LogGroup& group, const formats::Header& header,
                        std::int64_t capacity_bytes) {
  const auto layout = formats::layout_of(header, formats::encoded_size(header));
  RecordLimit limit(header, layout, capacity_bytes);
  std::int64_t records = 0;
  for (const FoundLog& found : group.logs) {
    BurstLogReader log(system, found.metadata_path);
    limit.look_at(log);
  }
  for (const FoundLog& found : group.logs) {
    BurstLogReader log(system, found.metadata_path);
    while (const auto entry = log.next()) {
      if (entry_mistake(header, layout, *entry, log.header().is_external, limit.limit()).empty())
        records = std::max(records, record_end(header, *entry));
    }
  }
  return records;
}

/// Whether the file is what some of the steps' logs, or their drain, have made already.
bool is_made_of_them(FileSystem& system, const std::string& path, const LeftHeader& left) {
  if (!system.exists(path) || system.modified_ns(path) <= left.modified_ns) return false;
  try {
    formats::Header header = read_header(*system.open(path, OpenMode::read)).decoded.header;
    header.record_count = left.header.record_count;
    return formats::encode_header(header) == formats::encode_header(left.header);
  } catch (const Error&) {
    return false;
  }
}

void recover_steps(FileSystem& system, const LogGroup& group, const std::string& target,
                   const ReplayOptions& wanted, Recovery& recovery) {
  const auto is_empty = [](const FoundLog& log) { return log.entries == 0; };
  if (std::ranges::all_of(group.logs, is_empty)) return;  // nothing that a file could be made of
  const LeftHeader left = left_header(system, group);
  const std::int64_t records =
      records_in(system, group, left.header, system.capacity_bytes(directory_of(target)));
  ReplayOptions options = wanted;
  options.most_records = records;
  if (is_made_of_them(system, target, left)) {
    const auto known = read_header(*system.open(target, OpenMode::read)).decoded.header.record_count;
    fill_records(system, target, left.header, known, records);
    return replay(system, group, target, options, recovery);
  }
  PartialFile partial(system, target);
  create_filled_file(partial.file(), left.header, records);
  replay(system, group, partial.path(), options, recovery);
  partial.publish();
  recovery.is_new_file = true;
}

}  // namespace

FoundLogs find_logs(FileSystem& system, const std::string& directory) {
  FoundLogs found;
  std::map<GroupKey, LogGroup> groups;
  ListedLogs listed = list_logs(system, directory);
  found.unreadable = std::move(listed.damaged);
  for (const auto& path : listed.metadata) {
    try {
      add_log(system, path, groups);
    } catch (const Error& error) {
      found.unreadable.push_back({path, error.what()});
    }
  }
  for (auto& [key, group] : groups) {
    std::ranges::sort(group.logs, {}, [](const FoundLog& log) { return std::tie(log.step, log.rank); });
    compare_headers(group);
    const auto is_of_group = [&](const LogStatement& log) { return belongs_to(log, group); };
    group.has_unreadable_logs = std::ranges::any_of(found.unreadable, is_of_group);
    found.groups.push_back(std::move(group));
  }
  return found;
}

Recovery recover_file(FileSystem& system, const LogGroup& group, const std::string& netcdf_path,
                      const ReplayOptions& options) {
  Recovery recovery;
  recovery.is_in_use = is_in_use(system, group);
  if (recovery.is_in_use) return recovery;
  if (group.is_of_workflow()) {
    recover_steps(system, group, netcdf_path, options, recovery);
  } else {
    replay(system, group, netcdf_path, options, recovery);
  }
  return recovery;
}

void copy_file(FileSystem& system, const std::string& from, const std::string& to) {
  const auto source = system.open(from, OpenMode::read);
  PartialFile target(system, to);
  target.file().copy(*source, {0, source->size_bytes()}, 0);
  target.file().sync();
  target.publish();
}

}  // namespace sluice::storage
