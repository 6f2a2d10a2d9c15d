#include <algorithm>
#include <array>
#include <set>

#include "ensembles.hpp"
#include "glob.hpp"
#include "schema.hpp"
#include "sequence_keys.hpp"
#include "sluice/formats/near_match.hpp"

namespace sluice::workflows {

using formats::join;
using formats::suggestion;

namespace {

/// A rule with its parsed pattern, for comparing rules.
struct ReadRule {
  FileRule rule;
  std::optional<Glob> glob;
};

/// Reads the keys of one rule.
class RuleReader {
 public:
  RuleReader(ValueReader& reader, const ComponentNames& components)
      : reader_(reader), components_(components) {}

  ReadRule read(const Value& value, std::size_t index) {
    ReadRule read;
    read.rule.position = value.position;
    const std::string where = "in file rule " + std::to_string(index + 1);
    const auto section = reader_.section(value, key_names(KeySection::rule), where);
    if (!section) return read;
    read_path(value, *section, read, where);
    if (const Value* writer =
            required(value, *section, "writer", where, "the component that writes the files")) {
      if (const auto name = component_name(*writer)) read.rule.writer = *name;
    }
    if (const Value* readers =
            required(value, *section, "readers", where, "the components that read the files")) {
      read_readers(*readers, read.rule);
    }
    read_simple_keys(reader_, *section, KeySection::rule, read.rule);
    read_publish(*section, read.rule);
    read_keep(*section, read.rule);
    read_optional(*section, read.rule);
    check_expose(*section, read.rule);
    check_sequence_keys(reader_, *section, read.rule);
    if (read.rule.closes != 1) read.rule.has_hyperslabs = false;  // only bytes can wait for a later close
    if (is_in_files(read.rule.through)) check_rule_of_files(*section, read.rule);
    if (read.rule.through == Through::burst_buffer) check_rule_of_logs(*section, read.rule);
    return read;
  }

 private:
  const Value* required(const Value& rule, const Section& section, const std::string& key,
                        const std::string& where, const std::string& meaning) {
    const Value* value = section.find(key);
    if (value == nullptr)
      reader_.findings().mistake(rule.position, "'" + key + "' is missing " + where + ": name " + meaning);
    return value;
  }

  void read_path(const Value& rule, const Section& section, ReadRule& read, const std::string& where) {
    const Value* value =
        required(rule, section, "path", where, "the files, by a pattern for the last parts of their paths");
    if (value == nullptr) return;
    const auto pattern =
        reader_.text(*value, std::string("a pattern for the last parts of a path") +
                                 (value->node.IsSequence() ? ": write a rule for each pattern" : ""));
    if (!pattern) return;
    read.rule.pattern = *pattern;
    read.rule.position = value->position;
    if (*pattern == path_placeholder)
      return reader_.findings().mistake(
          value->position, value->what +
                               " is still ???: write which files the writer writes and the readers "
                               "read, as in out_*.nc. 'sluice init --trial' finds it out");
    if (has_wrong_instance(*pattern)) return;  // RuleExpansion tells
    auto parsed = parse_glob(with_instance(*pattern, 0));
    if (const auto* problem = std::get_if<GlobProblem>(&parsed)) {
      reader_.findings().mistake(value->position, value->what + " is '" + *pattern + "': " + problem->text);
    } else {
      read.glob = std::move(std::get<Glob>(parsed));
    }
  }

  /// close, close:N, exit, sync or write.
  void read_publish(const Section& section, FileRule& rule) {
    const Value* value = section.find("publish");
    if (value == nullptr) return;
    const auto word = reader_.text(*value, "a word");
    if (!word) return;
    constexpr std::string_view nth = "close:";
    constexpr std::size_t most_digits = 6;
    const bool is_nth = word->starts_with(nth);
    const std::string digits = is_nth ? word->substr(nth.size()) : std::string();
    const bool is_number = !digits.empty() && digits.size() <= most_digits && digits.front() != '0' &&
                           digits.find_first_not_of("0123456789") == std::string::npos;
    if (*word == "sync") {
      rule.publish_at = PublishAt::sync;
    } else if (*word == "write") {
      rule.publish_at = PublishAt::write;
    } else if (*word == "exit") {
      rule.closes = 0;
    } else if (is_number) {
      rule.closes = static_cast<std::uint32_t>(std::stoul(digits));
    } else if (const auto choice = reader_.choice(*value, key_of(KeySection::rule, "publish").words);
               choice && *choice != "close") {
      reader_.expected(*value, "close: and a number, as in close:2");
    }
  }

  /// Checks a rule whose data goes through burst-buffer logs: logs hold whole files.
  void check_rule_of_logs(const Section& section, FileRule& rule) {
    if (rule.keep.variables.empty()) return;
    const Value* keep = section.find("keep");
    reader_.findings().mistake(keep->position,
                               keep->what + " is " + describe_found(keep->node) +
                                   ": with 'through: burst-buffer' the whole file is written; leave 'keep' "
                                   "out, or take 'through: memory'");
    rule.keep = {};
  }

