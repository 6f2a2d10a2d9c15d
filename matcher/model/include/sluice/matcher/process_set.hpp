#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/matcher/segment_table.hpp"

namespace sluice::matcher {

/// A set of processes. Those of a component have connected one after the other, so 64 of them take one word.
class ProcessSet {
 public:
  void insert(ProcessId process) { insert(std::span(&process, 1)); }
  /// In any order; best are those whose numbers are close.
  void insert(std::span<const ProcessId> processes);
  [[nodiscard]] bool contains(ProcessId process) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  struct Word {
    std::uint64_t number = 0;  ///< of its first process, over 64
    std::uint64_t bits = 0;    ///< the lowest one is for the first process
  };
  [[nodiscard]] static std::vector<Word> words_of(std::span<const ProcessId> processes);

  std::vector<Word> words_;  ///< ascending
  std::size_t size_ = 0;
};

}  // namespace sluice::matcher
