#include "sluice/matcher/request_division.hpp"

namespace sluice::matcher {

void RequestDivision::add(const StepPartition& partition, std::uint32_t writer, const TableEntry& entry,
                          std::span<const std::byte> bytes) {
  parts_.clear();
  partition.divide(entry, parts_);
  for (const OwnedPart& part : parts_) {
    std::vector<Writer>& writers = by_owner_[part.owner];
    if (writers.empty() || writers.back().writer != writer) writers.push_back({writer, {}});
    writers.back().list.add_encoded(bytes);
  }
}

std::vector<WriterRequests> RequestDivision::take(std::uint32_t owner) {
  std::vector<WriterRequests> requests;
  if (owner >= by_owner_.size()) return requests;
  for (Writer& writer : by_owner_[owner]) requests.push_back({writer.writer, writer.list.take()});
  by_owner_[owner].clear();
  by_owner_[owner].shrink_to_fit();
  return requests;
}

}  // namespace sluice::matcher
