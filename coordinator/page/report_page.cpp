#include "report_page.hpp"

#include <algorithm>
#include <ctime>
#include <map>

#include "flow_graph.hpp"
#include "format.hpp"
#include "json_writer.hpp"

namespace sluice::coordinator {
namespace {

using Row = std::vector<std::string>;

std::string began_text(std::time_t began) {
  std::tm parts{};
  ::gmtime_r(&began, &parts);
  char text[40];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

/// The first column is text, the others are figures, unless they are the last of `last_is_text`.
std::string html_table(const Row& heads, const std::vector<Row>& rows, bool last_is_text = false) {
  const auto cells = [&](const Row& row, const std::string& tag) {
    std::string text = "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_text = i == 0 || (last_is_text && i + 1 == row.size());
      text += "<" + tag + (is_text ? ">" : " class=\"number\">") + html_text(row[i]) + "</" + tag + ">";
    }
    return text + "</tr>\n";
  };
  std::string text = "<div class=\"wide\"><table>\n<thead>" + cells(heads, "th") + "</thead>\n<tbody>\n";
  for (const Row& row : rows) text += cells(row, "td");
  return text + "</tbody></table></div>\n";
}

std::string rate_text(std::uint64_t bytes, std::uint64_t milliseconds) {
  constexpr std::uint64_t ms_in_a_second = 1000;
  return milliseconds == 0 ? "–" : format_bytes(bytes * ms_in_a_second / milliseconds) + "/s";
}

std::string get_rate_text(const RunFigures::Files& files) {
  return files.get_bytes > 0 ? rate_text(files.get_bytes, files.getting_ms) : "–";
}

std::string component_table(const RunFigures& figures) {
  std::vector<Row> rows;
  for (const RunFigures::Component& component : figures.components)
    rows.push_back({component.name, component.ranks == 0 ? "serial" : std::to_string(component.ranks),
                    format_milliseconds(component.run_ms), format_bytes(component.put_bytes),
                    format_bytes(component.get_bytes), format_bytes(component.opened_bytes),
                    format_milliseconds(component.open_wait_ms),
                    format_milliseconds(component.memory_wait_ms),
                    component.end.empty() ? "–" : component.end});
  return html_table(
      {"component", "ranks", "time", "put", "got", "opened", "waited in open", "waited for memory", "end"},
      rows, true);
}

std::string rule_table(const RunFigures& figures) {
  std::vector<Row> rows;
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
  std::vector<Row> rows;
  for (const RunFigures::Files& file : figures.files)
    rows.push_back({file.name, format_bytes(file.put_bytes), format_milliseconds(file.put_ms),
                    rate_text(file.put_bytes, file.put_ms), format_bytes(file.get_bytes),
                    format_milliseconds(file.get_ms), get_rate_text(file), format_bytes(file.opened_bytes)});
  std::string text = html_table(
      {"file", "put", "open for writing", "put rate", "got", "open for reading", "get rate", "opened"}, rows);
  if (figures.more_files > 0)
    text += "<p>And " + format_count(figures.more_files, "smaller file") + ".</p>\n";
  return text;
}

/// Memory of the node that has most, over time, with its limit.
std::string memory_drawing(const Timeline& timeline, const RunFigures& figures) {
  constexpr int width = 960;
  constexpr int height = 160;
  constexpr double top = 1.05;
  const double end = static_cast<double>(std::max<std::uint64_t>(timeline.end_ms, 1));
  const double most = top * static_cast<double>(std::max<std::uint64_t>(figures.limit_bytes, 1));
  const auto x = [&](std::uint64_t time_ms) {
    return static_cast<int>(width * (static_cast<double>(time_ms) / end));
  };
  const auto y = [&](std::uint64_t bytes) {
    return height - static_cast<int>(height * std::min(1.0, static_cast<double>(bytes) / most));
  };
  std::string svg = "<svg class=\"memory\" role=\"img\" viewBox=\"0 0 " + std::to_string(width) + " " +
                    std::to_string(height) +
                    "\"><title>Memory over time</title>\n<line class=\"limit\" x1=\"0\" x2=\"" +
                    std::to_string(width) + "\" y1=\"" + std::to_string(y(figures.limit_bytes)) + "\" y2=\"" +
                    std::to_string(y(figures.limit_bytes)) + "\"/>\n";
  const auto curve = [&](const std::vector<Timeline::Memory>& samples, std::uint64_t Timeline::Memory::*bytes,
                         const std::string& kind) {
    std::string path;
    for (const Timeline::Memory& sample : samples) {
      if (!path.empty()) path += " H" + std::to_string(x(sample.time_ms));
      path += (path.empty() ? "M" + std::to_string(x(sample.time_ms)) + " " : std::string(" V")) +
              std::to_string(y(sample.*bytes));
    }
    return path.empty()
               ? path
               : "<path class=\"" + kind + "\" d=\"" + path + " H" + std::to_string(width) + "\"/>\n";
  };
  for (const auto& node : timeline.memory) {
    svg += curve(node, &Timeline::Memory::used_bytes, "used");
    if (figures.spilled_bytes > 0) svg += curve(node, &Timeline::Memory::spilled_bytes, "spilled");
  }
  return svg + "</svg>\n<p class=\"note\">At most " + format_bytes(figures.peak_bytes) + " of " +
         format_bytes(figures.limit_bytes) + " (dashed) were in use" +
         (figures.spilled_bytes > 0 ? ", and " + format_bytes(figures.spilled_bytes) + " on disk" : "") +
         ". The figures were taken about twice a second.</p>\n";
}

/// The data of the timeline: rows by component and rank, and periods as lists of numbers.
std::string timeline_data(const Timeline& timeline) {
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
  return json.end_list().end_object().text();
}

std::string sentences(const std::vector<std::string>& texts, const std::string& kind) {
  std::string list;
  for (const std::string& text : texts) list += "<li class=\"" + kind + "\">" + html_text(text) + ".</li>\n";
  return list;
}

}  // namespace

std::string as_page(const Timeline& timeline, const RunFigures& figures) {
  const std::string title = html_text("Sluice run " + timeline.name);
  std::string notes = sentences(timeline.warnings, "warning") + sentences(figures.advice, "advice");
  if (notes.empty()) notes = "<li>Nothing stood out: no long wait, no shortage of memory.</li>\n";
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
         "content=\"width=device-width\">\n<title>" +
         title + "</title>\n<style>" + page_style() + "</style>\n</head>\n<body>\n<h1>" + title +
         "</h1>\n<p>" +
         html_text("Began " + began_text(timeline.began) + ", took " + format_milliseconds(timeline.end_ms) +
                   ": " + (timeline.verdict.empty() ? "its end was not recorded" : timeline.verdict)) +
         ".</p>\n<h2>Findings</h2>\n<ul>\n" + notes +
         "</ul>\n<h2>Components and files</h2>\n<div class=\"graph\">" + as_svg(graph_of(timeline)) +
         "</div>\n<h2>Timeline</h2>\n"
         "<p class=\"legend\"><span class=\"k0\">file open for writing</span> <span class=\"k1\">open for "
         "reading</span> <span class=\"k2\">waits in open or create</span> <span class=\"k3\">waits for "
         "memory</span> <span class=\"k4\">written to disk</span> <span class=\"k5\">puts</span> <span "
         "class=\"k6\">gets</span> <span class=\"life\">otherwise "
         "computing</span></p>\n"
         "<div id=\"buttons\"><button data-key=\"+\">closer</button> <button data-key=\"-\">farther</button> "
         "<button data-key=\"ArrowLeft\">left</button> <button data-key=\"ArrowRight\">right</button> "
         "<button "
         "data-key=\"0\">all</button></div>\n"
         "<canvas id=\"timeline\" tabindex=\"0\" role=\"img\" aria-label=\"Timeline by component and rank\">"
         "</canvas>\n<p id=\"detail\" class=\"note\" aria-live=\"polite\">Point at a period for its file. "
         "Drag "
         "moves, Ctrl and the wheel zoom; so do the keys + − ← → 0.</p>\n"
         "<script type=\"application/json\" id=\"data\">" +
         timeline_data(timeline) + "</script>\n<h2>Memory</h2>\n" + memory_drawing(timeline, figures) +
         "<h2>Components</h2>\n" + component_table(figures) +
         "<p class=\"note\">Waits are averages over the processes of a component.</p>\n"
         "<h2>Files by rule</h2>\n" +
         rule_table(figures) +
         "<p class=\"note\"><i>Opened</i> are the sizes of files that processes have opened by the C "
         "library, once for each process: how much of them was read is not known.</p>\n"
         "<p class=\"note\">A rate is bytes divided by the time in which some process had a file open for "
         "it, so "
         "it contains the programs' own computing meanwhile.</p>\n<h2>Files</h2>\n" +
         file_table(figures) + "<script>" + page_script() + "</script>\n</body>\n</html>\n";
}

}  // namespace sluice::coordinator
