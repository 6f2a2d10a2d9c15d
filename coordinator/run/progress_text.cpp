#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

#include "format.hpp"
#include "json_writer.hpp"
#include "run_progress.hpp"

namespace sluice::coordinator {
namespace {

using std::chrono::milliseconds;

std::string clock_text(milliseconds since_start) {
  const auto seconds = static_cast<long long>(since_start.count() / 1000);
  char text[40];
  std::snprintf(text, sizeof text, "%02lld:%02lld", seconds / 60, seconds % 60);
  return text;
}

/// "34 steps", "33 of 34 steps".
std::string count_text(const ProgressRow& row) {
  const bool is_over = row.state == ProgressRow::State::ended;
  if (!row.all || is_over) return format_count(row.done, row.unit);
  return std::to_string(row.done) + " of " + format_count(*row.all, row.unit);
}

/// "1.3/s", or for slow ones the time that each takes.
std::string pace_text(const ProgressRow& row) {
  if (row.per_second <= 0) return "";
  char text[40];
  if (row.per_second >= 1) {
    std::snprintf(text, sizeof text, row.per_second < 100 ? "%.1f/s" : "%.0f/s", row.per_second);
    return text;
  }
  constexpr double ms_in_a_second = 1000;
  return format_duration(milliseconds(static_cast<std::int64_t>(ms_in_a_second / row.per_second))) + " each";
}

std::string left_text(const ProgressRow& row) {
  return row.left ? format_duration(*row.left) + " left" : "";
}

/// "00:12  memory 1.20 MiB of 4.00 GiB, 2.00 KiB put, 1.00 KiB got, 3.00 KiB opened"
std::string headline(const ProgressReport& report) {
  std::string text = clock_text(report.since_start) + "  memory " + format_bytes(report.used_bytes) + " of " +
                     format_bytes(report.limit_bytes);
  if (report.spilled_bytes > 0) text += " and " + format_bytes(report.spilled_bytes) + " on disk";
  return text + ", " + format_bytes(report.put_bytes) + " put, " + format_bytes(report.get_bytes) + " got" +
         (report.opened_bytes > 0 ? ", " + format_bytes(report.opened_bytes) + " opened" : "");
}

/// Names consist of ASCII characters.
std::string shortened(const std::string& name) {
  constexpr std::size_t longest = 20;
  return name.size() <= longest ? name : name.substr(0, longest - 1) + "…";
}

std::string_view word_of_state(ProgressRow::State state) {
  constexpr std::array<std::string_view, 5> words{"not-started", "computing", "waiting", "restarting",
                                                  "ended"};
  return words.at(static_cast<std::size_t>(state));
}

}  // namespace

std::vector<std::string> progress_table(const ProgressReport& report) {
  std::vector<std::vector<std::string>> cells;
  bool has_pace = false;
  bool has_left = false;
  for (const ProgressRow& row : report.rows) {
    cells.push_back({"  " + shortened(row.name), count_text(row), pace_text(row), left_text(row), row.text});
    has_pace = has_pace || !cells.back()[2].empty();
    has_left = has_left || !cells.back()[3].empty();
  }
  for (auto& row : cells) {
    if (!has_left) row.erase(row.begin() + 3);
    if (!has_pace) row.erase(row.begin() + 2);
  }
  std::istringstream table(format_table(cells, {false, true, has_pace, has_left}));
  std::vector<std::string> lines{headline(report)};
  for (std::string line; std::getline(table, line);) lines.push_back(line);
  return lines;
}

std::string progress_line(const ProgressReport& report) {
  constexpr std::size_t most_named = 6;
  std::string text = clock_text(report.since_start);
  for (std::size_t i = 0; i < std::min(report.rows.size(), most_named); ++i) {
    const ProgressRow& row = report.rows[i];
    text += (i == 0 ? "  " : "; ") + row.name + " " + count_text(row);
    if (const std::string pace = pace_text(row); !pace.empty()) text += " (" + pace + ")";
    if (row.state != ProgressRow::State::computing || row.unit != "step") text += ", " + row.text;
    if (row.left) text += ", " + left_text(row);
  }
  if (report.rows.size() > most_named)
    text += "; and " + format_count(report.rows.size() - most_named, "component") + " more";
  return text;
}

std::string progress_as_json(const ProgressReport& report) {
  JsonWriter json;
  json.begin_object()
      .member("state", "running")
      .member("time_ms", static_cast<std::int64_t>(report.since_start.count()))
      .member("used_bytes", report.used_bytes)
      .member("limit_bytes", report.limit_bytes)
      .member("spilled_bytes", report.spilled_bytes)
      .member("put_bytes", report.put_bytes)
      .member("get_bytes", report.get_bytes)
      .member("opened_bytes", report.opened_bytes);
  json.key("components").begin_list();
  for (const ProgressRow& row : report.rows) {
    json.begin_object()
        .member("name", row.name)
        .member("state", word_of_state(row.state))
        .member("text", row.text)
        .member("unit", row.unit)
        .member("done", row.done)
        .member("per_second", row.per_second)
        .member("bytes_per_second", row.bytes_per_second)
        .member("failed", row.failed);
    if (row.all) json.member("all", *row.all);
    if (row.left) json.member("left_ms", static_cast<std::int64_t>(row.left->count()));
    if (row.unit != "step") json.member("running", row.running);
    if (!row.waits_for.empty()) json.member("waits_for", row.waits_for).member("waits_ms", row.waits_ms);
    json.end_object();
  }
  json.end_list().end_object();
  return json.text();
}

std::string draining_as_json(const runtime::RunView& view, milliseconds since_start) {
  JsonWriter json;
  json.begin_object()
      .member("state", "draining")
      .member("time_ms", static_cast<std::int64_t>(since_start.count()))
      .member("waiting_files", view.waiting_drains);
  for (const runtime::DrainStatus& drain : view.drains)
    json.member("file", drain.name)
        .member("done_bytes", drain.done_bytes)
        .member("total_bytes", drain.total_bytes);
  json.end_object();
  return json.text();
}

std::string end_as_json(const std::string& verdict, int exit_status, milliseconds since_start) {
  JsonWriter json;
  json.begin_object()
      .member("state", "ended")
      .member("time_ms", static_cast<std::int64_t>(since_start.count()))
      .member("text", verdict)
      .member("exit_status", exit_status)
      .end_object();
  return json.text();
}

}  // namespace sluice::coordinator
