#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "sluice/formats/header.hpp"
#include "sluice/storage/access.hpp"

namespace sluice::storage {

/// Converts the elements of one access between the user's memory and the bytes of a CDF file (external type,
/// big-endian). Callers may convert any range of elements, in any order. Little-endian files can be read.
class ElementCodec {
 public:
  /// Keeps a reference to `access`: its status becomes NC_ERANGE if a value does not fit.
  ElementCodec(const formats::Header& header, Access& access,
               formats::ByteOrder order = formats::ByteOrder::big);

  /// Encodes elements [first, first + n) of the user's buffer as bytes of the file.
  void encode(std::int64_t first, std::int64_t n, std::byte* bytes);
  /// Decodes bytes of the file into elements [first, first + n) of the user's buffer; `bytes` may be
  /// plain_bytes(first).
  void decode(std::int64_t first, std::int64_t n, const std::byte* bytes);

  /// The user's memory if it holds the elements as the file does, except for the byte order; otherwise null.
  /// File bytes that were read into this memory are decoded in place.
  [[nodiscard]] std::byte* plain_bytes(std::int64_t first) const noexcept;
  /// Whether the bytes at plain_bytes() equal the file's bytes: for elements of one byte, or with
  /// Access::is_file_order.
  [[nodiscard]] bool is_in_file_order() const noexcept {
    return external_bytes_ == 1 || access_->is_file_order;
  }
  [[nodiscard]] std::int64_t element_bytes() const noexcept { return external_bytes_; }

 private:
  [[nodiscard]] std::byte* memory(std::int64_t element) const noexcept {
    return static_cast<std::byte*>(access_->buffer) + element * memory_bytes_;
  }

  /// decode() for converted values. It is a function of its own because it needs much stack, which most
  /// pieces do not.
  [[gnu::noinline]] void decode_converted(std::int64_t first, std::int64_t n, const std::byte* bytes);

  Access* access_;
  formats::Type external_;
  std::int64_t external_bytes_;
  std::int64_t memory_bytes_;
  bool byte_is_unsigned_;
  formats::ByteOrder order_;
  bool is_plain_;
  std::array<std::byte, 8> fill_{};  ///< one element, for values out of range
};

}  // namespace sluice::storage
