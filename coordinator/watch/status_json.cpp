#include "json_writer.hpp"
#include "status_text.hpp"
#include "wait_sentences.hpp"

namespace sluice::coordinator {
namespace {

using runtime::RunView;

void write_ranks(JsonWriter& json, const char* key, const std::string& component, const RankSets& sets) {
  json.key(key).begin_list();
  if (const auto ranks = sets.find(component); ranks != sets.end())
    for (const std::uint32_t rank : ranks->second) json.value(rank);
  json.end_list();
}

void write_components(JsonWriter& json, const RunView& view, const ProcessStates& states) {
  json.key("components").begin_list();
  for (const matcher::ComponentView& component : view.components) {
    json.begin_object()
        .member("name", component.name)
        .member("processes", component.processes)
        .member("connected", component.connected)
        .member("waiting", component.waiting)
        .member("has_exited", component.has_exited)
        .member("end", component.how);
    write_ranks(json, "ranks_in_mpi", component.name, states.in_mpi);
    write_ranks(json, "ranks_that_sleep", component.name, states.sleeping);
    write_ranks(json, "ranks_on_disk", component.name, states.on_disk);
    write_ranks(json, "ranks_stopped", component.name, states.stopped);
    json.end_object();
  }
  json.end_list();
}

void write_waits(JsonWriter& json, const RunView& view) {
  json.key("waits").begin_list();
  for (const runtime::WaitStatus& wait : view.waits) {
    json.begin_object()
        .member("component", wait.component)
        .member("processes", wait.processes)
        .member("waits_for", wait.waits_for)
        .member("since_ms", wait.since_ms)
        .member("text", describe_wait(wait));
    json.key("ranks").begin_list();
    for (const std::uint32_t rank : wait.ranks) json.value(rank);
    json.end_list().end_object();
  }
  json.end_list();
  json.key("gatherings").begin_list();
  for (const runtime::GatheringStatus& gathering : view.gatherings) json.value(describe_gathering(gathering));
  json.end_list();
}

void write_copies(JsonWriter& json, const RunView& view) {
  json.key("copies").begin_list();
  for (const matcher::CopyStatus& copy : view.copies) {
    json.begin_object()
        .member("component", copy.component)
        .member("processes", copy.processes)
        .member("file", copy.file)
        .member("is_put", copy.is_put)
        .member("since_ms", copy.since_ms)
        .member("text", describe_copy(copy));
    json.key("ranks").begin_list();
    for (const std::uint32_t rank : copy.ranks) json.value(rank);
    json.end_list().end_object();
  }
  json.end_list();
}

void write_rules(JsonWriter& json, const RunView& view) {
  json.key("rules").begin_list();
  for (std::size_t i = 0; i < view.rules.size(); ++i) {
    const matcher::RuleView& rule = view.rules[i];
    json.begin_object()
        .member("pattern", rule.pattern)
        .member("writer", rule.writer)
        .member("readers", rule.readers)
        .member("files", rule.totals.files)
        .member("steps", rule.totals.steps)
        .member("discarded", rule.totals.discarded);
    json.key("use").begin_list();
    for (const matcher::RuleUse& use : view.uses) {
      if (use.rule != i) continue;
      json.begin_object()
          .member("component", use.component)
          .member("puts", use.counters.puts)
          .member("put_bytes", use.counters.put_bytes)
          .member("gets", use.counters.gets)
          .member("get_bytes", use.counters.get_bytes)
          .member("replayed_gets", use.counters.replayed_gets)
          .member("opens", use.counters.opens)
          .member("opened_bytes", use.counters.opened_bytes)
          .member("open_wait_us", use.counters.open_wait_us)
          .end_object();
    }
    json.end_list().end_object();
  }
  json.end_list();
}

void write_files(JsonWriter& json, const RunView& view) {
  json.key("files").begin_list();
  for (const matcher::FileView& file : view.files) {
    json.begin_object()
        .member("name", file.name)
        .member("rule", file.rule)
        .member("is_published", file.is_published)
        .member("bytes", file.bytes)
        .member("read_by", file.read_by)
        .member("unread_by", file.unread_by);
    json.key("users").begin_list();
    for (const matcher::FileUser& user : file.users) {
      json.begin_object()
          .member("component", user.component)
          .member("processes", user.processes)
          .member("is_writing", user.is_writing)
          .member("since_ms", user.since_ms)
          .end_object();
    }
    json.end_list().end_object();
  }
  json.end_list().member("more_files", view.more_files);
}

void write_nodes(JsonWriter& json, const RunView& view) {
  json.key("nodes").begin_list();
  for (const matcher::NodeView& node : view.nodes) {
    json.begin_object()
        .member("used_bytes", node.used_bytes)
        .member("limit_bytes", node.limit_bytes)
        .member("peak_bytes", node.peak_bytes)
        .member("spilled_bytes", node.spilled_bytes)
        .end_object();
  }
  json.end_list();
}

}  // namespace

std::string status_as_json(const RunView& view, const std::string& name, std::int64_t process,
                           const std::optional<RunView>& earlier, const ProcessStates& states) {
  JsonWriter json;
  const Traffic traffic = traffic_of(view, earlier);
  json.begin_object()
      .member("run", name)
      .member("process", process)
      .member("time_ms", view.now_ms)
      .member("put_bytes", traffic.put_bytes)
      .member("get_bytes", traffic.get_bytes)
      .member("opened_bytes", traffic.opened_bytes)
      .member("put_rate", traffic.put_rate)
      .member("get_rate", traffic.get_rate);
  write_nodes(json, view);
  write_components(json, view, states);
  write_waits(json, view);
  write_copies(json, view);
  write_rules(json, view);
  write_files(json, view);
  json.member("waiting_drains", view.waiting_drains).end_object();
  return json.text();
}

}  // namespace sluice::coordinator
