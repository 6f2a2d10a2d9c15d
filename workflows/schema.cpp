#include "schema.hpp"

#include <algorithm>

namespace sluice::workflows {

void not_available_yet(ValueReader& reader, const Value& value, const std::string& available) {
  reader.findings().mistake(value.position, value.what + " is " + describe_found(value.node) +
                                                ": this is not available yet; this version has " + available);
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
