#include "flow_graph.hpp"

#include <algorithm>

#include "format.hpp"

namespace sluice::coordinator {
namespace {

/// The place of a component; a name that is not there is added, as of a timeline that lacks lines.
std::size_t place_of(FlowGraph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.components, name, &FlowGraph::Component::name);
  if (found == graph.components.end()) graph.components.push_back({name, 0});
  return static_cast<std::size_t>(std::ranges::find(graph.components, name, &FlowGraph::Component::name) -
                                  graph.components.begin());
}

FlowGraph::Figures figures_of(const Timeline& timeline, std::size_t rule, const std::string& component,
                              bool of_puts) {
  for (const matcher::RuleUse& use : timeline.uses) {
    const matcher::AccessCounters& counters = use.counters;
    if (use.rule == rule && use.component == component)
      return of_puts ? FlowGraph::Figures{counters.put_bytes, counters.puts, counters.open_wait_us / 1000}
                     : FlowGraph::Figures{counters.get_bytes, counters.gets, counters.open_wait_us / 1000,
                                          counters.opened_bytes, counters.opens};
  }
  return {};
}

std::string ranks_of(const FlowGraph::Component& component) {
  return component.ranks == 0 ? "serial" : format_count(static_cast<std::uint64_t>(component.ranks), "rank");
}

/// "c1", "f2": names that need no quotes in any language.
std::string component_id(std::size_t number) {
  return "c" + std::to_string(number);
}
std::string files_id(std::size_t number) {
  return "f" + std::to_string(number);
}

/// Mermaid has HTML's entities, with # for &.
std::string mermaid_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (std::string_view("\"<>#&*_`").find(c) != std::string_view::npos) {
      quoted += "#" + std::to_string(static_cast<int>(c)) + ";";
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string dot_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

FlowGraph graph_of(const workflows::Workflow& workflow) {
  FlowGraph graph;
  graph.name = workflow.name;
  for (const workflows::Component& component : workflow.components)
    graph.components.push_back({component.name, component.ranks});
  for (const workflows::FileRule& rule : workflow.files) {
    FlowGraph::Files files{rule.pattern, mode_of(rule), place_of(graph, rule.writer), {}, 0, {}};
    for (const std::string& reader : rule.readers) files.readers.push_back({place_of(graph, reader), {}});
    graph.files.push_back(std::move(files));
  }
  return graph;
}

FlowGraph graph_of(const Timeline& timeline) {
  FlowGraph graph;
  graph.name = timeline.name;
  for (const Timeline::Component& component : timeline.components)
    graph.components.push_back({component.name, component.ranks});
  for (std::size_t i = 0; i < timeline.rules.size(); ++i) {
    const Timeline::Rule& rule = timeline.rules[i];
    FlowGraph::Files files{rule.pattern,
                           rule.mode,
                           place_of(graph, rule.writer),
                           figures_of(timeline, i, rule.writer, true),
                           rule.totals.files,
                           {}};
    for (const std::string& reader : rule.readers)
      files.readers.push_back({place_of(graph, reader), figures_of(timeline, i, reader, false)});
    graph.files.push_back(std::move(files));
  }
  return graph;
}

std::string describe_figures(const FlowGraph::Figures& figures, const std::string& call) {
  if (figures.calls == 0 && figures.bytes == 0 && figures.opens == 0) return "nothing";
  std::string text;
  if (figures.calls > 0 || figures.bytes > 0)
    text = format_bytes(figures.bytes) + " in " + format_count(figures.calls, call);
  if (figures.opens > 0)
    text += (text.empty() ? "" : ", ") + format_count(figures.opens, "open") + " of files of " +
            format_bytes(figures.opened_bytes);
  constexpr std::uint64_t worth_telling_ms = 100;
  if (figures.wait_ms >= worth_telling_ms)
    text += ", waited " + format_duration(std::chrono::milliseconds(figures.wait_ms));
  return text;
}

std::string as_text(const FlowGraph& graph) {
  std::string text = graph.name + "\n";
  for (std::size_t i = 0; i < graph.components.size(); ++i) {
    text += graph.components[i].name + " (" + ranks_of(graph.components[i]) + ")\n";
    for (const FlowGraph::Files& files : graph.files) {
      if (files.writer != i) continue;
      text += "  writes " + files.pattern + " (" + files.mode + ")" +
              (files.figures ? ": " + format_count(files.published, "file") + ", " +
                                   describe_figures(*files.figures, "put")
                             : "") +
              "\n";
      for (const FlowGraph::Reader& reader : files.readers)
        text += "    for " + graph.components[reader.component].name +
                (reader.figures ? ": " + describe_figures(*reader.figures, "get") : "") + "\n";
    }
  }
  return text;
}

std::string as_mermaid(const FlowGraph& graph) {
  std::string text = "flowchart LR\n";
  for (std::size_t i = 0; i < graph.components.size(); ++i)
    text += "  " + component_id(i) + "[" +
            mermaid_text(graph.components[i].name + ", " + ranks_of(graph.components[i])) + "]\n";
  for (std::size_t i = 0; i < graph.files.size(); ++i) {
    const FlowGraph::Files& files = graph.files[i];
    text += "  " + files_id(i) + "([" + mermaid_text(files.pattern + " – " + files.mode) + "])\n";
    const auto arrow = [](const std::optional<FlowGraph::Figures>& figures, const std::string& call) {
      return figures ? " -->|" + mermaid_text(describe_figures(*figures, call)) + "| " : std::string(" --> ");
    };
    text += "  " + component_id(files.writer) + arrow(files.figures, "put") + files_id(i) + "\n";
    for (const FlowGraph::Reader& reader : files.readers)
      text += "  " + files_id(i) + arrow(reader.figures, "get") + component_id(reader.component) + "\n";
  }
  return text;
}

std::string as_dot(const FlowGraph& graph) {
  std::string text = "digraph " + dot_text(graph.name) + " {\n  rankdir=LR;\n  node [shape=box];\n";
  for (std::size_t i = 0; i < graph.components.size(); ++i)
    text += "  " + component_id(i) +
            " [label=" + dot_text(graph.components[i].name + "\n" + ranks_of(graph.components[i])) + "];\n";
  for (std::size_t i = 0; i < graph.files.size(); ++i) {
    const FlowGraph::Files& files = graph.files[i];
    text +=
        "  " + files_id(i) + " [shape=ellipse, label=" + dot_text(files.pattern + "\n" + files.mode) + "];\n";
    const auto label = [](const std::optional<FlowGraph::Figures>& figures, const std::string& call) {
      return figures ? " [label=" + dot_text(describe_figures(*figures, call)) + "]" : std::string();
    };
    text += "  " + component_id(files.writer) + " -> " + files_id(i) + label(files.figures, "put") + ";\n";
    for (const FlowGraph::Reader& reader : files.readers)
      text +=
          "  " + files_id(i) + " -> " + component_id(reader.component) + label(reader.figures, "get") + ";\n";
  }
  return text + "}\n";
}

std::string html_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return escaped;
}

}  // namespace sluice::coordinator
