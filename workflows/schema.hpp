#pragma once
#include <array>
#include <span>
#include <string>
#include <vector>

#include "sluice/workflows/key_table.hpp"
#include "sluice/workflows/workflow.hpp"
#include "yaml_value.hpp"

namespace sluice::workflows {

/// Reports that `value` asks for a known feature that is not yet available. `available` is an allowed value.
void not_available_yet(ValueReader& reader, const Value& value, const std::string& available);

/// Reads and checks `launcher:`: a word, or a command line with {ranks} and {program}.
[[nodiscard]] Launcher read_launcher(ValueReader& reader, const Value& value);

/// Reads and checks `components:`.
[[nodiscard]] std::vector<Component> read_components(ValueReader& reader, const Value& value,
                                                     const std::filesystem::path& base_directory);

/// The limits of a key that is a whole number.
[[nodiscard]] inline IntegerRange range_of(KeySection section, std::string_view name) {
  const Key& key = key_of(section, name);
  return {key.least, key.most};
}

/// Reads and checks the keys of a component by which it is not started once at the begin of the run. Its
/// other keys have been read.
void read_starts(ValueReader& reader, const Section& section, Component& component);
/// Checks them against the file rules, and finds the rules of `for-each`.
void check_starts(Workflow& workflow, Findings& findings);

/// The names that file rules may use.
struct ComponentNames {
  std::vector<std::string> names;  ///< as in the file: of ensembles, not of their members
  const std::vector<Component>& components;
  bool complete = true;  ///< false if `components` has mistakes: they may be the cause of an unknown name
};
/// Reads and checks `files:`: each rule by itself, and the rules against each other.
[[nodiscard]] std::vector<FileRule> read_file_rules(ValueReader& reader, const Value& value,
                                                    const ComponentNames& components);

/// Whether the text can name a directory and prefix output lines: at most 64 letters, digits, '_', '-' and
/// '.', beginning with a letter, digit or '_'.
[[nodiscard]] bool is_name(std::string_view text);
inline constexpr std::string_view name_form =
    "at most 64 letters, digits, '_', '-' and '.', and do not begin with '-' or '.'";

}  // namespace sluice::workflows
