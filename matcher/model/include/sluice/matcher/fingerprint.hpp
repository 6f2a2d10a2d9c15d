#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::matcher {

/// A 128-bit hash of a sequence of numbers. Equal sequences have equal fingerprints. Two different sequences
/// have equal fingerprints with a chance of 2^-128. The hash does not resist numbers chosen to collide: a
/// process that makes requests reads only its own data.
struct Fingerprint {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  auto operator<=>(const Fingerprint&) const = default;
  /// All zero: no fingerprint.
  [[nodiscard]] bool empty() const noexcept { return low == 0 && high == 0; }
};

/// The hash for unordered containers.
struct FingerprintHash {
  [[nodiscard]] std::size_t operator()(const Fingerprint& fingerprint) const noexcept {
    return fingerprint.low;
  }
};

/// Takes the numbers one after the other, or two at a time, which costs no more than one. Uses two chains of
/// 64 x 64-bit multiplications with different constants. Each folds its 128-bit products to 64 bits (as in
/// wyhash).
class FingerprintBuilder {
 public:
  void add(std::uint64_t a, std::uint64_t b) noexcept {
    low_ = fold(low_ ^ a ^ factors[0], b ^ factors[1]);
    high_ = fold(high_ ^ b ^ factors[2], a ^ factors[3]);
    ++numbers_;
  }
  void add(std::int64_t a, std::int64_t b) noexcept {
    add(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
  }
  void add(std::uint64_t number) noexcept { add(number, factors[4]); }
  void add(std::int64_t number) noexcept { add(static_cast<std::uint64_t>(number)); }
  /// Adds the count too, so that two lists in a row differ from two other lists.
  void add(std::span<const std::int64_t> numbers) noexcept {
    add(static_cast<std::uint64_t>(numbers.size()));
    for (const std::int64_t number : numbers) add(number);
  }
  /// Adds a hyperslab. Its first index counts from `base`.
  void add(const formats::HyperslabView& box, std::int64_t base) noexcept {
    add(static_cast<std::uint64_t>(box.start.size()), static_cast<std::uint64_t>(box.stride.size()));
    for (std::size_t d = 0; d < box.start.size(); ++d) add(box.start[d] - (d == 0 ? base : 0), box.count[d]);
    for (const std::int64_t stride : box.stride) add(stride);
  }
  void add(const Fingerprint& fingerprint) noexcept { add(fingerprint.low, fingerprint.high); }
  /// Adds the number of the bytes, too.
  void add_bytes(std::span<const std::byte> bytes) noexcept {
    std::array<std::uint64_t, 2> words{};
    add(static_cast<std::uint64_t>(bytes.size()));
    for (; bytes.size() >= sizeof words; bytes = bytes.subspan(sizeof words)) {
      std::memcpy(words.data(), bytes.data(), sizeof words);
      add(words[0], words[1]);
    }
    words = {};
    if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
    add(words[0], words[1]);
  }

  /// The fingerprint of all added numbers; never empty.
  [[nodiscard]] Fingerprint value() const noexcept {
    const std::uint64_t low = fold(low_ ^ numbers_, factors[1]);
    const std::uint64_t high = fold(high_ ^ numbers_, factors[3]);
    return {low, high | static_cast<std::uint64_t>(low == 0 && high == 0)};
  }

 private:
  [[nodiscard]] static std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  /// Digits of pi; odd.
  static constexpr std::array<std::uint64_t, 5> factors{0x243F6A8885A308D3U, 0x13198A2E03707345U,
                                                        0xA4093822299F31D1U, 0x082EFA98EC4E6C89U,
                                                        0x452821E638D01377U};

  std::uint64_t low_ = 0xBE5466CF34E90C6CU;
  std::uint64_t high_ = 0xC0AC29B7C97C50DDU;
  std::uint64_t numbers_ = 0;
};

}  // namespace sluice::matcher
