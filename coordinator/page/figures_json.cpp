#include <algorithm>
#include <map>

#include "json_writer.hpp"
#include "run_figures.hpp"

namespace sluice::coordinator {
namespace {

void write_files(JsonWriter& json, const RunFigures::Files& files) {
  json.member("name", files.name)
      .member("put_bytes", files.put_bytes)
      .member("get_bytes", files.get_bytes)
      .member("opened_bytes", files.opened_bytes)
      .member("open_for_writing_ms", files.put_ms)
      .member("open_for_reading_ms", files.get_ms);
}

}  // namespace

std::string figures_as_json(const Timeline& timeline, const RunFigures& figures) {
  JsonWriter json;
  json.begin_object()
      .member("run", timeline.name)
      .member("began", std::int64_t{timeline.began})
      .member("duration_ms", timeline.end_ms)
      .member("end", timeline.verdict)
      .member("peak_bytes", figures.peak_bytes)
      .member("limit_bytes", figures.limit_bytes)
      .member("spilled_bytes", figures.spilled_bytes);
  json.key("components").begin_list();
  for (const RunFigures::Component& component : figures.components) {
    json.begin_object()
        .member("name", component.name)
        .member("ranks", component.ranks)
        .member("run_ms", component.run_ms)
        .member("put_bytes", component.put_bytes)
        .member("get_bytes", component.get_bytes)
        .member("opened_bytes", component.opened_bytes)
        .member("open_wait_ms", component.open_wait_ms)
        .member("memory_wait_ms", component.memory_wait_ms)
        .member("end", component.end)
        .end_object();
  }
  json.end_list().key("rules").begin_list();
  for (const RunFigures::Rule& rule : figures.rules) {
    json.begin_object();
    write_files(json, rule);
    json.member("files", rule.files)
        .member("steps", rule.steps)
        .member("puts", rule.puts)
        .member("gets", rule.gets)
        .member("replayed_gets", rule.replayed_gets)
        .member("opens", rule.opens)
        .end_object();
  }
  json.end_list().key("files").begin_list();
  for (const RunFigures::Files& file : figures.files) {
    json.begin_object();
    write_files(json, file);
    json.end_object();
  }
  json.end_list()
      .member("more_files", figures.more_files)
      .member("advice", figures.advice)
      .member("warnings", timeline.warnings)
      .member("lost_activities", timeline.lost_activities)
      .end_object();
  return json.text();
}

std::string as_perfetto_trace(const Timeline& timeline) {
  constexpr std::uint64_t us_in_a_ms = 1000;
  std::map<std::string, std::uint64_t> processes;
  JsonWriter json;
  json.begin_object().key("traceEvents").begin_list();
  const auto number_of = [&](const std::string& component) {
    const auto [place, is_new] = processes.try_emplace(component, processes.size() + 1);
    if (is_new) {
      json.begin_object().member("ph", "M").member("name", "process_name").member("pid", place->second);
      json.key("args").begin_object().member("name", component.empty() ? "matchers" : component).end_object();
      json.end_object();
    }
    return place->second;
  };
  for (const runtime::Activity& activity : timeline.activities) {
    const std::uint64_t process = number_of(activity.component);
    json.begin_object()
        .member("ph", "X")
        .member("name", std::string(word_of(activity.kind)) + " " + activity.file)
        .member("cat", word_of(activity.kind))
        .member("pid", process)
        .member("tid", std::max(activity.rank, 0))
        .member("ts", activity.begin_ms * us_in_a_ms)
        .member("dur", (activity.end_ms - activity.begin_ms) * us_in_a_ms);
    json.key("args").begin_object().member("bytes", activity.bytes);
    if (activity.busy_us > 0) json.member("busy_us", activity.busy_us);
    json.end_object().end_object();
  }
  for (std::size_t node = 0; node < timeline.memory.size(); ++node) {
    for (const Timeline::Memory& memory : timeline.memory[node]) {
      json.begin_object()
          .member("ph", "C")
          .member("name", "memory of node " + std::to_string(node))
          .member("pid", std::uint64_t{0})
          .member("ts", memory.time_ms * us_in_a_ms);
      json.key("args").begin_object().member("bytes", memory.used_bytes).end_object().end_object();
    }
  }
  json.end_list().end_object();
  return json.text();
}

}  // namespace sluice::coordinator
