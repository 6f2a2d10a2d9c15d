#include "sluice/formats/near_match.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace sluice::formats {
namespace {

/// Longer words get no suggestion.
constexpr std::size_t longest_word = 200;

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const auto differs = std::mismatch(
      a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())), b.begin());
  return static_cast<std::size_t>(differs.first - a.begin());
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_previous(b.size() + 1);
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = previous[j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      current[j] = std::min({replaced, previous[j] + 1, current[j - 1] + 1});
      const bool swapped =
          i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) current[j] = std::min(current[j], before_previous[j - 2] + 1);
    }
    std::swap(before_previous, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

std::string near_match(std::string_view word, std::span<const std::string> candidates) {
  if (word.empty() || word.size() > longest_word) return {};
  std::string best;
  std::size_t best_likeness = 0;
  std::size_t best_distance = word.size() / 3 + 2;  // a more distant word is a different word
  for (const std::string& candidate : candidates) {
    if (candidate.size() > longest_word) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > best_distance || distance >= std::max(word.size(), candidate.size())) continue;
    const std::size_t likeness =
        2 * common_prefix(word, candidate) + (candidate.size() == word.size() ? 1 : 0);
    if (distance == best_distance && (best.empty() || likeness <= best_likeness)) continue;
    best = candidate;
    best_distance = distance;
    best_likeness = likeness;
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  const std::string match = near_match(word, candidates);
  return match.empty() ? std::string() : ": did you mean '" + match + "'?";
}

std::string join(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

std::string join(std::span<const std::string> words, std::size_t most) {
  if (words.size() <= most) return join(words);
  return join(words.first(most)) + " and " + std::to_string(words.size() - most) + " more";
}

}  // namespace sluice::formats
