#include "dtf_configuration.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <tuple>

#include "ini_text.hpp"
#include "sluice/formats/near_match.hpp"

namespace sluice::coordinator {
namespace {

using workflows::Mistake;
using workflows::Position;

/// A key that has no counterpart in a workflow.
struct KeyWithoutEquivalent {
  std::string_view section;
  std::string_view key;
  std::string_view meaning;
  std::string_view reason;
  std::string_view advice;
};
constexpr std::array without_equivalent{
    KeyWithoutEquivalent{"info", "iodb_range", "the size of a matcher's part of a variable",
                         "Sluice chooses it", "Nothing is to be done."},
    KeyWithoutEquivalent{"info", "ioreq_distrib_range", "the size of a matcher's part of a variable",
                         "Sluice chooses it", "Nothing is to be done."},
    KeyWithoutEquivalent{"info", "buffered_req_match", "copies of what is put",
                         "a put of Sluice always copies its data", "Nothing is to be done."},
    KeyWithoutEquivalent{"info", "buffer_data", "copies of what is put",
                         "a put of Sluice always copies its data", "Nothing is to be done."},
    KeyWithoutEquivalent{"info", "do_checksum", "checksums of what is transferred", "Sluice makes none",
                         "To compare data, write 'keep: true' and compare the files."},
    KeyWithoutEquivalent{"info", "log_ioreqs", "a log of all requests", "Sluice logs no single request",
                         "The table at the end of sluice run counts puts and gets."},
    KeyWithoutEquivalent{"file", "exclude_name", "names that the pattern does not cover",
                         "a file rule has no exceptions",
                         "Write a pattern that does not cover them, or several rules."},
    KeyWithoutEquivalent{"file", "num_sessions", "how often the file is transferred",
                         "Sluice needs no number: a file that nobody will write any more is NC_ENOENT",
                         "Nothing is to be done."}};

const std::vector<std::string> info_keys{"ncomp",
                                         "comp_name",
                                         "iodb_build_mode",
                                         "iodb_range",
                                         "ioreq_distrib_mode",
                                         "ioreq_distrib_range",
                                         "buffered_req_match",
                                         "buffer_data",
                                         "do_checksum",
                                         "log_ioreqs"};
const std::vector<std::string> file_keys{"filename",     "comp1",     "comp2",     "writer",
                                         "reader",       "mode",      "replay_io", "exclude_name",
                                         "num_sessions", "write_only"};

/// As workflows have it: docs/workflow-reference.md, "A component".
bool is_component_name(std::string_view name) {
  const auto is_allowed = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= 64 && name.front() != '-' && name.front() != '.' &&
         std::ranges::all_of(name, is_allowed);
}

/// What a rule can say of the path: from the root on, or behind the last "..".
std::string trailing_components(std::string_view path) {
  std::string trailing;
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view component = path.substr(start, end - start);
    if (component == "..") {
      trailing.clear();
    } else if (!component.empty() && component != ".") {
      if (!trailing.empty()) trailing += '/';
      trailing += component;
    }
    start = end + 1;
  }
  return trailing;
}

/// DTF's wildcard is '%'; what is one in a workflow is put into brackets.
std::string pattern_of(std::string_view filename) {
  std::string pattern;
  for (const char c : trailing_components(filename)) {
    if (c == '[' || c == '{' || c == '?') {
      pattern += std::string("[") + c + ']';
    } else if (c != '%' && c != '*') {
      pattern += c;
    } else if (!pattern.ends_with('*')) {
      pattern += '*';
    }
  }
  return pattern;
}

class ConfigurationReader {
 public:
  explicit ConfigurationReader(std::vector<Mistake>& mistakes) : mistakes_(mistakes) {}

  DtfConfiguration read(const std::vector<IniSection>& sections) {
    for (const IniSection& section : sections) {
      if (section.name == "info") {
        read_info(section);
      } else if (section.name != "file") {
        mistake(section.position,
                "there is no section [" + section.name + "]: a DTF configuration has [INFO] and [FILE]");
      }
    }
    check_components();
    for (const IniSection& section : sections) {
      if (section.name == "file") read_file(section);
    }
    std::ranges::stable_sort(result_.notes, {}, [](const Mistake& note) {
      return std::tuple(note.position.line, note.position.column);
    });
    return std::move(result_);
  }

