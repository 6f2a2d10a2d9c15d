#include <filesystem>
#include <iostream>
#include <optional>

#include "commands.hpp"
#include "exit_status.hpp"
#include "flow_argument.hpp"
#include "flow_graph.hpp"
#include "log_choice.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::coordinator {
namespace {

constexpr const char* graph_help = R"(sluice graph FLOW|RUN [--text|--mermaid|--dot|--svg]
Prints the components of a workflow and the files between them. With a run, by
the name of its workflow, its number or its log directory: with its figures.
  --text      lines for a terminal (default)
  --mermaid   for Markdown pages, as on GitHub
  --dot       for Graphviz: sluice graph FLOW --dot | dot -Tpdf -o flow.pdf
  --svg       a drawing for browsers and pages
Example: sluice graph flow.yaml --svg > flow.svg
)";

using Form = std::string (*)(const FlowGraph&);

std::optional<Form> form_named(const std::string& option) {
  if (option == "--text") return as_text;
  if (option == "--mermaid") return as_mermaid;
  if (option == "--dot") return as_dot;
  if (option == "--svg") return as_svg;
  return std::nullopt;
}

int graph_mistake(const std::string& text) {
  std::cerr << "sluice graph: " << text << "\nwrite sluice graph FLOW [--text|--mermaid|--dot|--svg]\n";
  return status_mistake;
}

}  // namespace

int graph_command(const Arguments& arguments) {
  Form form = as_text;
  std::string from;
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      std::cout << graph_help;
      return status_ok;
    }
    if (const auto named = form_named(argument)) {
      form = *named;
    } else if (argument.starts_with("-")) {
      return graph_mistake("there is no option '" + argument + "'");
    } else if (!from.empty()) {
      return graph_mistake("one workflow file or log directory is expected");
    } else {
      from = argument;
    }
  }
  std::error_code error;
  const std::filesystem::path log = find_log_directory(from);
  if (from.empty() && log.empty())
    return graph_mistake(
        "a workflow file is expected: no run of a workflow of this directory has left a log");
  if (std::filesystem::is_regular_file(from, error) || !std::filesystem::is_directory(log, error)) {
    const auto workflow = read_workflow(from);
    if (!workflow) return status_mistake;
    std::cout << form(graph_of(*workflow));
    return status_ok;
  }
  try {
    std::cout << form(graph_of(read_timeline(log)));
    return status_ok;
  } catch (const Error& failure) {
    return graph_mistake(std::string(failure.what()) + ": '" + from + "' is not the log directory of a run");
  }
}

}  // namespace sluice::coordinator
