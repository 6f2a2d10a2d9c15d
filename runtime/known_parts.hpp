#pragma once
#include <cstddef>
#include <cstdint>
#include <list>
#include <set>
#include <unordered_map>

#include "exchange_protocol.hpp"
#include "landing.hpp"

namespace sluice::runtime {

/// What other matchers have asked this one for, so that they need not send long lists of copies again: a
/// fingerprint names them. The least recently used go first.
class KnownParts {
 public:
  /// Of the lists that are kept.
  static constexpr std::size_t most_bytes = 64U << 20;

  explicit KnownParts(std::size_t most_bytes = KnownParts::most_bytes) noexcept : most_bytes_(most_bytes) {}

  /// What was asked for; null: it was only named, and is not known. Throws Error(NC_EIO) for what makes no
  /// sense.
  [[nodiscard]] WantedPartPointer take(const AskedPart& asked);

 private:
  using Order = std::list<WantedPartPointer>;

  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  Order order_;  ///< what was used last is in front
  std::unordered_map<matcher::Fingerprint, Order::iterator, matcher::FingerprintHash> parts_;
};

/// Which parts other matchers have been sent whole, as far as that matters, and are likely to know.
class ToldParts {
 public:
  /// Of all matchers together; then all is forgotten, and sent again when it is needed.
  static constexpr std::size_t most_parts = 1U << 16;

  enum class Form { shortest, whole };
  /// What `rank` is asked for: by name, where it has been sent the copies.
  [[nodiscard]] AskedPart ask(std::uint32_t rank, const WantedPart& wanted, Form form);

 private:
  struct Told {
    std::uint32_t rank = 0;
    matcher::Fingerprint fingerprint;
    auto operator<=>(const Told&) const = default;
  };
  std::set<Told> told_;
};

}  // namespace sluice::runtime
