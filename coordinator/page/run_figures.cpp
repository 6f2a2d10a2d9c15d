#include "run_figures.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "format.hpp"

namespace sluice::coordinator {
namespace {

using Kind = runtime::Activity::Kind;

/// Files that are listed; the others are counted.
constexpr std::size_t most_files = 200;

/// The time that some of the periods cover.
class CoveredTime {
 public:
  /// Periods come in the order of their ends; one that begins before an earlier one only adds to its
  /// beginning.
  void add(std::uint64_t begin_ms, std::uint64_t end_ms) {
    const std::uint64_t begin = std::max(begin_ms, covered_until_ms_);
    if (end_ms > begin) total_ms_ += end_ms - begin;
    covered_until_ms_ = std::max(covered_until_ms_, end_ms);
  }
  [[nodiscard]] std::uint64_t total_ms() const noexcept { return total_ms_; }

 private:
  std::uint64_t covered_until_ms_ = 0;
  std::uint64_t total_ms_ = 0;
};

struct OpenTimes {
  CoveredTime writing, reading, getting;
};

void add_time(const runtime::Activity& activity, OpenTimes& times) {
  (activity.kind == Kind::write ? times.writing : times.reading).add(activity.begin_ms, activity.end_ms);
  if (activity.kind == Kind::read) times.getting.add(activity.begin_ms, activity.end_ms);
}

void add_files(const Timeline& timeline, RunFigures& figures) {
  std::map<std::string, RunFigures::Files> by_name;
  std::map<std::string, OpenTimes> times;
  std::map<std::uint32_t, OpenTimes> rule_times;
  for (const runtime::Activity& activity : timeline.activities) {
    if (activity.kind != Kind::write && activity.kind != Kind::read && activity.kind != Kind::open) continue;
    const bool is_write = activity.kind == Kind::write;
    RunFigures::Files& file = by_name[activity.file];
    file.name = activity.file;
    const bool is_get = activity.kind == Kind::read;
    (is_write ? file.put_bytes : is_get ? file.get_bytes : file.opened_bytes) += activity.bytes;
    for (OpenTimes* const of : {&times[activity.file], &rule_times[activity.rule]}) add_time(activity, *of);
  }
  for (auto& [name, file] : by_name) {
    file.put_ms = times[name].writing.total_ms();
    file.get_ms = times[name].reading.total_ms();
    file.getting_ms = times[name].getting.total_ms();
    figures.files.push_back(std::move(file));
  }
  for (std::size_t rule = 0; rule < figures.rules.size(); ++rule) {
    const OpenTimes& open = rule_times[static_cast<std::uint32_t>(rule)];
    figures.rules[rule].put_ms = open.writing.total_ms();
    figures.rules[rule].get_ms = open.reading.total_ms();
    figures.rules[rule].getting_ms = open.getting.total_ms();
  }
  std::ranges::stable_sort(figures.files, std::greater<>(), [](const RunFigures::Files& file) {
    return file.put_bytes + file.get_bytes + file.opened_bytes;
  });
  if (figures.files.size() <= most_files) return;
  figures.more_files = figures.files.size() - most_files;
  figures.files.resize(most_files);
}

void add_rules(const Timeline& timeline, RunFigures& figures) {
  for (std::size_t i = 0; i < timeline.rules.size(); ++i) {
    RunFigures::Rule rule;
    rule.name = timeline.rules[i].pattern;
    rule.files = timeline.rules[i].totals.files;
    rule.steps = timeline.rules[i].totals.steps;
    for (const matcher::RuleUse& use : timeline.uses) {
      if (use.rule != i) continue;
      rule.put_bytes += use.counters.put_bytes;
      rule.get_bytes += use.counters.get_bytes;
      rule.puts += use.counters.puts;
      rule.gets += use.counters.gets;
      rule.replayed_gets += use.counters.replayed_gets;
      rule.opens += use.counters.opens;
      rule.opened_bytes += use.counters.opened_bytes;
    }
    figures.rules.push_back(std::move(rule));
  }
}

void add_components(const Timeline& timeline, RunFigures& figures) {
  for (const Timeline::Component& component : timeline.components) {
    const auto processes = static_cast<std::uint64_t>(std::max(component.ranks, 1));
    RunFigures::Component row{component.name, component.ranks,
                              component.end_ms - std::min(component.begin_ms, component.end_ms)};
    row.processor_ms = component.processor_ms;
    row.end = component.end;
    row.command = component.command;
    std::uint64_t wait_us = 0;
    for (const matcher::RuleUse& use : timeline.uses) {
      if (use.component != component.name) continue;
      row.put_bytes += use.counters.put_bytes;
      row.get_bytes += use.counters.get_bytes;
      row.opened_bytes += use.counters.opened_bytes;
      wait_us += use.counters.open_wait_us;
    }
    row.open_wait_ms = wait_us / 1000 / processes;
    for (const runtime::Activity& activity : timeline.activities) {
      if (activity.kind == Kind::wait_memory && activity.component == component.name)
        row.memory_wait_ms += activity.end_ms - activity.begin_ms;
    }
    row.memory_wait_ms /= processes;
    figures.components.push_back(std::move(row));
  }
}

void add_memory(const Timeline& timeline, RunFigures& figures) {
  for (const auto& node : timeline.memory) {
    for (const Timeline::Memory& memory : node) {
      if (memory.used_bytes > figures.peak_bytes) {
        figures.peak_bytes = memory.used_bytes;
        figures.limit_bytes = memory.limit_bytes;
      }
      figures.limit_bytes = std::max(figures.limit_bytes, memory.limit_bytes);
      figures.spilled_bytes = std::max(figures.spilled_bytes, memory.spilled_bytes);
    }
  }
}

}  // namespace

RunFigures figures_of(const Timeline& timeline) {
  RunFigures figures;
  add_rules(timeline, figures);
  add_files(timeline, figures);
  add_components(timeline, figures);
  add_memory(timeline, figures);
  figures.followings = followings_of(timeline);
  figures.advice = findings_of(timeline, figures);
  return figures;
}

}  // namespace sluice::coordinator
