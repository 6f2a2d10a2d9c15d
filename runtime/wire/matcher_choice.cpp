#include "sluice/runtime/matcher_choice.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

namespace sluice::runtime {

namespace {

/// The variable's number. `name`: null: there is no such variable.
std::optional<std::uint32_t> number(const VariableLookup& variable, const char* name) {
  const char* const text = name == nullptr ? nullptr : variable(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  std::uint32_t value = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_number = error == std::errc{} && rest == digits.data() + digits.size();
  return is_number && value <= std::numeric_limits<std::int32_t>::max() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> find_rank(const VariableLookup& variable) {
  for (const RankVariables& names : rank_variables)
    if (const auto rank = number(variable, names.rank)) return rank;
  return std::nullopt;
}

WorldPlace world_place(const VariableLookup& variable) {
  for (const RankVariables& names : rank_variables) {
    const auto rank = number(variable, names.rank), size = number(variable, names.size),
               local_rank = number(variable, names.local_rank);
    if (!rank || !size || !local_rank || *rank >= *size) continue;
    const bool spans_nodes =
        number(variable, names.local_size).value_or(*size) < *size || number(variable, names.nodes) > 1U;
    return {*rank, *size, *local_rank, spans_nodes};
  }
  return {};
}

std::uint32_t matcher_index(const WorldPlace& place, const MatcherShares& shares) noexcept {
  const std::uint32_t matchers = std::max(shares.matchers, 1U);
  if (shares.virtual_nodes <= 1) return place.local_rank % matchers;
  const std::uint64_t nodes = shares.virtual_nodes;
  const std::uint64_t node = std::uint64_t{place.rank} * nodes / place.size;
  const std::uint64_t first_rank = (node * place.size + nodes - 1) / nodes;
  return static_cast<std::uint32_t>(node * matchers + (place.rank - first_rank) % matchers);
}

std::string matcher_socket_path(const std::string& first, std::uint32_t index) {
  return index == 0 ? first : first + '.' + std::to_string(index);
}

}  // namespace sluice::runtime
