#include "report_page.hpp"

#include <algorithm>
#include <ctime>
#include <map>

#include "figure_words.hpp"
#include "flow_graph.hpp"
#include "format.hpp"
#include "html.hpp"
#include "json_writer.hpp"

namespace sluice::coordinator {
namespace {

std::string began_text(std::time_t began) {
  std::tm parts{};
  ::gmtime_r(&began, &parts);
  char text[40];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

constexpr const char* timeline_head =
    "<p class=\"legend\"><span class=\"k0\">file open for writing</span> <span class=\"k1\">open for "
    "reading</span> <span class=\"k2\">waits in open or create</span> <span class=\"k3\">waits for "
    "memory</span> <span class=\"k4\">written to disk</span> <span class=\"k5\">puts</span> <span "
    "class=\"k6\">gets</span> <span class=\"life\">otherwise computing</span></p>\n"
    "<div id=\"buttons\"><button data-key=\"+\">closer</button> <button data-key=\"-\">farther</button> "
    "<button data-key=\"ArrowLeft\">left</button> <button data-key=\"ArrowRight\">right</button> "
    "<button data-key=\"0\">all</button></div>\n"
    "<canvas id=\"timeline\" tabindex=\"0\" role=\"img\" aria-label=\"Timeline by component and rank\">"
    "</canvas>\n<canvas id=\"charts\" role=\"img\" aria-label=\"Memory, rates and unread steps over the "
    "same time\"></canvas>\n"
    "<p id=\"detail\" class=\"note\" aria-live=\"polite\">Point at a period for its file. The height of a "
    "bar is the part of its pixel's time. Drag moves, Ctrl and the wheel zoom; so do the keys + − ← → "
    "0.</p>\n";

std::string get_rate_text(const RunFigures::Files& files) {
  return files.get_bytes > 0 ? rate_text(files.get_bytes, files.getting_ms) : "–";
}

std::string component_table(const RunFigures& figures) {
  std::vector<HtmlRow> rows;
  for (const RunFigures::Component& component : figures.components)
    rows.push_back({component.name, component.ranks == 0 ? "serial" : std::to_string(component.ranks),
                    format_milliseconds(component.run_ms), format_milliseconds(component.processor_ms),
                    format_bytes(component.put_bytes), format_bytes(component.get_bytes),
                    format_bytes(component.opened_bytes), format_milliseconds(component.open_wait_ms),
                    format_milliseconds(component.memory_wait_ms),
                    component.end.empty() ? "–" : component.end, component.command});
  return html_table({"component", "ranks", "time", "processor", "put", "got", "opened", "waited in open",
                     "waited for memory", "end", "command"},
                    rows, 2);
}

std::string rule_table(const RunFigures& figures) {
  std::vector<HtmlRow> rows;
  for (const RunFigures::Rule& rule : figures.rules)
    rows.push_back({rule.name, std::to_string(rule.files), std::to_string(rule.steps),
                    format_bytes(rule.put_bytes), rate_text(rule.put_bytes, rule.put_ms),
                    format_bytes(rule.get_bytes), get_rate_text(rule), std::to_string(rule.matched_gets()),
                    std::to_string(rule.replayed_gets), std::to_string(rule.opens),
                    format_bytes(rule.opened_bytes)});
  return html_table({"files", "published", "steps", "put", "put rate", "got", "get rate", "gets matched",
                     "gets replayed", "opens", "opened"},
                    rows);
}

std::string file_table(const RunFigures& figures) {
  std::vector<HtmlRow> rows;
  for (const RunFigures::Files& file : figures.files)
    rows.push_back({file.name, format_bytes(file.put_bytes), format_milliseconds(file.put_ms),
                    rate_text(file.put_bytes, file.put_ms), format_bytes(file.get_bytes),
                    format_milliseconds(file.get_ms), get_rate_text(file), format_bytes(file.opened_bytes)});
  if (rows.empty()) return "";
  std::string text = "<h2>Files</h2>\n" + html_table({"file", "put", "open for writing", "put rate", "got",
                                                      "open for reading", "get rate", "opened"},
                                                     rows);
  if (figures.more_files > 0)
    text += "<p>And " + format_count(figures.more_files, "smaller file") + ".</p>\n";
  return text;
}

std::string following_table(const Timeline& timeline, const RunFigures& figures) {
  std::vector<HtmlRow> rows;
  for (const Following& following : figures.followings)
    rows.push_back({timeline.rules[following.rule].pattern, following.reader, std::to_string(following.steps),
                    std::to_string(following.uses.size()), format_milliseconds(following.median_delay_ms),
                    format_milliseconds(following.longest_delay_ms), std::to_string(following.most_unread)});
  if (rows.empty()) return "";
  return "<h2>From writer to reader</h2>\n" +
         html_table({"files", "reader", "steps", "opened", "median delay", "longest delay", "most unread"},
                    rows);
}

std::string memory_note(const RunFigures& figures) {
  return "<p class=\"note\">At most " + format_bytes(figures.peak_bytes) + " of " +
         format_bytes(figures.limit_bytes) + " of memory were in use" +
         (figures.spilled_bytes > 0 ? ", and " + format_bytes(figures.spilled_bytes) + " on disk" : "") +
         ". The figures were taken about twice a second.</p>\n";
}

/// Lists of a time and some values, for the charts below the timeline.
template <class Sample, class... Value>
void write_samples(JsonWriter& json, const std::vector<Sample>& samples, Value Sample::*... values) {
  json.begin_list();
  for (const Sample& sample : samples) {
    json.begin_list().value(sample.time_ms);
    (json.value(sample.*values), ...);
    json.end_list();
  }
  json.end_list();
}

void write_charts(JsonWriter& json, const Timeline& timeline, const RunFigures& figures) {
  json.member("limit", figures.limit_bytes).key("memory").begin_list();
  for (const auto& node : timeline.memory)
    write_samples(json, node, &Timeline::Memory::used_bytes, &Timeline::Memory::spilled_bytes);
  json.end_list().key("traffic");
  write_samples(json, timeline.traffic, &Timeline::Traffic::put_bytes, &Timeline::Traffic::get_bytes);
  json.key("unread").begin_list();
  for (const Following& following : figures.followings) {
    json.begin_object()
        .member("name", following.reader + ": " + timeline.rules[following.rule].pattern)
        .key("points");
    write_samples(json, following.unread, &Following::Point::unread);
    json.end_object();
  }
  json.end_list();
}

/// The data of the timeline: rows by component and rank, and periods as lists of numbers.
std::string timeline_data(const Timeline& timeline, const RunFigures& figures) {
  std::map<std::pair<std::string, std::int32_t>, std::size_t> rows;
  for (const Timeline::Component& component : timeline.components)
    rows.try_emplace({component.name, matcher::no_rank}, 0);
  for (const runtime::Activity& activity : timeline.activities)
    rows.try_emplace({activity.component, activity.rank}, 0);
  JsonWriter json;
  json.begin_object().member("end", timeline.end_ms).key("rows").begin_list();
  std::size_t number = 0;
  for (auto& [row, place] : rows) {
    place = number++;
    json.value(row.first.empty()                ? std::string("files to disk")
               : row.second == matcher::no_rank ? row.first
                                                : row.first + ", rank " + std::to_string(row.second));
  }
  json.end_list().key("lives").begin_list();
  for (const Timeline::Component& component : timeline.components) {
    for (const auto& [row, place] : rows) {
      if (row.first != component.name) continue;
      json.begin_list()
          .value(std::uint64_t{place})
          .value(component.begin_ms)
          .value(component.end_ms)
          .end_list();
    }
  }
  json.end_list().key("files").begin_list();
  std::map<std::string, std::size_t> files;
  for (const runtime::Activity& activity : timeline.activities) {
    if (files.try_emplace(activity.file, files.size()).second) json.value(activity.file);
  }
  json.end_list().key("periods").begin_list();
  for (const runtime::Activity& activity : timeline.activities)
    json.begin_list()
        .value(std::uint64_t{rows.at({activity.component, activity.rank})})
        .value(static_cast<std::uint64_t>(activity.kind))
        .value(activity.begin_ms)
        .value(activity.end_ms)
        .value(activity.bytes)
        .value(std::uint64_t{files.at(activity.file)})
        .value(activity.busy_us)
        .end_list();
  json.end_list();
  write_charts(json, timeline, figures);
  return json.end_object().text();
}

}  // namespace

std::string description_of(const Timeline& timeline) {
  const Timeline::Place& place = timeline.place;
  std::string text = "Began " + began_text(timeline.began) + ", took " +
                     format_milliseconds(timeline.end_ms) + ": " +
                     (timeline.verdict.empty() ? "its end was not recorded" : timeline.verdict);
  if (!place.version.empty())
    text += ". Workflow " + place.workflow + ", Sluice " + place.version + " on " + place.host + " with " +
            format_count(place.cores, "core");
  return html_text(text) + ".";
}

std::string as_page(const Timeline& timeline, const RunFigures& figures) {
  std::string notes = html_list(timeline.warnings, "warning") + html_list(figures.advice, "advice");
  if (notes.empty()) notes = "<li>Nothing stood out: no long wait, no shortage of memory.</li>\n";
  return html_page("Sluice run " + timeline.name,
                   "<p>" + description_of(timeline) + "</p>\n<h2>Findings</h2>\n<ul>\n" + notes +
                       "</ul>\n<h2>Components and files</h2>\n<div class=\"graph\">" +
                       as_svg(graph_of(timeline)) + "</div>\n<h2>Timeline</h2>\n" + timeline_head +
                       "<script type=\"application/json\" id=\"data\">" + timeline_data(timeline, figures) +
                       "</script>\n" + memory_note(figures) + "<h2>Components</h2>\n" +
                       component_table(figures) + following_table(timeline, figures) +
                       "<h2>Files by rule</h2>\n" + rule_table(figures) + file_table(figures) +
                       "<details><summary>What the figures mean</summary>\n<pre>" +
                       html_text(explained_words()) + "</pre></details>\n");
}

}  // namespace sluice::coordinator
