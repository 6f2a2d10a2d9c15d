// What a report says in words. A finding is proven by its figures, and names what helps.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "format.hpp"
#include "run_figures.hpp"

namespace sluice::coordinator {
namespace {

using Kind = runtime::Activity::Kind;

/// Below these, a figure is no reason for advice.
constexpr std::uint64_t notable_wait_percent = 20;
constexpr std::uint64_t notable_wait_ms = 1000;
constexpr std::uint64_t notable_gets = 100;
constexpr std::uint64_t usual_replay_percent = 80;
constexpr std::uint64_t nearly_full_percent = 90;
constexpr std::uint64_t notable_unread = 3;       // steps
constexpr std::uint64_t many_requests = 100'000;  // puts or gets
constexpr std::uint64_t small_request_bytes = 1024;

std::uint64_t percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : part * 100 / whole;
}

/// A time that is worth a word, in a span of the run.
bool is_notable(std::uint64_t time_ms, std::uint64_t span_ms) {
  return time_ms >= notable_wait_ms && percent(time_ms, span_ms) >= notable_wait_percent;
}

class Findings {
 public:
  Findings(const Timeline& timeline, const RunFigures& figures) : timeline_(timeline), figures_(figures) {}

  std::vector<std::string> find() {
    find_waits();
    for (const Following& following : figures_.followings) find_slow_reader(following);
    find_imbalance();
    for (std::size_t i = 0; i < figures_.rules.size(); ++i)
      look_at(figures_.rules[i], component_named(timeline_.rules[i].writer));
    find_shortage();
    find_what_is_missing();
    return std::move(found_);
  }

 private:
  void add(std::string text) { found_.push_back(std::move(text)); }

  [[nodiscard]] const RunFigures::Component* component_named(const std::string& name) const {
    const auto found = std::ranges::find(figures_.components, name, &RunFigures::Component::name);
    return found == figures_.components.end() ? nullptr : &*found;
  }

  void find_waits() {
    for (const matcher::RuleUse& use : timeline_.uses) find_wait(use);
    for (const RunFigures::Component& component : figures_.components) {
      if (component.memory_wait_ms < notable_wait_ms) continue;
      add("processes of " + component.name + " waited " + format_milliseconds(component.memory_wait_ms) +
          " for memory on average: the readers are the bottleneck. Raise staging.memory, or make the readers "
          "faster");
    }
  }

  void find_wait(const matcher::RuleUse& use) {
    const RunFigures::Component* const component = component_named(use.component);
    if (component == nullptr || use.rule >= timeline_.rules.size()) return;
    const std::uint64_t waited =
        use.counters.open_wait_us / 1000 / static_cast<std::uint64_t>(std::max(component->ranks, 1));
    if (!is_notable(waited, component->run_ms)) return;
    const Timeline::Rule& rule = timeline_.rules[use.rule];
    const std::string span = use.component + " waited " + format_milliseconds(waited) + " of its " +
                             format_milliseconds(component->run_ms) + " for ";
    if (use.component != rule.writer)
      add(span + rule.pattern + ": the writer " + rule.writer + " is the bottleneck. Give it more ranks" +
          (component->ranks > 1 ? ", or " + use.component + " fewer" : ""));
    else
      add(span + "memory to create " + rule.pattern + ": raise staging.memory, or make its readers faster");
  }

  /// It ended long after the writer, with steps that had been there long before.
  void find_slow_reader(const Following& following) {
    const std::uint64_t behind =
        following.last_closed_ms - std::min(following.last_closed_ms, following.last_published_ms);
    if (!is_notable(behind, timeline_.end_ms) || following.most_unread < notable_unread) return;
    const Timeline::Rule& rule = timeline_.rules[following.rule];
    add(following.reader + " read the last of " + rule.pattern + " " + format_milliseconds(behind) +
        " after " + rule.writer + " had written it, and was up to " +
        format_count(following.most_unread, "step") +
        " behind: it is the bottleneck. Give it more ranks; if "
        "it need not see all, write readers: {" +
        following.reader + ": latest}");
  }

