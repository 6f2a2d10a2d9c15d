#include <algorithm>
#include <set>

#include "glob.hpp"
#include "schema.hpp"
#include "sluice/formats/near_match.hpp"

namespace sluice::workflows {

using formats::join;
using formats::suggestion;

namespace {

const std::vector<std::string> rule_keys{"path",  "writer", "readers",   "through",
                                         "steps", "queue",  "when-full", "publish",
                                         "keep",  "replay", "partition", "identity"};

const std::vector<ReservedChoice> reserved_choices{
    {"steps", {"single", "stream"}},
    {"when-full", {"wait", "discard"}},
};

constexpr std::int64_t default_queue = 2;

/// A rule with its parsed pattern, for comparing rules.
struct ReadRule {
  FileRule rule;
  std::optional<Glob> glob;
};

/// Reads one rule, key by key.
class RuleReader {
 public:
  RuleReader(ValueReader& reader, const ComponentNames& components)
      : reader_(reader), components_(components) {}

  ReadRule read(const Value& value, std::size_t index) {
    ReadRule read;
    read.rule.position = value.position;
    const std::string where = "in file rule " + std::to_string(index + 1);
    const auto section = reader_.section(value, rule_keys, where);
    if (!section) return read;
    read_path(value, *section, read, where);
    if (const Value* writer =
            required(value, *section, "writer", where, "the component that writes the files")) {
      if (const auto name = component_name(*writer)) read.rule.writer = *name;
    }
    if (const Value* readers =
            required(value, *section, "readers", where, "the components that read the files")) {
      read.rule.readers = read_readers(*readers);
    }
    for (const ReservedChoice& reserved : reserved_choices) check_reserved(reader_, *section, reserved);
    read_replay(*section, read.rule);
    read_publish(*section, read.rule);
    read_through(*section, read.rule);
    read_partition(*section, read.rule);
    read_identity(*section, read.rule);
    check_queue(*section);
    read_keep(*section, read.rule);
    if (is_in_files(read.rule.through)) check_rule_of_files(*section, read.rule);
    if (read.rule.through == Through::burst_buffer) check_rule_of_logs(*section, read.rule);
    return read;
  }

 private:
  const Value* required(const Value& rule, const Section& section, const std::string& key,
                        const std::string& where, const std::string& meaning) {
    const Value* value = section.find(key);
    if (value == nullptr)
      reader_.findings().mistake(rule.position,
                                 "there is no '" + key + "' " + where + ": it names " + meaning);
    return value;
  }

  void read_path(const Value& rule, const Section& section, ReadRule& read, const std::string& where) {
    const Value* value = required(rule, section, "path", where,
                                  "the files, as a glob over the trailing components of their paths");
    if (value == nullptr) return;
    const auto pattern = reader_.text(*value, "a glob over the trailing components of a path");
    if (!pattern) return;
    read.rule.pattern = *pattern;
    read.rule.position = value->position;
    auto parsed = parse_glob(*pattern);
    if (const auto* problem = std::get_if<GlobProblem>(&parsed)) {
      reader_.findings().mistake(value->position, value->what + " is '" + *pattern + "': " + problem->text);
    } else {
      read.glob = std::move(std::get<Glob>(parsed));
    }
  }

  void read_replay(const Section& section, FileRule& rule) {
    static const std::vector<std::string> choices{"auto", "off"};
    if (const Value* value = section.find("replay")) {
      if (const auto word = reader_.choice(*value, choices)) rule.replays = *word == "auto";
    }
  }

  void read_publish(const Section& section, FileRule& rule) {
    static const std::vector<std::string> choices{"close", "sync", "write"};
    const Value* value = section.find("publish");
    if (value == nullptr) return;
    const auto word = reader_.choice(*value, choices);
    if (!word) return;
    rule.publish_at = *word == "sync"    ? PublishAt::sync
                      : *word == "write" ? PublishAt::write
                                         : PublishAt::close;
  }

  void read_through(const Section& section, FileRule& rule) {
    static const std::vector<std::string> choices(through_words.begin(), through_words.end());
    const Value* value = section.find("through");
    if (value == nullptr) return;
    const auto word = reader_.choice(*value, choices);
    if (!word) return;
    rule.through = static_cast<Through>(std::ranges::find(choices, *word) - choices.begin());
  }

  /// Logs are for whole files.
  void check_rule_of_logs(const Section& section, FileRule& rule) {
    if (rule.keep.variables.empty()) return;
    const Value* keep = section.find("keep");
    reader_.findings().mistake(keep->position,
                               keep->what + " is " + describe_found(keep->node) +
                                   ": with 'through: burst-buffer' the whole file is written; leave 'keep' "
                                   "out, or take 'through: memory'");
    rule.keep = {};
  }

  /// What makes sense only where the data is in memory.
  void check_rule_of_files(const Section& section, FileRule& rule) {
    const std::string through =
        "'through: " + std::string(through_words[static_cast<std::size_t>(rule.through)]) + "'";
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
  }

  void read_partition(const Section& section, FileRule& rule) {
    static const std::vector<std::string> choices{"range", "variable"};
    const Value* value = section.find("partition");
    if (value == nullptr) return;
    if (const auto word = reader_.choice(*value, choices))
      rule.partition = *word == "variable" ? PartitionBy::variable : PartitionBy::range;
  }

