#pragma once
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>
#include <optional>
#include <string>

#include "commands.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// A command line of the form `sluice NAME [options] FLOW`, understood.
struct FlowCommandLine {
  boost::program_options::variables_map options;
  std::string flow;
};

/// Reads it; `description` is one sentence for --help. When there is nothing more to do (--help, or a
/// mistake, which was told), sets `status` and returns nothing.
[[nodiscard]] std::optional<FlowCommandLine> read_flow_command_line(
    const Arguments& arguments, const std::string& name, const std::string& description,
    boost::program_options::options_description options, int& status);

/// Reads the workflow and prints its warnings; with mistakes, which are printed, nothing.
[[nodiscard]] std::optional<workflows::Workflow> read_workflow(const std::string& flow);

/// Prints each as "FILE:LINE:COLUMN: text" on stderr, with `kind` ("warning: ") before the text.
void print_findings(const workflows::Workflow& workflow, const std::vector<workflows::Mistake>& findings,
                    const std::string& kind);

}  // namespace sluice::coordinator
