#include "ensembles.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "schema.hpp"

namespace sluice::workflows {
namespace {

constexpr std::string_view word = "{instance";

/// A placeholder in a text.
struct Placeholder {
  std::size_t begin = 0;
  std::size_t end = 0;  ///< behind it; `begin` if it is wrong
  std::size_t digits = 1;
};

/// The first placeholder at or after `from`: {instance}, or {instance:03}.
std::optional<Placeholder> find_placeholder(std::string_view text, std::size_t from) {
  const std::size_t begin = text.find(word, from);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(begin + word.size());
  if (rest.starts_with('}')) return Placeholder{begin, begin + word.size() + 1};
  const bool is_padded =
      rest.size() >= 4 && rest.starts_with(":0") && rest[2] >= '1' && rest[2] <= '9' && rest[3] == '}';
  if (!is_padded) return Placeholder{begin, begin};
  return Placeholder{begin, begin + word.size() + 4, static_cast<std::size_t>(rest[2] - '0')};
}

std::vector<std::string> with_instance_each(const std::vector<std::string>& words, int instance) {
  std::vector<std::string> replaced;
  for (const std::string& each : words) replaced.push_back(with_instance(each, instance));
  return replaced;
}

/// A value of a component that may have a placeholder.
struct Text {
  const char* key;
  std::string text;
};

std::vector<Text> texts_of(const Component& component) {
  std::vector<Text> texts{{"directory", component.directory.string()}};
  for (const std::string& each : component.command) texts.push_back({"command", each});
  for (const std::string& each : component.launcher_options) texts.push_back({"launcher-options", each});
  for (const auto& [name, value] : component.environment) texts.push_back({"environment", value});
  return texts;
}

Component member_of(const Component& ensemble, int instance) {
  Component member = ensemble;
  if (ensemble.instances > 1) {
    member.name += '.' + std::to_string(instance);
    member.ensemble = ensemble.name;
  }
  member.instance = instance;
  member.command = with_instance_each(ensemble.command, instance);
  member.launcher_options = with_instance_each(ensemble.launcher_options, instance);
  member.directory = with_instance(ensemble.directory.string(), instance);
  for (auto& [name, value] : member.environment) value = with_instance(value, instance);
  return member;
}

/// The members of each ensemble, by its name.
using Members = std::map<std::string, std::vector<std::string>>;

Members members_of(const std::vector<Component>& components) {
  Members members;
  for (const Component& component : components)
    if (!component.ensemble.empty()) members[component.ensemble].push_back(component.name);
  return members;
}

/// Expands rules, one after another.
class RuleExpansion {
 public:
  RuleExpansion(const std::vector<Component>& components, Findings& findings)
      : members_(members_of(components)), findings_(findings) {
    for (const Component& component : components) {
      names_.insert(component.name);
      if (component.has_instances && component.ensemble.empty()) singles_.insert(component.name);
    }
  }

  std::vector<FileRule> expand(const FileRule& rule) {
    rule_ = rule;
    const auto is_known = [&](const std::string& name) {
      const std::string component = without_all_members(name);
      return names_.contains(component) || is_ensemble(component);
    };
    if (!is_known(rule_.writer) || !std::ranges::all_of(rule_.readers, is_known))
      return {rule_};  // told already
    if (const std::optional<std::string> single = all_of_single())
      return fail("the reader '" + *single + ".*' means all members, but '" + *single +
                  "' has no 'instances': write '" + *single + "'");
    if (!has_instance(rule_.pattern)) return without_instance();
    if (has_wrong_instance(rule_.pattern))
      return fail("'path' is '" + rule_.pattern + "': write {instance}, or {instance:03} for three digits");
    const std::vector<std::string> ensembles = ensembles_in_rule();
    if (ensembles.empty()) {
      const bool is_single =
          singles_.contains(rule_.writer) || std::ranges::any_of(rule_.readers, [&](const std::string& name) {
            return singles_.contains(without_all_members(name));
          });
      if (is_single) return {rule_for(0)};
      return fail(
          "'path' is '" + rule_.pattern +
          "', but neither the writer nor a reader has 'instances': {instance} is the number of a member" +
          (has_all_members() ? ", and '.*' means all of them" : ""));
    }
    const std::size_t count = members_.at(ensembles.front()).size();
    for (const std::string& name : ensembles) {
      if (members_.at(name).size() == count) continue;
      return fail("'path' is '" + rule_.pattern + "': {instance} couples members of the same number, but '" +
                  ensembles.front() + "' has " + std::to_string(count) + " instances and '" + name +
                  "' has " + std::to_string(members_.at(name).size()) + "; write '" + name +
                  ".*' where each is to read the files of all");
    }
    std::vector<FileRule> rules;
    for (std::size_t i = 0; i < count; ++i) rules.push_back(rule_for(i));
    return rules;
  }

