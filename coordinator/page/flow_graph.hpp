#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/workflows/workflow.hpp"
#include "timeline.hpp"

namespace sluice::coordinator {

/// The components of a workflow, and the files between them.
struct FlowGraph {
  /// What passed along an edge in a run.
  struct Figures {
    std::uint64_t bytes = 0;
    std::uint64_t calls = 0;                    ///< puts or gets
    std::uint64_t wait_ms = 0;                  ///< in create and open, over all processes
    std::uint64_t opened_bytes = 0, opens = 0;  ///< by the C library
  };
  struct Component {
    std::string name;
    int ranks = 0;  ///< 0: serial
  };
  struct Reader {
    std::size_t component = 0;
    std::optional<Figures> figures;
  };
  /// The files of a rule.
  struct Files {
    std::string pattern;
    std::string mode;  ///< "memory, keep"
    std::size_t writer = 0;
    std::optional<Figures> figures;  ///< of the writer
    std::uint64_t published = 0;     ///< files, in a run
    std::vector<Reader> readers;
  };
  std::string name;
  std::vector<Component> components;
  std::vector<Files> files;
};

[[nodiscard]] FlowGraph graph_of(const workflows::Workflow& workflow);
/// With the figures of a run.
[[nodiscard]] FlowGraph graph_of(const Timeline& timeline);

/// The graph as lines for a terminal; in Mermaid's language, for Markdown; in Graphviz' language; and as a
/// drawing, which takes its colours from the page that it is a part of.
[[nodiscard]] std::string as_text(const FlowGraph& graph);
[[nodiscard]] std::string as_mermaid(const FlowGraph& graph);
[[nodiscard]] std::string as_dot(const FlowGraph& graph);
[[nodiscard]] std::string as_svg(const FlowGraph& graph);

/// "1.20 GiB in 24 puts, waited 0.4 s"; `call`: "put" or "get".
[[nodiscard]] std::string describe_figures(const FlowGraph::Figures& figures, const std::string& call);
/// The text within HTML and SVG.
[[nodiscard]] std::string html_text(std::string_view text);

}  // namespace sluice::coordinator
