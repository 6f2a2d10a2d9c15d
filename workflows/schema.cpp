#include "schema.hpp"

#include <algorithm>

namespace sluice::workflows {

std::optional<std::int64_t> read_simple(ValueReader& reader, const Section& section, const Key& key) {
  const Value* const value = section.find(key.name);
  if (value == nullptr) return std::nullopt;
  if (key.kind == KeyKind::integer) return reader.integer(*value, {key.least, key.most});
  if (key.kind == KeyKind::boolean) return reader.boolean(*value);
  const auto word = reader.choice(*value, key.words);
  if (!word) return std::nullopt;
  return std::ranges::find(key.words, *word) - key.words.begin();
}

bool is_name(std::string_view text) {
  constexpr std::size_t longest = 64;
  if (text.empty() || text.size() > longest || text.front() == '-' || text.front() == '.') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

}  // namespace sluice::workflows
