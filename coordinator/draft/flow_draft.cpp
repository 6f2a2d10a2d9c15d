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
#include "sluice/runtime/rules.hpp"
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

/// How a pattern stands for numbers that differ, from wide to narrow.
enum class Numbers { any_text, begin_with_digit, same_width };

std::string wildcard(const std::vector<std::vector<std::string>>& names, std::size_t part, Numbers numbers) {
  constexpr const char* digit = "[0-9]";
  if (numbers == Numbers::any_text) return "*";
  const std::size_t width = names.front()[part].size();
  const auto has_width = [&](const auto& name) { return name[part].size() == width; };
  std::string digits = digit;
  if (numbers == Numbers::begin_with_digit || !std::ranges::all_of(names, has_width)) return digits + "*";
  for (std::size_t i = 1; i < width; ++i) digits += digit;
  return digits;
}

/// One pattern for names whose texts are the same.
std::string pattern_of(const std::vector<std::vector<std::string>>& names, Numbers numbers) {
  std::string pattern;
  for (std::size_t i = 0; i < names.front().size(); ++i) {
    const auto is_same = [&](const auto& name) { return name[i] == names.front()[i]; };
    pattern += std::ranges::all_of(names, is_same) ? literal(names.front()[i]) : wildcard(names, i, numbers);
  }
  return pattern;
}

using Paths = std::vector<std::filesystem::path>;

/// Files with one key go by one rule: the same writer, directory, and texts of the name.
struct Key {
  std::size_t writer = 0;
  std::filesystem::path directory;
  std::vector<std::string> texts;
  auto operator<=>(const Key&) const = default;
};

bool has_changed(const TriedProgram& program, const std::filesystem::path& file, const TriedProgram& writer) {
  const auto after = program.modified_ns.find(file), before = writer.modified_ns.find(file);
  return after != program.modified_ns.end() && before != writer.modified_ns.end() &&
         after->second != before->second;
}

std::vector<std::size_t> readers_of(const std::filesystem::path& file, std::size_t writer,
                                    const std::vector<TriedProgram>& tried) {
  std::vector<std::size_t> readers;
  for (std::size_t i = 0; i < tried.size(); ++i)
    if (i != writer && tried[i].read.contains(file)) readers.push_back(i);
  return readers;
}

