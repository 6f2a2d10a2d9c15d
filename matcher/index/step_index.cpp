#include "sluice/matcher/step_index.hpp"

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::matcher {

StepIndex::StepIndex(SegmentMemory& memory) : scan_(memory) {}

void StepIndex::set_header(std::span<const std::byte> encoded) {
  variables_ = VariableIndexes(formats::decode_metadata(encoded, "a header from a client"));
  scan_.restart();
}

void StepIndex::update(std::span<const LogView> logs, bool is_final, Visibility reach) {
  if (!damage_.empty()) throw Error(NC_EIO, damage_);
  if (is_final_) return;
  try {
    for (std::size_t i = 0; i < logs.size(); ++i)
      read(static_cast<std::uint32_t>(i), logs[i], is_final, reach);
  } catch (const Error& error) {
    damage_ = error.what();
    throw;
  }
  is_final_ = is_final;
}

void StepIndex::take_behind(const StepView& view, std::span<const TablePosition> positions) {
  set_header(view.header);
  for (std::size_t i = 0; i < view.logs.size(); ++i) {
    const LogView& log = view.logs[i];
    const TablePosition begin = i < positions.size() ? positions[i] : TablePosition{0, 0};
    if (begin == log.published) continue;
    const auto writer = static_cast<std::uint32_t>(i);
    scan_.begin_at(writer, begin, all_of(log.ranges));
    read(writer, log, true, Visibility::added);
  }
  is_final_ = true;
}

void StepIndex::read(std::uint32_t writer, const LogView& log, bool is_final, Visibility reach) {
  TableScan::Sinks sinks;
  sinks.take = [&](const TableEntry& entry, std::span<const std::byte>) { variables_.add(writer, entry); };
  if (is_final) {
    sinks.take_list = [&](const TableEntry& entry, const std::shared_ptr<const ListedBoxes>& list) {
      variables_.add(writer, entry, list);
    };
  }
  scan_.read(writer, log, sinks, reach);
}

}  // namespace sluice::matcher
