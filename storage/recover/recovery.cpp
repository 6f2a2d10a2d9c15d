#include "sluice/storage/recovery.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

#include "log_directory.hpp"
#include "owned_files.hpp"
#include "private_copies.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/storage/file_mark.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/log_round.hpp"
#include "sluice/storage/partial_file.hpp"
#include "sluice/storage/record_limit.hpp"
#include "sluice/storage/run_lock.hpp"
#include "sluice/storage/step_file.hpp"

namespace sluice::storage {
namespace {

/// The number of logs open at once, with two files each; it is below the usual limit of a process.
constexpr std::size_t most_open_logs = 400;
constexpr std::size_t compared_bytes = std::size_t{1} << 20;

/// The key of a group, in the order of the files' creation.
struct GroupKey {
  std::string netcdf_path;
  std::int64_t owner = 0;
  std::int64_t created_ns = 0;
  std::uint64_t run = 0;
  std::uint64_t group = 0;  ///< if the steps of a workflow do not decide
  std::int64_t origin = 0;
  auto operator<=>(const GroupKey&) const = default;
};

void add_log(FileSystem& system, const std::string& path, std::map<GroupKey, LogGroup>& groups) {
  const BurstLogReader log(system, path);
  const formats::BurstLogHeader& header = log.header();
  const auto step = header.step.value_or(formats::BurstLogStep{});
  const auto identity = header.identity.value_or(formats::BurstLogIdentity{});
  auto& group = groups[{header.path, system.user(), identity.created_ns, identity.run,
                        step.origin != 0 ? 0 : identity.group, step.origin}];
  group.netcdf_path = header.path;
  group.origin = step.origin;
  group.identity = header.identity;
  group.owner = system.user();
  group.logs.push_back(
      {path, header.rank, step.step, header.entry_count, header.process_count, identity.group});
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
  const auto is_written = [&](const FoundLog& log) { return is_being_written(system, log.metadata_path); };
  if (std::ranges::any_of(group.logs, is_written)) return true;
  return group.identity && !group.logs.empty() &&
         is_run_alive(system, group.logs.front().metadata_path, group.identity->run);
}

/// The file systems for reading logs, and the target.
struct Places {
  FileSystem& logs;
  FileSystem& files;
  const std::string& target;
};

/// Replays the logs of one step: puts of different steps have an order.
void replay_step(const Places& places, std::span<const FoundLog> found, const ReplayOptions& options,
                 Recovery& recovery) {
  for (std::size_t first = 0; first < found.size(); first += most_open_logs) {
    const auto last = std::min(found.size(), first + most_open_logs);
    std::vector<BurstLogReader> logs;
    for (std::size_t i = first; i < last; ++i) logs.emplace_back(places.logs, found[i].metadata_path);
    add(replay_logs(places.files, logs, places.target, options), recovery.replay);
    for (const auto& log : logs) collect_problems(log, recovery.problems);
  }
}

void replay(const Places& places, std::span<const FoundLog> logs, const ReplayOptions& options,
            Recovery& recovery) {
  for (std::size_t first = 0; first < logs.size();) {
    const auto of_step = [&](const FoundLog& log) { return log.step == logs[first].step; };
    const auto end = std::ranges::find_if_not(logs.subspan(first), of_step);
    const auto count = static_cast<std::size_t>(end - logs.subspan(first).begin());
    replay_step(places, logs.subspan(first, count), options, recovery);
    first += count;
  }
}

/// The newest header that the processes of the steps have left. Takes the header of the last step, and among
/// different headers the most complete. A process that was killed during a redefinition has the old header;
/// its puts need no newer one.
formats::Header left_header(FileSystem& system, const LogGroup& group) {
  std::optional<formats::Header> best;
  std::int64_t best_step = 0;
  for (const FoundLog& log : group.logs) {
    const auto path = burst_log_paths_of(log.metadata_path).header;
    if (path.empty() || !system.exists(path)) continue;
    auto left = read_header(*system.open(path, OpenMode::read)).decoded.header;
    const auto variables = left.variable_count();
    const bool is_better =
        !best || log.step > best_step || variables > best->variable_count() ||
        (variables == best->variable_count() && formats::encoded_size(left) > formats::encoded_size(*best));
    if (is_better) best = std::move(left);
    best_step = std::max(best_step, log.step);
  }
  if (!best)
    throw Error(NC_ENOTNC, "the logs of " + group.netcdf_path +
                               " have no header file: nothing had been defined when the run ended");
  return std::move(*best);
}

/// The number of records in the logs.
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

/// The existing file at the target path, if any.
struct Existing {
  std::unique_ptr<File> file;
  std::optional<FileMark> mark;
  bool is_as_marked = false;  ///< the content has not changed since the mark
  [[nodiscard]] bool tells_origin() const noexcept {
    return mark && (is_as_marked || mark->content == growing_content);
  }
};

Existing existing_file(FileSystem& files, const std::string& path, FileMarks marks) {
  Existing existing;
  if (!files.exists(path)) return existing;
  existing.file = files.open(path, OpenMode::read);
  if (marks == FileMarks::ignored) return existing;
  existing.mark = mark_of(*existing.file);
  existing.is_as_marked = existing.mark && existing.mark->content == content_of(*existing.file);
  return existing;
}

/// The mark of a file that has all of these logs.
FileMark mark_for(const LogGroup& group) {
  FileMark mark;
  if (group.identity) {
    mark.run = group.identity->run;
    mark.created_ns = group.identity->created_ns;
    if (!group.is_of_workflow()) mark.group = group.identity->group;
  }
  mark.origin = group.origin;
  mark.processes = group.process_count;
  for (const FoundLog& log : group.logs) {
    mark.step = std::max(mark.step, log.step);
    mark.ranks.insert(log.rank);
  }
  return mark;
}

/// Whether a file of the same steps has data that these logs lack: of earlier steps, or of other processes.
bool has_more(const FileMark& mark, const FileMark& wanted) {
  return mark.complete != 0 || !std::ranges::includes(wanted.ranks, mark.ranks);
}

/// Whether a file with an intact mark needs no replay: it has all data of these logs, and could not be made
/// from them alone.
bool has_all(const FileMark& mark, const FileMark& wanted) {
  if (wanted.step <= mark.complete) return true;
  return has_more(mark, wanted) && !mark.lacks_puts && wanted.step <= mark.step &&
         std::ranges::includes(mark.ranks, wanted.ranks);
}

bool has_header(const File& file, const formats::Header& expected) {
  try {
    formats::Header header = read_header(file).decoded.header;
    header.record_count = expected.record_count;
    return formats::encode_header(header) == formats::encode_header(expected);
  } catch (const Error&) {
    return false;
  }
}

bool are_equal(const File& first, const File& second) {
  if (first.size_bytes() != second.size_bytes()) return false;
  std::array<std::vector<std::byte>, 2> parts{std::vector<std::byte>(compared_bytes),
                                              std::vector<std::byte>(compared_bytes)};
  for (std::int64_t at = 0; at < first.size_bytes(); at += std::ssize(parts[0])) {
    const auto got = first.read(at, parts[0]);
    if (second.read(at, parts[1]) != got ||
        !std::equal(parts[0].begin(), parts[0].begin() + static_cast<std::ptrdiff_t>(got), parts[1].begin()))
      return false;
  }
  return true;
}

/// A free name beside the file.
std::string name_for_existing(FileSystem& files, const std::string& path) {
  for (int number = 1;; ++number) {
    const auto name = path + ".before-recovery" + (number == 1 ? "" : "." + std::to_string(number));
    if (!files.owner_of(name)) return name;
  }
}

/// The partial file replaces the existing file. An existing file of unknown origin is renamed and not lost.
void take_place(FileSystem& files, PartialFile& partial, const Existing& existing, Recovery& recovery) {
  if (existing.file != nullptr && are_equal(*existing.file, partial.file())) {
    recovery.unchanged = Recovery::Unchanged::has_all_already;
    (void)existing.file->set_mark(partial.file().mark());
    return partial.remove();
  }
  if (existing.file != nullptr && !existing.tells_origin()) {
    recovery.kept_as = name_for_existing(files, partial.target());
    std::error_code failure;
    std::filesystem::create_hard_link(partial.target(), recovery.kept_as, failure);
    // Without hard links, there is briefly no file at the path.
    if (failure) files.rename(partial.target(), recovery.kept_as);
  }
  partial.publish();
}

/// Whether all logs could be read. Unreadable logs may be repaired and replayed later.
bool is_sound(const LogGroup& group, const Recovery& recovery) {
  return recovery.problems.empty() && group.damage.empty() && !group.has_unreadable_logs;
}

/// Makes the file from the logs, or from the existing file and the logs.
void make_file(const Places& places, const LogGroup& group, const Existing& existing,
               const ReplayOptions& wanted, Recovery& recovery) {
  const formats::Header header = left_header(places.logs, group);
  const std::int64_t records =
      records_in(places.logs, group, header, places.files.capacity_bytes(directory_of(places.target)));
  ReplayOptions options = wanted;
  options.most_records = records;
  FileMark mark = mark_for(group);
  const bool continues = existing.tells_origin() && existing.mark->is_of_same(mark) &&
                         has_more(*existing.mark, mark) && has_header(*existing.file, header);
  PartialFile partial(places.files, places.target);
  std::span<const FoundLog> logs(group.logs);
  if (continues) {
    copy_contents(*existing.file, partial.file());
    const auto known = read_header(partial.file()).decoded.header.record_count;
    fill_records(partial.file(), header, known, records);
    const auto is_there = [&](const FoundLog& log) { return log.step <= existing.mark->complete; };
    logs = logs.subspan(static_cast<std::size_t>(std::ranges::count_if(logs, is_there)));
    mark.complete = existing.mark->complete;
    mark.step = std::max(mark.step, existing.mark->step);
  } else {
    create_filled_file(partial.file(), header, records);
  }
  replay({places.logs, places.files, partial.path()}, logs, options, recovery);
  mark.lacks_puts = !is_sound(group, recovery) || (continues && existing.mark->lacks_puts);
  if (continues) mark.ranks.insert(existing.mark->ranks.begin(), existing.mark->ranks.end());
  mark.content = content_of(partial.file());
  (void)set_mark(partial.file(), mark);
  recovery.is_new_file = !continues;
  take_place(places.files, partial, existing, recovery);
}

void recover_steps(const Places& places, const LogGroup& group, const ReplayOptions& options, FileMarks marks,
                   Recovery& recovery) {
  const Existing existing = existing_file(places.files, places.target, marks);
  if (existing.tells_origin()) {
    const FileMark wanted = mark_for(group);
    const bool is_same = existing.mark->is_of_same(wanted);
    if (is_same && existing.is_as_marked && has_all(*existing.mark, wanted)) {
      recovery.unchanged = Recovery::Unchanged::has_all_already;
      return;
    }
    if (!is_same && wanted.is_before(*existing.mark)) {
      recovery.unchanged = wanted.run == existing.mark->run ? Recovery::Unchanged::is_of_later_step
                                                            : Recovery::Unchanged::is_of_later_run;
      recovery.later_begin_ns = existing.mark->created_ns;
      return;
    }
  }
  make_file(places, group, existing, options, recovery);
}

/// Throws unless the existing file is the one that the program of these logs has written.
void expect_own_file(const LogGroup& group, const std::string& target, const Existing& existing) {
  if (!group.identity || !existing.mark || existing.mark->is_of_same(mark_for(group))) return;
  const bool is_later = mark_for(group).is_before(*existing.mark);
  throw Error(NC_EINVAL, std::string(is_later ? "a later" : "another") + " program has written " + target +
                             (is_later ? " after these logs" : "") +
                             ". Decide which data you need; --force writes the logs into the file anyway");
}

/// Marks the file: who opens it knows that it needs these logs no more.
void mark_recovered(const LogGroup& group, const Existing& existing, File& file, const Recovery& recovery) {
  if (!group.identity) return;
  FileMark mark = mark_for(group);
  mark.lacks_puts = !is_sound(group, recovery);
  if (existing.mark && existing.mark->is_of_same(mark))
    mark.ranks.insert(existing.mark->ranks.begin(), existing.mark->ranks.end());
  mark.content = content_of(file);
  (void)set_mark(file, mark);
}

/// Recovers puts into a copy of the existing file.
void recover_puts(const Places& places, const LogGroup& group, const ReplayOptions& options, FileMarks marks,
                  Recovery& recovery) {
  const auto existing = existing_file(places.files, places.target, marks);
  expect_own_file(group, places.target, existing);
  PrivateCopies copies(places.files);
  replay({places.logs, copies, places.target}, group.logs, options, recovery);
  mark_recovered(group, existing, *copies.open(places.target, OpenMode::update), recovery);
  copies.publish();
}

/// Reads logs without data for a file: some entries may still be torn.
void read_empty_logs(FileSystem& logs, const LogGroup& group, Recovery& recovery) {
  for (const FoundLog& found : group.logs) {
    BurstLogReader log(logs, found.metadata_path);
    (void)log.next();
    collect_problems(log, recovery.problems);
  }
}

/// Refuses a mixture of logs that do not name their run. Their numbers of processes show whether they belong
/// to one run. A single log with another number is damaged; several belong to another program.
void refuse_mixture(LogGroup& group) {
  if (group.identity) return;
  std::map<std::int64_t, std::map<std::int64_t, std::vector<const FoundLog*>>> steps;
  for (const FoundLog& log : group.logs) steps[log.step][log.process_count].push_back(&log);
  for (auto& [step, by_count] : steps) {
    std::erase_if(by_count, [](const auto& entry) { return entry.second.size() < 2; });
    if (by_count.size() < 2) continue;
    const auto& [count, logs] = *by_count.begin();
    const auto& [other_count, others] = *std::next(by_count.begin());
    group.refusal = "the logs are from several programs: " + logs.front()->metadata_path + " from one with " +
                    std::to_string(count) + " processes, " + others.front()->metadata_path +
                    " from one with " + std::to_string(other_count) +
                    ". Move the logs that you do not need to another directory";
    return;
  }
}

/// Refuses groups of the same file if some logs name their run and others do not.
void refuse_unidentified(std::vector<LogGroup>& groups) {
  const auto has_puts = [](const LogGroup& group) {
    return std::ranges::any_of(group.logs, [](const FoundLog& log) { return log.entries > 0; });
  };
  for (LogGroup& group : groups) {
    if (group.identity) continue;
    const auto is_other = [&](const LogGroup& other) {
      return other.identity && other.netcdf_path == group.netcdf_path && other.owner == group.owner &&
             has_puts(other);
    };
    const auto other = std::ranges::find_if(groups, is_other);
    if (other == groups.end()) continue;
    group.refusal =
        "the logs " + group.logs.front().metadata_path + " and " + other->logs.front().metadata_path +
        " are for the same file, but from different programs: " + group.logs.front().metadata_path +
        " does not name its run. Move the logs that you do not "
        "need to another directory";
  }
}

/// The users whose files may be logs.
std::set<std::int64_t> owners_in(FileSystem& system, const std::string& directory) {
  std::set<std::int64_t> owners;
  for (const auto& name : system.list(directory)) {
    if (!name.ends_with(".meta") && !name.ends_with(".data")) continue;
    if (const auto owner = system.owner_of(directory + "/" + name)) owners.insert(*owner);
  }
  return owners;
}

void add_readable_log(FileSystem& logs, const std::string& path, std::map<GroupKey, LogGroup>& groups,
                      std::vector<LogStatement>& unreadable) {
  try {
    add_log(logs, path, groups);
  } catch (const Error& error) {
    unreadable.push_back({path, error.what()});
  }
}

}  // namespace

FoundLogs find_logs(FileSystem& system, const std::string& directory, LogOwners owners) {
  FoundLogs found;
  std::map<GroupKey, LogGroup> groups;
  for (const std::int64_t owner : owners_in(system, directory)) {
    OwnedFiles logs(system, owner);
    ListedLogs listed = list_logs(logs, directory);
    if (owners == LogOwners::myself && owner != system.user()) {
      for (const auto& path : listed.metadata) found.of_others.push_back({path, owner});
      for (const auto& log : listed.damaged) found.of_others.push_back({log.path, owner});
      continue;
    }
    std::ranges::move(listed.damaged, std::back_inserter(found.unreadable));
    for (const auto& path : listed.metadata) add_readable_log(logs, path, groups, found.unreadable);
  }
  for (auto& [key, group] : groups) {
    std::ranges::sort(group.logs, {}, [](const FoundLog& log) { return std::tie(log.step, log.rank); });
    compare_headers(group);
    refuse_mixture(group);
    const auto is_of_group = [&](const LogStatement& log) { return belongs_to(log, group); };
    group.has_unreadable_logs = std::ranges::any_of(found.unreadable, is_of_group);
    found.groups.push_back(std::move(group));
  }
  refuse_contradictions(found.groups);
  refuse_unidentified(found.groups);
  return found;
}

Recovery recover_file(FileSystem& system, const LogGroup& group, const std::string& netcdf_path,
                      const ReplayOptions& options, FileMarks marks) {
  Recovery recovery;
  recovery.is_in_use = is_in_use(system, group);
  if (recovery.is_in_use) return recovery;
  OwnedFiles logs(system, group.owner);
  const auto is_empty = [](const FoundLog& log) { return log.entries == 0; };
  if (std::ranges::all_of(group.logs, is_empty)) {
    read_empty_logs(logs, group, recovery);
    return recovery;
  }
  if (!group.refusal.empty()) throw Error(NC_EINVAL, group.refusal);
  const Places places{logs, system, netcdf_path};
  if (group.is_of_workflow()) {
    recover_steps(places, group, options, marks, recovery);
  } else {
    recover_puts(places, group, options, marks, recovery);
  }
  return recovery;
}

void copy_files(FileSystem& system, const std::vector<FileCopy>& copies) {
  std::vector<std::unique_ptr<PartialFile>> targets;
  for (const auto& [from, to] : copies) {
    auto& target = *targets.emplace_back(std::make_unique<PartialFile>(system, to));
    copy_contents(*system.open(from, OpenMode::read), target.file());
    target.file().sync();
  }
  for (const auto& target : targets) target->publish();
}

}  // namespace sluice::storage
