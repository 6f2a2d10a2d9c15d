#include "sluice/storage/recovery.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

#include "log_directory.hpp"
#include "recovery_files.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/formats/netcdf4.hpp"
#include "sluice/storage/file_mark.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/log_round.hpp"
#include "sluice/storage/netcdf4_file.hpp"
#include "sluice/storage/partial_file.hpp"
#include "sluice/storage/record_limit.hpp"
#include "sluice/storage/run_lock.hpp"
#include "step_file.hpp"

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
  BurstLogReader log(system, path);
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
  if (!header.step) return;
  while (log.next()) {
  }
  FoundLog& found = group.logs.back();
  found.closed_step = log.closed_step();
  found.last_step = std::max(log.step(), found.closed_step);
  found.base = step.base;
  found.headers = log.headers();
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

/// Steps after `after`, up to `last`.
struct StepRange {
  std::int64_t after = 0;
  std::int64_t last = 0;
};

BurstLogReader open_log(FileSystem& system, const FoundLog& found, const StepRange& steps) {
  BurstLogReader log(system, found.metadata_path);
  if (log.header().step) log.take_steps(steps.after, std::min(steps.last, found.last_step));
  return log;
}

/// Replays these steps of logs that were written together, a few logs at a time.
void replay_steps(const Places& places, std::span<const FoundLog> found, const StepRange& steps,
                  const ReplayOptions& options, Recovery& recovery) {
  for (std::size_t first = 0; first < found.size(); first += most_open_logs) {
    const auto last = std::min(found.size(), first + most_open_logs);
    std::vector<BurstLogReader> logs;
    for (std::size_t i = first; i < last; ++i) logs.push_back(open_log(places.logs, found[i], steps));
    add(replay_logs(places.files, logs, places.target, options), recovery.replay);
    for (const auto& log : logs) collect_problems(log, recovery.problems);
  }
}

/// The steps that have puts in these logs.
std::set<std::int64_t> steps_in(FileSystem& system, std::span<const FoundLog> logs) {
  std::set<std::int64_t> steps;
  for (const FoundLog& found : logs) {
    BurstLogReader log(system, found.metadata_path);
    while (const auto entry = log.next()) steps.insert(entry->step);
  }
  return steps;
}

/// Replays the logs of one group: puts of different steps have an order. A round of logs keeps it, unless
/// there are too many logs for one round.
void replay_group(const Places& places, std::span<const FoundLog> logs, const StepRange& steps,
                  const ReplayOptions& options, Recovery& recovery) {
  const auto has_one_step = [](const FoundLog& log) { return log.last_step <= log.step; };
  if (logs.size() <= most_open_logs || std::ranges::all_of(logs, has_one_step))
    return replay_steps(places, logs, steps, options, recovery);
  for (const std::int64_t step : steps_in(places.logs, logs)) {
    if (step > steps.after) replay_steps(places, logs, {step - 1, step}, options, recovery);
  }
}

/// Replays what the logs have of steps after `after`.
void replay(const Places& places, std::span<const FoundLog> logs, std::int64_t after,
            const ReplayOptions& options, Recovery& recovery) {
  const StepRange steps{after, std::numeric_limits<std::int64_t>::max()};
  for (std::size_t first = 0; first < logs.size();) {
    const auto of_group = [&](const FoundLog& log) { return log.step == logs[first].step; };
    const auto end = std::ranges::find_if_not(logs.subspan(first), of_group);
    const auto count = static_cast<std::size_t>(end - logs.subspan(first).begin());
    replay_group(places, logs.subspan(first, count), steps, options, recovery);
    first += count;
  }
}

/// A header that a process has left, and the step in which it was written.
struct LeftHeader {
  std::int64_t step = 0;
  formats::Header header;
};

/// The last header that the log's process has left, up to the log's last step.
std::optional<LeftHeader> header_of_log(FileSystem& system, const FoundLog& log) {
  const auto path = burst_log_paths_of(log.metadata_path).header;
  if (path.empty() || !system.exists(path)) return std::nullopt;
  formats::BurstLogStepMark place{log.step, 0};
  for (const auto& header : log.headers)
    if (header.step <= log.last_step) place = header;
  const auto file = system.open(path, OpenMode::read);
  std::array<std::byte, 1> first{};
  // A log may have no header of its first step, and headers of later ones.
  const bool has_none = place.header_begin == 0 && file->read(0, first) == 1 && first[0] == std::byte{0};
  if (has_none) return std::nullopt;
  return LeftHeader{place.step, read_header(*file, default_header_chunk_bytes, formats::Detail::all, nullptr,
                                            place.header_begin)
                                    .decoded.header};
}

