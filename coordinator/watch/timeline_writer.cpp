#include "timeline_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "format.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/storage/tab_line.hpp"
#include "timeline.hpp"

namespace sluice::coordinator {
namespace {

/// Activities get no more space than that, about 400 000 of them.
constexpr std::uint64_t most_activity_bytes = 32 << 20;

std::string cell(std::string_view text) {
  return storage::encode_cell(text);
}
template <class Number>
requires std::is_arithmetic_v<Number> std::string cell(Number number) {
  return std::to_string(number);
}

bool has_calls(runtime::Activity::Kind kind) noexcept {
  return kind == runtime::Activity::Kind::put || kind == runtime::Activity::Kind::get;
}

}  // namespace

TimelineWriter::TimelineWriter(const std::filesystem::path& log_directory,
                               const workflows::Workflow& workflow, std::int64_t began)
    : file_(::open((log_directory / timeline_file).c_str(),
                   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600)) {
  if (!file_) throw IoError(NC_EACCESS, errno, (log_directory / timeline_file).string(), "create");
  line("sluice-timeline", 1);
  line("run", workflow.name, began);
  std::error_code none;
  line("about", SLUICE_VERSION, host_name(), std::filesystem::absolute(workflow.file, none).string(),
       std::thread::hardware_concurrency());
  for (const workflows::Component& component : workflow.components) {
    line("component", component.name, component.ranks);
    line("command", component.name, as_shell_command(component.command));
  }
  for (std::size_t i = 0; i < workflow.files.size(); ++i) {
    const workflows::FileRule& rule = workflow.files[i];
    line("rule", i, rule.pattern, rule.writer, mode_of(rule), rule.is_stream ? "stream" : "");
    for (const std::string& reader : rule.readers) line("reader", i, reader);
  }
  flush();
}

template <class... Cells>
void TimelineWriter::line(std::string_view kind, const Cells&... cells) {
  pending_ += kind;
  ((pending_ += '\t' + cell(cells)), ...);
  pending_ += '\n';
}

template <class... Cells>
void TimelineWriter::line_if_new(std::string_view kind, std::uint64_t time_ms, const std::string& key,
                                 const Cells&... cells) {
  std::string text;
  ((text += '\t' + cell(cells)), ...);
  std::string& last = last_[std::string(kind) + '\t' + key];
  if (last == text) return;
  line(kind, time_ms, key, cells...);
  last = std::move(text);
}

void TimelineWriter::component_started(const std::string& name, std::uint64_t time_ms) {
  line("start", time_ms, name);
  flush();
}

void TimelineWriter::component_ended(const std::string& name, std::uint64_t time_ms, const std::string& how,
                                     std::uint64_t processor_ms) {
  line("exit", time_ms, name, how, processor_ms);
  flush();
}

void TimelineWriter::add(const runtime::RunView& view, std::uint64_t time_ms) {
  ++views_;
  for (std::size_t node = 0; node < view.nodes.size(); ++node) {
    const matcher::NodeView& memory = view.nodes[node];
    line_if_new("memory", time_ms, std::to_string(node), memory.used_bytes, memory.limit_bytes,
                memory.spilled_bytes);
  }
  for (std::size_t rule = 0; rule < view.rules.size(); ++rule) {
    const matcher::RuleTotals& totals = view.rules[rule].totals;
    line_if_new("published", time_ms, std::to_string(rule), totals.files, totals.steps, totals.discarded);
  }
  for (const matcher::RuleUse& use : view.uses) {
    const matcher::AccessCounters& counters = use.counters;
    line_if_new("use", time_ms, std::to_string(use.rule) + ' ' + use.component, counters.puts,
                counters.put_bytes, counters.gets, counters.get_bytes, counters.replayed_gets,
                counters.open_wait_us, counters.opens, counters.opened_bytes);
  }
  add_activities(view, static_cast<std::int64_t>(time_ms) - static_cast<std::int64_t>(view.now_ms));
  flush();
}

void TimelineWriter::add_activities(const runtime::RunView& view, std::int64_t offset_ms) {
  const auto moved = [offset_ms](std::uint64_t time_ms) {
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, static_cast<std::int64_t>(time_ms) + offset_ms));
  };
  std::uint64_t lost = view.lost_activities;
  for (const runtime::Activity& activity : view.activities) {
    if (activity_bytes_ > most_activity_bytes) {
      ++lost;
      continue;
    }
    const std::size_t before = pending_.size();
    const auto write = [&](const auto&... more) {
      line("do", word_of(activity.kind), activity.component, activity.rank, moved(activity.begin_ms),
           moved(activity.end_ms), activity.bytes, activity.rule, activity.file, more...);
    };
    has_calls(activity.kind) ? write(activity.busy_us) : write();
    activity_bytes_ += pending_.size() - before;
  }
  if (lost > 0) line("lost", lost);
}

void TimelineWriter::warn(const std::string& text) {
  line("warning", text);
}

void TimelineWriter::end(std::uint64_t time_ms, const std::string& verdict) {
  line("end", time_ms, verdict);
  flush();
}

void TimelineWriter::flush() {
  std::string_view rest = pending_;
  while (!rest.empty() && file_) {
    const ssize_t written = ::write(file_.number(), rest.data(), rest.size());
    if (written <= 0) file_ = {};  // a full disk: a line in the middle would be damaged
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
  pending_.clear();
}

}  // namespace sluice::coordinator
