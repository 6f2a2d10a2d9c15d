#pragma once
// The fields of metadata logs, byte by byte, in either byte order.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::formats {

/// Reads fields one after the other. The caller must ensure that enough bytes are left.
class BurstFields {
 public:
  BurstFields(std::span<const std::byte> bytes, bool is_big_endian) noexcept
      : bytes_(bytes), is_big_endian_(is_big_endian) {}

  [[nodiscard]] std::int32_t take_int32() noexcept {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(take<4>()));
  }
  [[nodiscard]] std::int64_t take_int64() noexcept { return static_cast<std::int64_t>(take<8>()); }

 private:
  // Loops without branches and with known length, which the compiler turns into one load or store.
  template <std::size_t size>
  std::uint64_t take() noexcept {
    std::uint64_t value = 0;
    if (is_big_endian_) {
      for (std::size_t i = 0; i < size; ++i) value = value << 8 | std::to_integer<std::uint64_t>(bytes_[i]);
    } else {
      for (std::size_t i = size; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes_[i]);
    }
    bytes_ = bytes_.subspan(size);
    return value;
  }

  std::span<const std::byte> bytes_;
  bool is_big_endian_;
};

/// Appends fields in this machine's byte order.
class BurstFieldWriter {
 public:
  explicit BurstFieldWriter(std::vector<std::byte>& bytes) noexcept : bytes_(bytes) {}

  void put_int32(std::int32_t value) { put<4>(static_cast<std::uint32_t>(value)); }
  void put_int64(std::int64_t value) { put<8>(static_cast<std::uint64_t>(value)); }
  void put_all(std::span<const std::int64_t> values) {
    for (const auto value : values) put_int64(value);
  }

 private:
  template <std::size_t size>
  void put(std::uint64_t value) {
    constexpr bool is_big = std::endian::native == std::endian::big;
    std::array<std::byte, size> field;
    for (std::size_t i = 0; i < size; ++i)
      field[i] = static_cast<std::byte>(value >> (8 * (is_big ? size - 1 - i : i)) & 0xFF);
    bytes_.insert(bytes_.end(), field.begin(), field.end());
  }

  std::vector<std::byte>& bytes_;
};

}  // namespace sluice::formats
