#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "sluice/workflows/key_table.hpp"
#include "sluice/workflows/workflow.hpp"
#include "yaml_value.hpp"

namespace sluice::workflows {

/// Reads and checks `launcher:`: a word, or a command line with {ranks} and {program}.
[[nodiscard]] Launcher read_launcher(ValueReader& reader, const Value& value);

/// Reads and checks `components:`.
[[nodiscard]] std::vector<Component> read_components(ValueReader& reader, const Value& value,
                                                     const std::filesystem::path& base_directory);

/// Reads a word, an integer or a truth. Nothing: the section does not have the key, or the value is a
/// mistake.
[[nodiscard]] std::optional<std::int64_t> read_simple(ValueReader& reader, const Section& section,
                                                      const Key& key);
/// Reads the keys of a mapping whose rows in the table of keys say into which member they go.
template <class Object>
void read_simple_keys(ValueReader& reader, const Section& section, KeySection kind, Object& object) {
  const bool has_jobs = kind == KeySection::component && section.find("for-each") != nullptr;
  for (const Key& key : all_keys()) {
    const auto* const set = std::get_if<SetIn<Object>>(&key.set);
    if (key.section != kind || set == nullptr || (has_jobs && key.excludes_jobs)) continue;
    if (const auto value = read_simple(reader, section, key)) (*set)(object, *value);
  }
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

/// What is wrong with the path of a directory or a file that only a shell or another system understands;
/// empty: nothing.
[[nodiscard]] std::string path_problem(const std::string& path);

/// Whether the text can name a directory and prefix output lines: at most 64 letters, digits, '_', '-' and
/// '.', beginning with a letter, digit or '_'.
[[nodiscard]] bool is_name(std::string_view text);
inline constexpr std::string_view name_form =
    "at most 64 letters, digits, '_', '-' and '.', and do not begin with '-' or '.'";

}  // namespace sluice::workflows
