#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>
#include <boost/program_options/variables_map.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include "commands.hpp"
#include "dtf_configuration.hpp"
#include "exit_status.hpp"
#include "flow_argument.hpp"
#include "format.hpp"

namespace sluice::coordinator {
namespace {

namespace program_options = boost::program_options;

/// As workflow files have.
constexpr std::uintmax_t size_limit = 1 << 20;

struct ImportDtfOptions {
  std::filesystem::path ini;
  std::filesystem::path flow;  ///< empty: stdout
  bool is_forced = false;
};

/// Nothing when there is nothing more to do; `status` says how it went.
std::optional<ImportDtfOptions> read_import_dtf_options(const Arguments& arguments, int& status) {
  program_options::options_description options("Options");
  auto add = options.add_options();
  add("output,o", program_options::value<std::string>()->value_name("FLOW.yaml"),
      "the workflow file to write (default: the standard output)");
  add("force,f", "replace FLOW.yaml where it exists");
  add("help,h", "print this");
  program_options::options_description all = options;
  all.add_options()("ini", program_options::value<std::string>());
  program_options::positional_options_description positions;
  positions.add("ini", 1);
  try {
    program_options::variables_map values;
    program_options::store(
        program_options::command_line_parser(arguments).options(all).positional(positions).run(), values);
    if (values.count("help") != 0) {
      std::cout
          << "sluice import-dtf [options] FILE.ini\nWrites the workflow that a DTF configuration "
             "describes; tells what has no\nequivalent.\nExample: sluice import-dtf dtf.ini -o flow.yaml\n\n"
          << options;
      status = status_ok;
      return std::nullopt;
    }
    if (values.count("ini") == 0) throw program_options::error("no DTF configuration was given");
    ImportDtfOptions line;
    line.ini = values["ini"].as<std::string>();
    if (values.count("output") != 0) line.flow = values["output"].as<std::string>();
    line.is_forced = values.count("force") != 0;
    return line;
  } catch (const program_options::error& error) {
    std::cerr << "sluice import-dtf: " << error.what() << "\nwrite sluice import-dtf FILE.ini -o FLOW.yaml\n";
    status = status_mistake;
    return std::nullopt;
  }
}

/// The text of the configuration; nothing when it cannot be read, which was told.
std::optional<std::string> read_text(const std::filesystem::path& path) {
  std::error_code error;
  std::ifstream stream(path, std::ios::binary);
  if (!stream || std::filesystem::is_directory(path, error)) {
    std::cerr << "sluice import-dtf: '" << path.string() << "' cannot be read\ngive a DTF configuration\n";
    return std::nullopt;
  }
  std::string text(size_limit + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() <= size_limit) return text;
  std::cerr << "sluice import-dtf: '" << path.string()
            << "' has more than 1 MiB: it is no DTF configuration\n";
  return std::nullopt;
}

/// Tells what in the workflow is a mistake, whatever commands are filled in: two rules for one file, say.
int check_flow(const ImportDtfOptions& line, const std::string& yaml) {
  try {
    (void)workflows::parse_workflow(yaml, line.flow.empty() ? "FLOW.yaml" : line.flow);
    return status_ok;
  } catch (const workflows::WorkflowError& error) {
    std::cerr << error.what() << "\nsluice import-dtf: the workflow that was written needs these changes\n";
    return status_mistake;
  }
}

}  // namespace

int import_dtf_command(const Arguments& arguments) {
  int status = status_ok;
  const auto line = read_import_dtf_options(arguments, status);
  if (!line) return status;
  const auto text = read_text(line->ini);
  if (!text) return status_mistake;
  DtfConfiguration configuration;
  try {
    configuration = read_dtf_configuration(*text, line->ini);
  } catch (const workflows::WorkflowError& error) {
    std::cerr << error.what() << "\nsluice: " << format_count(error.mistakes().size(), "mistake") << " in "
              << line->ini.string() << "; docs/coming-from-dtf.md lists the keys\n";
    return status_mistake;
  }
  for (workflows::Mistake note : configuration.notes) {
    note.text = "note: " + note.text;
    std::cerr << note.describe(line->ini) << '\n';
  }
  const std::string yaml = write_workflow_of(configuration, line->ini);
  if (line->flow.empty()) {
    std::cout << yaml;
  } else if (status = write_flow({"import-dtf", line->flow, line->is_forced}, yaml); status != status_ok) {
    return status;
  }
  return check_flow(*line, yaml);
}

}  // namespace sluice::coordinator