  /// Refuses keys that make sense only for data in memory.
  void check_rule_of_files(const Section& section, FileRule& rule) {
    const std::string through = "'through: " + std::string(matcher::word_of(rule.through)) + "'";
    if (rule.publish_at != PublishAt::close) {
      const Value* publish = section.find("publish");
      reader_.findings().mistake(publish->position, publish->what + " is " + describe_found(publish->node) +
                                                        ": with " + through +
                                                        " readers see a file when its writer has closed it; "
                                                        "leave 'publish' out, or take 'through: memory'");
    }
    const Value* keep = section.find("keep");
    if (keep != nullptr && (!rule.keep.keeps || !rule.keep.variables.empty())) {
      reader_.findings().mistake(keep->position, keep->what + " is " + describe_found(keep->node) +
                                                     ": with " + through +
                                                     " the whole file stays on disk; leave 'keep' out");
    }
    rule.keep = {};
    const Value* netcdf = section.find("netcdf");
    if (netcdf != nullptr && rule.has_hyperslabs) {
      reader_.findings().mistake(netcdf->position, netcdf->what + " is hyperslabs: with " + through +
                                                       " programs have the file itself; leave 'netcdf' out");
    }
    rule.has_hyperslabs = false;
  }

  std::optional<std::string> component_name(const Value& value) {
    auto name = reader_.text(
        value, std::string("a component's name") +
                   (value.node.IsSequence() ? ": write a rule for each component that writes" : ""));
    if (name) check_component(*name, value.position, value.what);
    return name;
  }

  void check_component(const std::string& name, Position position, const std::string& what) {
    const std::vector<std::string>& names = components_.names;
    if (!components_.complete || std::find(names.begin(), names.end(), name) != names.end()) return;
    if (std::ranges::find(components_.components, name, &Component::name) != components_.components.end())
      return;  // a member of an ensemble
    const std::string guess = suggestion(name, names);
    reader_.findings().mistake(
        position, what + " is '" + name + "', which is not a component" + guess +
                      (guess.empty() ? ": the components are " : " The components are ") + join(names));
  }

  void read_readers(const Value& value, FileRule& rule) {
    std::vector<std::string>& readers = rule.readers;
    if (value.is_mapping()) {
      const auto entries = reader_.named_values(value, "reader");
      for (const NamedValue& entry : *entries) {
        check_component(without_all_members(entry.name), entry.name_position, "a reader");
        if (auto mode = read_mode(reader_, entry)) rule.modes.push_back(std::move(*mode));
        readers.push_back(entry.name);
      }
    } else if (const auto elements = reader_.list(value, "components")) {
      for (const Value& element : *elements) {
        const auto name = reader_.text(element, "a component's name");
        if (!name) continue;
        check_component(without_all_members(*name), element.position, element.what);
        if (std::find(readers.begin(), readers.end(), *name) != readers.end()) {
          reader_.findings().mistake(element.position, "the reader '" + *name + "' is named twice");
        } else {
          readers.push_back(*name);
        }
      }
    } else {
      return;
    }
    if (value.node.size() == 0) {
      reader_.findings().mistake(value.position,
                                 value.what +
                                     " is empty, so no component could read the files: name a reader, or "
                                     "remove the rule to get ordinary files");
    }
  }

  void read_keep(const Section& section, FileRule& rule) {
    const Value* value = section.find("keep");
    if (value == nullptr) return;
    if (value->is_list()) {
      rule.keep.keeps = true;
      const auto globs = reader_.list(*value, "variables");
      if (globs->empty())
        reader_.findings().mistake(value->position,
                                   value->what + " is empty: name variables, or write false");
      for (const Value& glob : *globs) {
        if (auto text = reader_.text(glob, "a variable's name or a glob"))
          rule.keep.variables.push_back(std::move(*text));
      }
    } else if (!value->node.IsScalar() ||
               (value->node.Scalar() != "true" && value->node.Scalar() != "false")) {
      return reader_.expected(*value, "true, false, or a list of variables, as in [T, \"wind_*\"]");
    } else {
      rule.keep.keeps = reader_.boolean(*value).value_or(false);
    }
  }

  void read_optional(const Section& section, FileRule& rule) {
    const Value* value = section.find("optional");
    if (value == nullptr) return;
    const auto elements = reader_.list(*value, "patterns");
    if (!elements) return;
    for (const Value& element : *elements) {
      auto pattern = reader_.text(element, "a pattern for the last parts of a path");
      if (!pattern) continue;
      const auto parsed = parse_glob(*pattern);
      if (const auto* problem = std::get_if<GlobProblem>(&parsed))
        reader_.findings().mistake(element.position,
                                   element.what + " is '" + *pattern + "': " + problem->text);
      rule.optional.push_back(std::move(*pattern));
    }
  }

