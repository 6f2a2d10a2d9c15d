#pragma once
// The fields of metadata logs, byte by byte, in either byte order.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::formats {

/// Takes fields one after the other. The caller sees to it that there are enough bytes.
class BurstFields {
 public:
  BurstFields(std::span<const std::byte> bytes, bool is_big_endian) noexcept
      : bytes_(bytes), is_big_endian_(is_big_endian) {}

  [[nodiscard]] std::int32_t take_int32() noexcept {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(take(4)));
  }
  [[nodiscard]] std::int64_t take_int64() noexcept { return static_cast<std::int64_t>(take(8)); }

 private:
  std::uint64_t take(std::size_t n) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto byte = bytes_[is_big_endian_ ? i : n - 1 - i];
      value = value << 8 | std::to_integer<std::uint64_t>(byte);
    }
    bytes_ = bytes_.subspan(n);
    return value;
  }

  std::span<const std::byte> bytes_;
  bool is_big_endian_;
};

/// Appends fields in this machine's byte order.
class BurstFieldWriter {
 public:
  explicit BurstFieldWriter(std::vector<std::byte>& bytes) noexcept : bytes_(bytes) {}

  void put_int32(std::int32_t value) { put(static_cast<std::uint32_t>(value), 4); }
  void put_int64(std::int64_t value) { put(static_cast<std::uint64_t>(value), 8); }
  void put_all(std::span<const std::int64_t> values) {
    for (const auto value : values) put_int64(value);
  }

 private:
  void put(std::uint64_t value, std::size_t n) {
    constexpr bool is_big = std::endian::native == std::endian::big;
    for (std::size_t i = 0; i < n; ++i)
      bytes_.push_back(static_cast<std::byte>(value >> (8 * (is_big ? n - 1 - i : i)) & 0xFF));
  }

  std::vector<std::byte>& bytes_;
};

}  // namespace sluice::formats