  /// Ranks that close the same files at other times: the sum of the times between the first and the last.
  void find_imbalance() {
    struct Spread {
      std::map<std::int32_t, std::uint64_t> lasts;  ///< how often a rank was the last, by rank
      std::uint64_t sum_ms = 0, steps = 0;
    };
    std::map<std::string, Spread> spreads;  // by component
    for (const auto& [file, steps] : activities_by_step(timeline_, Kind::put)) {
      for (const auto& ranks : steps) {
        const auto [first, last] = std::ranges::minmax_element(ranks, {}, &runtime::Activity::begin_ms);
        Spread& spread = spreads[(*last)->component];
        spread.sum_ms += (*last)->begin_ms - (*first)->begin_ms;
        ++spread.steps;
        ++spread.lasts[(*last)->rank];
      }
    }
    for (const auto& [name, spread] : spreads) {
      const RunFigures::Component* const component = component_named(name);
      if (component == nullptr || !is_notable(spread.sum_ms, component->run_ms)) continue;
      const auto slowest =
          std::ranges::max_element(spread.lasts, {}, [](const auto& last) { return last.second; });
      add("the ranks of " + name + " begin to put at different times: together " +
          format_milliseconds(spread.sum_ms) + " lie between the first and the last of each step, and rank " +
          std::to_string(slowest->first) + " is the last in " + std::to_string(slowest->second) + " of " +
          format_count(spread.steps, "step") + ": look how their work is divided");
    }
  }

  void look_at(const RunFigures::Rule& rule, const RunFigures::Component* writer) {
    const bool has_run = writer != nullptr && !writer->end.empty();  // otherwise something else went wrong
    if (rule.files == 0 && has_run)
      add("no file of " + rule.name + " was published: look at the paths that the programs use");
    find_small_requests(rule.name, "puts", rule.puts, rule.put_bytes);
    find_small_requests(rule.name, "gets", rule.gets, rule.get_bytes);
    if (rule.gets < notable_gets || percent(rule.replayed_gets, rule.gets) >= usual_replay_percent) return;
    add(std::to_string(percent(rule.matched_gets(), rule.gets)) + " % of the gets of " + rule.name +
        " were matched anew: what is read or written changes from step to step, or each file is the first of "
        "its shape");
  }

  void find_small_requests(const std::string& pattern, const std::string& kind, std::uint64_t count,
                           std::uint64_t bytes) {
    if (count < many_requests || bytes / count >= small_request_bytes) return;
    add(std::to_string(count) + " " + kind + " of " + pattern + " had " + format_bytes(bytes / count) +
        " on average: fewer and larger ones cost less, for instance whole rows in place of single elements");
  }

  void find_shortage() {
    if (percent(figures_.peak_bytes, figures_.limit_bytes) >= nearly_full_percent)
      add("memory was nearly full: " + format_bytes(figures_.peak_bytes) + " of " +
          format_bytes(figures_.limit_bytes) + ". More of staging.memory lets writers run ahead");
    if (figures_.spilled_bytes > 0)
      add(format_bytes(figures_.spilled_bytes) +
          " were on disk at a time, because memory was full: raise staging.memory");
  }

  void find_what_is_missing() {
    if (timeline_.lost_activities > 0)
      add("the timeline lacks " + std::to_string(timeline_.lost_activities) +
          " periods, because there were too many; totals by rule and component have all");
    if (timeline_.verdict.empty()) add("the end of the run was not recorded: it goes on, or was killed");
  }

  const Timeline& timeline_;
  const RunFigures& figures_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> findings_of(const Timeline& timeline, const RunFigures& figures) {
  return Findings(timeline, figures).find();
}

}  // namespace sluice::coordinator
