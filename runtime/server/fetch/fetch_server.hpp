#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "exchange_protocol.hpp"
#include "fetch_host.hpp"
#include "sluice/matcher/table_scan.hpp"
#include "spec_cache.hpp"

namespace sluice::runtime {

/// Sends log data of this matcher to other matchers that fetch it.
class FetchServer {
 public:
  /// All arguments must outlive this object. `place`: this matcher, whose logs are in `memory`. `known`:
  /// parts that others have requested.
  FetchServer(FetchHost& host, matcher::SegmentMemory& memory, matcher::MatcherPlace place, SpecCache& known)
      : host_(host), memory_(memory), place_(place), known_specs_(known) {}

  /// Answers each requested piece, even after a failure. Throws Error(NC_EIO) for a damaged request.
  void answer(std::uint32_t to, const Fetch& request);
  /// The asker does not need the remaining data. May come before sending has begun, because the step is not
  /// known yet: the asker waits for the answer.
  void end(std::uint32_t to, std::uint64_t fetch);
  /// The step has ended.
  void forget(std::uint64_t step) { growing_.erase(step); }

 private:
  struct Sending;
  using SendingPointer = std::shared_ptr<Sending>;          ///< shared with the link while it is being sent
  using ScanPointer = std::shared_ptr<matcher::TableScan>;  ///< shared with the data being sent
  /// The asker, and the number of the fetch.
  struct Key {
    std::uint32_t to = 0;
    std::uint64_t fetch = 0;
    auto operator<=>(const Key&) const = default;
  };

  [[nodiscard]] ScanPointer scan_of(const matcher::StepView& view);
  void prepare(Sending& sending, const Fetch& request, const StepViewPointer& view);
  void open_logs(const SendingPointer& sending);
  void start(const SendingPointer& sending);
  [[nodiscard]] PeerLink::Data next_data(Sending& sending, std::span<std::byte> buffer);

  FetchHost& host_;
  matcher::SegmentMemory& memory_;
  const matcher::MatcherPlace place_;
  SpecCache& known_specs_;
  std::map<Key, SendingPointer> sending_;
  /// by step: the positions of the data of logs that still grow
  std::map<std::uint64_t, ScanPointer> growing_;
};

}  // namespace sluice::runtime