 private:
  void mistake(Position position, std::string text) { mistakes_.push_back({position, std::move(text)}); }

  void expected(const IniEntry& entry, const std::string& what) {
    mistake(entry.position, "'" + entry.key + "' is '" + entry.value + "': allowed is " + what);
  }

  void note(const IniEntry& entry, std::string text) {
    result_.notes.push_back({entry.position, "'" + entry.key + "=" + entry.value + "': " + std::move(text)});
  }

  void note_left_out(const IniSection& section, const IniEntry& entry,
                     const std::vector<std::string>& known) {
    for (const KeyWithoutEquivalent& each : without_equivalent) {
      if (each.section != section.name || each.key != entry.key) continue;
      note(entry, std::string(each.meaning) + ". There is no equivalent: " + std::string(each.reason) + ". " +
                      std::string(each.advice));
      return;
    }
    const std::string meant = formats::suggestion(entry.key, known);
    note(entry, "sluice import-dtf does not know this key" + (meant.empty() ? "." : meant) +
                    " It was left out: look up what it does, and whether you need it.");
  }

  /// How matchers divide their work. The second name is that of older versions.
  static bool is_division(const IniEntry& entry) {
    return entry.key == "iodb_build_mode" || entry.key == "ioreq_distrib_mode";
  }

  void read_info(const IniSection& section) {
    for (const IniEntry& entry : section.entries) {
      if (entry.key == "ncomp") {
        count_ = &entry;
      } else if (entry.key == "comp_name") {
        take_component(entry);
      } else if (is_division(entry) && (entry.value == "varid" || entry.value == "var")) {
        result_.divides_by_variable = true;
      } else if (is_division(entry) && entry.value != "range") {
        note(entry,
             "how matchers divide their work. There is no equivalent: Sluice has 'partition: range' and "
             "'partition: variable'. The workflow has the default, 'range'.");
      } else if (!is_division(entry)) {
        note_left_out(section, entry, info_keys);
      }
    }
    end_of_info_ = section.position;
  }

  void take_component(const IniEntry& entry) {
    if (!is_component_name(entry.value)) {
      expected(entry,
               "a name for a component of a workflow: letters, digits, '_', '-' and '.', at most 64 of them, "
               "not beginning with '-' or '.'");
    } else if (is_known(entry.value)) {
      mistake(entry.position, "the component '" + entry.value + "' is named twice");
    } else {
      result_.components.push_back(entry.value);
    }
  }

  bool is_known(const std::string& name) const {
    return std::ranges::find(result_.components, name) != result_.components.end();
  }

  void check_components() {
    if (!end_of_info_) {
      mistake({}, "there is no section [INFO] with the names of the components");
    } else if (result_.components.empty() && mistakes_.empty()) {
      mistake(*end_of_info_, "[INFO] names no component: write comp_name=\"NAME\" for each");
    }
    if (count_ == nullptr) return;
    std::size_t count = 0;
    const char* const end = count_->value.data() + count_->value.size();
    const auto [stop, error] = std::from_chars(count_->value.data(), end, count);
    if (error != std::errc{} || stop != end) {
      expected(*count_, "a number");
    } else if (mistakes_.empty() && count != result_.components.size()) {
      mistake(count_->position, "'ncomp' is " + count_->value + ", but there are " +
                                    std::to_string(result_.components.size()) + " names (comp_name)");
    }
  }

  /// The component that is named there, or nothing with a mistake told.
  std::string component_of(const IniSection& section, const IniEntry* entry, const char* keys) {
    if (entry == nullptr) {
      mistake(section.position, std::string("[FILE] has no ") + keys);
    } else if (!is_known(entry->value)) {
      mistake(entry->position, "'" + entry->key + "' is '" + entry->value +
                                   "', which is no component of [INFO]" +
                                   formats::suggestion(entry->value, result_.components));
    } else {
      return entry->value;
    }
    return "";
  }

