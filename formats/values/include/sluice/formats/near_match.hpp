#pragma once
#include <span>
#include <string>
#include <string_view>

namespace sluice::formats {

/// The number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal
/// string alignment). Case is ignored.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate that the user probably meant by `word`. Among equally near candidates, prefers one with the
/// same beginning and the same length. Empty if no candidate is near.
[[nodiscard]] std::string near_match(std::string_view word, std::span<const std::string> candidates);

/// ": did you mean 'x'?", the end of a sentence about an unknown word; empty if no candidate is near.
[[nodiscard]] std::string suggestion(std::string_view word, std::span<const std::string> candidates);

/// "a, b, c", for lists of allowed words.
[[nodiscard]] std::string join(std::span<const std::string> words);
/// "a, b and 7 more": the first `most` words, and how many others there are.
[[nodiscard]] std::string join(std::span<const std::string> words, std::size_t most);

}  // namespace sluice::formats
