#include "segment_orders.hpp"

#include <boost/asio/post.hpp>
#include <cstdlib>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/spill_file.hpp"

namespace sluice::runtime {

/// At matcher 0 the registry refuses the request. Elsewhere the registry has already granted it; the process
/// then gets an error in place of the segment.
void SegmentOrders::make(matcher::SegmentId segment, const std::function<void()>& make) {
  try {
    make();
  } catch (const Error& error) {
    if (base_.rank() == 0) throw;
    base_.store.note_failure(segment);
    base_.log.event(std::string("cannot get memory: ") + error.what());
  }
  segments_.serve_waiting_neighbours(segment);
}

/// On disk, the store reports when the segment has been made, or why not.
void SegmentOrders::take(const CreateSegment& order) {
  const auto segment = order.segment;
  if (const auto* const room = std::get_if<matcher::DiskRoom>(&order.place)) {
    (void)(order.is_image ? base_.store.create_spilled_image(segment, order.bytes, *room)
                          : base_.store.create_spilled(segment, order.bytes, *room));
    return;
  }
  make(segment, [&] {
    if (const auto* const log = std::get_if<LogPlace>(&order.place))
      return base_.store.create_logged(segment, order.bytes, *log);
    order.is_image ? base_.store.create_image(segment, order.bytes)
                   : base_.store.create(segment, order.bytes);
  });
}

void SegmentOrders::take(const ClearSegment& order) {
  make(order.segment, [&] { base_.store.clear(order.segment, order.use); });
}

/// The registry is told when the disk space has really been returned; then waiting processes may try again.
void SegmentOrders::take(const DestroySegment& order) {
  const matcher::SegmentId segment = order.segment;
  if (segment == 0) return base_.store.drop_all_warm();
  const bool is_over = base_.store.destroy(segment);
  const bool is_own = base_.nodes.rank_of(matcher::owner_of(segment)) == base_.rank();
  if (!is_over || !is_own || !matcher::is_spilled(segment)) return;
  // The segment could not be made, so there is nothing to return.
  boost::asio::post(base_.loop, [this, segment] { base_.tree.send_up(SpillDone{segment, true}); });
}

void SegmentOrders::start(const StartServing& start) {
  if (!start.spill_directory.empty()) {
    if (start.may_spill_elsewhere) {
      find_spill_directory(start.spill_directory);
    } else {
      use_spill_directory(start.spill_directory);
    }
  }
  base_.log.detail("matcher " + std::to_string(base_.rank()) + ": large segments have " +
                   (base_.store.uses_huge_pages() ? "huge pages" : "small pages"));
  make_memory_ahead(start.prewarm_bytes);
}

/// If the directory cannot be used, the registry is told before the end of the round.
void SegmentOrders::use_spill_directory(const std::string& directory) {
  try {
    base_.store.set_spill_directory(directory, probe_spill_directory(directory));
  } catch (const Error& error) {
    base_.tree.send_up(SpillDone{
        0, false,
        "staging.spill cannot be used on node " + std::to_string(base_.node()) + ": " + error.what()});
  }
}

/// Without a directory of the user's choice, a node that cannot use the others' takes its own TMPDIR.
void SegmentOrders::find_spill_directory(const std::string& first_choice) {
  const char* const temporary = std::getenv("TMPDIR");
  std::string trouble;
  for (const std::string& directory :
       {first_choice, std::string(temporary == nullptr ? "/tmp" : temporary)}) {
    try {
      base_.store.set_spill_directory(directory, probe_spill_directory(directory));
      break;
    } catch (const Error& error) {
      trouble += (trouble.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  if (trouble.empty()) return;
  const std::string& found = base_.store.spill_directory();
  base_.log.event(
      "node " + std::to_string(base_.node()) +
      (found.empty() ? " cannot spill data to disk: " : " spills data to " + found + " instead: ") + trouble);
}

/// Without it a run is slower at first, and still correct.
void SegmentOrders::make_memory_ahead(std::uint64_t bytes) {
  try {
    base_.store.prewarm(bytes);
  } catch (const std::exception& error) {
    base_.log.detail(std::string("no memory is made ahead: ") + error.what());
  }
}

void SegmentOrders::tell_of_warm_memory() {
  constexpr std::uint64_t kib = 1024;
  const auto [made, used] = base_.store.warm_use();
  if (made == 0) return;
  base_.log.detail("matcher " + std::to_string(base_.rank()) + " made " + std::to_string(made / kib) +
                   " KiB of memory ahead; " + std::to_string(used / kib) + " KiB were given out warm");
}

}  // namespace sluice::runtime