  void read_identity(const Section& section, FileRule& rule) {
    static const std::vector<std::string> choices{"path", "name"};
    const Value* value = section.find("identity");
    if (value == nullptr) return;
    if (const auto word = reader_.choice(*value, choices))
      rule.identity = *word == "name" ? Identity::name : Identity::path;
  }

  std::optional<std::string> component_name(const Value& value) {
    auto name = reader_.text(value, "a component's name");
    if (name) check_component(*name, value.position, value.what);
    return name;
  }

  void check_component(const std::string& name, Position position, const std::string& what) {
    const std::vector<std::string>& names = components_.names;
    if (!components_.complete || std::find(names.begin(), names.end(), name) != names.end()) return;
    const std::string guess = suggestion(name, names);
    reader_.findings().mistake(
        position, what + " is '" + name + "', which is no component" + guess +
                      (guess.empty() ? ": the components are " : " The components are ") + join(names));
  }

  std::vector<std::string> read_readers(const Value& value) {
    std::vector<std::string> readers;
    if (value.is_mapping()) {
      const auto entries = reader_.named_values(value, "reader");
      for (const NamedValue& entry : *entries) {
        check_component(entry.name, entry.name_position, "a reader");
        check_mode(entry.value);
        readers.push_back(entry.name);
      }
    } else if (const auto elements = reader_.list(value, "components")) {
      for (const Value& element : *elements) {
        const auto name = component_name(element);
        if (!name) continue;
        if (std::find(readers.begin(), readers.end(), *name) != readers.end()) {
          reader_.findings().mistake(element.position, "the reader '" + *name + "' is named twice");
        } else {
          readers.push_back(*name);
        }
      }
    } else {
      return readers;
    }
    if (value.node.size() == 0) {
      reader_.findings().mistake(value.position,
                                 value.what +
                                     " is empty, so nobody could see the files: name a reader, or remove the "
                                     "rule (then they are ordinary files)");
    }
    return readers;
  }

  /// How a reader goes through a stream: all, latest, or every N-th step.
  void check_mode(const Value& value) {
    const auto mode = reader_.text(value, "all, latest, or a number of steps");
    if (!mode || *mode == "all") return;
    const bool is_number = !mode->empty() && mode->size() < 10 &&
                           mode->find_first_not_of("0123456789") == std::string::npos && mode->front() != '0';
    if (*mode == "latest" || is_number) return not_available_yet(reader_, value, "all");
    reader_.expected(value, "all, latest, or a number of steps");
  }

  void check_queue(const Section& section) {
    const Value* value = section.find("queue");
    if (value == nullptr) return;
    const auto queue = reader_.integer(*value, {1, 1'000'000});
    if (queue && *queue != default_queue) not_available_yet(reader_, *value, std::to_string(default_queue));
  }

  void read_keep(const Section& section, FileRule& rule) {
    const Value* value = section.find("keep");
    if (value == nullptr) return;
    if (value->is_list()) {
      rule.keep.keeps = true;
      const auto globs = reader_.list(*value, "variables");
      for (const Value& glob : *globs) {
        if (auto text = reader_.text(glob, "a variable's name or a glob"))
          rule.keep.variables.push_back(std::move(*text));
      }
    } else if (!value->node.IsScalar()) {
      return reader_.expected(*value, "true, false, or a list of variables");
    } else {
      rule.keep.keeps = reader_.boolean(*value).value_or(false);
    }
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

/// For a component the first rule that covers a path counts. A rule that an earlier one hides from a
/// component is a mistake; where rules only overlap, a warning.
void compare_rules(const ReadRule& earlier, const ReadRule& later, Findings& findings) {
  if (!earlier.glob || !later.glob) return;
  const std::vector<std::string> shared = shared_components(earlier.rule, later.rule);
  if (shared.empty()) return;
  const GlobRelation relation = relate(*earlier.glob, *later.glob);
  if (relation == GlobRelation::disjoint) return;
  const std::string line = std::to_string(earlier.rule.position.line);
  if (relation == GlobRelation::covered) {
    findings.mistake(
        later.rule.position,
        "for " + join(shared) + ", every file of '" + later.rule.pattern + "' already falls under '" +
            earlier.rule.pattern + "' in line " + line +
            ": join the two rules, put the narrower one first, or tell the paths apart by a directory");
  } else {
    findings.warning(later.rule.position, "a file can fall under both '" + later.rule.pattern + "' and '" +
                                              earlier.rule.pattern + "' in line " + line + ": for " +
                                              join(shared) + " the earlier rule counts");
  }
}

}  // namespace

std::vector<FileRule> read_file_rules(ValueReader& reader, const Value& value,
                                      const ComponentNames& components) {
  std::vector<FileRule> rules;
  const auto elements = reader.list(value, "file rules");
  if (!elements) return rules;
  RuleReader rule_reader(reader, components);
  std::vector<ReadRule> read;
  for (const Value& element : *elements) read.push_back(rule_reader.read(element, read.size()));
  constexpr std::size_t most_compared = 200;  // pairs grow with the square
  for (std::size_t later = 0; later < std::min(read.size(), most_compared); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier)
      compare_rules(read[earlier], read[later], reader.findings());
  }
  for (ReadRule& rule : read) rules.push_back(std::move(rule.rule));
  return rules;
}

}  // namespace sluice::workflows
