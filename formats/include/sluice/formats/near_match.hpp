#pragma once
#include <span>
#include <string>
#include <string_view>

namespace sluice::formats {

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal string
/// alignment), letters' case ignored.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate that `word` was probably meant to be: of those equally near, one that begins as it does, and
/// is as long. Empty when none is near.
[[nodiscard]] std::string near_match(std::string_view word, std::span<const std::string> candidates);

/// ": did you mean 'x'?" or nothing: the end of a sentence about an unknown word.
[[nodiscard]] std::string suggestion(std::string_view word, std::span<const std::string> candidates);

/// "a, b, c", for the list of what is allowed.
[[nodiscard]] std::string join(std::span<const std::string> words);

}  // namespace sluice::formats
