#include "summary.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <span>

#include "ensemble_rows.hpp"
#include "format.hpp"

namespace sluice::coordinator {
namespace {

using runtime::AccessCounters;
using runtime::DatasetStatus;
using Row = std::vector<std::string>;

/// A rule with more files than this gets a single line.
constexpr std::size_t most_single_files = 6;

/// The figures of one line of the table.
struct FileFigures {
  std::uint64_t steps = 0;
  std::uint64_t discarded = 0;
  AccessCounters counters;
  std::uint64_t kept_bytes = 0;
  std::uint64_t files = 0;

  void add(const DatasetStatus& dataset) {
    files += dataset.files;
    steps += dataset.steps_published;
    discarded += dataset.steps_discarded;
    counters += dataset.counters;
    kept_bytes += dataset.bytes_kept;
  }
};

Row file_row(const std::string& name, const FileFigures& figures) {
  const AccessCounters& counters = figures.counters;
  const auto waited = std::chrono::milliseconds(counters.open_wait_us / 1000);
  return {name,
          std::to_string(figures.steps) +
              (figures.discarded > 0 ? " (+" + std::to_string(figures.discarded) + " discarded)" : ""),
          format_bytes(counters.put_bytes),
          std::to_string(counters.puts),
          format_bytes(counters.get_bytes),
          std::to_string(counters.gets),
          std::to_string(counters.replayed_gets),
          format_duration(waited),
          std::to_string(counters.opens),
          format_bytes(counters.opened_bytes),
          figures.kept_bytes > 0 ? format_bytes(figures.kept_bytes) : "-"};
}

/// Adds the rows of one rule: one row for each file, or one for all files.
void add_rule_rows(const std::string& pattern, std::vector<const DatasetStatus*> datasets,
                   std::vector<Row>& rows) {
  if (datasets.empty()) {
    rows.push_back({pattern + "  (no such file was opened)"});
    return;
  }
  if (datasets.size() > most_single_files) {
    FileFigures all;
    for (const DatasetStatus* dataset : datasets) all.add(*dataset);
    rows.push_back(file_row(pattern + "  (" + format_count(all.files, "file") + ")", all));
    return;
  }
  std::sort(datasets.begin(), datasets.end(),
            [](const DatasetStatus* a, const DatasetStatus* b) { return a->name < b->name; });
  for (const DatasetStatus* dataset : datasets) {
    FileFigures figures;
    figures.add(*dataset);
    rows.push_back(file_row(dataset->name, figures));
  }
}

/// Rules of the members of an ensemble: they have one line of the workflow file.
bool are_of_one_family(const workflows::FileRule& a, const workflows::FileRule& b) {
  return !a.family.empty() && a.family == b.family && a.position.line == b.position.line;
}

/// Columns that would be empty. A row of a rule without files has its name alone.
void leave_out(std::vector<Row>& rows, std::ptrdiff_t first, std::ptrdiff_t columns) {
  for (Row& row : rows)
    if (std::ssize(row) >= first + columns) row.erase(row.begin() + first, row.begin() + first + columns);
}

std::string file_table(const workflows::Workflow& workflow, const runtime::StatusReport& report) {
  const std::vector<Row> heads{
      {"file", "steps", "put", "puts", "got", "gets", "replayed", "waited", "opens", "opened", "on disk"}};
  std::vector<Row> rows = heads;
  std::vector<std::vector<const DatasetStatus*>> by_rule(workflow.files.size());
  for (const DatasetStatus& dataset : report.datasets)
    if (dataset.rule < by_rule.size()) by_rule[dataset.rule].push_back(&dataset);
  for (std::size_t rule = 0; rule < workflow.files.size();) {
    const workflows::FileRule& first = workflow.files[rule];
    std::vector<const DatasetStatus*> datasets = std::move(by_rule[rule]);
    for (++rule; rule < workflow.files.size() && are_of_one_family(first, workflow.files[rule]); ++rule)
      datasets.insert(datasets.end(), by_rule[rule].begin(), by_rule[rule].end());
    add_rule_rows(first.family.empty() ? first.pattern : first.family, std::move(datasets), rows);
  }
  if (std::ranges::none_of(report.datasets, [](const auto& dataset) { return dataset.bytes_kept > 0; }))
    leave_out(rows, 10, 1);
  if (std::ranges::none_of(report.datasets, [](const auto& dataset) { return dataset.counters.opens > 0; }))
    leave_out(rows, 8, 2);
  std::vector<bool> to_the_right(rows.front().size(), true);
  to_the_right.front() = false;
  return format_table(rows, to_the_right);
}

/// The same by rule, as the matchers have told last. A line for each rule: they tell no files then.
std::string last_file_table(const LastFigures& last) {
  std::vector<Row> rows{
      {"files", "published", "steps", "put", "puts", "got", "gets", "replayed", "opens", "opened"}};
  for (std::size_t i = 0; i < last.rules.size(); ++i) {
    AccessCounters sum;
    for (const matcher::RuleUse& use : last.uses)
      if (use.rule == i) sum += use.counters;
    const matcher::RuleTotals& totals = last.rules[i].totals;
    rows.push_back({last.rules[i].pattern, std::to_string(totals.files), std::to_string(totals.steps),
                    format_bytes(sum.put_bytes), std::to_string(sum.puts), format_bytes(sum.get_bytes),
                    std::to_string(sum.gets), std::to_string(sum.replayed_gets), std::to_string(sum.opens),
                    format_bytes(sum.opened_bytes)});
  }
  std::vector<bool> to_the_right(rows.front().size(), true);
  to_the_right.front() = false;
  return "the matchers gave no final figures; " + format_duration(std::chrono::milliseconds(last.time_ms)) +
         " after the start they were:\n" + format_table(rows, to_the_right);
}

/// Whether the rows of the rule's readers say something: they choose among its steps, or have missed some.
bool has_reader_rows(const workflows::FileRule& rule, const runtime::RuleStatus& status) {
  if (rule.is_stream || !rule.modes.empty() || rule.queue > 0) return true;
  if (rule.is_drained() || matcher::is_in_files(rule.through)) return false;  // they read files on disk, too
  return std::ranges::any_of(status.readers, [](const auto& reader) { return reader.missed > 0; });
}

/// What readers have done with the steps of each rule; empty where each has taken all.
std::string reader_table(const workflows::Workflow& workflow, const runtime::StatusReport& report) {
  std::vector<Row> rows{{"reader", "of", "took", "skipped", "missed"}};
  for (std::size_t i = 0; i < std::min(workflow.files.size(), report.rules.size()); ++i) {
    const workflows::FileRule& rule = workflow.files[i];
    if (!has_reader_rows(rule, report.rules[i])) continue;
    for (const runtime::ReaderStatus& reader : report.rules[i].readers) {
      if (std::ranges::find(rule.readers, reader.reader) == rule.readers.end()) continue;  // expose
      rows.push_back({reader.reader, rule.pattern, std::to_string(reader.taken),
                      std::to_string(reader.skipped), std::to_string(reader.missed)});
    }
  }
  return rows.size() == 1 ? std::string() : format_table(rows, {false, false, true, true, true}) + "\n";
}

std::string component_table(const RunOutcome& outcome) {
  std::vector<Row> rows{{"component", "ranks", "time", "end"}};
  const std::span<const ComponentOutcome> components = outcome.components;
  for (std::size_t i = 0; i < components.size();) {
    const ComponentOutcome& component = components[i];
    std::size_t count = 1;
    while (!component.ensemble.empty() && i + count < components.size() &&
           components[i + count].ensemble == component.ensemble)
      ++count;
    if (component.ensemble.empty()) {
      rows.push_back({component.name, component.ranks == 0 ? "-" : std::to_string(component.ranks),
                      format_duration(component.duration), end_text(component, outcome.first_failed)});
    } else {
      std::ranges::move(ensemble_rows(components.subspan(i, count), outcome.first_failed),
                        std::back_inserter(rows));
    }
    i += count;
  }
  return format_table(rows, {false, true, true, false});
}

/// The number of items that are listed; the rest is only counted.
constexpr std::size_t most_named = 5;

/// Each step of a file may fail, for one reason.
std::string failure_lines(const std::vector<std::string>& failures) {
  std::vector<std::string> lines;
  std::map<std::string, std::size_t> times;
  for (const std::string& failure : failures)
    if (++times[failure] == 1) lines.push_back(failure);
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), most_named); ++i) {
    const std::size_t count = times[lines[i]];
    text += lines[i] + (count > 1 ? " (" + std::to_string(count) + " times)\n" : "\n");
  }
  if (lines.size() > most_named)
    text += "and " + format_count(lines.size() - most_named, "more failure") + ": the event log names them\n";
  return text;
}

