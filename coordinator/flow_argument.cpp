#include "flow_argument.hpp"

#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>
#include <iostream>

#include "exit_status.hpp"

namespace sluice::coordinator {

namespace program_options = boost::program_options;

std::optional<FlowCommandLine> read_flow_command_line(const Arguments& arguments, const std::string& name,
                                                      const std::string& description,
                                                      program_options::options_description options,
                                                      int& status) {
  options.add_options()("help,h", "print this");
  program_options::options_description all = options;
  all.add_options()("flow", program_options::value<std::string>());
  program_options::positional_options_description positions;
  positions.add("flow", 1);
  FlowCommandLine line;
  try {
    program_options::store(
        program_options::command_line_parser(arguments).options(all).positional(positions).run(),
        line.options);
    program_options::notify(line.options);
  } catch (const program_options::error& error) {
    std::cerr << "sluice " << name << ": " << error.what() << "\nsluice " << name
              << " --help lists the options\n";
    status = status_mistake;
    return std::nullopt;
  }
  if (line.options.count("help") != 0) {
    std::cout << "sluice " << name << " [options] FLOW\n" << description << "\n\n" << options;
    status = status_ok;
    return std::nullopt;
  }
  if (line.options.count("flow") == 0) {
    std::cerr << "sluice " << name << ": no workflow file was given\nwrite sluice " << name << " FLOW.yaml\n";
    status = status_mistake;
    return std::nullopt;
  }
  line.flow = line.options["flow"].as<std::string>();
  return line;
}

void print_findings(const workflows::Workflow& workflow, const std::vector<workflows::Mistake>& findings,
                    const std::string& kind) {
  for (workflows::Mistake finding : findings) {
    finding.text = kind + finding.text;
    std::cerr << finding.describe(workflow.file) << '\n';
  }
}

std::optional<workflows::Workflow> read_workflow(const std::string& flow) {
  try {
    workflows::Workflow workflow = workflows::parse_workflow(std::filesystem::path(flow));
    print_findings(workflow, workflow.warnings, "warning: ");
    return workflow;
  } catch (const workflows::WorkflowError& error) {
    const std::size_t mistakes = error.mistakes().size();
    std::cerr << error.what() << "\nsluice: " << mistakes
              << (mistakes == 1 ? " mistake in " : " mistakes in ") << flow
              << "; docs/workflow-reference.md describes the file\n";
  } catch (const IoError& error) {
    std::cerr << "sluice: " << error.what() << '\n';
  }
  return std::nullopt;
}

}  // namespace sluice::coordinator