  void read_file(const IniSection& section) {
    DtfFile file;
    file.line = section.position.line;
    const IniEntry* path = nullptr;
    const IniEntry* from = nullptr;
    const IniEntry* to = nullptr;
    const IniEntry* write_only = nullptr;
    for (const IniEntry& entry : section.entries) {
      if (entry.key == "filename") {
        path = &entry;
      } else if (entry.key == "comp1" || entry.key == "writer") {
        from = &entry;
      } else if (entry.key == "comp2" || entry.key == "reader") {
        to = &entry;
      } else if (entry.key == "mode") {
        take_mode(entry, file);
      } else if (entry.key == "replay_io") {
        if (entry.value != "0" && entry.value != "1") expected(entry, "0 or 1");
        file.has_replay = entry.value == "1";
      } else if (entry.key == "write_only") {
        if (entry.value != "0" && entry.value != "1") expected(entry, "0 or 1");
        if (entry.value == "1") write_only = &entry;
      } else {
        note_left_out(section, entry, file_keys);
      }
    }
    file.writer = component_of(section, from, "'comp1'");
    file.readers = {component_of(section, to, "'comp2'")};
    if (from != nullptr && to != nullptr && !file.writer.empty() && file.writer == file.readers.front())
      mistake(to->position, "'" + to->key + "' is '" + to->value + "', as is '" + from->key + "'");
    file.has_guessed_direction = from != nullptr && from->key == "comp1";
    take_pattern(section, path, file);
    if (write_only == nullptr) return add(std::move(file));
    note(*write_only,
         "both components write '" + file.pattern +
             "', and neither reads it. The workflow has no rule for it: it stays an ordinary file.");
  }

  void take_mode(const IniEntry& entry, DtfFile& file) {
    if (entry.value != "memory" && entry.value != "transfer" && entry.value != "file")
      expected(entry, "memory, transfer or file");
    file.is_on_disk = entry.value == "file";
  }

  void take_pattern(const IniSection& section, const IniEntry* path, DtfFile& file) {
    if (path == nullptr) {
      mistake(section.position, "[FILE] has no 'filename'");
      return;
    }
    file.pattern = pattern_of(path->value);
    if (file.pattern.empty() || path->value.ends_with('/')) return expected(*path, "the path of a file");
    // For DTF it may be a part of a name; a rule's pattern covers whole names.
    const std::string_view name = std::string_view(file.pattern).substr(file.pattern.rfind('/') + 1);
    if (name.find_first_of(".*") != std::string_view::npos) return;
    note(*path, "a part of a name. The pattern in the workflow is '*" + std::string(name) +
                    "*': check that it covers no other file.");
    file.pattern.insert(file.pattern.size() - name.size(), "*");
    file.pattern += '*';
  }

  /// Several readers of the same files belong into one rule.
  void add(DtfFile file) {
    for (DtfFile& other : result_.files) {
      if (other.pattern != file.pattern || other.writer != file.writer || other.is_on_disk != file.is_on_disk)
        continue;
      if (std::ranges::find(other.readers, file.readers.front()) == other.readers.end())
        other.readers.push_back(file.readers.front());
      return;
    }
    result_.files.push_back(std::move(file));
  }

  std::vector<Mistake>& mistakes_;
  DtfConfiguration result_;
  const IniEntry* count_ = nullptr;
  std::optional<Position> end_of_info_;
};

}  // namespace

DtfConfiguration read_dtf_configuration(std::string_view text, const std::filesystem::path& file) {
  std::vector<Mistake> mistakes;
  const std::vector<IniSection> sections = read_ini(text, mistakes);
  DtfConfiguration configuration = ConfigurationReader(mistakes).read(sections);
  if (mistakes.empty()) return configuration;
  std::ranges::stable_sort(mistakes, {}, [](const Mistake& mistake) {
    return std::tuple(mistake.position.line, mistake.position.column);
  });
  throw workflows::WorkflowError(file, std::move(mistakes));
}

}  // namespace sluice::coordinator
