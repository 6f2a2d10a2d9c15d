#include "sluice/matcher/process_set.hpp"

#include <algorithm>
#include <bit>

namespace sluice::matcher {

namespace {
constexpr std::uint64_t bits_of_word = 64;

std::uint64_t word_of(ProcessId process) noexcept {
  return static_cast<std::uint64_t>(process) / bits_of_word;
}
std::uint64_t bit_of(ProcessId process) noexcept {
  return std::uint64_t{1} << (static_cast<std::uint64_t>(process) % bits_of_word);
}

/// The word of that number; null: there is none.
template <class Word>
Word* find(std::span<Word> words, std::uint64_t number) noexcept {
  const auto found = std::ranges::lower_bound(words, number, {}, &Word::number);
  return found != words.end() && found->number == number ? &*found : nullptr;
}

}  // namespace

void ProcessSet::insert(std::span<const ProcessId> processes) {
  std::vector<Word> added;
  for (const ProcessId process : processes) {
    if (added.empty() || added.back().number != word_of(process)) added.push_back({word_of(process), 0});
    added.back().bits |= bit_of(process);
  }
  std::ranges::sort(added, {}, &Word::number);
  const std::size_t known = words_.size();
  for (const Word& word : added) {
    Word* found = find(std::span(words_).first(known), word.number);
    if (found == nullptr && words_.size() > known && words_.back().number == word.number)
      found = &words_.back();
    if (found == nullptr) found = &words_.emplace_back(Word{word.number, 0});
    size_ += static_cast<std::size_t>(std::popcount(word.bits & ~found->bits));
    found->bits |= word.bits;
  }
  const auto behind = words_.begin() + static_cast<std::ptrdiff_t>(known);
  std::ranges::inplace_merge(words_.begin(), behind, words_.end(), {}, &Word::number);
}

bool ProcessSet::contains(ProcessId process) const noexcept {
  const Word* const word = find(std::span(words_), word_of(process));
  return word != nullptr && (word->bits & bit_of(process)) != 0;
}

}  // namespace sluice::matcher
