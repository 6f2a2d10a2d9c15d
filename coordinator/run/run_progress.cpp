#include "run_progress.hpp"

#include <algorithm>

#include "format.hpp"
#include "wait_sentences.hpp"

namespace sluice::coordinator {
namespace {

using std::chrono::milliseconds;
using State = ProgressRow::State;

/// What the view tells of components, by their names.
class ViewIndex {
 public:
  explicit ViewIndex(const runtime::RunView& view) : view_(view) {
    for (const matcher::ComponentView& component : view.components) components_[component.name] = &component;
    for (const runtime::WaitStatus& wait : view.waits) {
      const runtime::WaitStatus*& longest = waits_[wait.component];
      if (longest == nullptr || longest->since_ms < wait.since_ms) longest = &wait;
    }
    for (const runtime::GatheringStatus& gathering : view.gatherings)
      gatherings_.emplace(gathering.component, &gathering);
    for (const matcher::RuleUse& use : view.uses)
      bytes_[use.component] += use.counters.put_bytes + use.counters.get_bytes + use.counters.opened_bytes;
  }
  [[nodiscard]] const matcher::ComponentView* component(const std::string& name) const {
    return find(components_, name);
  }
  [[nodiscard]] const runtime::WaitStatus* wait(const std::string& name) const { return find(waits_, name); }
  [[nodiscard]] const runtime::GatheringStatus* gathering(const std::string& name) const {
    return find(gatherings_, name);
  }
  [[nodiscard]] std::uint64_t bytes(const std::string& name) const {
    const auto found = bytes_.find(name);
    return found == bytes_.end() ? 0 : found->second;
  }
  [[nodiscard]] bool has_exited(const std::string& name) const {
    const matcher::ComponentView* const found = component(name);
    return found != nullptr && found->has_exited;
  }
  [[nodiscard]] const std::vector<matcher::RuleView>& rules() const { return view_.rules; }

 private:
  template <class Value>
  static const Value* find(const std::map<std::string, const Value*>& values, const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second;
  }

