// A layered drawing: components and files alternate from left to right. Edges that lead back, as in a cycle,
// are drawn as curves below the others.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "flow_graph.hpp"
#include "format.hpp"

namespace sluice::coordinator {
namespace {

constexpr int box_width = 190;
constexpr int box_height = 46;
constexpr int column_distance = 380;  ///< leaves space for the figures on an edge
constexpr int row_distance = 84;
constexpr int margin = 16;

struct Node {
  std::string title = {}, subtitle = {};
  bool is_files = false;
  int column = 0;
  int row = 0;
  [[nodiscard]] int left() const { return margin + column * column_distance; }
  [[nodiscard]] int top() const { return margin + row * row_distance; }
};

struct Edge {
  std::size_t from = 0, to = 0;
  std::string label = {};
  bool leads_back = false;
};

/// Nodes: first the components, then the files.
struct Drawing {
  std::vector<Node> nodes;
  std::vector<Edge> edges;
};

Drawing drawing_of(const FlowGraph& graph) {
  Drawing drawing;
  for (const FlowGraph::Component& component : graph.components)
    drawing.nodes.push_back(
        {component.name, component.ranks == 0
                             ? "serial"
                             : format_count(static_cast<std::uint64_t>(component.ranks), "rank")});
  for (const FlowGraph::Files& files : graph.files) {
    const std::size_t place = drawing.nodes.size();
    const std::string count = files.figures ? format_count(files.published, "file") + ", " : "";
    drawing.nodes.push_back({files.pattern, count + files.mode, true});
    drawing.edges.push_back(
        {files.writer, place, files.figures ? describe_figures(*files.figures, "put") : ""});
    for (const FlowGraph::Reader& reader : files.readers)
      drawing.edges.push_back(
          {place, reader.component, reader.figures ? describe_figures(*reader.figures, "get") : ""});
  }
  return drawing;
}

/// Marks the edges that close a cycle, by a search in depth from each node in turn.
class BackEdges {
 public:
  explicit BackEdges(Drawing& drawing) : drawing_(drawing), states_(drawing.nodes.size(), State::unseen) {
    for (std::size_t node = 0; node < drawing.nodes.size(); ++node) visit(node);
  }

 private:
  enum class State { unseen, open, done };
  void visit(std::size_t node) {
    if (states_[node] != State::unseen) return;
    states_[node] = State::open;
    for (Edge& edge : drawing_.edges) {
      if (edge.from != node) continue;
      if (states_[edge.to] == State::open) edge.leads_back = true;
      visit(edge.to);
    }
    states_[node] = State::done;
  }

