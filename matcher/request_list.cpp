#include "sluice/matcher/request_list.hpp"

#include <cstring>
#include <utility>

namespace sluice::matcher {

void RequestList::add(const TableEntry& entry) {
  const std::size_t most =
      TableWriter::entry_bytes(entry.kind, entry.box.dimensions(), !entry.box.stride.empty());
  if (scratch_.size() < length_word_bytes + most) scratch_.resize(length_word_bytes + most);
  TableWriter writer(scratch_);
  if (!writer.append(entry)) return;  // it has more dimensions than there can be
  writer.commit();
  std::uint64_t used = 0;
  std::memcpy(&used, scratch_.data(), sizeof used);
  add_encoded(std::span(scratch_).subspan(length_word_bytes, used));
}

std::vector<std::byte> RequestList::take() {
  const std::uint64_t used = chunk_.size() - length_word_bytes;
  std::memcpy(chunk_.data(), &used, sizeof used);
  return std::exchange(chunk_, std::vector<std::byte>(length_word_bytes));
}

}  // namespace sluice::matcher