/// "the burst-buffer logs of a.nc, b.nc and 35 more are kept: …"
std::string kept_log_lines(const std::vector<runtime::KeptLogs>& logs) {
  if (logs.empty()) return {};
  std::string names;
  for (std::size_t i = 0; i < std::min(logs.size(), most_named); ++i)
    names += (i == 0 ? "'" : ", '") + logs[i].name + "'";
  if (logs.size() > most_named) names += " and " + std::to_string(logs.size() - most_named) + " more";
  std::set<std::string> directories;
  for (const runtime::KeptLogs& log : logs) directories.insert(log.directory);
  std::string where;
  for (const std::string& directory : directories) where += (where.empty() ? "" : ", ") + directory;
  return "the burst-buffer logs of " + names +
         " are kept: 'sluice recover DIR' writes their data to the files (DIR: " + where + ")\n";
}

}  // namespace

std::string JobFigures::describe() const {
  std::string text = format_count(begun, "job");
  if (failed > 0) text += ", " + std::to_string(failed) + " of them failed";
  if (retried > 0) text += retried == 1 ? ", 1 retry" : ", " + std::to_string(retried) + " retries";
  if (skipped > 0) text += "; " + format_count(skipped, "file") + " skipped";
  return text;
}

int RunOutcome::exit_status() const {
  if (interrupted_by != 0) return 128 + interrupted_by;
  if (!runtime_failure.empty()) return status_runtime_failure;
  if (!stopped_for.empty()) return status_stopped;
  for (const ComponentOutcome& component : components) {
    if (component.name != first_failed) continue;
    if (component.end) return component.end->shell_status();
    return status_runtime_failure;  // the component could not be started, although others may run
  }
  return missing_files() > 0 || lost_steps() > 0 || !lost_output.empty() ? status_runtime_failure : status_ok;
}

