#include "sluice/storage/recovery.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace sluice::storage {
namespace {

/// Logs that are open at once, two files each: fewer than a process may have.
constexpr std::size_t most_open_logs = 400;
constexpr std::size_t copy_bytes = std::size_t{4} << 20;

/// Other programs have files ".meta", too. Logs that are too short to tell are taken for logs.
bool looks_like_a_log(FileSystem& system, const std::string& path) {
  constexpr auto name = formats::burst_log_magic.substr(0, formats::burst_log_magic.size() - 1);
  std::string start(name.size(), '\0');
  start.resize(system.open(path, OpenMode::read)->read(0, std::as_writable_bytes(std::span(start))));
  return start == name.substr(0, start.size());
}

void add_log(FileSystem& system, const std::string& path, std::map<std::string, LogGroup>& groups) {
  const BurstLogReader log(system, path);
  auto& group = groups[log.header().path];
  group.netcdf_path = log.header().path;
  group.process_count = std::max(group.process_count, log.header().process_count);
  const auto place = std::ranges::upper_bound(group.ranks, log.header().rank);
  group.metadata_paths.insert(group.metadata_paths.begin() + (place - group.ranks.begin()), path);
  group.ranks.insert(place, log.header().rank);
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
  return std::ranges::any_of(group.metadata_paths, [&](const std::string& path) {
    return !system.open(path, OpenMode::read)->try_lock();
  });
}

}  // namespace

FoundLogs find_logs(FileSystem& system, const std::string& directory) {
  FoundLogs found;
  std::map<std::string, LogGroup> groups;
  for (const auto& name : system.list(directory)) {
    const auto path = directory + "/" + name;
    if (!name.ends_with(".meta")) continue;
    try {
      if (looks_like_a_log(system, path)) add_log(system, path, groups);
    } catch (const Error& error) {
      found.unreadable.push_back({path, error.what()});
    }
  }
  for (auto& [path, group] : groups) found.groups.push_back(std::move(group));
  return found;
}

Recovery recover_file(FileSystem& system, const LogGroup& group, const std::string& netcdf_path,
                      const ReplayOptions& options) {
  Recovery recovery;
  recovery.is_in_use = is_in_use(system, group);
  if (recovery.is_in_use) return recovery;
  for (std::size_t first = 0; first < group.metadata_paths.size(); first += most_open_logs) {
    const auto last = std::min(group.metadata_paths.size(), first + most_open_logs);
    std::vector<BurstLogReader> logs;
    for (std::size_t i = first; i < last; ++i) logs.emplace_back(system, group.metadata_paths[i]);
    add(replay_logs(system, logs, netcdf_path, options), recovery.replay);
    for (const auto& log : logs) collect_problems(log, recovery.problems);
  }
  return recovery;
}

void copy_file(FileSystem& system, const std::string& from, const std::string& to) {
  const auto source = system.open(from, OpenMode::read);
  const auto partial = to + ".partial";
  const auto target = system.open(partial, OpenMode::create);
  std::vector<std::byte> bytes(copy_bytes);
  for (std::int64_t at = 0;;) {
    const auto got = source->read(at, bytes);
    if (got == 0) break;
    target->write(at, std::span(bytes).first(got));
    at += static_cast<std::int64_t>(got);
  }
  target->sync();
  target->close();
  system.rename(partial, to);
  system.sync_directory(directory_of(to));
}

}  // namespace sluice::storage
