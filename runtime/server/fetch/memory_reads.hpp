#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "exchange_protocol.hpp"
#include "fetch_host.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "step_files.hpp"

namespace sluice::runtime {

/// Reads of segments and files of other matchers, for images: the bytes come in packets. One thread.
class MemoryReads {
 public:
  /// `memory` has this matcher's segments, `files` its files. All must outlive this object.
  MemoryReads(FetchHost& host, matcher::SegmentMemory& memory, StepFiles& files)
      : host_(host), memory_(memory), files_(files) {}

  /// Asks one matcher. The receiver is called once, later; after forget_all() with a failure.
  void ask(matcher::MatcherPlace owner, ReadMemory request, MemoryReceiver receiver);
  /// Handles a packet of one of these kinds. Throws Error(NC_EIO) when it is damaged.
  void take(std::uint32_t from, ExchangePacket kind, std::span<const std::byte> fields);

  /// At the end of the run: who still waits is told so. The answers are expected on.
  void forget_all();
  [[nodiscard]] bool is_expecting() const noexcept { return !waiting_.empty(); }

 private:
  void answer(std::uint32_t to, const ReadMemory& request);
  [[nodiscard]] MemoryRead read(const ReadMemory& request);

  FetchHost& host_;
  matcher::SegmentMemory& memory_;
  StepFiles& files_;
  std::map<std::uint64_t, MemoryReceiver> waiting_;  ///< by ticket; empty receivers: nobody waits any more
  std::uint64_t next_ticket_ = 1;
  bool is_over_ = false;
};

/// What is used of a request table.
[[nodiscard]] std::vector<std::byte> used_part(std::span<const std::byte> table);

}  // namespace sluice::runtime
