#pragma once
#include <charconv>
#include <optional>
#include <string_view>

namespace sluice::coordinator {

/// The number, if the text is one as a whole, and `Number` has it: "-7", but neither "+7" nor " 7".
template <class Number>
[[nodiscard]] std::optional<Number> whole_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || rest != end) return std::nullopt;
  return number;
}

}  // namespace sluice::coordinator
