#pragma once
#include <cstddef>
#include <cstdint>
#include <list>
#include <set>
#include <unordered_map>

#include "exchange_protocol.hpp"
#include "inbound_stage.hpp"

namespace sluice::runtime {

/// The specs that other matchers have sent to this one. Later requests name a spec by its fingerprint,
/// instead of repeating a long list of copies. A full cache drops the least recently used specs.
class SpecCache {
 public:
  /// The limit for the kept lists.
  static constexpr std::size_t most_bytes = 64U << 20;

  explicit SpecCache(std::size_t most_bytes = SpecCache::most_bytes) noexcept : most_bytes_(most_bytes) {}

  /// Returns the requested spec; null when it is only named, and not known. Throws Error(NC_EIO) for a
  /// malformed request.
  [[nodiscard]] FetchSpecPointer take(const FetchItem& asked);

 private:
  using Order = std::list<FetchSpecPointer>;

  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  Order order_;  ///< the most recently used spec is in front
  std::unordered_map<matcher::Fingerprint, Order::iterator, matcher::FingerprintHash> parts_;
};

/// The specs that other matchers have received whole, and are likely to know. Small specs are not recorded.
class SentSpecs {
 public:
  /// The limit for all matchers together. A full record is cleared, and specs are sent again when they are
  /// needed.
  static constexpr std::size_t most_parts = 1U << 16;

  enum class Form { shortest, whole };
  /// Makes the request to `rank`: by name when the rank has received the copies.
  [[nodiscard]] FetchItem ask(std::uint32_t rank, const FetchSpec& wanted, Form form);

 private:
  struct Sent {
    std::uint32_t rank = 0;
    matcher::Fingerprint fingerprint;
    auto operator<=>(const Sent&) const = default;
  };
  std::set<Sent> sent_;
};

}  // namespace sluice::runtime
