#include "sluice/matcher/request_list.hpp"

#include <cstring>
#include <utility>

namespace sluice::matcher {

void RequestList::add(const TableEntry& entry) {
  add_encoded(encoded_entry(entry, scratch_));
}

std::vector<std::byte> RequestList::take() {
  const std::uint64_t used = chunk_.size() - length_word_bytes;
  std::memcpy(chunk_.data(), &used, sizeof used);
  return std::exchange(chunk_, std::vector<std::byte>(length_word_bytes));
}

}  // namespace sluice::matcher
