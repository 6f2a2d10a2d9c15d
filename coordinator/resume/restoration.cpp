#include "restoration.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "format.hpp"
#include "saved_recovery.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/near_match.hpp"
#include "sluice/storage/burst_log_writer.hpp"
#include "sluice/storage/file_mark.hpp"
#include "sluice/storage/recovery.hpp"
#include "sluice/storage/run_lock.hpp"
#include "sluice/storage/saved_file.hpp"

namespace sluice::coordinator {
namespace {

namespace fs = std::filesystem;
using storage::LogGroup;
using storage::RecordedStep;

constexpr std::size_t most_listed = 5;

/// "'a.nc', 's.nc' (3 steps) and 2 more": a stream has the same name in each of its steps.
std::string listed(std::vector<std::string> names, bool has_unnamed = false) {
  std::string text;
  std::size_t listed_names = 0;
  while (!names.empty() && listed_names < most_listed) {
    const std::string name = names.front();
    const auto steps = std::erase(names, name);
    text += (listed_names++ == 0 ? "'" : ", '") + name + "'";
    if (steps > 1) text += " (" + std::to_string(steps) + " steps)";
  }
  if (!names.empty())
    text += (has_unnamed ? " and at least " : " and ") + std::to_string(names.size()) + " more";
  return text;
}

/// The CDF version of a file; 0: it is of another format.
std::uint8_t version_of(storage::File& file) {
  std::array<std::byte, 4> magic{};
  const bool is_cdf = file.read(0, magic) == magic.size() && magic[0] == std::byte{'C'} &&
                      magic[1] == std::byte{'D'} && magic[2] == std::byte{'F'};
  return is_cdf ? static_cast<std::uint8_t>(magic[3]) : std::uint8_t{0};
}

constexpr const char* logs_of_power_failure =
    "may lack what was not yet on the disk: the machine was started again since";
constexpr const char* logs_elsewhere = "are not all here: others are on the disks of other nodes";

/// The run cannot be resumed before a user has decided.
struct RefusedLogs : Error {
  using Error::Error;
};

/// Puts together what is left of one run.
class Restorer {
 public:
  Restorer(const FormerRun& former, const workflows::Workflow& workflow, bool without_logs)
      : former_(former),
        workflow_(workflow),
        without_logs_(without_logs),
        record_path_((former.log_directory / step_record_file).string()),
        record_(storage::read_step_record(files_, record_path_)) {}

