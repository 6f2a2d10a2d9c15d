#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "cdf_constants.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/header.hpp"

namespace sluice::formats {

/// A sink that only counts the encoded bytes.
class ByteCounter {
 public:
  void append(const void*, std::size_t n) { size_bytes += static_cast<std::int64_t>(n); }
  void append_integer(std::uint64_t, int bytes) { size_bytes += bytes; }
  void append_elements(const void*, std::size_t element_bytes, std::int64_t n) {
    size_bytes += static_cast<std::int64_t>(element_bytes) * n;
  }
  std::int64_t size_bytes = 0;
};

/// A sink that writes the encoded bytes to memory.
class ByteWriter {
 public:
  /// The memory at `at` has as many bytes as a ByteCounter counts.
  ByteWriter(std::byte* at, ByteOrder order) : at_(at), order_(order) {}

  void append(const void* data, std::size_t n) {
    if (n > 0) std::memcpy(at_, data, n);
    at_ += n;
  }
  /// Appends 4 or 8 bytes.
  void append_integer(std::uint64_t value, int bytes) {
    if (bytes == 4) {
      const auto narrow = static_cast<std::uint32_t>(value);
      const std::uint32_t ordered = order_ == native_byte_order ? narrow : __builtin_bswap32(narrow);
      return append(&ordered, sizeof ordered);
    }
    const std::uint64_t ordered = order_ == native_byte_order ? value : __builtin_bswap64(value);
    append(&ordered, sizeof ordered);
  }
  /// Appends elements that are in this machine's byte order.
  void append_elements(const void* data, std::size_t element_bytes, std::int64_t n) {
    copy_ordered(at_, data, element_bytes, n, order_);
    at_ += element_bytes * static_cast<std::size_t>(n);
  }

 private:
  std::byte* at_;
  ByteOrder order_;
};

/// Writes the parts of a CDF header one after the other: docs/formats/cdf.md.
template <class Sink>
class CdfWriter {
 public:
  CdfWriter(Version version, Sink& sink)
      : sink_(sink), count_bytes_(cdf::count_bytes(version)), version_(version) {}

  void put_start(std::int64_t record_count) {
    sink_.append(cdf::magic.data(), cdf::magic.size());
    sink_.append(&version_, sizeof version_);
    put_count(record_count);
  }

  /// Writes a count, length or id: 32 bits in CDF-1 and CDF-2.
  void put_count(std::int64_t value) {
    sink_.append_integer(static_cast<std::uint64_t>(value), count_bytes_);
  }

  void put_name(std::string_view name) {
    const auto length = static_cast<std::int64_t>(name.size());
    put_count(length);
    sink_.append(name.data(), name.size());
    put_padding(length);
  }

  void put_list_head(std::uint32_t tag, int elements) {
    sink_.append_integer(elements == 0 ? cdf::tag_absent : tag, 4);
    put_count(elements);
  }

  void put_dimension(std::string_view name, std::int64_t length) {
    put_name(name);
    put_count(length);
  }

  /// Writes the ids of a variable's dimensions.
  void put_ids(std::span<const int> ids) {
    put_count(std::ssize(ids));
    for (const int id : ids) put_count(id);
  }

  /// Writes the elements of a list of attributes.
  void put_each(const Attributes& attributes) {
    for (const auto& attribute : attributes)
      put_attribute(attribute.name, attribute.type, attribute.count, attribute.values.data());
  }

  /// Writes an attribute; `values` are in this machine's byte order.
  void put_attribute(std::string_view name, Type type, std::int64_t count, const void* values) {
    put_name(name);
    sink_.append_integer(static_cast<std::uint64_t>(type), 4);
    put_count(count);
    sink_.append_elements(values, size_of(type), count);
    put_padding(count * static_cast<std::int64_t>(size_of(type)));
  }

  void put_attribute(std::string_view name, std::span<const std::int32_t> values) {
    put_name(name);
    sink_.append_integer(static_cast<std::uint64_t>(Type::int32), 4);
    put_count(std::ssize(values));
    for (const auto value : values) sink_.append_integer(static_cast<std::uint64_t>(value), 4);
  }

  /// Writes the last part of a variable.
  void put_place(Type type, std::int64_t vsize, std::int64_t begin) {
    sink_.append_integer(static_cast<std::uint64_t>(type), 4);
    const bool fits = version_ == Version::cdf5 || vsize <= cdf::max_vsize;
    put_count(fits ? vsize : cdf::vsize_too_large);
    sink_.append_integer(static_cast<std::uint64_t>(begin), cdf::offset_bytes(version_));
  }

 private:
  void put_padding(std::int64_t bytes) {
    constexpr std::array<std::byte, cdf::padding_bytes> zeros{};
    sink_.append(zeros.data(), static_cast<std::size_t>(cdf::padded(bytes) - bytes));
  }

  Sink& sink_;
  int count_bytes_;
  Version version_;
};

/// Throws as encode_header does if the header's version cannot represent the header.
void check_version(const Header& header);

}  // namespace sluice::formats
