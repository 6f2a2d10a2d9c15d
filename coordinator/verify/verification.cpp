#include "verification.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>

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

int run_once(const WorkflowCopy& copy, const fs::path& flow, const fs::path& sluice) {
  const storage::FileDescriptor output(
      ::open(copy.output().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!output) throw IoError(NC_EIO, errno, copy.output().string(), "create");
  ChildOptions child;
  child.program = sluice.string();
  child.arguments = {"sluice", "run", flow.string()};
  child.environment = current_environment();
  child.environment["SLUICE_RECORD_VALUES"] = copy.records().string();
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
    if (rule.through != Through::subfiles && rule.through != Through::blobs) return false;
    for (std::size_t end = name.size(); end != std::string::npos && end > 0; end = name.rfind('.', end - 1))
      if (runtime::match_tail(rule.pattern, '/' + name.substr(0, end))) return true;
    return false;
  });
}

void compare_file(const std::string& name, const fs::path& first, const fs::path& second,
                  const ValueRecords& writers, Verdict& verdict) {
  const FileComparison comparison = compare_files(first, second);
  for (const std::string& remark : comparison.remarks) verdict.remarks.push_back(name + ": " + remark);
  if (!comparison.difference) {
    ++verdict.equal_files;
    verdict.equal_bytes += fs::file_size(second);
    return;
  }
  std::string text = name + ": " + comparison.difference->text;
  const std::string writer =
      writer_of(writers, name, comparison.difference->variable, comparison.difference->index);
  if (!writer.empty()) text += "; written by " + writer;
  verdict.differences.push_back(text);
}

void compare_all_files(const std::map<std::string, fs::path>& first,
                       const std::map<std::string, fs::path>& second, const Workflow& workflow,
                       const ValueRecords& writers, Verdict& verdict) {
  const std::string flow = workflow.file.filename().string();
  for (const auto& [name, path] : first) {
    if (name == flow) continue;
    const auto other = second.find(name);
    if (has_own_layout(workflow, name)) {
      verdict.left_out.push_back(name);
    } else if (other == second.end()) {
      verdict.differences.push_back(name + ": only the run through files has left it");
    } else {
      compare_file(name, path, other->second, writers, verdict);
    }
  }
  for (const auto& [name, path] : second) {
    if (name == flow || first.contains(name)) continue;
    if (has_own_layout(workflow, name)) {
      verdict.left_out.push_back(name);
    } else {
      verdict.differences.push_back(name + ": only the run through memory has left it");
    }
  }
}

}  // namespace

VerifiedRun run_variants(const WorkflowCopy& copy, const fs::path& flow,
                         const std::vector<std::string>& texts, const std::vector<std::string>& names,
                         const Workflow& workflow, const fs::path& sluice) {
  for (const auto& component : workflow.components) fs::create_directories(copy.records() / component.name);
  VerifiedRun run;
  const auto begin = steady_clock::now();
  for (std::size_t i = 0; i < texts.size() && run.status == 0; ++i) {
    const auto begin_of_this = steady_clock::now();
    write_flow_file(copy.directory() / flow.filename(), texts[i]);
    run.status = run_once(copy, copy.directory() / flow.filename(), sluice);
    if (names.empty()) continue;
    run.times.push_back(names[i] + ' ' + format_duration(since(begin_of_this)));
    if (run.status != 0) run.component = names[i];
  }
  run.time = since(begin);
  return run;
}

Verdict compare_runs(const WorkflowCopy& first, const WorkflowCopy& second, const Workflow& workflow) {
  const ValueRecords first_records = read_value_records(first.records(), first.directory());
  const ValueRecords second_records = read_value_records(second.records(), second.directory());
  Verdict verdict;
  compare_all_files(first.written_files(), second.written_files(), workflow, second_records, verdict);
  verdict.gets = compare_gets(first_records, second_records);
  return verdict;
}

}  // namespace sluice::coordinator
