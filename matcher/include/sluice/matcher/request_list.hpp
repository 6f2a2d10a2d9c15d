#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/matcher/request_table.hpp"

namespace sluice::matcher {

/// Requests on their way from one matcher to another: the bytes are a chunk of a request table
/// (docs/formats/request-table.md), to be read by a TableReader.
class RequestList {
 public:
  void add(const TableEntry& entry);
  /// An entry as it is in a table.
  void add_encoded(std::span<const std::byte> entry) {
    chunk_.insert(chunk_.end(), entry.begin(), entry.end());
  }
  [[nodiscard]] bool empty() const noexcept { return chunk_.size() == length_word_bytes; }
  /// The chunk; the list is empty again.
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
  /// What its list requests name: of each list the boxes that concern the receiver (DividedList::Part).
  std::vector<std::vector<std::byte>> lists = {};
};

}  // namespace sluice::matcher
