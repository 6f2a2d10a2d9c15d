#include "sluice/storage/record_limit.hpp"

#include <algorithm>
#include <limits>

#include "sluice/storage/log_round.hpp"

namespace sluice::storage {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t many = std::int64_t{1} << 31;
constexpr std::int64_t most_apart = 1024;

}  // namespace

RecordLimit::RecordLimit(const formats::Header& header, const formats::Layout& layout,
                         std::int64_t capacity_bytes)
    : header_(header),
      layout_(layout),
      room_(layout.record_size > 0 ? capacity_bytes / layout.record_size : no_limit),
      most_of_few_(header.record_count < many ? header.record_count : 0) {}

void RecordLimit::look_at(BurstLogReader& log) {
  while (const auto entry = log.next()) {
    if (!entry_mistake(header_, layout_, *entry, log.header().is_external).empty()) continue;
    const auto records = record_end(header_, *entry);
    if (records < many) most_of_few_ = std::max(most_of_few_, std::min(records, room_));
    has_many_ = has_many_ || records >= many;
  }
  log.restart();
}

std::int64_t RecordLimit::limit() const noexcept {
  const bool is_apart = has_many_ && most_of_few_ > 0;
  return std::min(std::max(room_, header_.record_count),
                  is_apart ? std::max(many, most_apart * most_of_few_) : no_limit);
}

}  // namespace sluice::storage