  Restoration restore() {
    find_rules();
    done_ = former_done();
    for (auto& [step, facts] : record_.steps)
      if (!facts.is_published() && has_file(step, facts)) publish(step, facts);
    for (const std::string& directory : log_directories()) take_logs(directory);
    for (const std::uint64_t step : record_.published()) look_for_file(step);
    for (const std::uint64_t step : record_.published()) sort_out(step);
    take_counts();
    for (const auto& [step, facts] : record_.steps)
      if (!facts.is_published()) result_.unfinished.push_back(name_of(facts));
    find_done();
    for (const std::string& directory : log_directories()) take_saved(directory);
    result_.has_unnamed = record_.unnamed > 0;
    result_.resumes = former_.resumes + 1;
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::string name_of(const RecordedStep& step) const { return name_of(step.path); }

  [[nodiscard]] std::string name_of(const std::string& path) const {
    const fs::path directory = fs::absolute(workflow_.file).parent_path();
    const std::string relative = fs::path(path).lexically_relative(directory).string();
    return relative.empty() || relative.starts_with("..") ? path : relative;
  }

  /// Rules may have another place in the file now.
  void find_rules() {
    for (const FormerRun::Rule& rule : former_.rules) {
      const auto found = std::ranges::find_if(workflow_.files, [&](const workflows::FileRule& each) {
        return each.pattern == rule.pattern && each.writer == rule.writer;
      });
      rules_.push_back(found == workflow_.files.end()
                           ? std::nullopt
                           : std::optional(static_cast<std::uint32_t>(found - workflow_.files.begin())));
    }
  }

  [[nodiscard]] const workflows::FileRule* rule_of(const RecordedStep& step) const {
    if (step.rule >= rules_.size() || !rules_[step.rule]) return nullptr;
    return &workflow_.files[*rules_[step.rule]];
  }

  [[nodiscard]] bool is_stream(const RecordedStep& step) const {
    const workflows::FileRule* const rule = rule_of(step);
    return rule != nullptr && rule->is_stream;
  }

  /// The record lacks a directory where all were killed while the first logs were made.
  [[nodiscard]] std::set<std::string> log_directories() const {
    std::set<std::string> directories = record_.log_directories;
    if (!workflow_.spill_directory.empty()) directories.insert(workflow_.spill_directory.string());
    for (const auto& [number, step] : record_.steps) {
      const workflows::FileRule* const rule = rule_of(step);
      if (rule != nullptr && rule->through == matcher::Through::burst_buffer && !step.is_published())
        directories.insert(fs::path(step.path).parent_path().string());
    }
    return directories;
  }

  void take_logs(const std::string& directory) {
    std::error_code error;
    if (!fs::is_directory(directory, error)) return;
    for (LogGroup& group : storage::find_logs(files_, directory).groups) {
      if (!group.is_of_workflow() || !group.identity || group.identity->run != former_.run.number) continue;
      try {
        take_group(group);
      } catch (const RefusedLogs&) {
        throw;
      } catch (const Error& failure) {
        result_.troubles.push_back(failure.what());
      }
    }
    storage::finish_removals(files_, directory);
    storage::remove_stale_run_locks(files_, directory);
  }

  /// What programs had synced by the C library, and not closed. A file that is there may be a step.
  void take_saved(const std::string& directory) {
    std::error_code error;
    if (!fs::is_directory(directory, error)) return;
    std::set<std::string> known;
    for (const std::string& saved : saved_files_in(files_, directory)) {
      try {
        const auto what = storage::read_saved_file(files_, saved);
        if (!what || what->run != former_.run.number) continue;
        const std::string name = name_of(what->path);
        if (known.insert(what->path).second && files_.exists(what->path)) {
          result_.saved.push_back(name);
          result_.saved_in.insert(directory);
        } else if (std::ranges::find(result_.saved, name) == result_.saved.end()) {
          if (!files_.exists(what->path)) restore_saved(saved, what->path, name);
          files_.remove(saved);
        }
      } catch (const Error& failure) {
        result_.troubles.push_back(failure.what());
      }
    }
  }

  void restore_saved(const std::string& saved, const std::string& path, const std::string& name) {
    storage::restore_file(files_, saved, path);
    result_.synced.push_back(name);
  }

  /// The logs that the step was put into: the logs that were begun last, with this step or before it.
  [[nodiscard]] static std::vector<storage::FoundLog> logs_of(const LogGroup& group, std::int64_t step) {
    std::int64_t first = 0;
    for (const storage::FoundLog& log : group.logs)
      if (log.step <= step) first = std::max(first, log.step);
    std::vector<storage::FoundLog> logs = group.logs;
    std::erase_if(logs, [&](const storage::FoundLog& log) { return log.step != first; });
    return logs;
  }

  /// Whether logs of the group have the step. Its processes need not have put anything into it.
  [[nodiscard]] static bool is_in_logs(const LogGroup& group, std::uint64_t number,
                                       const RecordedStep& step) {
    const auto signed_number = static_cast<std::int64_t>(number);
    return step.path == group.netcdf_path &&
           std::ranges::any_of(logs_of(group, signed_number),
                               [&](const storage::FoundLog& log) { return log.last_step >= signed_number; });
  }

  /// A process marks its log when it has closed the file. The record may lack the publication, where the
  /// matcher was killed before it had the message.
  [[nodiscard]] static bool is_closed(const LogGroup& group, std::uint64_t step) {
    const auto number = static_cast<std::int64_t>(step);
    return std::ranges::all_of(logs_of(group, number),
                               [&](const storage::FoundLog& log) { return log.closed_step >= number; });
  }

  /// The last step of the group that counts as published; 0: none.
  std::uint64_t last_published(const LogGroup& group) {
    std::uint64_t last = 0;
    std::vector<std::uint64_t> closed;
    for (const auto& [number, step] : record_.steps) {
      if (!is_in_logs(group, number, step)) continue;
      if (!step.is_published() && !is_closed(group, number)) continue;
      if (!step.is_published()) closed.push_back(number);
      last = std::max(last, number);
    }
    for (const std::uint64_t number : closed) publish(number, record_.steps.at(number));
    return last;
  }

  void publish(std::uint64_t step, RecordedStep& facts) {
    record_.publish_next(facts, is_stream(facts));
    if (is_stream(facts)) return;
    std::erase_if(record_.steps, [&](const auto& entry) {
      const RecordedStep& other = entry.second;
      return entry.first < step && other.is_published() && other.rule == facts.rule &&
             other.name == facts.name;
    });
  }

  /// The processes whose puts are in the file at the path of the step, by `sluice recover`.
  [[nodiscard]] std::set<std::int64_t> recovered_ranks(std::uint64_t number, const RecordedStep& step) {
    if (!files_.exists(step.path) || fs::is_directory(step.path)) return {};
    const auto mark = storage::mark_of(*files_.open(step.path, storage::OpenMode::read));
    const bool is_of_step =
        mark && mark->run == former_.run.number && mark->step == static_cast<std::int64_t>(number);
    return is_of_step && !mark->lacks_puts ? mark->ranks : std::set<std::int64_t>();
  }

  /// Why the logs of the step cannot be taken; empty: they can.
  [[nodiscard]] std::string trouble_with_logs(const LogGroup& group, std::uint64_t number) {
    std::set<std::int64_t> ranks = recovered_ranks(number, record_.steps.at(number));
    bool are_taken = true;
    std::int64_t processes = 0;
    for (const storage::FoundLog& log : group.logs) {
      if (static_cast<std::uint64_t>(log.step) != number) continue;
      are_taken = !ranks.insert(log.rank).second && are_taken;
      processes = std::max(processes, log.process_count);
    }
    if (former_.nodes.size() > 1 && std::ssize(ranks) < processes) return logs_elsewhere;
    return was_cut_off_ && !are_taken ? logs_of_power_failure : "";
  }

  [[noreturn]] void refuse(const RecordedStep& step, const std::string& trouble,
                           const std::set<std::string>& directories) const {
    const std::string others = former_.nodes.size() > 1 ? " on each of " + formats::join(former_.nodes) : "";
    throw RefusedLogs(
        NC_EIO, "the burst-buffer logs of '" + name_of(step) + "' " + trouble +
                    ". 'sluice recover --delete DIRECTORY'" + others + " makes a file of what is there: in " +
                    formats::join(std::vector(directories.begin(), directories.end())) +
                    ". Then resume again; or resume with --without-logs, and the file counts as lost");
  }

  void take_group(const LogGroup& group) {
    const std::set<std::uint64_t> steps = steps_to_recover(group);
    std::string trouble;
    for (const std::uint64_t number : steps) {
      trouble = trouble_with_logs(group, number);
      if (trouble.empty()) continue;
      if (without_logs_) break;
      refuse(record_.steps.at(number), trouble, {storage::directory_of(group.logs.front().metadata_path)});
    }
    for (const std::uint64_t number : trouble.empty() ? steps : std::set<std::uint64_t>()) {
      LogGroup until = group;
      until.until_step = static_cast<std::int64_t>(number);
      RecordedStep& step = record_.steps.at(number);
      step.file = recover(until, number, step);
      storage::note_recovered(files_, record_path_, number, step);
      ++result_.recovered;
    }
    for (const storage::FoundLog& log : group.logs) storage::remove_log(files_, log.metadata_path);
  }

  /// The last published step; of a stream all that are wanted. Those that have a file are left out.
  std::set<std::uint64_t> steps_to_recover(const LogGroup& group) {
    const std::uint64_t last = last_published(group);
    if (last == 0) return {};
    const RecordedStep& newest = record_.steps.at(last);
    if (!is_stream(newest)) return has_file(last, newest) ? std::set<std::uint64_t>() : std::set{last};
    std::set<std::uint64_t> steps;
    for (const auto& [number, step] : record_.steps) {
      const bool is_there = step.is_published() && is_in_logs(group, number, step);
      if (is_there && is_wanted(step, *rule_of(step)) && !has_file(number, step)) steps.insert(number);
    }
    return steps;
  }

  /// Opens of a stream go through its steps, so that each has a file of its own.
  std::string recover(const LogGroup& group, std::uint64_t number, const RecordedStep& step) {
    const std::string target = is_stream(step) ? own_file(number, step) : step.path;
    const storage::Recovery recovery = storage::recover_file(files_, group, target);
    if (recovery.is_in_use)
      throw Error(NC_EINVAL, "a process still writes the burst-buffer logs of " + step.path);
    for (const storage::LogStatement& problem : recovery.problems)
      result_.troubles.push_back(problem.path + ": " + problem.what);
    if (!recovery.kept_as.empty())
      result_.troubles.push_back("the file that was at " + target + " is now " + recovery.kept_as);
    if (recovery.unchanged == storage::Recovery::Unchanged::is_of_later_run ||
        recovery.unchanged == storage::Recovery::Unchanged::is_of_later_step)
      throw Error(NC_EEXIST, step.path + " is of a later step or run, and stays as it is");
    return target;
  }

  std::string own_file(std::uint64_t number, const RecordedStep& step) {
    const fs::path directory = former_.log_directory / "steps";
    fs::create_directories(directory);
    return (directory / (std::to_string(number) + "-" + fs::path(step.path).filename().string())).string();
  }

  /// The file that may have the step: the record's, or the one at its path.
  [[nodiscard]] static std::string file_of(const RecordedStep& step) {
    return step.file.empty() ? step.path : step.file;
  }

  /// Whether that file is there and has this step, and no later one.
  [[nodiscard]] bool has_file(std::uint64_t number, const RecordedStep& step) {
    const std::string path = file_of(step);
    const bool is_named = !step.file.empty();
    if (!files_.exists(path) || fs::is_directory(path)) return false;
    const auto mark = storage::mark_of(*files_.open(path, storage::OpenMode::read));
    const bool is_of_run = mark && mark->run == former_.run.number;
    if (!is_of_run) return is_named;
    const bool is_this = mark->step == static_cast<std::int64_t>(number);
    return is_this && (is_named || mark->complete == mark->step || mark->has_all_ranks());
  }

  void look_for_file(std::uint64_t number) {
    RecordedStep& step = record_.steps.at(number);
    const std::string path = file_of(step);
    const bool is_there = rule_of(step) != nullptr && has_file(number, step);
    step.file.clear();
    if (!is_there) return;
    step.version = version_of(*files_.open(path, storage::OpenMode::read));
    step.file = path;
    if (is_stream(step) && path == step.path) step.file = keep_apart(number, step);
  }

  /// The file at the path of a stream will be of another step.
  std::string keep_apart(std::uint64_t number, const RecordedStep& step) {
    std::string target = own_file(number, step);
    std::error_code error;
    fs::remove(target, error);
    fs::create_hard_link(step.path, target, error);
    if (error) storage::copy_files(files_, {{step.path, target}});
    return target;
  }

  [[nodiscard]] bool is_wanted(const RecordedStep& step, const workflows::FileRule& rule) const {
    return !std::ranges::all_of(rule.readers, [&](const std::string& reader) {
      return step.readers.contains(reader) || done_.contains(reader);
    });
  }

  void sort_out(std::uint64_t number) {
    RecordedStep step = record_.steps.at(number);
    const workflows::FileRule* const rule = rule_of(step);
    if (rule == nullptr) return;
    if (step.file.empty()) {
      if (!is_wanted(step, *rule)) return;
      const bool has_logs = rule->through == matcher::Through::burst_buffer && former_.nodes.size() > 1;
      if (has_logs && !without_logs_) refuse(step, logs_elsewhere, log_directories());
      result_.lost.push_back(name_of(step));
      lost_by_.insert(rule->writer);
      return;
    }
    if (step.file != step.path) result_.own_files.push_back(step.file);
    if (was_cut_off_ && matcher::is_in_files(rule->through) && is_wanted(step, *rule))
      result_.doubtful.push_back(name_of(step));
    step.rule = *rules_[step.rule];
    step.publication = 0;
    RecordedStep& added = result_.record.steps[result_.record.publications + 1] = std::move(step);
    result_.record.publish(added, {added.version, added.number, added.stream_number});
  }

  /// Also steps that are gone count.
  void take_counts() {
    for (const auto& [sequence, count] : record_.counts)
      if (sequence.rule < rules_.size() && rules_[sequence.rule])
        result_.record.counts[{*rules_[sequence.rule], sequence.name}] = count;
  }

  /// Components that ended well, and whose files all come from such components.
  [[nodiscard]] std::set<std::string> former_done() const {
    std::set<std::string> done = former_.ended;
    for (bool has_changed = true; has_changed;) {
      has_changed = std::erase_if(done, [&](const std::string& name) {
                      return std::ranges::any_of(workflow_.files, [&](const workflows::FileRule& rule) {
                        const bool reads = std::ranges::find(rule.readers, name) != rule.readers.end();
                        return reads && !done.contains(rule.writer);
                      });
                    }) > 0;
    }
    return done;
  }

  void find_done() {
    result_.done = done_;
    for (const std::string& writer : lost_by_) result_.done.erase(writer);
    for (const auto& [step, facts] : record_.steps) {
      const workflows::FileRule* const rule = rule_of(facts);
      if (rule != nullptr && !facts.is_published()) result_.done.erase(rule->writer);
    }
  }

  const FormerRun& former_;
  const workflows::Workflow& workflow_;
  bool without_logs_;
  bool was_cut_off_ = former_.was_cut_off();
  storage::PosixFileSystem files_;
  std::string record_path_;
  storage::StepRecord record_;
  std::vector<std::optional<std::uint32_t>> rules_;  ///< by the former index
  std::set<std::string> done_;                       ///< components that had done their work
  std::set<std::string> lost_by_;                    ///< writers of lost steps
  Restoration result_;
};

}  // namespace

std::vector<std::string> Restoration::describe() const {
  const std::size_t restored = record.steps.size();
  const std::string count = restored == 0 ? "no published file" : format_count(restored, "published file");
  std::string first = "goes on where the last run ended (resume " + std::to_string(resumes) + "): " + count +
                      (restored > 1 ? " are" : " is") + " there again";
  if (recovered > 0) first += ", " + std::to_string(recovered) + " from burst-buffer logs";
  std::vector<std::string> lines{first};
  if (!lost.empty())
    lines.push_back("lost, because " + std::string(lost.size() == 1 ? "it was" : "they were") +
                    " in memory only: " + listed(lost, has_unnamed));
  if (!unfinished.empty())
    lines.push_back("not published when the run ended: " + listed(unfinished, has_unnamed));
  if (!synced.empty()) lines.push_back("there as at the last fsync: " + listed(synced));
  if (!saved.empty())
    lines.push_back("saved at an fsync, and not taken, because there is a file: " + listed(saved) +
                    ". To go on from what was saved, end this run, give 'sluice recover' for " +
                    formats::join(std::vector(saved_in.begin(), saved_in.end())) + ", and resume again");
  if (!doubtful.empty())
    lines.push_back(
        "the machine was started again since, and files that programs had written just before may be "
        "incomplete: "
        "look at " +
        listed(doubtful));
  for (const std::string& trouble : troubles) lines.push_back("not recovered: " + trouble);
  if (!done.empty()) {
    const std::vector<std::string> names(done.begin(), done.end());
    lines.push_back("not started again, because " + std::string(names.size() == 1 ? "it" : "they") +
                    " had ended well: " + listed(names));
  }
  return lines;
}

Restoration restore(const FormerRun& former, const workflows::Workflow& workflow, bool without_logs) {
  return Restorer(former, workflow, without_logs).restore();
}

}  // namespace sluice::coordinator
