#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "sluice/formats/error.hpp"
#include "sluice/formats/types.hpp"

namespace sluice::formats {

/// Thrown and caught inside the decoder only, if the prefix of the file ends inside the header.
struct EndOfPrefix {};

/// Reads consecutive values from a prefix of a file, never beyond its end.
class ByteCursor {
 public:
  /// `file_size_bytes` is -1 if unknown. `path` is for messages. The cursor owns neither argument.
  ByteCursor(std::span<const std::byte> prefix, std::int64_t file_size_bytes, std::string_view path,
             ByteOrder order = ByteOrder::big) noexcept
      : prefix_(prefix), file_size_bytes_(file_size_bytes), path_(path), order_(order) {}

  [[nodiscard]] ByteOrder order() const noexcept { return order_; }

  [[nodiscard]] std::int64_t offset() const noexcept { return static_cast<std::int64_t>(at_); }
  [[nodiscard]] std::int64_t bytes_left() const noexcept {
    return static_cast<std::int64_t>(prefix_.size() - at_);
  }

  /// The next `n` bytes. Throws EndOfPrefix if the bytes are in the file but not in the prefix. Throws
  /// FormatError if the file is too short for them.
  std::span<const std::byte> take(std::int64_t n) {
    if (n > bytes_left()) {
      if (file_size_bytes_ >= 0 && n > file_size_bytes_ - offset())
        fail(NC_ENOTNC, "the file ends inside its header: it was truncated, or its header is damaged");
      throw EndOfPrefix{};
    }
    const auto taken = prefix_.subspan(at_, static_cast<std::size_t>(n));
    at_ += static_cast<std::size_t>(n);
    return taken;
  }

  /// An unsigned integer of 4 or 8 bytes.
  std::uint64_t take_integer(int bytes) {
    const auto taken = take(bytes);
    if (bytes == 4) {
      std::uint32_t value = 0;
      std::memcpy(&value, taken.data(), sizeof value);
      return order_ == native_byte_order ? value : __builtin_bswap32(value);
    }
    std::uint64_t value = 0;
    std::memcpy(&value, taken.data(), sizeof value);
    return order_ == native_byte_order ? value : __builtin_bswap64(value);
  }

  [[noreturn]] void fail(Status status, const std::string& what) const { fail_at(offset(), status, what); }
  [[noreturn]] void fail_at(std::int64_t offset, Status status, const std::string& what) const {
    throw FormatError(status, std::string(path_), static_cast<std::uint64_t>(offset), what);
  }

 private:
  std::span<const std::byte> prefix_;
  std::int64_t file_size_bytes_;
  std::string_view path_;
  ByteOrder order_;
  std::size_t at_ = 0;
};

}  // namespace sluice::formats
