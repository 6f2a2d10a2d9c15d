// Two runs side by side, by what both have.
#include <algorithm>
#include <array>
#include <cstdio>

#include "format.hpp"
#include "html.hpp"
#include "report_page.hpp"

namespace sluice::coordinator {
namespace {

using Runs = std::array<Reported, 2>;

/// "1.25 ×": the second by the first.
std::string ratio_text(std::uint64_t first, std::uint64_t second) {
  if (first == 0) return second == 0 ? "=" : "–";
  char text[32];
  std::snprintf(text, sizeof text, "%.2f ×", static_cast<double>(second) / static_cast<double>(first));
  return text;
}

/// A row for each name of either list, in order of the first, and three cells for each figure of both.
template <class Item, class Figure>
std::vector<HtmlRow> rows_of(
    const std::vector<Item>& first, const std::vector<Item>& second,
    const std::vector<std::pair<Figure Item::*, std::string (*)(std::uint64_t)>>& figures) {
  std::vector<std::string> names;
  for (const auto* items : {&first, &second})
    for (const Item& item : *items)
      if (std::ranges::find(names, item.name) == names.end()) names.push_back(item.name);
  std::vector<HtmlRow> rows;
  for (const std::string& name : names) {
    const auto one = std::ranges::find(first, name, &Item::name);
    const auto other = std::ranges::find(second, name, &Item::name);
    HtmlRow row{name};
    for (const auto& [figure, text] : figures) {
      row.push_back(one == first.end() ? "–" : text((*one).*figure));
      row.push_back(other == second.end() ? "–" : text((*other).*figure));
      row.push_back(
          one == first.end() || other == second.end() ? "–" : ratio_text((*one).*figure, (*other).*figure));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

HtmlRow heads_of(const std::string& what, const std::vector<std::string>& figures) {
  HtmlRow heads{what};
  for (const std::string& figure : figures)
    for (const char* of : {" A", " B", " B/A"}) heads.push_back(figure + of);
  return heads;
}

std::string count_text(std::uint64_t count) {
  return std::to_string(count);
}

std::string run_table(const Runs& runs) {
  const auto row = [&](const std::string& name, std::uint64_t first, std::uint64_t second,
                       std::string (*text)(std::uint64_t)) {
    return HtmlRow{name, text(first), text(second), ratio_text(first, second)};
  };
  const auto& [a, b] = runs;
  return html_table(
      {"", "A", "B", "B/A"},
      {row("time", a.timeline->end_ms, b.timeline->end_ms, format_milliseconds),
       row("most memory in use", a.figures->peak_bytes, b.figures->peak_bytes, format_bytes),
       row("limit of memory", a.figures->limit_bytes, b.figures->limit_bytes, format_bytes),
       row("on disk for lack of memory", a.figures->spilled_bytes, b.figures->spilled_bytes, format_bytes),
       row("cores", a.timeline->place.cores, b.timeline->place.cores, count_text)});
}

std::string component_rows(const Runs& runs) {
  using Component = RunFigures::Component;
  return html_table(
      heads_of("component", {"time", "put", "got", "waited in open", "waited for memory"}),
      rows_of<Component, std::uint64_t>(runs[0].figures->components, runs[1].figures->components,
                                        {{&Component::run_ms, format_milliseconds},
                                         {&Component::put_bytes, format_bytes},
                                         {&Component::get_bytes, format_bytes},
                                         {&Component::open_wait_ms, format_milliseconds},
                                         {&Component::memory_wait_ms, format_milliseconds}}));
}

std::string rule_rows(const Runs& runs) {
  using Rule = RunFigures::Rule;
  return html_table(heads_of("files", {"steps", "put", "open for writing", "got", "open for reading"}),
                    rows_of<Rule, std::uint64_t>(runs[0].figures->rules, runs[1].figures->rules,
                                                 {{&Rule::steps, count_text},
                                                  {&Rule::put_bytes, format_bytes},
                                                  {&Rule::put_ms, format_milliseconds},
                                                  {&Rule::get_bytes, format_bytes},
                                                  {&Rule::get_ms, format_milliseconds}}));
}

std::string findings_list(const Reported& run) {
  const std::string notes = html_list(run.figures->advice, "advice");
  return "<ul>\n" + (notes.empty() ? "<li>Nothing stood out.</li>\n" : notes) + "</ul>\n";
}

}  // namespace

std::string as_comparison(const Reported& first, const Reported& second) {
  const Runs runs{first, second};
  std::string body;
  for (std::size_t i = 0; i < runs.size(); ++i)
    body +=
        "<p><b>" + std::string(i == 0 ? "A" : "B") + "</b>: " + description_of(*runs[i].timeline) + "</p>\n";
  body += "<h2>Runs</h2>\n" + run_table(runs) + "<h2>Components</h2>\n" + component_rows(runs) +
          "<h2>Files by rule</h2>\n" + rule_rows(runs);
  for (std::size_t i = 0; i < runs.size(); ++i)
    body += "<h2>Findings of " + std::string(i == 0 ? "A" : "B") + "</h2>\n" + findings_list(runs[i]);
  return html_page("Sluice runs " + first.timeline->name + " and " + second.timeline->name, body);
}

}  // namespace sluice::coordinator