 private:
  [[nodiscard]] bool has_all_members() const {
    return std::ranges::any_of(rule_.readers,
                               [](const std::string& name) { return without_all_members(name) != name; });
  }

  /// The first component that is no ensemble, and has a reader with `.*`.
  [[nodiscard]] std::optional<std::string> all_of_single() const {
    for (const std::string& reader : rule_.readers) {
      const std::string component = without_all_members(reader);
      if (component != reader && !is_ensemble(component) && !singles_.contains(component)) return component;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_ensemble(const std::string& name) const { return members_.contains(name); }

  [[nodiscard]] std::vector<std::string> ensembles_in_rule() const {
    std::vector<std::string> names;
    if (is_ensemble(rule_.writer)) names.push_back(rule_.writer);
    std::ranges::copy_if(rule_.readers, std::back_inserter(names),
                         [&](const std::string& name) { return is_ensemble(name); });
    return names;
  }

  /// All members read the same files.
  [[nodiscard]] std::vector<FileRule> without_instance() {
    if (is_ensemble(rule_.writer)) {
      return fail("the writer '" + rule_.writer + "' has " +
                  std::to_string(members_.at(rule_.writer).size()) +
                  " instances, each with files of its own: write {instance} into 'path', as in "
                  "'member{instance}/" +
                  rule_.pattern + "'");
    }
    FileRule rule = rule_;
    name_readers(rule, std::nullopt);
    return {std::move(rule)};
  }

  /// The components that a reader of the rule stands for; in the rule of the members with that number, if
  /// there is one.
  [[nodiscard]] std::vector<std::string> components_of(const std::string& reader,
                                                       std::optional<std::size_t> instance) const {
    const std::string component = without_all_members(reader);
    if (!is_ensemble(component)) return {component};
    const std::vector<std::string>& members = members_.at(component);
    if (instance && component == reader) return {members[*instance]};
    return members;
  }

  void name_readers(FileRule& rule, std::optional<std::size_t> instance) const {
    rule.readers.clear();
    for (const std::string& reader : rule_.readers) {
      for (const std::string& component : components_of(reader, instance))
        if (std::ranges::find(rule.readers, component) == rule.readers.end())
          rule.readers.push_back(component);
    }
    rule.modes.clear();
    for (const matcher::ReaderMode& mode : rule_.modes) {
      for (const std::string& component : components_of(mode.reader, instance)) {
        rule.modes.push_back(mode);
        rule.modes.back().reader = component;
      }
    }
  }

  /// The rule of the members with that number.
  [[nodiscard]] FileRule rule_for(std::size_t instance) const {
    FileRule rule = rule_;
    rule.family = rule_.pattern;
    rule.pattern = with_instance(rule_.pattern, static_cast<int>(instance));
    if (is_ensemble(rule_.writer)) rule.writer = members_.at(rule_.writer)[instance];
    name_readers(rule, instance);
    return rule;
  }

  [[nodiscard]] std::vector<FileRule> fail(const std::string& text) {
    findings_.mistake(rule_.position, text);
    return {};
  }

  FileRule rule_;  ///< that is being expanded
  Members members_;
  std::set<std::string> names_;    ///< of all components
  std::set<std::string> singles_;  ///< components with `instances: 1`
  Findings& findings_;
};

}  // namespace

std::string without_all_members(std::string_view reader) {
  constexpr std::string_view all_members = ".*";
  if (reader.ends_with(all_members)) reader.remove_suffix(all_members.size());
  return std::string(reader);
}

bool has_wrong_instance(std::string_view text) {
  for (auto found = find_placeholder(text, 0); found; found = find_placeholder(text, found->end))
    if (found->end == found->begin) return true;
  return false;
}

bool has_instance(std::string_view text) noexcept {
  return text.find(word) != std::string_view::npos;
}

std::string with_instance(std::string_view text, int instance) {
  std::string replaced;
  std::size_t at = 0;
  for (auto found = find_placeholder(text, 0); found; found = find_placeholder(text, at)) {
    if (found->end == found->begin) break;
    const std::string number = std::to_string(instance);
    replaced += text.substr(at, found->begin - at);
    if (number.size() < found->digits) replaced.append(found->digits - number.size(), '0');
    replaced += number;
    at = found->end;
  }
  return replaced.append(text.substr(at));
}

void check_ensemble_keys(ValueReader& reader, const Section& section, Component& component) {
  const Value* const instances = section.find("instances");
  component.has_instances = instances != nullptr;
  if (const Value* at_most = section.find("at-most"); at_most != nullptr && instances == nullptr)
    reader.findings().mistake(at_most->position,
                              at_most->what + " has no effect without 'instances' or 'for-each'");
  bool has_any = false;
  for (const Text& each : texts_of(component)) {
    if (!has_instance(each.text)) continue;
    has_any = true;
    const Value* const value = section.find(each.key);
    const Position position = value != nullptr ? value->position : component.position;
    if (has_wrong_instance(each.text)) {
      reader.findings().mistake(position, "'" + std::string(each.key) + "' of component '" + component.name +
                                              "' contains '" + each.text +
                                              "': write {instance}, or {instance:03} for three digits");
    } else if (instances == nullptr) {
      reader.findings().mistake(position, "'" + std::string(each.key) + "' of component '" + component.name +
                                              "' contains {instance}, but the component has no 'instances'");
    } else {
      continue;
    }
    return;
  }
  if (component.instances > 1 && !has_any)
    reader.findings().warning(component.position,
                              "the " + std::to_string(component.instances) + " instances of '" +
                                  component.name +
                                  "' are started alike: {instance} in 'command', 'directory' or "
                                  "'environment' tells them apart");
}

std::vector<Component> expand_components(const std::vector<Component>& components, Findings& findings) {
  std::vector<Component> expanded;
  for (const Component& component : components)
    for (int instance = 0; instance < component.instances; ++instance)
      expanded.push_back(member_of(component, instance));
  std::set<std::string> names;
  for (const Component& component : expanded) {
    if (names.insert(component.name).second) continue;
    findings.mistake(component.position,
                     "a component '" + component.name +
                         "' and a member of an ensemble have the same name: rename the component");
  }
  const auto too_long = std::ranges::find_if(expanded, [](const Component& component) {
    return !component.ensemble.empty() && !is_name(component.name) && is_name(component.ensemble);
  });
  if (too_long != expanded.end())
    findings.mistake(too_long->position,
                     "'" + too_long->name +
                         "', the name of a member, is longer than 64 characters: choose a "
                         "shorter name");
  return expanded;
}

std::function<std::vector<FileRule>(const FileRule&)> rule_expander(const std::vector<Component>& components,
                                                                    Findings& findings) {
  return [expansion = RuleExpansion(components, findings)](const FileRule& rule) mutable {
    return expansion.expand(rule);
  };
}

}  // namespace sluice::workflows
