#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::matcher {

/// 128 bits that stand for a sequence of numbers: equal for equal sequences, and for two different ones only
/// by a chance of 2^-128 (numbers chosen in order to collide are not withstood: who makes requests reads its
/// own data).
struct Fingerprint {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  auto operator<=>(const Fingerprint&) const = default;
  /// All zero: no fingerprint.
  [[nodiscard]] bool empty() const noexcept { return low == 0 && high == 0; }
};

/// For unordered containers.
struct FingerprintHash {
  [[nodiscard]] std::size_t operator()(const Fingerprint& fingerprint) const noexcept {
    return fingerprint.low;
  }
};

/// Takes the numbers one after the other. Two independent chains of multiplications modulo 2^64, each number
/// spread over all bits by a xor-shift before it and after (as in MurmurHash3 and SplitMix64); a few
/// nanoseconds a number.
class FingerprintBuilder {
 public:
  void add(std::uint64_t number) noexcept {
    low_ = (low_ ^ number) * low_factor;
    low_ ^= low_ >> 29;
    high_ = (high_ ^ (number + high_offset)) * high_factor;
    high_ ^= high_ >> 32;
    ++numbers_;
  }
  void add(std::int64_t number) noexcept { add(static_cast<std::uint64_t>(number)); }
  /// With their number, so that two lists in a row do not look like other two.
  void add(std::span<const std::int64_t> numbers) noexcept {
    add(static_cast<std::uint64_t>(numbers.size()));
    for (const std::int64_t number : numbers) add(number);
  }
  void add(const Fingerprint& fingerprint) noexcept {
    add(fingerprint.low);
    add(fingerprint.high);
  }

  /// Of what was added so far; never empty.
  [[nodiscard]] Fingerprint value() const noexcept {
    const std::uint64_t low = finish(low_ ^ numbers_);
    const std::uint64_t high = finish(high_ + numbers_ * high_offset);
    return {low, high | static_cast<std::uint64_t>(low == 0 && high == 0)};
  }

 private:
  [[nodiscard]] static std::uint64_t finish(std::uint64_t value) noexcept {
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
    return value ^ (value >> 31);
  }

  static constexpr std::uint64_t low_factor = 0x9FB21C651E98DF25U;
  static constexpr std::uint64_t high_factor = 0xD6E8FEB86659FD93U;
  static constexpr std::uint64_t high_offset = 0x9E3779B97F4A7C15U;

  std::uint64_t low_ = 0x243F6A8885A308D3U;
  std::uint64_t high_ = 0x13198A2E03707344U;
  std::uint64_t numbers_ = 0;
};

}  // namespace sluice::matcher
