#include <algorithm>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>
#include <boost/program_options/variables_map.hpp>
#include <filesystem>
#include <iostream>
#include <optional>

#include "commands.hpp"
#include "environment.hpp"
#include "exit_status.hpp"
#include "flow_argument.hpp"
#include "flow_draft.hpp"
#include "format.hpp"
#include "inspection.hpp"
#include "installation.hpp"
#include "program_lookup.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/near_match.hpp"
#include "trial_rules.hpp"

namespace sluice::coordinator {
namespace {

namespace program_options = boost::program_options;

struct InitOptions {
  std::vector<std::string> commands;
  std::filesystem::path flow;
  bool is_forced = false;
  bool tries = false;
  bool removes = false;
};

/// Nothing when there is nothing more to do; `status` says how it went.
std::optional<InitOptions> read_init_options(const Arguments& arguments, int& status) {
  program_options::options_description options("Options");
  auto add = options.add_options();
  add("trial,t", "run the commands one after the other, through files, to find out which files they share");
  add("remove,r",
      "with --trial: remove the files that the trial has made and that a run passes through memory");
  add("output,o", program_options::value<std::string>()->value_name("FLOW.yaml")->default_value("flow.yaml"),
      "the workflow file to write");
  add("force,f", "replace FLOW.yaml where it exists");
  add("help,h", "print this");
  program_options::options_description all = options;
  all.add_options()("command", program_options::value<std::vector<std::string>>());
  program_options::positional_options_description positions;
  positions.add("command", -1);
  try {
    program_options::variables_map values;
    program_options::store(
        program_options::command_line_parser(arguments).options(all).positional(positions).run(), values);
    if (values.count("help") != 0) {
      std::cout
          << "sluice init [options] \"COMMAND\" \"COMMAND\" …\nWrites a workflow for these programs: each "
             "command as you type it without\nSluice, those that write before those that read.\n\n"
          << options
          << "\nExample:\n  sluice init --trial \"mpirun -n 4 ./model in.nml\" \"python3 plot.py\"\n";
      status = status_ok;
      return std::nullopt;
    }
    if (values.count("command") == 0) throw program_options::error("no command was given");
    InitOptions line;
    line.commands = values["command"].as<std::vector<std::string>>();
    line.flow = values["output"].as<std::string>();
    line.is_forced = values.count("force") != 0;
    line.tries = values.count("trial") != 0;
    line.removes = values.count("remove") != 0;
    if (line.removes && !line.tries) throw program_options::error("--remove has no effect without --trial");
    return line;
  } catch (const program_options::error& error) {
    std::cerr << "sluice init: " << error.what()
              << "\nwrite sluice init \"mpirun -n 4 ./model\" \"python3 plot.py\"; each command in quotes\n";
    status = status_mistake;
    return std::nullopt;
  }
}

/// Says what the programs are. Nothing when one cannot be started, which was told.
std::optional<std::vector<DraftComponent>> read_components(const InitOptions& line,
                                                           const Environment& environment) {
  std::vector<DraftComponent> components;
  const auto path = environment.find("PATH");
  for (const std::string& text : line.commands) {
    DraftComponent component{"", read_command(text), "", false};
    std::string problem = component.command.problem;
    if (problem.empty()) {
      const FoundProgram found =
          find_program(component.command.program.front(), std::filesystem::current_path(),
                       path == environment.end() ? std::string() : path->second);
      problem = found.problem;
      if (problem.empty()) {
        const Inspection inspection = inspect_program(found.path, environment, Coupling::writer);
        component.kind = inspection.kind;
        component.has_mpi = inspection.is_mpi_linked;
        for (const std::string& mistake : inspection.mistakes)
          std::cerr << "sluice init: '" << text << "': " << mistake << '\n';
      }
    }
    if (!problem.empty()) {
      std::cerr << "sluice init: '" << text << "': " << problem
                << "\ngive each command in quotes, as you type it in this directory\n";
      return std::nullopt;
    }
    components.push_back(std::move(component));
  }
  name_components(components);
  return components;
}

/// Nothing when a program has failed, which was told.
std::optional<std::vector<TriedProgram>> try_all(const std::vector<DraftComponent>& components,
                                                 const Environment& environment,
                                                 const Installation& installation) {
  std::vector<TriedProgram> tried;
  for (const DraftComponent& component : components) {
    std::cout << "sluice init: trial of " << component.name << " …" << std::endl;
    tried.push_back(try_program(component.command.typed, environment, installation.files_library));
    if (tried.back().status != 0) {
      std::cerr
          << "sluice init: " << component.name << " ended with status " << tried.back().status
          << "\nthe trial runs the commands one after the other: give those first whose files others read. "
             "Programs that wait for each other cannot be tried: leave --trial out\n";
      return std::nullopt;
    }
  }
  return tried;
}

/// What the trial has made and the rules cover: no run writes it.
std::vector<std::filesystem::path> left_files(const std::vector<TriedProgram>& tried,
                                              const std::vector<DraftRule>& rules,
                                              const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> left;
  for (const DraftRule& rule : rules) {
    if (rule.is_on_disk) continue;
    for (const std::vector<std::string>* const names : {&rule.files, &rule.unread})
      for (const std::string& name : *names)
        if (tried[rule.writer].made.contains((directory / name).lexically_normal()) &&
            std::filesystem::exists(directory / name))
          left.emplace_back(name);
  }
  return left;
}

void tell_left(const std::vector<std::filesystem::path>& left, bool removes) {
  if (left.empty()) return;
  constexpr std::size_t most_named = 5;
  std::vector<std::string> names;
  for (const std::filesystem::path& file : left) names.push_back(printable(file.string()));
  const std::string what = format_count(left.size(), "file") +
                           " of the trial that the rules cover: " + formats::join(names, most_named);
  if (!removes) {
    std::cout << "sluice init: the trial has left " << what
              << "\nA run passes them through memory and leaves old ones as they are: remove them, or let "
                 "'sluice init --trial --remove' do so.\n";
    return;
  }
  for (const std::filesystem::path& file : left) {
    std::error_code error;
    std::filesystem::remove(file, error);
    if (error)
      std::cerr << "sluice init: '" << file.string() << "' could not be removed: " << error.message() << '\n';
  }
  std::cout << "sluice init: removed " << what << '\n';
}

/// The rules that the trial shows; says what they cannot do.
std::vector<DraftRule> take_rules(const std::vector<TriedProgram>& tried,
                                  const std::filesystem::path& directory,
                                  std::vector<DraftComponent>& components) {
  std::vector<std::string> names;
  for (const DraftComponent& component : components) names.push_back(component.name);
  TrialFindings found = find_rules(tried, directory, names);
  for (auto& [component, reason] : found.later) {
    std::cout << "sluice init: " << names[component] << " begins when those before it have ended: " << reason
              << '\n';
    components[component].later_because = std::move(reason);
  }
  for (const std::string& problem : found.problems) std::cerr << "sluice init: " << problem << '\n';
  return std::move(found.rules);
}

}  // namespace

int init_command(const Arguments& arguments) {
  int status = status_ok;
  const auto line = read_init_options(arguments, status);
  if (!line) return status;
  Environment environment = current_environment();
  auto components = read_components(*line, environment);
  const FlowOutput output{"init", line->flow, line->is_forced};
  if (!components || !may_write(output)) return status_mistake;  // before the trial, which may take long
  const std::filesystem::path directory = std::filesystem::canonical(std::filesystem::current_path());
  std::vector<DraftRule> rules = guess_rules(*components, directory);
  std::vector<std::filesystem::path> left;
  if (line->tries) {
    const Installation installation = find_installation();
    if (installation.files_library.empty()) {
      std::cerr << "sluice init: libsluice_files.so was not found beside '" << installation.program.string()
                << "'\nbuild everything (tools/build), or leave --trial out\n";
      return status_runtime_failure;
    }
    remove_surrounding_job(environment);
    const auto tried = try_all(*components, environment, installation);
    if (!tried) return status_mistake;
    rules = take_rules(*tried, directory, *components);
    left = left_files(*tried, rules, directory);
  }
  status = write_flow(output, write_draft(*components, rules, line->tries));
  if (status != status_ok) return status;
  const std::string flow = line->flow.string();
  std::cout << "sluice init: wrote " << flow << " with " << format_count(components->size(), "component")
            << " and " << format_count(rules.size(), "file rule");
  if (!line->tries) std::cout << "; see in it which files are exchanged";
  std::cout << '\n';
  if (line->tries && rules.empty())
    std::cout
        << "sluice init: no program has read a file that another one wrote, so there is nothing to couple: "
           "give all programs that exchange files, and look at the names and directories that they use\n";
  tell_left(left, line->removes);
  std::cout << "next: sluice check " << flow << '\n';
  return status_ok;
}

}  // namespace sluice::coordinator
