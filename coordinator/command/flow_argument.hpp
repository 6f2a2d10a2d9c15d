#pragma once
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>
#include <filesystem>
#include <optional>
#include <string>

#include "commands.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// A parsed command line of the form `sluice NAME [options] FLOW`.
struct FlowCommandLine {
  boost::program_options::variables_map options;
  std::string flow;
};

/// Reads the command line; `description` is one sentence for --help. When the command has nothing more to do,
/// sets `status` and returns nothing: the user asked for --help, or the command line has a mistake, which is
/// printed.
[[nodiscard]] std::optional<FlowCommandLine> read_flow_command_line(
    const Arguments& arguments, const std::string& name, const std::string& description,
    boost::program_options::options_description options, int& status);

/// Reads the workflow and prints its warnings. If the workflow has mistakes, prints the mistakes and returns
/// nothing.
[[nodiscard]] std::optional<workflows::Workflow> read_workflow(const std::string& flow);

/// Where a command writes a workflow file.
struct FlowOutput {
  std::string command;  ///< for messages: "init"
  std::filesystem::path flow;
  bool is_forced = false;  ///< an existing file is replaced
};
/// Whether the workflow file may be written; prints why not.
[[nodiscard]] bool may_write(const FlowOutput& output);
/// Writes the workflow file. Returns the exit status, and prints why there is none.
[[nodiscard]] int write_flow(const FlowOutput& output, const std::string& yaml);

/// Prints each finding as "FILE:LINE:COLUMN: text" on stderr, with `kind` ("warning: ") before the text.
void print_findings(const workflows::Workflow& workflow, const std::vector<workflows::Mistake>& findings,
                    const std::string& kind);

}  // namespace sluice::coordinator
