#include "flow_draft.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "format.hpp"

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

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// The name in parts: text and numbers in turn, beginning with text.
std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts{""};
  bool is_number = false;
  for (const char c : name) {
    if (is_digit(c) != is_number) {
      is_number = !is_number;
      parts.emplace_back();
    }
    parts.back() += c;
  }
  return parts;
}

/// Characters that mean something in a pattern are taken as any one character.
std::string literal(const std::string& text) {
  std::string result = text;
  std::ranges::replace_if(
      result, [](char c) { return c == '*' || c == '?' || c == '[' || c == ']'; }, '?');
  return result;
}

/// One pattern for names whose texts are the same: '*' where numbers differ.
std::string pattern_of(const std::vector<std::vector<std::string>>& names) {
  std::string pattern;
  for (std::size_t i = 0; i < names.front().size(); ++i) {
    const auto is_same = [&](const auto& name) { return name[i] == names.front()[i]; };
    pattern += std::ranges::all_of(names, is_same) ? literal(names.front()[i]) : "*";
  }
  return pattern;
}

/// Files with one key go by one rule: the same writer, readers, directory, and texts of the name.
struct Key {
  std::size_t writer = 0;
  std::vector<std::size_t> readers;
  std::string directory;
  std::vector<std::string> texts;
  auto operator<=>(const Key&) const = default;
};

std::optional<Key> key_of(const std::filesystem::path& file, const std::vector<TriedProgram>& tried,
                          const std::filesystem::path& directory) {
  Key key;
  const auto writes = [&](const TriedProgram& program) { return program.written.contains(file); };
  const auto writer = std::ranges::find_if(tried, writes);
  if (writer == tried.end()) return std::nullopt;
  key.writer = static_cast<std::size_t>(writer - tried.begin());
  for (std::size_t i = 0; i < tried.size(); ++i) {
    if (i != key.writer && tried[i].read.contains(file)) key.readers.push_back(i);
  }
  if (key.readers.empty()) return std::nullopt;
  key.directory = file.parent_path().lexically_relative(directory).string();
  if (key.directory == ".") key.directory.clear();
  key.texts = parts_of(file.filename().string());
  for (std::size_t i = 1; i < key.texts.size(); i += 2) key.texts[i].clear();
  return key;
}

int closes_of(const std::vector<std::filesystem::path>& files, const TriedProgram& writer) {
  const auto closes = [&](const std::filesystem::path& file) {
    const auto known = writer.closes.find(file);
    return known == writer.closes.end() ? 1 : known->second;
  };
  const int first = closes(files.front());
  const auto is_same = [&](const std::filesystem::path& file) { return closes(file) == first; };
  return std::ranges::all_of(files, is_same) ? first : 0;
}

/// A pattern is compared with the last parts of a path, so what is above the workflow's directory is left
/// out.
std::string below(std::string directory) {
  while (directory.starts_with("../")) directory.erase(0, 3);
  return directory == ".." || directory.empty() ? "" : literal(directory) + "/";
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
}

void write_rule(std::ostream& out, const DraftRule& rule, const std::vector<DraftComponent>& components) {
  if (!rule.files.empty()) {
    out << "  # " << rule.files.size() << (rule.files.size() == 1 ? " file: " : " files: ");
    for (std::size_t i = 0; i < std::min(rule.files.size(), most_examples); ++i)
      out << (i == 0 ? "" : ", ") << rule.files[i];
    out << (rule.files.size() > most_examples ? ", …\n" : "\n");
  }
  std::string readers;
  for (const std::size_t reader : rule.readers)
    readers += (readers.empty() ? "" : ", ") + components[reader].name;
  out << "  - path: " << in_quotes(rule.pattern) << "\n    writer: " << components[rule.writer].name
      << "\n    readers: [" << readers << "]\n";
  if (rule.closes == 1) return;
  const bool has_number = rule.closes > 0 && rule.closes <= most_closes;
  out << "    publish: " << (has_number ? "close:" + std::to_string(rule.closes) : "exit") << "  # "
      << components[rule.writer].name << " opened a file again, and closed it "
      << (rule.closes > 0 ? std::to_string(rule.closes) + " times" : "several times") << '\n';
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

std::vector<DraftRule> find_rules(const std::vector<TriedProgram>& tried,
                                  const std::filesystem::path& directory) {
  std::map<Key, std::vector<std::filesystem::path>> groups;
  for (const TriedProgram& program : tried) {
    for (const std::filesystem::path& file : program.written) {
      if (const auto key = key_of(file, tried, directory)) {
        auto& files = groups[*key];
        if (std::ranges::find(files, file) == files.end()) files.push_back(file);
      }
    }
  }
  std::vector<DraftRule> rules;
  for (auto& [key, files] : groups) {
    DraftRule rule{"", key.writer, key.readers, {}, closes_of(files, tried[key.writer])};
    std::vector<std::vector<std::string>> names;
    for (const std::filesystem::path& file : files) {
      names.push_back(parts_of(file.filename().string()));
      rule.files.push_back(file.lexically_relative(directory).string());
    }
    rule.pattern = below(key.directory) + pattern_of(names);
    rules.push_back(std::move(rule));
  }
  return rules;
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
  for (const DraftRule& rule : rules) write_rule(out, rule, components);
  return out.str();
}

}  // namespace sluice::coordinator