  const runtime::RunView& view_;
  std::map<std::string, const matcher::ComponentView*> components_;
  std::map<std::string, const runtime::WaitStatus*> waits_;
  std::map<std::string, const runtime::GatheringStatus*> gatherings_;
  std::map<std::string, std::uint64_t> bytes_;
};

/// How many of the rule's steps the component will write or read, as the workflow says; 0: not known.
std::uint64_t expected_of(const workflows::FileRule& rule, const std::string& name) {
  if (rule.writer == name) return rule.expected;
  const matcher::ReaderMode mode = rule.mode_of(name);
  switch (mode.mode) {
    case matcher::ReadMode::all:
      return rule.expected;
    case matcher::ReadMode::every:
      return (rule.expected + mode.every - 1) / mode.every;
    case matcher::ReadMode::latest:
      break;
  }
  return 0;
}

/// The sum over the rules whose steps count for the component; nothing when one of them says nothing.
std::optional<std::uint64_t> expected_steps(const workflows::Workflow& workflow, const std::string& name,
                                            bool is_reader) {
  std::uint64_t sum = 0;
  for (const workflows::FileRule& rule : workflow.files) {
    const bool counts =
        is_reader ? rule.writer != name && std::ranges::find(rule.readers, name) != rule.readers.end()
                  : rule.writer == name;
    if (!counts) continue;
    const std::uint64_t expected = expected_of(rule, name);
    if (expected == 0) return std::nullopt;
    sum += expected;
  }
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

/// How far a component is: the steps that it has taken, or for one that only writes, that it has published.
void count_steps(const ViewIndex& index, const workflows::Workflow& workflow, const std::string& name,
                 ProgressRow& row) {
  std::uint64_t published = 0;
  std::uint64_t taken = 0;
  std::uint64_t all = 0;
  bool is_reader = false;
  bool are_writers_over = true;
  for (const matcher::RuleView& rule : index.rules()) {
    if (rule.writer == name) {
      published += rule.totals.steps;
      continue;
    }
    const auto reader = std::ranges::find(rule.use.readers, name, &runtime::ReaderStatus::reader);
    if (reader == rule.use.readers.end()) continue;
    is_reader = true;
    taken += reader->taken;
    all += reader->taken + reader->missed;
    are_writers_over = are_writers_over && index.has_exited(rule.writer);
  }
  row.done = is_reader ? taken : published;
  if (is_reader && are_writers_over) {
    row.all = all;
  } else if (const auto expected = expected_steps(workflow, name, is_reader)) {
    row.all = std::max(*expected, row.done);
  }
}

void describe_wait_of(const ViewIndex& index, const std::string& name, ProgressRow& row) {
  if (const runtime::WaitStatus* const wait = index.wait(name)) {
    row.state = State::waiting;
    row.waits_for = wait->waits_for;
    row.waits_ms = wait->since_ms;
    row.text = "waits " + std::to_string(wait->since_ms / 1000) + " s for " + wait->waits_for;
  } else if (const runtime::GatheringStatus* const gathering = index.gathering(name)) {
    row.state = State::waiting;
    row.waits_ms = gathering->since_ms;
    row.waits_for = "its other processes";
    row.text = describe_gathering(*gathering);
  }
}

ProgressRow row_of_component(const ViewIndex& index, const workflows::Workflow& workflow,
                             const workflows::Component& component, const ComponentStage& stage) {
  ProgressRow row;
  row.name = component.name;
  count_steps(index, workflow, component.name, row);
  switch (stage.kind) {
    case ComponentStage::Kind::not_started:
      row.text = "starts when the writers of its files have ended";
      return row;
    case ComponentStage::Kind::restarts:
      row.state = State::restarting;
      row.text = stage.how + "; starts again";
      return row;
    case ComponentStage::Kind::ended:
      row.state = State::ended;
      row.failed = stage.has_failed ? 1 : 0;
      row.text = stage.has_failed ? stage.how : "finished";
      row.all = row.done;
      return row;
    case ComponentStage::Kind::running:
      break;
  }
  row.state = State::computing;
  row.text = "computes";
  describe_wait_of(index, component.name, row);
  return row;
}

ProgressRow row_of_jobs(const ViewIndex& index, const workflows::Component& component,
                        const ComponentStage& stage) {
  const JobStage& jobs = *stage.jobs;
  ProgressRow row;
  row.name = component.name;
  row.unit = "job";
  row.done = jobs.over;
  row.running = jobs.running;
  row.failed = jobs.failed;
  if (jobs.are_files_over) row.all = jobs.over + jobs.running + jobs.waiting;
  if (stage.kind == ComponentStage::Kind::ended) {
    row.state = State::ended;
    row.text = jobs.failed == 0 ? "finished" : std::to_string(jobs.failed) + " failed";
    return row;
  }
  row.state = jobs.running > 0 ? State::computing : State::waiting;
  row.text = jobs.running == 0 ? "waits for a file" : std::to_string(jobs.running) + " running";
  if (jobs.running == 0) row.waits_for = "a file";
  if (jobs.waiting > 0) row.text += ", " + format_count(jobs.waiting, "file") + " to go";
  if (jobs.failed > 0) row.text += ", " + std::to_string(jobs.failed) + " failed";
  if (jobs.running > 0) describe_wait_of(index, component.name, row);
  return row;
}

/// Sums up the members of an ensemble: [first, last) of the components.
ProgressRow row_of_ensemble(const ViewIndex& index, const workflows::Workflow& workflow,
                            const std::vector<ComponentStage>& stages, std::size_t first, std::size_t last) {
  ProgressRow row;
  row.name = workflow.components[first].ensemble;
  row.unit = "member";
  row.all = last - first;
  std::uint64_t waiting = 0;
  const runtime::WaitStatus* longest = nullptr;
  for (std::size_t i = first; i < last; ++i) {
    const ComponentStage& stage = stages[i];
    const bool is_over = stage.kind == ComponentStage::Kind::ended;
    row.done += is_over ? 1 : 0;
    row.failed += is_over && stage.has_failed ? 1 : 0;
    if (stage.kind != ComponentStage::Kind::running) continue;
    ++row.running;
    const runtime::WaitStatus* const wait = index.wait(workflow.components[i].name);
    if (wait == nullptr) continue;
    ++waiting;
    if (longest == nullptr || longest->since_ms < wait->since_ms) longest = wait;
  }
  row.state = row.done == *row.all     ? State::ended
              : row.running == 0       ? State::not_started
              : waiting == row.running ? State::waiting
                                       : State::computing;
  row.text = row.state == State::ended ? "finished" : std::to_string(row.running) + " running";
  if (row.failed > 0) row.text += ", " + std::to_string(row.failed) + " failed";
  if (longest != nullptr) {
    row.waits_for = longest->waits_for;
    row.waits_ms = longest->since_ms;
    row.text += ", " + std::to_string(waiting) + (waiting == 1 ? " waits, " : " wait, the longest ") +
                std::to_string(longest->since_ms / 1000) + " s for " + longest->waits_for;
  }
  return row;
}

}  // namespace

/// The rate of the last seconds says more than that of the whole run; but slow steps need a longer look.
void RunProgress::add_rates(ProgressRow& row, Sample now) {
  constexpr milliseconds window{20'000};
  constexpr std::uint64_t enough = 3;
  constexpr double ms_in_a_second = 1000;
  std::deque<Sample>& samples = samples_[row.name];
  if (samples.empty()) samples.push_back({});
  samples.push_back(now);
  const auto is_old = [&](const Sample& sample) {
    return now.time - sample.time > window && now.done - std::min(now.done, sample.done) >= enough;
  };
  while (samples.size() > 2 && is_old(samples[1])) samples.pop_front();
  // a sample each quarter of a second for hours would be too many
  constexpr std::size_t most_samples = 400;
  if (samples.size() > most_samples) samples.erase(samples.begin() + most_samples / 2);
  const Sample& first = samples.front();
  const double seconds = static_cast<double>((now.time - first.time).count()) / ms_in_a_second;
  if (seconds <= 0 || row.state == State::ended) return;
  row.per_second = static_cast<double>(now.done - std::min(now.done, first.done)) / seconds;
  row.bytes_per_second = static_cast<double>(now.bytes - std::min(now.bytes, first.bytes)) / seconds;
  if (row.all && *row.all > row.done && row.per_second > 0)
    row.left = milliseconds(static_cast<std::int64_t>(static_cast<double>(*row.all - row.done) /
                                                      row.per_second * ms_in_a_second));
}

ProgressReport RunProgress::report(const runtime::RunView& view, const std::vector<ComponentStage>& stages,
                                   milliseconds since_start) {
  ProgressReport report;
  report.since_start = since_start;
  const ViewIndex index(view);
  const auto& components = workflow_.components;
  for (std::size_t i = 0; i < std::min(components.size(), stages.size());) {
    std::size_t last = i + 1;
    std::uint64_t bytes = index.bytes(components[i].name);
    while (!components[i].ensemble.empty() && last < stages.size() &&
           components[last].ensemble == components[i].ensemble)
      bytes += index.bytes(components[last++].name);
    report.rows.push_back(!components[i].ensemble.empty() ? row_of_ensemble(index, workflow_, stages, i, last)
                          : stages[i].jobs                ? row_of_jobs(index, components[i], stages[i])
                                           : row_of_component(index, workflow_, components[i], stages[i]));
    add_rates(report.rows.back(), {since_start, report.rows.back().done, bytes});
    i = last;
  }
  for (const matcher::NodeView& node : view.nodes) {
    report.used_bytes += node.used_bytes;
    report.limit_bytes += node.limit_bytes;
    report.spilled_bytes += node.spilled_bytes;
  }
  for (const matcher::RuleUse& use : view.uses) {
    report.put_bytes += use.counters.put_bytes;
    report.get_bytes += use.counters.get_bytes;
    report.opened_bytes += use.counters.opened_bytes;
  }
  return report;
}

}  // namespace sluice::coordinator
