#include "verification.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <set>

#include "child_process.hpp"
#include "exit_status.hpp"
#include "file_difference.hpp"
#include "format.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/rules.hpp"

namespace sluice::coordinator {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using workflows::Through;
using workflows::Workflow;

void write_flow_file(const fs::path& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  if (!stream) throw IoError(NC_EIO, errno, path.string(), "write");
}

/// Of files that have one content for who reads them by the C library: a line "WRITER TAB PATTERN" for a
/// rule.
std::string read_rules_of(const Workflow& workflow) {
  std::string rules;
  for (const workflows::FileRule& rule : workflow.files)
    if (!is_followed(rule)) rules += rule.writer + '\t' + rule.pattern + '\n';
  return rules;
}

int run_once(const WorkflowCopy& copy, const FlowVariant& variant, const Workflow& workflow,
             const fs::path& sluice) {
  const fs::path flow = copy.directory() / workflow.file.filename();
  write_flow_file(flow, variant.text);
  const storage::FileDescriptor output(
      ::open(copy.output().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!output) throw IoError(NC_EIO, errno, copy.output().string(), "create");
  ChildOptions child;
  child.program = sluice.string();
  child.arguments = {"sluice", "run", flow.string()};
  if (variant.passes_files) child.arguments.push_back("--through-files");
  child.environment = current_environment();
  child.environment["SLUICE_RECORD_VALUES"] = copy.records().string();
  child.environment["SLUICE_RECORD_READS"] = read_rules_of(workflow);
  child.directory = copy.directory();
  child.output = output.number();
  child.error = output.number();
  child.signal_at_our_death = SIGTERM;
  return end_of_process(wait_for_end(start_child(child)), false).shell_status();
}

milliseconds since(steady_clock::time_point begin) {
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
}

/// A file of a rule that the first run keeps in another layout, or a part of one.
bool has_own_layout(const Workflow& workflow, const std::string& name) {
  return std::ranges::any_of(workflow.files, [&](const workflows::FileRule& rule) {
    if (!matcher::is_split(rule.through)) return false;
    for (std::size_t end = name.size(); end != std::string::npos && end > 0; end = name.rfind('.', end - 1))
      if (runtime::match_tail(rule.pattern, '/' + name.substr(0, end))) return true;
    return false;
  });
}

/// A step of a stream belongs to the stream's rule, too.
bool belongs_to(const workflows::FileRule& rule, const std::string& name) {
  return runtime::match_tail(rule.pattern, '/' + name) ||
         (rule.is_stream && runtime::match_tail(rule.pattern, '/' + without_step(name)));
}

/// A file of the first run that has a step of a stream. The second run has the newest step alone on disk.
bool is_step_of_stream(const Workflow& workflow, const std::string& name) {
  return without_step(name) != name && std::ranges::any_of(workflow.files, [&](const auto& rule) {
           return rule.is_stream && belongs_to(rule, name);
         });
}

bool is_timed(const workflows::FileRule& rule, const std::string& reader) {
  return rule.when_full == matcher::WhenFull::discard || rule.mode_of(reader).mode != matcher::ReadMode::all;
}

/// What time decides in two runs of a workflow.
class TimedChoices {
 public:
  TimedChoices(const Workflow& workflow, const RunRecords& first, const RunRecords& second)
      : workflow_(workflow), first_(first), second_(second) {
    for (const workflows::FileRule& rule : workflow.files) {
      for (const std::string& reader : rule.readers)
        if (is_timed(rule, reader)) choosers_.insert(reader);
    }
    for (const workflows::Component& component : workflow.components)
      if (component.for_each && component.for_each->is_latest) choosers_.insert(component.name);
    for (const std::string& component : choosers_)
      if (has_other_choice(first, second, component)) affected_.insert(component);
    for (const workflows::FileRule& rule : workflow.files) {
      if (!is_followed(rule)) continue;
      for (const std::string& reader : rule.readers) note_follower(rule, reader);
    }
    for (std::size_t before = 0; before != affected_.size();) {
      before = affected_.size();
      for (const workflows::FileRule& rule : workflow.files)
        if (affected_.contains(rule.writer)) affected_.insert(rule.readers.begin(), rule.readers.end());
    }
  }

  [[nodiscard]] Excuses excuses() const {
    return {[this](const std::string& component) { return choosers_.contains(component); },
            [this](const std::string& path) { return !affected_.empty() && depends(path); },
            [this](const std::string& component, const std::string& path) {
              const workflows::FileRule* const rule = rule_of(path);
              return rule != nullptr && (is_followed(*rule) || is_timed_stream(*rule, component, path));
            }};
  }
  /// Whether the contents of the file follow from such a choice.
  [[nodiscard]] bool depends(const std::string& name) const {
    return affected_.contains(writer_of_file(name));
  }
  [[nodiscard]] const std::vector<std::string>& unproven() const noexcept { return unproven_; }

 private:
  /// What a reader of a file in the making has read in both runs proves something; the rest does not.
  void note_follower(const workflows::FileRule& rule, const std::string& reader) {
    if (reader == rule.writer) return;
    const auto is_of_rule = [&](const std::string& path) { return rule_of(path) == &rule; };
    if (!has_read_otherwise(first_, second_, reader, is_of_rule)) return;
    affected_.insert(reader);
    unproven_.push_back("what " + reader + " reads of '" + rule.pattern + "' while " + rule.writer +
                        " writes it");
  }

  /// The C library's reads are not told apart by step.
  [[nodiscard]] static bool is_timed_stream(const workflows::FileRule& rule, const std::string& component,
                                            const std::string& path) {
    return rule.is_stream && without_step(path) == path && is_timed(rule, component);
  }

  [[nodiscard]] const workflows::FileRule* rule_of(const std::string& name) const {
    const auto rule =
        std::ranges::find_if(workflow_.files, [&](const auto& each) { return belongs_to(each, name); });
    return rule == workflow_.files.end() ? nullptr : &*rule;
  }

  [[nodiscard]] std::string writer_of_file(const std::string& name) const {
    if (const workflows::FileRule* const rule = rule_of(name)) return rule->writer;
    for (const RunRecords* const records : {&second_, &first_})
      if (const auto found = records->writers.find(name); found != records->writers.end())
        return found->second;
    return {};
  }

  const Workflow& workflow_;
  const RunRecords& first_;
  const RunRecords& second_;
  std::set<std::string> choosers_;
  std::set<std::string> affected_;  ///< those that have chosen otherwise, and who reads their files
  std::vector<std::string> unproven_;
};

/// Compares the files of two runs.
class FileComparisons {
 public:
  FileComparisons(const Workflow& workflow, const RunRecords& writers, const TimedChoices& choices,
                  Verdict& verdict)
      : workflow_(workflow), writers_(writers), choices_(choices), verdict_(verdict) {}

  void compare(const std::map<std::string, fs::path>& first, const std::map<std::string, fs::path>& second) {
    for (const auto& [name, path] : first) {
      const auto other = second.find(name);
      if (is_left_out(name)) continue;
      if (other == second.end()) {
        add_difference(name, name + ": only the run through files has left it");
      } else {
        compare_file(name, path, other->second);
      }
    }
    for (const auto& [name, path] : second) {
      if (first.contains(name) || is_left_out(name)) continue;
      add_difference(name, name + ": only the run through memory has left it");
    }
  }

 private:
  [[nodiscard]] bool is_left_out(const std::string& name) {
    if (name == workflow_.file.filename().string() || is_step_of_stream(workflow_, name)) return true;
    if (!has_own_layout(workflow_, name)) return false;
    verdict_.left_out.push_back(name);
    return true;
  }

  void compare_file(const std::string& name, const fs::path& first, const fs::path& second) {
    const FileComparison comparison = compare_files(first, second);
    for (const std::string& remark : comparison.remarks) verdict_.remarks.push_back(name + ": " + remark);
    if (!comparison.difference) {
      ++verdict_.equal_files;
      verdict_.equal_bytes += fs::file_size(second);
      return;
    }
    std::string text = name + ": " + comparison.difference->text;
    const std::string writer =
        writer_of(writers_, name, comparison.difference->variable, comparison.difference->index);
    if (!writer.empty()) text += "; written by " + writer;
    add_difference(name, text);
  }

  void add_difference(const std::string& name, const std::string& text) {
    (choices_.depends(name) ? verdict_.undecided : verdict_.differences).push_back(text);
  }

  const Workflow& workflow_;
  const RunRecords& writers_;
  const TimedChoices& choices_;
  Verdict& verdict_;
};

}  // namespace

bool is_followed(const workflows::FileRule& rule) noexcept {
  return rule.publish_at != workflows::PublishAt::close;
}

VerifiedRun run_variants(const WorkflowCopy& copy, const std::vector<FlowVariant>& variants,
                         const Workflow& workflow, const fs::path& sluice) {
  for (const auto& component : workflow.components) fs::create_directories(copy.records() / component.name);
  VerifiedRun run;
  const auto begin = steady_clock::now();
  for (const FlowVariant& variant : variants) {
    const auto begin_of_this = steady_clock::now();
    run.status = run_once(copy, variant, workflow, sluice);
    if (!variant.component.empty())
      run.times.push_back(variant.component + ' ' + format_duration(since(begin_of_this)));
    if (run.status == 0) continue;
    run.component = variant.component;
    break;
  }
  run.time = since(begin);
  return run;
}

Verdict compare_runs(const WorkflowCopy& first, const WorkflowCopy& second, const Workflow& workflow) {
  RunRecords first_records = read_records(first.records(), first.directory());
  RunRecords second_records = read_records(second.records(), second.directory());
  leave_out_unlike_reads(first_records, second_records, [&](const std::string& path) {
    return std::ranges::any_of(
        workflow.files, [&](const auto& rule) { return rule.has_hyperslabs && belongs_to(rule, path); });
  });
  const TimedChoices choices(workflow, first_records, second_records);
  Verdict verdict;
  FileComparisons(workflow, second_records, choices, verdict)
      .compare(first.written_files(), second.written_files());
  verdict.unproven = choices.unproven();
  verdict.gets = compare_gets(first_records, second_records, choices.excuses());
  verdict.reads = compare_reads(first_records, second_records, choices.excuses());
  return verdict;
}

}  // namespace sluice::coordinator