  Drawing& drawing_;
  std::vector<State> states_;
};

/// Each node is one column behind the last of those that lead to it.
void place_nodes(Drawing& drawing) {
  const BackEdges marked(drawing);
  for (std::size_t round = 0; round < drawing.nodes.size(); ++round) {
    for (const Edge& edge : drawing.edges) {
      Node& to = drawing.nodes[edge.to];
      if (!edge.leads_back) to.column = std::max(to.column, drawing.nodes[edge.from].column + 1);
    }
  }
  std::vector<int> rows(2 * drawing.nodes.size() + 1);
  for (Node& node : drawing.nodes) node.row = rows[static_cast<std::size_t>(node.column)]++;
}

std::string shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

std::string text_at(int x, int y, const std::string& kind, const std::string& text) {
  return "<text class=\"" + kind + "\" x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\">" +
         html_text(text) + "</text>";
}

std::string draw(const Node& node) {
  constexpr std::size_t most_characters = 26;
  const std::string corner = node.is_files ? "23" : "4";
  return "<g><title>" + html_text(node.title + ": " + node.subtitle) + "</title><rect class=\"" +
         (node.is_files ? "files" : "component") + "\" x=\"" + std::to_string(node.left()) + "\" y=\"" +
         std::to_string(node.top()) + "\" width=\"" + std::to_string(box_width) + "\" height=\"" +
         std::to_string(box_height) + "\" rx=\"" + corner + "\"/>" +
         text_at(node.left() + box_width / 2, node.top() + 19, "title",
                 shortened(node.title, most_characters)) +
         text_at(node.left() + box_width / 2, node.top() + 36, "note",
                 shortened(node.subtitle, most_characters + 4)) +
         "</g>\n";
}

/// What stands above the line, and below it: "3 gets", "of 2 GiB".
std::pair<std::string, std::string> two_lines(const std::string& label) {
  constexpr std::size_t most_characters = 24;  // between two boxes
  if (const std::size_t comma = label.find(", "); comma != std::string::npos)
    return {label.substr(0, comma), label.substr(comma + 2)};
  const std::size_t blank = label.size() > most_characters ? label.find(" of ") : std::string::npos;
  if (blank == std::string::npos) return {label, ""};
  return {label.substr(0, blank), label.substr(blank + 1)};
}

/// Passes below the boxes between.
bool is_long(const Drawing& drawing, const Edge& edge) {
  return edge.leads_back || drawing.nodes[edge.to].column > drawing.nodes[edge.from].column + 1;
}

std::string draw(const Drawing& drawing, const Edge& edge) {
  const Node& from = drawing.nodes[edge.from];
  const Node& to = drawing.nodes[edge.to];
  const int y1 = from.top() + box_height / 2;
  const int y2 = to.top() + box_height / 2;
  const int x1 = from.left() + box_width;
  const int x2 = to.left();
  const bool passes_below = is_long(drawing, edge);
  const int reach = edge.leads_back ? 120 : std::max(40, (x2 - x1) / (passes_below ? 4 : 2));
  const auto point = [](int x, int y) { return std::to_string(x) + " " + std::to_string(y); };
  const int sag = passes_below ? 2 * row_distance / 3 : 0;
  std::string path = "<path class=\"edge\" marker-end=\"url(#arrow)\" d=\"M" + point(x1, y1) + " C" +
                     point(x1 + reach, y1 + sag) + " " + point(x2 - reach, y2 + sag) + " " +
                     point(x2 - 2, y2) + "\"/>";
  const int middle = (x1 + x2) / 2;
  const int height = (y1 + y2) / 2 + sag * 3 / 4;
  const auto [above, below] = two_lines(edge.label);
  if (!above.empty()) path += text_at(middle, height - 5, "figures", above);
  if (!below.empty()) path += text_at(middle, height + 13, "figures", below);
  return path + "\n";
}

}  // namespace

std::string as_svg(const FlowGraph& graph) {
  Drawing drawing = drawing_of(graph);
  place_nodes(drawing);
  int width = 0;
  int height = 0;
  for (const Node& node : drawing.nodes) {
    width = std::max(width, node.left() + box_width + margin);
    height = std::max(height, node.top() + box_height + margin);
  }
  if (std::ranges::any_of(drawing.edges, [&](const Edge& edge) { return is_long(drawing, edge); }))
    height += row_distance / 2;
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"" +
                    std::to_string(width) + "\" height=\"" + std::to_string(height) + "\" viewBox=\"0 0 " +
                    std::to_string(width) + " " + std::to_string(height) + "\">\n<title>" +
                    html_text("Workflow " + graph.name) +
                    R"(</title>
<style>
svg { --line: #556; --ink: #112; --component: #dce8f7; --files: #f3ead2; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { svg { --line: #99a; --ink: #e6e9ee; --component: #23405f; --files: #4d4325; } }
text { font: 13px system-ui, sans-serif; fill: var(--ink); text-anchor: middle; }
.title { font-weight: 600; } .note, .figures { font-size: 11px; }
.component { fill: var(--component); stroke: var(--line); } .files { fill: var(--files); stroke: var(--line); }
.edge { fill: none; stroke: var(--line); stroke-width: 1.5; } marker path { fill: var(--line); }
</style>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>
)";
  for (const Edge& edge : drawing.edges) svg += draw(drawing, edge);
  for (const Node& node : drawing.nodes) svg += draw(node);
  return svg + "</svg>\n";
}

}  // namespace sluice::coordinator
