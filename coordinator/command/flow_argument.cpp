#include "flow_argument.hpp"

#include <unistd.h>

#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "colours.hpp"
#include "exit_status.hpp"

namespace sluice::coordinator {

namespace program_options = boost::program_options;

namespace {
std::string problem_of(const program_options::error& error) {
  const bool has_more =
      dynamic_cast<const program_options::too_many_positional_options_error*>(&error) != nullptr;
  return has_more ? "one workflow file is expected, and there are more words" : error.what();
}
}  // namespace

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
    std::cerr << "sluice " << name << ": " << problem_of(error) << "\nsluice " << name
              << " --help lists the options\n";
    status = status_mistake;
    return std::nullopt;
  }
  if (line.options.count("help") != 0) {
    std::cout << "sluice " << name << " [options] FLOW\n"
              << description << "\nExample: sluice " << name << " flow.yaml\n\n"
              << options;
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

namespace {

void print_all(const std::filesystem::path& file, const std::vector<workflows::Mistake>& findings,
               const std::string& kind) {
  const bool is_colourful = has_colours(STDERR_FILENO);
  for (workflows::Mistake finding : findings) {
    finding.text = kind.empty() ? coloured(finding.text, Colour::red, is_colourful)
                                : coloured(kind, Colour::yellow, is_colourful) + finding.text;
    std::cerr << finding.describe(file) << '\n';
  }
}

/// What to do about a workflow that cannot be read.
std::string other_workflows(const std::filesystem::path& flow) {
  constexpr std::size_t most_named = 3;
  const std::filesystem::path directory = flow.has_parent_path() ? flow.parent_path() : ".";
  std::set<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string extension = entry->path().extension().string();
    if (extension == ".yaml" || extension == ".yml") names.insert(entry->path().filename().string());
  }
  if (names.empty())
    return "no workflow file (*.yaml) is in " + directory.string() + ": 'sluice init PROGRAM…' writes one\n";
  std::string text;
  std::size_t named = 0;
  for (const std::string& name : names)
    if (named++ < most_named) text += (text.empty() ? "'" : ", '") + name + "'";
  return "in " + directory.string() + " there is " + text + (names.size() > most_named ? ", …" : "") + '\n';
}

}  // namespace

void print_findings(const workflows::Workflow& workflow, const std::vector<workflows::Mistake>& findings,
                    const std::string& kind) {
  print_all(workflow.file, findings, kind);
}

std::optional<workflows::Workflow> read_workflow(const std::string& flow) {
  try {
    workflows::Workflow workflow = workflows::parse_workflow(std::filesystem::path(flow));
    print_findings(workflow, workflow.warnings, "warning: ");
    return workflow;
  } catch (const workflows::WorkflowError& error) {
    const std::size_t mistakes = error.mistakes().size();
    print_all(flow, error.mistakes(), "");
    std::cerr << "sluice: " << mistakes << (mistakes == 1 ? " mistake in " : " mistakes in ") << flow
              << "; docs/workflow-reference.md describes the file\n";
  } catch (const IoError& error) {
    std::cerr << "sluice: " << error.what() << '\n' << other_workflows(flow);
  }
  return std::nullopt;
}

bool may_write(const FlowOutput& output) {
  std::error_code error;
  const std::string what = "sluice " + output.command + ": " + output.flow.string();
  if (!output.is_forced && std::filesystem::exists(output.flow, error)) {
    std::cerr << what << " exists\ngive another name by -o, or --force\n";
    return false;
  }
  const std::filesystem::path directory = std::filesystem::absolute(output.flow).parent_path();
  if (::access(directory.c_str(), W_OK) == 0) return true;
  std::cerr << what << " could not be written: " << directory.string() << ": " << std::strerror(errno)
            << '\n';
  return false;
}

int write_flow(const FlowOutput& output, const std::string& yaml) {
  if (!may_write(output)) return status_mistake;
  std::ofstream stream(output.flow, std::ios::binary | std::ios::trunc);
  stream << yaml;
  stream.close();
  if (stream) return status_ok;
  std::cerr << "sluice " << output.command << ": " << output.flow.string() << " could not be written\n";
  return status_mistake;
}

}  // namespace sluice::coordinator
