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

void write_following(JsonWriter& json, const Timeline& timeline, const Following& following) {
  json.begin_object()
      .member("files", timeline.rules[following.rule].pattern)
      .member("reader", following.reader)
      .member("steps", following.steps)
      .member("opened", static_cast<std::uint64_t>(following.uses.size()))
      .member("most_unread", following.most_unread)
      .member("median_delay_ms", following.median_delay_ms)
      .member("longest_delay_ms", following.longest_delay_ms)
      .end_object();
}

}  // namespace

std::string figures_as_json(const Timeline& timeline, const RunFigures& figures) {
  JsonWriter json;
  json.begin_object()
      .member("run", timeline.name)
      .member("began", std::int64_t{timeline.began})
      .member("duration_ms", timeline.end_ms)
      .member("end", timeline.verdict)
      .member("version", timeline.place.version)
      .member("host", timeline.place.host)
      .member("cores", timeline.place.cores)
      .member("workflow", timeline.place.workflow)
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
        .member("processor_ms", component.processor_ms)
        .member("end", component.end)
        .member("command", component.command)
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
  json.end_list().key("followings").begin_list();
  for (const Following& following : figures.followings) write_following(json, timeline, following);
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

}  // namespace sluice::coordinator