  void check_expose(const Section& section, FileRule& rule) {
    if (!rule.exposes) return;
    const Value* value = section.find("expose");
    const bool is_on_disk = rule.is_drained() || is_in_files(rule.through);
    if (!is_on_disk && rule.publish_at == PublishAt::close) return;
    reader_.findings().mistake(
        value->position,
        value->what + " is true: " +
            (is_on_disk ? "the files of this rule are on disk anyway; leave 'expose' out"
                        : "it shows files that their writer has closed; leave 'publish' out"));
    rule.exposes = false;
  }

  ValueReader& reader_;
  const ComponentNames& components_;
};

/// The components that both rules name.
std::vector<std::string> shared_components(const FileRule& a, const FileRule& b) {
  const auto names = [](const FileRule& rule) {
    std::set<std::string> result(rule.readers.begin(), rule.readers.end());
    result.insert(rule.writer);
    return result;
  };
  const std::set<std::string> of_a = names(a);
  const std::set<std::string> of_b = names(b);
  std::vector<std::string> shared;
  std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::back_inserter(shared));
  return shared;
}

/// Whether nothing depends on which of the two rules applies to a file that both cover.
bool are_alike(const ReadRule& earlier, const ReadRule& later) {
  const FileRule& a = earlier.rule;
  matcher::FileRule b = later.rule;
  b.pattern = a.pattern;
  const bool counts_files = a.expected > 0 || later.rule.expected > 0 || a.queue > 0;
  return !counts_files && a.exposes == later.rule.exposes && a.has_hyperslabs == later.rule.has_hyperslabs &&
         static_cast<const matcher::FileRule&>(a) == b;
}

/// Compares two rules. For a component, the first rule that covers a path applies. A rule that an earlier one
/// hides from a component is a mistake; a mere overlap is a warning, unless the rules are alike or the
/// earlier one is an exception from the later. Returns whether there is either.
bool compare_rules(const ReadRule& earlier, const ReadRule& later, Findings& findings) {
  if (!earlier.glob || !later.glob) return false;
  const std::vector<std::string> shared = shared_components(earlier.rule, later.rule);
  if (shared.empty()) return false;
  const GlobRelation relation = relate(*earlier.glob, *later.glob);
  if (relation == GlobRelation::disjoint) return false;
  const std::string line = std::to_string(earlier.rule.position.line);
  if (relation == GlobRelation::covered) {
    findings.mistake(
        later.rule.position,
        "for " + join(shared) + ", the rule '" + earlier.rule.pattern + "' in line " + line +
            " already covers every file of '" + later.rule.pattern +
            "'. Join the two rules, put the narrower one first, or add different directories to the paths");
  } else if (are_alike(earlier, later) || relate(*later.glob, *earlier.glob) == GlobRelation::covered) {
    return false;
  } else {
    findings.warning(later.rule.position, "a file can match both '" + later.rule.pattern + "' and '" +
                                              earlier.rule.pattern + "' in line " + line + ": for " +
                                              join(shared) + " the earlier rule applies");
  }
  return true;
}

}  // namespace

std::vector<FileRule> read_file_rules(ValueReader& reader, const Value& value,
                                      const ComponentNames& components) {
  std::vector<FileRule> rules;
  const auto elements = reader.list(value, "file rules");
  if (!elements) return rules;
  RuleReader rule_reader(reader, components);
  std::vector<ReadRule> read;
  std::size_t index = 0;
  const auto expand = rule_expander(components.components, reader.findings());
  for (const Value& element : *elements) {
    const ReadRule written = rule_reader.read(element, index++);
    for (FileRule& rule : expand(written.rule)) {
      const bool is_of_member = !rule.family.empty() && written.glob;
      std::optional<Glob> glob = is_of_member ? std::get<Glob>(parse_glob(rule.pattern)) : written.glob;
      read.push_back({std::move(rule), std::move(glob)});
    }
  }
  constexpr std::size_t most_compared = 200;  // the number of pairs grows with the square
  std::set<std::array<int, 4>> told;          // of rules that stand for several, one pair is enough
  const auto places = [&](std::size_t earlier, std::size_t later) {
    const Position a = read[earlier].rule.position;
    const Position b = read[later].rule.position;
    return std::array<int, 4>{a.line, a.column, b.line, b.column};
  };
  for (std::size_t later = 0; later < std::min(read.size(), most_compared); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      const bool is_known = !read[later].rule.family.empty() && told.contains(places(earlier, later));
      if (!is_known && compare_rules(read[earlier], read[later], reader.findings()))
        told.insert(places(earlier, later));
    }
  }
  for (ReadRule& rule : read) rules.push_back(std::move(rule.rule));
  return rules;
}

}  // namespace sluice::workflows
