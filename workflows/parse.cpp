#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "schema.hpp"
#include "sluice/workflows/byte_size.hpp"
#include "sluice/workflows/command_advice.hpp"
#include "sluice/workflows/usable_memory.hpp"
#include "yaml_document.hpp"

namespace sluice::workflows {
namespace {

constexpr std::int64_t schema_version = 1;
constexpr std::uint64_t least_memory_bytes = std::uint64_t{1} << 20;

void check_version(ValueReader& reader, const Section& section) {
  const Value* value = section.find("version");
  if (value == nullptr) return reader.findings().mistake({}, "there is no 'version': write version: 1");
  const auto version = reader.integer(*value, {1, 1'000'000});
  if (version && *version != schema_version) {
    reader.findings().mistake(value->position,
                              "'version' is " + std::to_string(*version) + ": this sluice reads version 1");
  }
}

std::string read_name(ValueReader& reader, const Section& section, const std::filesystem::path& file) {
  std::string stem = is_name(file.stem().string()) ? file.stem().string() : "workflow";
  const Value* value = section.find("name");
  if (value == nullptr) return stem;
  const auto name = reader.text(*value);
  if (!name) return stem;
  if (!is_name(*name)) reader.expected(*value, "a name: use " + std::string(name_form));
  return *name;
}

void read_hostfile(ValueReader& reader, const Section& section, Workflow& workflow) {
  const Value* value = section.find("hostfile");
  if (value == nullptr) return;
  const auto text = reader.text(*value, "a file with the names of nodes");
  if (!text) return;
  if (text->empty()) return reader.findings().mistake(value->position, "'hostfile' is empty: name a file");
  if (const std::string problem = path_problem(*text); !problem.empty())
    return reader.findings().mistake(value->position, value->what + " is '" + *text + "': " + problem);
  workflow.hostfile = (std::filesystem::absolute(workflow.file).parent_path() / *text).lexically_normal();
  workflow.hostfile_position = value->position;
  if (workflow.launcher.kind != Launcher::Kind::mpirun)
    reader.findings().mistake(value->position,
                              "'hostfile' has no effect: only launcher: mpirun uses a host file");
}

std::uint64_t read_memory(ValueReader& reader, const Value& value, std::uint64_t least_bytes) {
  const std::string forms(byte_size_forms);
  const auto text = reader.text(value, forms);
  if (!text) return 0;
  const auto bytes = parse_byte_size(*text);
  if (!bytes) {
    const std::string near = near_byte_size(*text);
    reader.expected(value, near.empty() ? forms : "'" + near + "', or " + forms);
  } else if (*bytes < least_bytes) {
    reader.expected(value, "at least 1 MiB");
  }
  return bytes.value_or(0);
}

void read_staging(ValueReader& reader, const Section& root, Workflow& workflow) {
  workflow.memory_bytes = usable_memory_bytes() / 4;
  const Value* value = root.find("staging");
  if (value == nullptr) return;
  const auto section = reader.section(*value, key_names(KeySection::staging), "in 'staging'");
  if (!section) return;
  read_simple_keys(reader, *section, KeySection::staging, workflow);
  if (const Value* memory = section->find("memory"))
    workflow.memory_bytes = read_memory(reader, *memory, least_memory_bytes);
  if (const Value* retain = section->find("retain")) workflow.retain_bytes = read_memory(reader, *retain, 0);
  if (const Value* prewarm = section->find("prewarm")) {
    workflow.prewarm_bytes = read_memory(reader, *prewarm, 0);
    if (*workflow.prewarm_bytes > workflow.memory_bytes)
      reader.findings().mistake(prewarm->position,
                                "'prewarm' is larger than 'memory': memory made ahead is a part of 'memory'");
  }
  if (const Value* spill = section->find("spill"); spill != nullptr && !spill->node.IsNull()) {
    const std::string allowed = "a directory, auto or none";
    const auto directory = reader.text(*spill, allowed);
    if (directory && (*directory == "true" || *directory == "false")) return reader.expected(*spill, allowed);
    if (directory) workflow.has_automatic_spill = *directory == "auto";
    if (directory && *directory != "auto" && *directory != "none") {
      if (const std::string problem = path_problem(*directory); !problem.empty())
        reader.findings().mistake(spill->position, spill->what + " is '" + *directory + "': " + problem);
      workflow.spill_directory = std::filesystem::absolute(workflow.file).parent_path() / *directory;
      workflow.spill_position = spill->position;
    }
  }
  if (const Value* matchers = section->find("matchers")) {
    if (workflow.matchers > 1 && workflow.launcher.kind == Launcher::Kind::none)
      reader.findings().mistake(matchers->position,
                                "'matchers' is " + std::to_string(workflow.matchers) +
                                    ", but 'launcher' is none: several matchers need an MPI launcher");
  }
}

void check_launchable(const Workflow& workflow, Findings& findings) {
  for (const Component& component : workflow.components) {
    const std::string launcher = component.ranks > 0 ? launcher_in(component.command) : std::string();
    if (!launcher.empty() && component.instance == 0)
      findings.mistake(component.command_position,
                       "the command of component '" + component.name + "' contains " + launcher +
                           ", and the component has ranks: each of its " + std::to_string(component.ranks) +
                           " ranks would start " + launcher +
                           " anew. Let 'command' begin with the program, and put "
                           "options of " +
                           launcher + " into 'launcher-options'; or leave 'ranks' out");
    const auto number = std::ranges::find_if(component.launcher_options, [](const std::string& option) {
      return option == "-n" || option == "-np" || option == "--np" || option == "--ntasks";
    });
    if (number != component.launcher_options.end() && component.instance == 0)
      findings.mistake(component.position, "'launcher-options' of component '" + component.name + "' has " +
                                               *number + ": 'ranks' says how many there are; leave it out");
    if (component.ranks > 1 && launcher_of(workflow, component).kind == Launcher::Kind::none) {
      findings.mistake(component.position, "component '" + component.name + "' has " +
                                               std::to_string(component.ranks) +
                                               " ranks, but 'launcher' is none: use launcher: mpirun");
    }
  }
}

void check_opens(const Workflow& workflow, Findings& findings) {
  for (const Component& component : workflow.components) {
    const auto is_read_stream = [&](const FileRule& rule) {
      return rule.is_stream && std::ranges::find(rule.readers, component.name) != rule.readers.end();
    };
    if (component.opens_per_step > 1 && std::ranges::none_of(workflow.files, is_read_stream))
      findings.mistake(component.position, "'opens-per-step' in component '" + component.name +
                                               "' has no effect: it reads no file with 'steps: stream'");
  }
}

void read_workflow(ValueReader& reader, const YAML::Node& document, Workflow& workflow) {
  const Value root = reader.root(document);
  const auto section = reader.section(root, key_names(KeySection::workflow), "at the top level");
  if (!section) return;
  check_version(reader, *section);
  workflow.name = read_name(reader, *section, workflow.file);
  if (const Value* launcher = section->find("launcher")) workflow.launcher = read_launcher(reader, *launcher);
  read_hostfile(reader, *section, workflow);
  read_staging(reader, *section, workflow);
  const std::filesystem::path base = std::filesystem::absolute(workflow.file).parent_path();
  ComponentNames names{{}, workflow.components};
  if (const Value* components = section->find("components")) {
    workflow.components = read_components(reader, *components, base);
    for (const Component& component : workflow.components)
      if (component.instance == 0)
        names.names.push_back(component.ensemble.empty() ? component.name : component.ensemble);
    names.complete = !names.names.empty();
  } else {
    reader.findings().mistake({}, "'components' is missing: name the programs to start");
    names.complete = false;
  }
  if (const Value* files = section->find("files"); files != nullptr && !files->node.IsNull()) {
    workflow.files = read_file_rules(reader, *files, names);
  }
  check_launchable(workflow, reader.findings());
  check_starts(workflow, reader.findings());
  check_opens(workflow, reader.findings());
}

}  // namespace

Workflow parse_workflow(std::string_view text, const std::filesystem::path& file) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  Workflow workflow;
  workflow.file = file;
  Findings findings;
  const std::optional<YAML::Node> document = load_yaml(text, findings);
  if (document) {
    ValueReader reader(text, findings);
    read_workflow(reader, *document, workflow);
  }
  if (findings.has_mistakes()) throw WorkflowError(file, findings.take_mistakes());
  workflow.warnings = findings.take_warnings();
  return workflow;
}

Workflow parse_workflow(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    throw IoError(NC_EACCESS, EISDIR, file.string(), "read the workflow");
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    throw IoError(errno == ENOENT ? NC_ENOENT : NC_EACCESS, errno, file.string(), "open the workflow");
  std::string text(longest_file_bytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (stream.bad()) throw IoError(NC_EREAD, errno, file.string(), "read the workflow");
  return parse_workflow(text, file);
}

}  // namespace sluice::workflows
