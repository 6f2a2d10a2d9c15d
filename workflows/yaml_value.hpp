#pragma once
#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mistakes.hpp"

namespace sluice::workflows {

/// A value in a workflow file with its position, and its description for messages ("'ranks' of component
/// 'model'").
struct Value {
  YAML::Node node;
  Position position;
  std::string what;
  [[nodiscard]] bool is_list() const { return node.IsSequence(); }
  [[nodiscard]] bool is_mapping() const { return node.IsMap(); }
};

/// A value under a key that the user chose.
struct NamedValue {
  std::string name;
  Position name_position;
  Value value;
};

/// A mapping with a fixed set of keys.
class Section {
 public:
  explicit Section(std::map<std::string, Value> values) : values_(std::move(values)) {}
  [[nodiscard]] const Value* find(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, Value> values_;
};

/// Whole numbers from `least` to `most`.
struct IntegerRange {
  std::int64_t least = 0;
  std::int64_t most = INT64_MAX;
};

/// Reads values of the expected kinds from YAML nodes. A value of another kind becomes a mistake that names
/// the value found and the allowed values; the result is then empty.
class ValueReader {
 public:
  /// Both must outlive the reader.
  ValueReader(std::string_view text, Findings& findings) : text_(text), findings_(findings) {}

  [[nodiscard]] Value root(const YAML::Node& node) const { return {node, {}, "the workflow"}; }

  /// Reads a mapping whose keys are among `allowed`; unknown and repeated keys are mistakes. `where`: for
  /// example "in component 'model'".
  [[nodiscard]] std::optional<Section> section(const Value& value, std::span<const std::string> allowed,
                                               const std::string& where);
  /// Reads a mapping whose keys the user chooses; repeated keys are mistakes. `kind`: for example
  /// "component".
  [[nodiscard]] std::optional<std::vector<NamedValue>> named_values(const Value& value,
                                                                    const std::string& kind);
  [[nodiscard]] std::optional<std::vector<Value>> list(const Value& value, const std::string& of_what);
  [[nodiscard]] std::optional<std::string> text(const Value& value, const std::string& expected = "a text");
  [[nodiscard]] std::optional<std::int64_t> integer(const Value& value, IntegerRange range);
  [[nodiscard]] std::optional<std::string> choice(const Value& value, std::span<const std::string> allowed);
  [[nodiscard]] std::optional<bool> boolean(const Value& value);

  /// Reports that `value` is of the wrong kind.
  void expected(const Value& value, const std::string& allowed);
  [[nodiscard]] Findings& findings() noexcept { return findings_; }

 private:
  [[nodiscard]] Position position_of(const YAML::Node& node, Position otherwise) const;
  [[nodiscard]] std::optional<std::string> key_text(const YAML::Node& key, Position position,
                                                    const std::string& where);
  [[nodiscard]] bool is_closed(const YAML::Node& scalar) const;

  std::string_view text_;
  Findings& findings_;
};

/// Describes the value in a few words: "'four'", "a list", "nothing".
[[nodiscard]] std::string describe_found(const YAML::Node& node);

}  // namespace sluice::workflows