std::uint64_t RunOutcome::lost_steps() const noexcept {
  std::uint64_t steps = 0;
  for (std::size_t i = 0; report && i < report->datasets.size(); ++i) steps += report->datasets[i].steps_lost;
  return steps;
}

std::size_t RunOutcome::missing_files() const noexcept {
  if (!report) return 0;
  const std::vector<std::string>& failures = report->drain_failures;
  return std::set<std::string>(failures.begin(), failures.end()).size();
}

std::string describe_end(const RunOutcome& outcome) {
  const std::string status = " (exit status " + std::to_string(outcome.exit_status()) + ")";
  if (!outcome.runtime_failure.empty()) return "failed: " + outcome.runtime_failure + status;
  if (outcome.interrupted_by != 0) return "interrupted by " + signal_name(outcome.interrupted_by) + status;
  if (!outcome.stopped_for.empty())
    return "stopped for " + outcome.stopped_for + ", to be resumed by 'sluice run --resume'" + status;
  const std::string stop = outcome.stopped_by.empty() ? ""
                           : outcome.stopped_by == outcome.first_failed
                               ? ", and the run was stopped"
                               : ", and " + outcome.stopped_by + " stopped the run";
  if (!outcome.first_failed.empty()) return "failed: " + outcome.first_failed + " failed" + stop + status;
  if (const std::size_t missing = outcome.missing_files(); missing > 0)
    return "failed: " + format_count(missing, "file") + " could not be written" + status;
  if (const std::uint64_t lost = outcome.lost_steps(); lost > 0)
    return "failed: " + format_count(lost, "file") + (lost == 1 ? " was" : " were") +
           " lost: the event log says why" + status;
  if (!outcome.lost_output.empty()) return "failed: " + outcome.lost_output + status;
  return "finished";
}

std::string describe_matcher(const runtime::MatcherStatus& matcher) {
  std::string text = "matcher " + std::to_string(matcher.rank) + " (node " + std::to_string(matcher.node) +
                     "): " + format_count(matcher.requests, "request");
  constexpr std::array<const char*, 2> kinds{"relay", "exchange"};  // indexed by PacketKind
  for (std::size_t i = 0; i < matcher.links.size() && i < kinds.size(); ++i) {
    const auto& link = matcher.links[i];
    text += std::string("; ") + kinds[i] + ": " + format_count(link.packets_sent, "packet") + " sent (" +
            format_bytes(link.bytes_sent) + "), " + std::to_string(link.packets_received) + " received (" +
            format_bytes(link.bytes_received) + ")";
  }
  if (matcher.landed_bytes > 0)
    text += "; " + format_bytes(matcher.landed_bytes) + " of data fetched from other nodes";
  return text;
}

std::string summarize(const workflows::Workflow& workflow, const RunOutcome& outcome) {
  std::string text = "\n" + workflow.name + ": " + describe_end(outcome) + " after " +
                     format_duration(outcome.duration) + "\n\n";
  if (outcome.report && !workflow.files.empty()) text += file_table(workflow, *outcome.report) + "\n";
  if (!outcome.report && outcome.last && !workflow.files.empty())
    text += last_file_table(*outcome.last) + "\n";
  if (outcome.report) text += reader_table(workflow, *outcome.report);
  text += component_table(outcome);
  if (outcome.report) {
    text += "\nmemory: at most " + format_bytes(outcome.report->bytes_staged_peak) + " staged of " +
            format_bytes(workflow.memory_bytes);
    if (outcome.report->bytes_spilled_ever > 0) {
      const bool has_logs = std::ranges::any_of(workflow.files, [](const workflows::FileRule& rule) {
        return rule.through == workflows::Through::burst_buffer;
      });
      text += "; " + format_bytes(outcome.report->bytes_spilled_ever) +
              (has_logs ? " in burst-buffer logs or spilled" : " spilled to " + outcome.spill_directory);
    }
    text += "\n";
    text += failure_lines(outcome.report->drain_failures);
    text += kept_log_lines(outcome.report->kept_logs);
  }
  return text;
}

}  // namespace sluice::coordinator
