// The timeline in Chrome's trace format: https://ui.perfetto.dev reads it.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "json_writer.hpp"
#include "run_figures.hpp"

namespace sluice::coordinator {
namespace {

constexpr std::uint64_t us_in_a_ms = 1000;
constexpr std::uint64_t run_process = 0;  // has what belongs to no component

class Trace {
 public:
  explicit Trace(const Timeline& timeline) : timeline_(timeline) {
    json_.begin_object().key("traceEvents").begin_list();
    name("process_name", run_process, 0, "the run");
  }

  std::string write(const RunFigures& figures) {
    for (const runtime::Activity& activity : timeline_.activities) add(activity);
    std::uint64_t arrow = 0;
    for (const Following& following : figures.followings)
      for (const Following::Use& use : following.uses) add_arrow(use, ++arrow);
    for (std::size_t node = 0; node < timeline_.memory.size(); ++node) add_memory(node);
    for (const Timeline::Traffic& traffic : timeline_.traffic) add_traffic(traffic);
    for (const Following& following : figures.followings) add_unread(following);
    json_.end_list().end_object();
    return json_.text();
  }

 private:
  void name(const char* what, std::uint64_t process, int thread, const std::string& text) {
    json_.begin_object().member("ph", "M").member("name", what).member("pid", process).member("tid", thread);
    json_.key("args").begin_object().member("name", text).end_object().end_object();
  }

  std::uint64_t number_of(const std::string& component) {
    const auto [place, is_new] = processes_.try_emplace(component, processes_.size() + 1);
    if (is_new) name("process_name", place->second, 0, component.empty() ? "matchers" : component);
    return place->second;
  }

  /// Process and thread of an event at a time, which begins here.
  JsonWriter& begin(const char* phase, const runtime::Activity& activity, std::uint64_t time_ms) {
    const std::uint64_t process = number_of(activity.component);
    const int rank = std::max(activity.rank, 0);
    if (named_.insert({process, rank}).second)
      name("thread_name", process, rank,
           activity.rank < 0 ? "all processes" : "rank " + std::to_string(rank));
    return json_.begin_object()
        .member("ph", phase)
        .member("pid", process)
        .member("tid", rank)
        .member("ts", time_ms * us_in_a_ms);
  }

  void add(const runtime::Activity& activity) {
    begin("X", activity, activity.begin_ms)
        .member("name", std::string(word_of(activity.kind)) + " " + activity.file)
        .member("cat", word_of(activity.kind))
        .member("dur", (activity.end_ms - activity.begin_ms) * us_in_a_ms);
    json_.key("args").begin_object().member("bytes", activity.bytes);
    if (activity.busy_us > 0) json_.member("busy_us", activity.busy_us);
    json_.end_object().end_object();
  }

  /// From the end of the writing to the begin of the first open.
  void add_arrow(const Following::Use& use, std::uint64_t number) {
    const std::string text = "step of " + use.written->file;
    begin("s", *use.written, use.written->end_ms);
    json_.member("name", text).member("cat", "step").member("id", number).end_object();
    begin("f", *use.opened, std::max(use.opened->begin_ms, use.written->end_ms));
    json_.member("name", text).member("cat", "step").member("id", number).member("bp", "e").end_object();
  }

  void count(std::uint64_t time_ms, const std::string& counter,
             const std::vector<std::pair<std::string, std::uint64_t>>& values) {
    json_.begin_object()
        .member("ph", "C")
        .member("name", counter)
        .member("pid", run_process)
        .member("ts", time_ms * us_in_a_ms);
    json_.key("args").begin_object();
    for (const auto& [key, value] : values) json_.member(key, value);
    json_.end_object().end_object();
  }

  void add_memory(std::size_t node) {
    for (const Timeline::Memory& memory : timeline_.memory[node])
      count(memory.time_ms, "memory of node " + std::to_string(node),
            {{"bytes", memory.used_bytes}, {"on disk", memory.spilled_bytes}});
  }

  void add_traffic(const Timeline::Traffic& traffic) {
    count(traffic.time_ms, "bytes since the begin", {{"put", traffic.put_bytes}, {"got", traffic.get_bytes}});
  }

  void add_unread(const Following& following) {
    const std::string counter =
        "unread of " + timeline_.rules[following.rule].pattern + " by " + following.reader;
    for (const Following::Point& point : following.unread)
      count(point.time_ms, counter, {{"steps", point.unread}});
  }

  const Timeline& timeline_;
  JsonWriter json_;
  std::map<std::string, std::uint64_t> processes_;
  std::set<std::pair<std::uint64_t, int>> named_;
};

}  // namespace

std::string as_perfetto_trace(const Timeline& timeline, const RunFigures& figures) {
  return Trace(timeline).write(figures);
}

}  // namespace sluice::coordinator
