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

/// The words of the processes, ascending. A number may come several times.
std::vector<ProcessSet::Word> ProcessSet::words_of(std::span<const ProcessId> processes) {
  std::vector<Word> words;
  if (processes.empty()) return words;
  const auto [first, last] = std::ranges::minmax(processes);
  const std::uint64_t span = word_of(last) - word_of(first) + 1;
  if (span > processes.size()) {
    for (const ProcessId process : processes) words.push_back({word_of(process), bit_of(process)});
    std::ranges::sort(words, {}, &Word::number);
    return words;
  }
  words.resize(span);
  for (std::uint64_t i = 0; i < span; ++i) words[i].number = word_of(first) + i;
  for (const ProcessId process : processes) words[word_of(process) - word_of(first)].bits |= bit_of(process);
  std::erase_if(words, [](const Word& word) { return word.bits == 0; });
  return words;
}

void ProcessSet::insert(std::span<const ProcessId> processes) {
  const std::vector<Word> added = words_of(processes);
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
