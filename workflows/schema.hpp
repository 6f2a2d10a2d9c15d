#pragma once
#include <array>
#include <span>
#include <string>
#include <vector>

#include "sluice/workflows/workflow.hpp"
#include "yaml_value.hpp"

namespace sluice::workflows {

/// A key whose only value in this version is its default; other values that the schema knows are refused as
/// not available yet.
struct ReservedChoice {
  std::string key;
  std::vector<std::string> known;  ///< the first is the default
};

/// Checks `section`'s value of a reserved key, if it is there.
void check_reserved(ValueReader& reader, const Section& section, const ReservedChoice& reserved);

/// Reports that what `value` asks for is known but not there yet. `available` is what can be written instead.
void not_available_yet(ValueReader& reader, const Value& value, const std::string& available);

/// `launcher:`, checked: a word, or a command line with {ranks} and {program}.
[[nodiscard]] Launcher read_launcher(ValueReader& reader, const Value& value);

/// `components:`, checked.
[[nodiscard]] std::vector<Component> read_components(ValueReader& reader, const Value& value,
                                                     const std::filesystem::path& base_directory);

/// What the file rules may refer to.
struct ComponentNames {
  std::vector<std::string> names;
  bool complete =
      true;  ///< false when `components` itself was wrong, so that an unknown name may be its fault
};
/// `files:`, checked, each rule by itself and the rules against each other.
[[nodiscard]] std::vector<FileRule> read_file_rules(ValueReader& reader, const Value& value,
                                                    const ComponentNames& components);

/// Letters, digits, '_', '-', '.', not more than 64, beginning with a letter, digit or '_': fit for a
/// directory's name and an output prefix.
[[nodiscard]] bool is_name(std::string_view text);
inline constexpr std::string_view name_form =
    "letters, digits, '_', '-' and '.', at most 64 of them, not beginning with '-' or '.'";

}  // namespace sluice::workflows
