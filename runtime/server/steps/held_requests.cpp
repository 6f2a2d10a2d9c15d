#include "held_requests.hpp"

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

template <class Read>
void HeldRequests::for_each_log(const matcher::StepView& view, Read&& read) {
  if (!damage_.empty()) throw Error(NC_EIO, damage_);
  try {
    for (std::size_t i = 0; i < view.logs.size(); ++i) {
      if (holder_of(view.logs[i]) == self_) read(static_cast<std::uint32_t>(i), view.logs[i]);
    }
  } catch (const Error& error) {
    damage_ = error.what();
    throw;
  }
}

std::vector<matcher::WriterRequests> HeldRequests::collect(const matcher::StepView& view,
                                                           const matcher::StepPartition& partition,
                                                           std::uint32_t owner) {
  if (!division_ || !damage_.empty()) {
    growing_.clear();  // every asker of the growing step asks again
    division_.emplace(partition);
    matcher::TableScan scan(*memory_);
    for_each_log(view, [&](std::uint32_t writer, const matcher::LogView& log) {
      matcher::TableScan::Sinks sinks;
      sinks.take = [&](const matcher::TableEntry& entry, std::span<const std::byte> bytes) {
        division_->add(partition, writer, entry, bytes);
      };
      sinks.take_list = [&](const matcher::TableEntry& request, const auto& list) {
        division_->add(partition, writer, request, list);
      };
      scan.read(writer, log, sinks);
    });
  }
  return division_->take(owner);
}

std::vector<matcher::WriterRequests> HeldRequests::collect_new(const matcher::StepView& view,
                                                               const Asker& asker, bool is_from_start) {
  matcher::TableScan& scan = growing_.try_emplace(asker, *memory_).first->second;
  if (is_from_start) scan.restart();
  scan.expect_newer_memory(!view.is_final);
  std::vector<matcher::WriterRequests> found;
  for_each_log(view, [&](std::uint32_t writer, const matcher::LogView& log) {
    matcher::RequestList list;
    scan.read(
        writer, log,
        [&](const matcher::TableEntry&, std::span<const std::byte> bytes) { list.add_encoded(bytes); },
        asker.reach);
    if (!list.empty()) found.push_back({writer, list.take()});
  });
  return found;
}

}  // namespace sluice::runtime
