#include "flow_draft.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "format.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {
namespace {

constexpr std::size_t most_examples = 3;
/// A file that is closed more often is closed at each step of its program, and the number depends on the
/// input.
constexpr int most_closes = 3;

/// Programs that are named after the script that they run.
constexpr std::array<std::string_view, 8> interpreters{"python", "python3", "sh",    "bash",
                                                       "perl",   "Rscript", "julia", "ncl"};

std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + in_quotes(word);
  return "[" + text + "]";
}

/// Whether a word of a command names files that programs may exchange: data that is not there yet.
bool may_be_exchanged(const std::string& word, const std::filesystem::path& directory) {
  constexpr std::array<std::string_view, 10> data{".nc", ".nc3", ".nc4",  ".nc5", ".cdf",
                                                  ".h5", ".hdf", ".hdf5", ".he5", ".netcdf"};
  const std::filesystem::path path(word);
  std::error_code error;
  return std::ranges::find(data, path.extension().string()) != data.end() && !word.starts_with('-') &&
         !std::filesystem::exists(directory / path, error);
}

/// The words of a command that may be names: also behind the '=' of an option, and in the text of a shell.
std::vector<std::string> names_in(const std::vector<std::string>& command) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& word) {
    const std::size_t begin = word.starts_with('-') ? word.find('=') : std::string::npos;
    names.push_back(begin == std::string::npos ? word : word.substr(begin + 1));
  };
  for (std::size_t i = 0; i < command.size(); ++i) {
    const bool is_text = i > 1 && command[i - 1].starts_with('-') && command[i - 1].ends_with('c') &&
                         std::filesystem::path(command.front()).filename().string().ends_with("sh");
    if (!is_text) {
      add(command[i]);
      continue;
    }
    std::string text = command[i];
    std::ranges::replace_if(
        text, [](char c) { return std::string_view(";|&<>()'\"").find(c) != std::string_view::npos; }, ' ');
    std::istringstream words(text);
    for (std::string word; words >> word;) add(word);
  }
  return names;
}

/// A pattern stands for the last parts of a path.
std::string pattern_of_word(const std::string& word) {
  std::string pattern;
  for (const auto& part : std::filesystem::path(word).lexically_normal().relative_path())
    if (part != "..") pattern += (pattern.empty() ? "" : "/") + part.string();
  return pattern;
}

void write_component(std::ostream& out, const DraftComponent& component) {
  const CommandWords& command = component.command;
  out << "  " << component.name << ":\n    command: " << list_of(command.program);
  if (!component.kind.empty()) out << "  # " << component.kind;
  out << '\n';
  if (command.ranks > 0) {
    out << "    ranks: " << command.ranks << "  # as many as " << command.launcher << " -n had\n";
  } else if (component.has_mpi || !command.launcher.empty()) {
    out << "    ranks: 1  # the number of MPI processes\n";
  }
  if (!command.options.empty()) out << "    launcher-options: " << list_of(command.options) << '\n';
  if (!component.later_because.empty())
    out << "    start: when-done  # " << printable_in_line(component.later_because) << '\n';
}

/// When readers see a file that the writer closes several times: at the end, as they did in the trial.
void write_publish(std::ostream& out, const DraftRule& rule, const DraftComponent& writer) {
  // Ranks that open a file one after the other may close it more or less often next time.
  const bool is_one_process = writer.command.ranks <= 1;
  const bool is_rewritten = rule.is_rewritten && is_one_process && !writer.has_mpi;
  if (rule.closes == 1 && !is_rewritten) return;
  const bool has_number = !is_rewritten && is_one_process && rule.closes > 0 && rule.closes <= most_closes;
  out << "    publish: " << (has_number ? "close:" + std::to_string(rule.closes) : "exit") << "  # "
      << writer.name;
  if (is_rewritten) {
    out << " writes it several times; 'steps: stream' would give readers each of them\n";
    return;
  }
  out << " opened a file again, and closed it "
      << (rule.closes > 0 ? std::to_string(rule.closes) + " times" : "several times") << '\n';
}