/// The newest header that the processes of the steps have left. Takes the header of the last step, and among
/// different headers the most complete. A process that was killed during a redefinition has the old header;
/// its puts need no newer one.
formats::Header left_header(FileSystem& system, const LogGroup& group) {
  std::optional<formats::Header> best;
  std::int64_t best_step = 0;
  for (const FoundLog& log : group.logs) {
    auto left = header_of_log(system, log);
    if (!left || left->step < best_step) continue;
    const auto variables = left->header.variable_count();
    const bool is_better = !best || left->step > best_step || variables > best->variable_count() ||
                           (variables == best->variable_count() &&
                            formats::encoded_size(left->header) > formats::encoded_size(*best));
    if (is_better) best = std::move(left->header);
    best_step = left->step;
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
  const StepRange all{0, std::numeric_limits<std::int64_t>::max()};
  for (const FoundLog& found : group.logs) {
    BurstLogReader log = open_log(system, found, all);
    limit.look_at(log);
  }
  for (const FoundLog& found : group.logs) {
    BurstLogReader log = open_log(system, found, all);
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
    mark.step = std::max(mark.step, log.last_step);
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

/// Puts cannot be added to a netCDF-4 file: its logs have to have all that it has.
void expect_whole_logs(const LogGroup& group, const Existing& existing, const std::string& target) {
  const FileMark wanted = mark_for(group);
  if (!existing.tells_origin() || !existing.mark->is_of_same(wanted)) return;
  const bool begin_with_file = !group.logs.empty() && group.logs.front().step == group.origin;
  if (begin_with_file && std::ranges::includes(wanted.ranks, existing.mark->ranks)) return;
  throw Error(NC_ENOTNC3, target +
                              " is a netCDF-4 file, and has data that these logs lack. "
                              "--output-directory makes a file of the logs alone elsewhere");
}

/// The file of a step that was written as a netCDF-4 file; null: it stays as it is.
std::unique_ptr<PartialFile> make_netcdf4(const Places& places, const formats::Header& header,
                                          const PartialFile& partial) {
  if (header.attributes.find(formats::netcdf4_file_attribute) < 0) return nullptr;
  // A look at the file system ends the work where the user has interrupted the command.
  return make_netcdf4_file(places.files, partial, [&] { (void)places.files.exists(partial.path()); });
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
  if (header.attributes.find(formats::netcdf4_file_attribute) >= 0)
    expect_whole_logs(group, existing, places.target);
  PartialFile partial(places.files, places.target);
  std::int64_t after = 0;
  if (continues) {
    copy_contents(*existing.file, partial.file());
    const auto known = read_header(partial.file()).decoded.header.record_count;
    fill_records(partial.file(), header, known, records);
    after = existing.mark->complete;
    mark.complete = existing.mark->complete;
    mark.step = std::max(mark.step, existing.mark->step);
  } else {
    create_filled_file(partial.file(), header, records);
  }
  replay({places.logs, places.files, partial.path()}, group.logs, after, options, recovery);
  mark.lacks_puts = !is_sound(group, recovery) || (continues && existing.mark->lacks_puts);
  if (continues) mark.ranks.insert(existing.mark->ranks.begin(), existing.mark->ranks.end());
  recovery.is_new_file = !continues;
  const auto made = make_netcdf4(places, header, partial);
  PartialFile& whole = made ? *made : partial;
  mark.content = content_of(whole.file());
  (void)set_mark(whole.file(), mark);
  take_place(places.files, whole, existing, recovery);
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
  replay({places.logs, copies, places.target}, group.logs, 0, options, recovery);
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
  for (auto& entry : groups) {
    auto& group = entry.second;
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

std::vector<FoundLog> logs_until(const LogGroup& group) {
  std::vector<FoundLog> logs;
  std::int64_t limit = group.until_step;
  // From the last step to the first: the logs that were begun together say which step they were opened on.
  for (auto log = group.logs.rbegin(); log != group.logs.rend();) {
    const std::int64_t first = log->step;
    const bool counts = first <= limit;
    std::int64_t base = 0;
    for (; log != group.logs.rend() && log->step == first; ++log) {
      if (!counts) continue;
      logs.push_back(*log);
      logs.back().last_step = std::min(log->last_step, limit);
      base = std::max(base, log->base);
    }
    if (counts) limit = base != 0 ? base : first - 1;
  }
  std::ranges::reverse(logs);
  return logs;
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
    LogGroup wanted = group;
    wanted.logs = logs_until(group);
    recover_steps(places, wanted, options, marks, recovery);
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
