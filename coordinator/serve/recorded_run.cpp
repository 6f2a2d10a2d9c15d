#include "recorded_run.hpp"

#include <algorithm>

#include "run_journal.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "sluice/storage/step_record.hpp"

namespace sluice::coordinator {
namespace {

matcher::NodeView node_of(const std::vector<Timeline::Memory>& samples) {
  matcher::NodeView node;
  for (const Timeline::Memory& sample : samples)
    node = {sample.used_bytes, sample.limit_bytes, std::max(node.peak_bytes, sample.used_bytes),
            sample.spilled_bytes};
  return node;
}

/// The last one up to this time; nothing was used before the first one.
template <class Sample>
Sample at_time(const std::vector<Sample>& samples, std::uint64_t time_ms) {
  const auto after = std::ranges::upper_bound(samples, time_ms, {}, &Sample::time_ms);
  return after == samples.begin() ? Sample{} : *(after - 1);
}

Timeline::Memory memory_at(const Timeline& timeline, std::uint64_t time_ms) {
  Timeline::Memory sum{time_ms};
  for (const auto& node : timeline.memory) {
    const Timeline::Memory found = at_time(node, time_ms);
    sum.used_bytes += found.used_bytes;
    sum.limit_bytes += found.limit_bytes;
    sum.spilled_bytes += found.spilled_bytes;
  }
  return sum;
}

}  // namespace

runtime::RunView view_of(const Timeline& timeline) {
  runtime::RunView view;
  view.now_ms = timeline.end_ms;
  for (const Timeline::Component& component : timeline.components)
    view.components.push_back({component.name, static_cast<std::uint32_t>(std::max(component.ranks, 1)), 0, 0,
                               false, true,
                               component.end.empty() ? "its end was not recorded" : component.end});
  for (const Timeline::Rule& rule : timeline.rules)
    view.rules.push_back({rule.pattern, rule.writer, rule.readers, rule.totals});
  view.uses = timeline.uses;
  for (const auto& samples : timeline.memory) view.nodes.push_back(node_of(samples));
  return view;
}

std::vector<runtime::PublishedFile> kept_files(const std::filesystem::path& log_directory) {
  std::vector<runtime::PublishedFile> files;
  try {
    storage::PosixFileSystem disk;
    const auto record = storage::read_step_record(disk, (log_directory / step_record_file).string());
    for (const auto& [number, step] : record.steps)
      if (step.is_published() && !step.file.empty())
        files.push_back({{step.rule, step.name}, step.file, step.file, number, 0, 0, step.publication});
  } catch (const Error&) {  // a run that has ended early, for example
  }
  std::ranges::sort(files, std::ranges::greater(), &runtime::PublishedFile::publication);
  return files;
}

void write_history(JsonWriter& json, const Timeline& timeline) {
  constexpr std::uint64_t most_points = 300, ms_in_a_second = 1000;  // figures are taken twice a second
  const std::uint64_t interval_ms = std::max(timeline.end_ms / most_points + 1, ms_in_a_second);
  const auto a_second = [&](std::uint64_t bytes) { return bytes * ms_in_a_second / interval_ms; };
  Timeline::Traffic before;
  json.begin_list();
  for (std::uint64_t time_ms = 0; time_ms < timeline.end_ms + interval_ms; time_ms += interval_ms) {
    const Timeline::Memory memory = memory_at(timeline, time_ms);
    const Timeline::Traffic traffic = at_time(timeline.traffic, time_ms);
    json.begin_object()
        .member("time", time_ms)
        .member("used", memory.used_bytes)
        .member("limit", memory.limit_bytes)
        .member("spilled", memory.spilled_bytes)
        .member("put", a_second(traffic.put_bytes - before.put_bytes))
        .member("got",
                a_second(traffic.get_bytes - before.get_bytes + traffic.opened_bytes - before.opened_bytes))
        .end_object();
    before = traffic;
  }
  json.end_list();
}

}  // namespace sluice::coordinator
