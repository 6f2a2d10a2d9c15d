#include "coupling_warnings.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "files_on_disk.hpp"
#include "format.hpp"
#include "readiness.hpp"
#include "sluice/formats/tool_files.hpp"

namespace sluice::coordinator {
namespace {

using runtime::OrdinaryFile;
using runtime::RuleStatus;
using workflows::Component;
using workflows::FileRule;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::string date_text(std::time_t time) {
  std::tm parts{};
  ::localtime_r(&time, &parts);
  char text[40];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

/// "line 9 of flow.yaml"
std::string place_of(const workflows::Workflow& workflow, const FileRule& rule) {
  return "line " + std::to_string(rule.position.line) + " of " + workflow.file.filename().string();
}

/// Derives warnings from the figures of one run.
class CouplingWarnings {
 public:
  CouplingWarnings(const workflows::Workflow& workflow, const RunOutcome& outcome)
      : workflow_(workflow), outcome_(outcome), report_(*outcome.report) {}

  std::vector<std::string> find() {
    for (std::size_t i = 0; i < workflow_.components.size(); ++i) warn_of_component(i);
    for (std::uint32_t rule = 0; rule < workflow_.files.size() && rule < report_.rules.size(); ++rule) {
      warn_of_unused_rule(rule);
      warn_of_missing_files(rule);
      warn_of_uncoupled_file(rule);
      for (const std::string& reader : workflow_.files[rule].readers) warn_of_reader(rule, reader);
      for (const runtime::PartlyRead& read : report_.rules[rule].partly_read) warn_of_part(rule, read);
    }
    for (const OrdinaryFile& file : report_.ordinary_files) {
      if (file.rule < workflow_.files.size()) warn_of_outsider(file);
    }
    return std::move(warnings_);
  }

 private:
  /// Whether the run was ended before its components were.
  [[nodiscard]] bool was_ended_early() const {
    return outcome_.interrupted_by != 0 || !outcome_.stopped_for.empty() || !outcome_.stopped_by.empty();
  }
  /// What became of a component that has ended by itself in this run; null: it has not.
  [[nodiscard]] const ComponentOutcome* ended_by_itself(const std::string& name) const {
    const auto found = std::ranges::find(outcome_.components, name, &ComponentOutcome::name);
    const bool has_ended = found != outcome_.components.end() && found->end && !found->had_ended;
    return has_ended && !contains(outcome_.stopped, name) ? &*found : nullptr;
  }
  /// Whether nothing can be said of what the component has not done: it failed, and has reported the cause
  /// itself; it had ended before this run; or the run ended before it could do anything.
  [[nodiscard]] bool is_excused(const std::string& name) const {
    const ComponentOutcome* const component = ended_by_itself(name);
    return component == nullptr || component->end->failed();
  }
  /// Whether it failed by itself in a run that has published files for it: what it did not find may be these.
  [[nodiscard]] bool has_missed_files(const std::string& name) const {
    const ComponentOutcome* const component = ended_by_itself(name);
    if (component == nullptr || component->end->by_signal) return false;
    for (std::uint32_t rule = 0; rule < workflow_.files.size(); ++rule)
      if (contains(workflow_.files[rule].readers, name) && steps_of(rule) > 0) return true;
    return false;
  }
  /// A reader that was stopped had its time if files were there for as long as a notice takes.
  [[nodiscard]] bool is_reader_excused(std::uint32_t rule, const std::string& reader) const {
    if (!contains(outcome_.stopped, reader)) return is_excused(reader);
    return std::chrono::milliseconds(report_.rules[rule].published_for_ms) < outcome_.notice_after;
  }
  [[nodiscard]] std::uint64_t published_by(std::uint32_t rule) const {
    std::uint64_t files = 0;
    for (const runtime::DatasetStatus& dataset : report_.datasets)
      files += dataset.rule == rule && dataset.steps_published > 0 ? dataset.files : 0;
    return files;
  }

  /// Whether the reader needs no library: it begins when the files are on the disk.
  [[nodiscard]] bool finds_on_disk(const FileRule& rule, const std::string& reader) const {
    const auto found = std::ranges::find(workflow_.components, reader, &Component::name);
    return found != workflow_.components.end() && found->starts_when_done &&
           matcher::is_in_files(rule.through);
  }

  /// "opened none of the 6 steps that were published". A name may have been published several times.
  [[nodiscard]] std::string unopened(std::uint32_t rule) const {
    const std::uint64_t steps = steps_of(rule);
    const std::string what = workflow_.files[rule].is_stream || steps > published_by(rule) ? "step" : "file";
    if (steps == 1) return "did not open the one " + what + " that was published";
    return "opened none of the " + format_count(steps, what) + " that were published";
  }

  [[nodiscard]] std::uint64_t steps_of(std::uint32_t rule) const {
    std::uint64_t steps = 0;
    for (const runtime::DatasetStatus& dataset : report_.datasets)
      steps += dataset.rule == rule ? dataset.steps_published : 0;
    return steps;
  }

  /// What holds of all members of an ensemble is told of the first: "family" is its name, or its rule's.
  [[nodiscard]] bool is_told(const std::string& family, const std::string& kind) {
    return !family.empty() && !told_.insert(kind + ' ' + family).second;
  }
  [[nodiscard]] std::string ensemble_of(const std::string& name) const {
    const auto found = std::ranges::find(workflow_.components, name, &Component::name);
    return found == workflow_.components.end() ? std::string() : found->ensemble;
  }

  void warn_of_component(std::size_t index) {
    const Component& component = workflow_.components[index];
    const auto needs_library = [&](const FileRule& rule) {
      return rule.writer == component.name ||
             (contains(rule.readers, component.name) && !finds_on_disk(rule, component.name));
    };
    if (std::ranges::none_of(workflow_.files, needs_library) || contains(report_.connected, component.name) ||
        (is_excused(component.name) && !has_missed_files(component.name)) ||
        is_told(component.ensemble, "component"))
      return;
    warnings_.push_back(
        "component '" + component.name +
        "' is named by a file rule, but has used no coupled file: its files were ordinary ones. Likely "
        "causes: (1) It uses files of other names or directories: 'sluice init --trial' shows which. (2) Its "
        "program is linked statically, or makes system calls by itself: 'sluice check' finds the former. (3) "
        "LD_PRELOAD was cleared (env -i, ssh, sudo): hand on LD_PRELOAD and all SLUICE_ variables");
  }

  void warn_of_unused_rule(std::uint32_t index) {
    const FileRule& rule = workflow_.files[index];
    if (!report_.rules[index].users.empty() || is_excused(rule.writer) || is_told(rule.family, "rule"))
      return;
    std::string text = "the rule '" + rule.pattern + "' (" + place_of(workflow_, rule) + ") matched no file";
    const auto is_of_writer = [&](const OrdinaryFile& file) {
      return file.component == rule.writer && file.rule == OrdinaryFile::no_rule && file.is_written;
    };
    const auto uncovered = std::ranges::find_if(report_.ordinary_files, is_of_writer);
    if (uncovered != report_.ordinary_files.end()) {
      text +=
          ". " + rule.writer + " wrote " + uncovered->path + ", and no rule covers that file: correct 'path'";
    } else if (const auto similar = similar_file(workflow_, rule, outcome_.began_ns); !similar.empty()) {
      text += ". " + similar.string() +
              " was written during the run, and no rule covers it: if it is meant, correct 'path'";
    } else if (!contains(report_.connected, rule.writer)) {
      text += ": its writer " + rule.writer + " has used no coupled file";
    } else {
      text +=
          ". Sluice compares 'path' with the last parts of a file's path. Compare 'path' with the names "
          "that " +
          rule.writer + " writes";
    }
    warnings_.push_back(text);
  }

  /// Whether the run itself puts files of the rule on disk, or has told of one that a component wrote.
  [[nodiscard]] bool may_be_on_disk(std::uint32_t index) const {
    const FileRule& rule = workflow_.files[index];
    return rule.is_drained() || rule.exposes || matcher::is_in_files(rule.through) ||
           formats::is_any_name(rule.pattern) ||
           std::ranges::any_of(report_.ordinary_files, [&](const OrdinaryFile& file) {
             return file.rule == index && file.is_written;
           });
  }
  [[nodiscard]] bool was_published(std::uint32_t index, const std::filesystem::path& file) const {
    const std::filesystem::path begin = std::filesystem::absolute(workflow_.file).parent_path();
    return std::ranges::any_of(report_.datasets, [&](const runtime::DatasetStatus& dataset) {
      return dataset.rule == index && (begin / dataset.name).lexically_normal() == file.lexically_normal();
    });
  }

  /// A program without the library has written what the rule passes through memory: its file is on disk.
  void warn_of_uncoupled_file(std::uint32_t index) {
    const FileRule& rule = workflow_.files[index];
    if (may_be_on_disk(index)) return;
    for (const std::filesystem::path& file : files_on_disk(workflow_, rule)) {
      if (modification_time_of(file) < outcome_.began_ns) continue;
      std::error_code ignored;
      const std::filesystem::path end = std::filesystem::canonical(file, ignored);  // of links
      if (was_published(index, file) || was_published(index, end)) continue;
      if (is_told(rule.family, "uncoupled")) return;
      warnings_.push_back(
          file.string() + " was written to the disk during the run, although the rule '" + rule.pattern +
          "' (" + place_of(workflow_, rule) + ") passes it through memory: a program of " + rule.writer +
          " has not had Sluice's library. It is linked statically, or LD_PRELOAD was cleared: "
          "'sluice check' finds the former");
      return;
    }
  }

  /// A run that was ended early has told that itself.
  void warn_of_missing_files(std::uint32_t index) {
    const FileRule& rule = workflow_.files[index];
    if (rule.expected == 0 || was_ended_early() || is_excused(rule.writer)) return;
    const std::uint64_t published = rule.is_stream ? steps_of(index) : published_by(index);
    if (published >= rule.expected || is_told(rule.family, "missing")) return;
    const std::string what = rule.is_stream ? "step" : "file";
    warnings_.push_back("the rule '" + rule.pattern + "' (" + place_of(workflow_, rule) + ") expects " +
                        format_count(rule.expected, what) + ", and " + rule.writer + " published " +
                        std::to_string(published) + ": see why " + rule.writer +
                        " ended early, or correct 'expect'");
  }

  void warn_of_reader(std::uint32_t index, const std::string& reader) {
    const FileRule& rule = workflow_.files[index];
    const std::string missing = missing_file(reader);
    if (steps_of(index) == 0 || contains(report_.rules[index].users, reader) || finds_on_disk(rule, reader) ||
        (is_reader_excused(index, reader) && missing.empty()) || is_told(rule.family, "reader") ||
        is_told(ensemble_of(reader), "reader " + rule.pattern))
      return;
    std::string text = "'" + reader + "' is a reader of '" + rule.pattern + "', but " + unopened(index);
    if (!missing.empty()) {
      text += ". It opened " + missing +
              ", which is not there, and no rule covers that name: correct the name in " + reader +
              ", or 'path' in " + place_of(workflow_, rule);
    } else if (const std::string old = old_file(index, reader); !old.empty()) {
      text += ". It may have read an old file instead: " + old + ". Remove the old file";
    } else {
      text +=
          ". A coupled file is not on disk: static programs, programs without LD_PRELOAD, and those that "
          "wait "
          "for an event of the file system never see it. Let the program open the file, because the open "
          "waits; or set 'expose: true'";
    }
    warnings_.push_back(text);
  }

  /// A file that the reader has asked for, that is not there, and that no rule covers; empty: none.
  [[nodiscard]] std::string missing_file(const std::string& reader) const {
    const auto is_missing = [&](const OrdinaryFile& file) {
      return file.component == reader && file.rule == OrdinaryFile::no_rule && !file.is_written &&
             file.modified_s == 0;
    };
    const auto found = std::ranges::find_if(report_.ordinary_files, is_missing);
    return found == report_.ordinary_files.end() ? std::string() : found->path;
  }

  /// A file from before the run at the path of one of the rule's files: "/place/x.nc, from DATE"; empty if
  /// there is none.
  [[nodiscard]] std::string old_file(std::uint32_t index, const std::string& reader) const {
    const auto component = std::ranges::find_if(
        workflow_.components, [&](const Component& candidate) { return candidate.name == reader; });
    if (component == workflow_.components.end()) return {};
    for (const runtime::DatasetStatus& dataset : report_.datasets) {
      if (dataset.rule != index || dataset.name.empty()) continue;
      for (const auto& directory : {component->directory, workflow_.file.parent_path()}) {
        const std::filesystem::path path = directory / dataset.name;
        struct stat facts {};
        if (::stat(path.c_str(), &facts) == 0 && facts.st_mtim.tv_sec < outcome_.began)
          return path.string() + ", from " + date_text(facts.st_mtim.tv_sec);
      }
    }
    return {};
  }

  /// A reader may want no more, so this is no failure.
  void warn_of_part(std::uint32_t index, const runtime::PartlyRead& read) {
    const FileRule& rule = workflow_.files[index];
    if (outcome_.interrupted_by != 0 || is_told(rule.family, "part " + ensemble_of(read.reader))) return;
    std::string text = "'" + read.reader + "' has read only a part of '" + read.name + "'";
    if (read.files > 1) text += " and " + format_count(read.files - 1, "more file");
    text += ": its writer " + rule.writer + " has gone on in it afterwards";
    if (read.closes > 1) text += ", and has closed it " + std::to_string(read.closes) + " times in all";
    text += ". If '" + read.reader + "' wants the whole, ";
    const std::string place = " to the rule '" + rule.pattern + "' (" + place_of(workflow_, rule) + ")";
    if (read.is_by_puts) {
      text += "give it 'start: when-done', or let " + rule.writer + " keep the file open";
    } else if (read.closes > 1) {
      text += "add 'publish: close:" + std::to_string(read.closes) + "'" + place +
              ", or 'publish: exit' where that number changes";
    } else {
      text += "add 'publish: exit'" + place;
    }
    warnings_.push_back(text);
  }

  void warn_of_outsider(const OrdinaryFile& file) {
    const FileRule& rule = workflow_.files[file.rule];
    if (is_told(rule.family, "outsider")) return;
    std::string text = "'" + file.component + "' " + (file.is_written ? "wrote " : "opened ") + file.path +
                       " as an ordinary file, because the rule '" + rule.pattern + "' (" +
                       place_of(workflow_, rule) + ") " +
                       (contains(rule.readers, file.component) ? "names it as a reader only. "
                                                               : "does not name '" + file.component + "'. ");
    const bool is_old = !file.is_written && file.modified_s > 0 && file.modified_s < outcome_.began;
    if (is_old) text += "It read an old file, from " + date_text(file.modified_s) + ". ";
    if (file.is_written && contains(rule.readers, file.component))
      text += "A program that looks first whether its output is there (cp, NCO) has waited for it until '" +
              rule.writer + "' had ended. ";
    text += file.is_written ? "Give the files of '" + file.component + "' another name, or name '" +
                                  file.component + "' as the 'writer'"
                            : "Add '" + file.component + "' to the rule's 'readers'";
    warnings_.push_back(text);
  }

  const workflows::Workflow& workflow_;
  const RunOutcome& outcome_;
  const runtime::StatusReport& report_;
  std::vector<std::string> warnings_;
  std::set<std::string> told_;
};

}  // namespace

std::vector<std::string> find_coupling_warnings(const workflows::Workflow& workflow,
                                                const RunOutcome& outcome) {
  if (!outcome.report || !outcome.runtime_failure.empty()) return {};
  return CouplingWarnings(workflow, outcome).find();
}

}  // namespace sluice::coordinator