/// Nothing for files that are not exchanged, and for those that several programs change.
std::optional<Key> key_of(const std::filesystem::path& file, const std::vector<TriedProgram>& tried) {
  const auto writes = [&](const TriedProgram& program) { return program.written.contains(file); };
  const auto writer = std::ranges::find_if(tried, writes);
  if (writer == tried.end()) return std::nullopt;
  Key key{static_cast<std::size_t>(writer - tried.begin()), file.parent_path(),
          parts_of(file.filename().string())};
  if (readers_of(file, key.writer, tried).empty()) return std::nullopt;
  const auto changes = [&](const TriedProgram& program) { return has_changed(program, file, *writer); };
  if (std::ranges::any_of(tried, changes)) return std::nullopt;
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

/// The last `parts` parts of a directory, as the beginning of a pattern.
std::string last_parts(const std::filesystem::path& directory, std::size_t parts) {
  const std::vector<std::filesystem::path> all(directory.begin(), directory.end());
  std::string text;
  for (std::size_t i = all.size() - std::min(parts, all.size()); i < all.size(); ++i)
    if (all[i] != "/") text += literal(all[i].string()) + "/";
  return text;
}

/// What is above the workflow's directory is left out.
std::size_t parts_below(const std::filesystem::path& directory, const std::filesystem::path& workflow) {
  const std::filesystem::path below = directory.lexically_relative(workflow);
  return static_cast<std::size_t>(
      std::ranges::count_if(below, [](const auto& part) { return part != "." && part != ".."; }));
}

/// Makes the rules of a trial. A rule covers what its writer has written, and nothing that another program
/// writes or that is from elsewhere: a reader may change no file that a rule covers.
class RuleFinder {
 public:
  RuleFinder(const std::vector<TriedProgram>& tried, std::filesystem::path directory)
      : tried_(tried), directory_(std::move(directory)) {
    for (const TriedProgram& program : tried_) {
      all_.insert(program.written.begin(), program.written.end());
      all_.insert(program.read.begin(), program.read.end());
    }
  }

  std::vector<DraftRule> find() {
    std::map<Key, Paths> groups;
    for (const std::filesystem::path& file : all_)
      if (const auto key = key_of(file, tried_)) groups[*key].push_back(file);
    for (const auto& [key, files] : groups) add(key, files);
    return std::move(rules_);
  }

 private:
  void add(const Key& key, const Paths& files) {
    std::vector<std::vector<std::string>> names;
    for (const std::filesystem::path& file : files) names.push_back(parts_of(file.filename().string()));
    const std::size_t least = parts_below(key.directory, directory_);
    const auto most = static_cast<std::size_t>(std::distance(key.directory.begin(), key.directory.end()));
    for (std::size_t parts = least; parts <= std::max(least, most); ++parts) {
      for (const Numbers numbers : {Numbers::any_text, Numbers::begin_with_digit, Numbers::same_width}) {
        const std::string pattern = last_parts(key.directory, parts) + pattern_of(names, numbers);
        if (!covers_others(pattern, key.writer, files)) return add(key, files, pattern);
      }
    }
    if (files.size() == 1) return;  // the whole path of one file covers no other
    for (const std::filesystem::path& file : files) add(key, Paths{file});
  }

  void add(const Key& key, const Paths& files, const std::string& pattern) {
    DraftRule rule{pattern, key.writer, {}, {}, closes_of(files, tried_[key.writer]), {}};
    std::set<std::size_t> readers;
    for (const std::filesystem::path& file : files) {
      rule.files.push_back(shown(file));
      for (const std::size_t reader : readers_of(file, key.writer, tried_)) readers.insert(reader);
    }
    rule.readers.assign(readers.begin(), readers.end());
    for (const std::filesystem::path& file : tried_[key.writer].written)
      if (runtime::match_tail(pattern, file.string()) && std::ranges::find(files, file) == files.end())
        rule.unread.push_back(shown(file));
    rules_.push_back(std::move(rule));
  }

  /// What its writer alone has used is no other file.
  [[nodiscard]] bool covers_others(const std::string& pattern, std::size_t writer, const Paths& files) const {
    return std::ranges::any_of(all_, [&](const std::filesystem::path& file) {
      if (std::ranges::find(files, file) != files.end() || !runtime::match_tail(pattern, file.string()))
        return false;
      for (std::size_t i = 0; i < tried_.size(); ++i)
        if (i != writer && (tried_[i].read.contains(file) || tried_[i].written.contains(file))) return true;
      return !tried_[writer].written.contains(file);
    });
  }

  [[nodiscard]] std::string shown(const std::filesystem::path& file) const {
    return file.lexically_relative(directory_).string();
  }

  const std::vector<TriedProgram>& tried_;
  std::filesystem::path directory_;
  std::set<std::filesystem::path> all_;
  std::vector<DraftRule> rules_;
};

/// Whether a word of a command names files that programs may exchange: data that is not there yet.
bool may_be_exchanged(const std::string& word, const std::filesystem::path& directory) {
  constexpr std::array<std::string_view, 10> data{".nc", ".nc3", ".nc4",  ".nc5", ".cdf",
                                                  ".h5", ".hdf", ".hdf5", ".he5", ".netcdf"};
  const std::filesystem::path path(word);
  std::error_code error;
  return std::ranges::find(data, path.extension().string()) != data.end() && !word.starts_with('-') &&
         !std::filesystem::exists(directory / path, error);
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
}

void write_rule(std::ostream& out, const DraftRule& rule, const std::vector<DraftComponent>& components) {
  if (!rule.files.empty()) {
    out << "  # " << rule.files.size() << (rule.files.size() == 1 ? " file: " : " files: ");
    for (std::size_t i = 0; i < std::min(rule.files.size(), most_examples); ++i)
      out << (i == 0 ? "" : ", ") << rule.files[i];
    out << (rule.files.size() > most_examples ? ", …\n" : "\n");
  }
  if (!rule.unread.empty()) {
    out << "  # it also covers " << rule.unread.front();
    if (rule.unread.size() > 1) out << " and " << format_count(rule.unread.size() - 1, "more file");
    out << ", which nobody read: with 'keep: true' they are on disk after a run\n";
  }
  std::string readers;
  for (const std::size_t reader : rule.readers)
    readers += (readers.empty() ? "" : ", ") + components[reader].name;
  out << "  - path: " << in_quotes(rule.pattern) << "\n    writer: " << components[rule.writer].name
      << "\n    readers: [" << readers << "]\n";
  if (rule.closes == 1) return;
  // Ranks that open a file one after the other may close it more or less often next time.
  const bool is_one_process = components[rule.writer].command.ranks <= 1;
  const bool has_number = is_one_process && rule.closes > 0 && rule.closes <= most_closes;
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
  return RuleFinder(tried, directory).find();
}

std::vector<DraftRule> guess_rules(const std::vector<DraftComponent>& components,
                                   const std::filesystem::path& directory) {
  std::map<std::string, DraftRule> rules;  // by the word that names the files
  for (std::size_t i = 0; i < components.size(); ++i) {
    for (const std::string& word : components[i].command.program) {
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

std::vector<std::filesystem::path> find_shared_changes(const std::vector<TriedProgram>& tried) {
  std::vector<std::filesystem::path> files;
  for (std::size_t first = 0; first < tried.size(); ++first) {
    for (const std::filesystem::path& file : tried[first].written) {
      const auto changes = [&](const TriedProgram& program) {
        return has_changed(program, file, tried[first]);
      };
      const bool is_known = std::ranges::find(files, file) != files.end();
      if (!is_known && std::ranges::any_of(tried, changes)) files.push_back(file);
    }
  }
  return files;
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
