#pragma once
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "sluice/matcher/process_table.hpp"
#include "sluice/matcher/registry_requests.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// The state of a memory request on disk: the request is tried again when the disk may have changed.
struct SpillAttempt {
  SegmentLease segment;           ///< the segment that is being made
  std::uint64_t asked_bytes = 0;  ///< size for the segment; it may be larger
  std::uint64_t refused_bytes = ~std::uint64_t{0};
  std::uint64_t given_back = 0;  ///< SegmentPool::spills_given_back at the refusal
  std::string trouble;
  bool keeps_reserve = false;    ///< asked for so: what was read goes rather than the disk's reserve
  bool may_use_reserve = false;  ///< nothing that was read is left
  bool tries_again = false;      ///< memory first: what was read has gone
};

/// A request for a segment, or for disk space.
struct MemoryWait {
  Ticket ticket;
  SegmentRequest request;
  MatcherPlace place;  ///< of the matcher that will own the segment
  /// one process, unless the memory is for data of other nodes
  boost::container::small_vector<InboundReader, 1> waiters;
  std::uint64_t since_ms = 0;
  bool is_inbound = false;
  SpillAttempt spill = {};
  std::optional<std::uint64_t> seen = {};  ///< for disk space of a burst-buffer log: DiskRequest::seen
  GroupMembership writer = {};             ///< of the process; known while it has not begun to wait

  [[nodiscard]] bool is_being_served() const noexcept { return !spill.segment.empty(); }
  [[nodiscard]] bool is_for_image() const noexcept { return request.use == SegmentUse::image; }
  [[nodiscard]] bool is_for_disk() const noexcept { return seen.has_value(); }
  [[nodiscard]] bool is_for_memory() const noexcept { return !is_for_disk() && !is_inbound; }
  [[nodiscard]] bool concerns(ProcessId process) const noexcept;
};

/// Grants segments: in memory, on disk, or in a log.
class SegmentGrants {
 public:
  /// `spill_directory`: for segments on disk; empty: no segments on disk.
  SegmentGrants(RegistryParts& parts, std::string spill_directory)
      : parts_(parts), spill_directory_(std::move(spill_directory)) {}

  /// Returns true when the request was answered.
  [[nodiscard]] bool try_grant(MemoryWait& wait);
  /// Processes of a matcher that ask for the same, each for its log of a step that they write.
  struct Series {
    Step& step;
    const SegmentRequest& request;
    MatcherPlace place;  ///< of all of them
    std::span<const Ticket> tickets;
    std::span<const ProcessId> processes;
    std::span<const std::uint32_t> ranks;
  };
  /// Grants what try_grant() would to the first of them, as far as each gets a segment again that it has
  /// mapped. Returns how many these are.
  [[nodiscard]] std::size_t grant_again(const Series& series);
  /// Grants or refuses at once. Memory that may not be needed must not delay other requests.
  void grant_ahead(MemoryWait& wait);
  /// The same for data of other nodes. Throws Error(NC_ENO_SPACE).
  void lease_ahead(MemoryWait& wait);
  void hand_over(MemoryWait& wait, SegmentLease segment);
  /// The request is tried again when disk space has been returned. The disk space of consumed steps is
  /// returned at once. Where the disk has its reserve only, one step that was read goes.
  void note_spill_refused(MemoryWait& wait, std::uint64_t bytes, const std::string& trouble);
  /// The bytes of the step on the disks of nodes.
  [[nodiscard]] NodeBytes bytes_on_disk(const Step& step) const;
  /// A step on the node's disk was read: it goes where the disk has less than its reserve. A small segment
  /// is made for that, which the disk refuses then.
  void keep_reserve(std::uint32_t node);
  /// As Registry::spill_made(). Returns false where that is no such segment.
  bool probe_made(SegmentId segment, const std::string& trouble);
  void refuse(const MemoryWait& wait, int status, const std::string& text);
  /// Grants the image of a file beyond the limit, because nobody could go on otherwise. Returns false for
  /// other requests, and for an image that is larger than the whole memory.
  [[nodiscard]] bool exceed_limit(MemoryWait& wait);

  /// Whether data may go to disk.
  [[nodiscard]] bool spills() const noexcept { return !spill_directory_.empty(); }

 private:
  [[nodiscard]] bool goes_to_disk(const MemoryWait& wait) const;
  [[nodiscard]] bool goes_to_disk(const SegmentRequest& request, const Step& step) const;
  static const SegmentLease& add(Step& step, std::uint32_t rank, const SegmentRequest& request,
                                 SegmentLease&& segment);
  [[nodiscard]] std::optional<SegmentLease> take(const MemoryWait& wait);
  [[nodiscard]] std::optional<SegmentLease> take_for_put(const MemoryWait& wait);
  [[nodiscard]] std::optional<SegmentLease> take_inbound(const MemoryWait& wait);
  [[nodiscard]] std::optional<SegmentLease> spill(MemoryWait& wait);
  [[nodiscard]] bool offer_disk(const MemoryWait& wait);
  void begin_image(const MemoryWait& wait, SegmentLease file);
  void refuse_image(const MemoryWait& wait, int status, const std::string& text);
  void note_spilled(const Step& step, std::uint64_t bytes);

  RegistryParts& parts_;
  std::string spill_directory_;
  std::map<std::uint32_t, SegmentLease> probes_;  ///< by node: segments of keep_reserve() that are being made
};

}  // namespace sluice::matcher