void write_rule(std::ostream& out, const DraftRule& rule, const std::vector<DraftComponent>& components) {
  if (!rule.files.empty()) {
    out << "  # " << rule.files.size() << (rule.files.size() == 1 ? " file: " : " files: ");
    for (std::size_t i = 0; i < std::min(rule.files.size(), most_examples); ++i)
      out << (i == 0 ? "" : ", ") << printable_in_line(rule.files[i]);
    out << (rule.files.size() > most_examples ? ", …\n" : "\n");
  }
  if (!rule.unread.empty()) {
    out << "  # it also covers " << printable_in_line(rule.unread.front());
    if (rule.unread.size() > 1) out << " and " << format_count(rule.unread.size() - 1, "more file");
    out << ", which nobody read: with 'keep: true' they are on disk after a run\n";
  }
  std::string readers;
  for (const std::size_t reader : rule.readers)
    readers += (readers.empty() ? "" : ", ") + components[reader].name;
  out << "  - path: " << in_quotes(rule.pattern) << "\n    writer: " << components[rule.writer].name
      << "\n    readers: [" << readers << "]\n";
  if (rule.is_on_disk) {
    out << "    through: file  # it stays on the disk\n";
    return;
  }
  if (rule.keeps)
    out << "    keep: true  # " << components[rule.writer].name << " begins with the file on the disk\n";
  write_publish(out, rule, components[rule.writer]);
}

}  // namespace

void name_components(std::vector<DraftComponent>& components) {
  std::map<std::string, int> uses;
  for (DraftComponent& component : components) {
    const auto& words = component.command.program;
    std::string name = std::filesystem::path(words.front()).stem().string();
    const bool has_script = words.size() > 1 && !words[1].starts_with('-');
    if (has_script && std::ranges::find(interpreters, name) != interpreters.end())
      name = std::filesystem::path(words[1]).stem().string();
    std::erase_if(name, [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-';
    });
    if (name.empty() || std::isalpha(static_cast<unsigned char>(name.front())) == 0) name = "program" + name;
    const int number = ++uses[name];
    component.name = number == 1 ? name : name + "-" + std::to_string(number);
  }
}

std::vector<DraftRule> guess_rules(const std::vector<DraftComponent>& components,
                                   const std::filesystem::path& directory) {
  std::map<std::string, DraftRule> rules;  // by the word that names the files
  for (std::size_t i = 0; i < components.size(); ++i) {
    for (const std::string& word : names_in(components[i].command.program)) {
      if (!may_be_exchanged(word, directory)) continue;
      DraftRule& rule = rules.try_emplace(word, DraftRule{pattern_of_word(word), i, {}, {}}).first->second;
      const bool is_known = rule.writer == i || (!rule.readers.empty() && rule.readers.back() == i);
      if (!is_known) rule.readers.push_back(i);
    }
  }
  std::vector<DraftRule> found;
  for (auto& [word, rule] : rules)
    if (!rule.readers.empty()) found.push_back(std::move(rule));
  if (!found.empty() || components.size() < 2) return found;
  DraftRule open{std::string(workflows::path_placeholder), 0, {}, {}};
  for (std::size_t i = 1; i < components.size(); ++i) open.readers.push_back(i);
  return {open};
}

std::string write_draft(const std::vector<DraftComponent>& components, const std::vector<DraftRule>& rules,
                        bool was_tried) {
  std::ostringstream out;
  out << "# Written by sluice init. docs/workflow-reference.md has all keys.\n"
      << "#   sluice check FLOW    what will happen\n"
      << "#   sluice run FLOW      runs it\n"
      << "version: 1\n"
      << "components:\n";
  for (const DraftComponent& component : components) write_component(out, component);
  if (rules.empty() && was_tried) {
    out << "# In the trial no program has read what another one had written: there is nothing to couple.\n"
        << "files: []\n";
    return out.str();
  }
  out << "# Which component writes files, and which components read them. All other files are ordinary "
         "ones.\n"
      << "files:\n";
  if (!rules.empty() && rules.front().pattern == workflows::path_placeholder)
    out << "# Write in place of ??? which files the first program writes and the others read, as in "
           "out_*.nc: "
           "no file\n# that a reader writes. 'sluice init --trial' finds it out.\n";
  for (const DraftRule& rule : rules) write_rule(out, rule, components);
  return out.str();
}

}  // namespace sluice::coordinator
