#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/matcher/request_table.hpp"

namespace sluice::matcher {

/// Requests that one matcher sends to another. The bytes are a chunk of a request table
/// (docs/formats/request-table.md) for a TableReader.
class RequestList {
 public:
  void add(const TableEntry& entry);
  /// Adds an entry with the bytes that it has in a table.
  void add_encoded(std::span<const std::byte> entry) {
    chunk_.insert(chunk_.end(), entry.begin(), entry.end());
  }
  [[nodiscard]] bool empty() const noexcept { return chunk_.size() == length_word_bytes; }
  /// Returns the chunk and empties the list.
  [[nodiscard]] std::vector<std::byte> take();

 private:
  static constexpr std::size_t length_word_bytes = 8;
  std::vector<std::byte> chunk_ = std::vector<std::byte>(length_word_bytes);
  std::vector<std::byte> scratch_;
};

/// Requests of one writer of a step.
struct WriterRequests {
  std::uint32_t writer = 0;
  std::vector<std::byte> requests;  ///< a RequestList's chunk, in the order of the writer's table
  /// The lists that its list requests name: of each list the boxes that the receiver needs
  /// (DividedList::Part).
  std::vector<std::vector<std::byte>> lists = {};
};

}  // namespace sluice::matcher
