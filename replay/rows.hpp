#pragma once
// The innermost loops of a copy. They process one row of elements with regular distances in source and
// destination, both in bytes.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "sluice/formats/convert.hpp"
#include "sluice/formats/copy_bytes.hpp"
#include "sluice/formats/status.hpp"

namespace sluice::replay {

/// A row: its first elements, the number of elements, and the bytes from one element to the next.
struct Row {
  const std::byte* source = nullptr;
  std::byte* destination = nullptr;
  std::int64_t count = 1;
  std::int64_t source_step = 0;
  std::int64_t destination_step = 0;
  std::int64_t next_source = 0;  ///< bytes from the source to that of the row after it; 0: not known
  bool is_big_endian = false;    ///< the source; the destination has this machine's byte order
};

/// Copies elements of a fixed size. No alignment is assumed.
template <std::size_t bytes>
struct CopyRow {
  bool is_of_large_data = false;  ///< all rows together have formats::uncached_bytes

  void operator()(const Row& row) const noexcept {
    constexpr auto size = static_cast<std::int64_t>(bytes);
    if (bytes > 1 && row.is_big_endian) return copy_ordered(row);
    if (row.source_step == size && row.destination_step == size) {
      const auto row_bytes = static_cast<std::size_t>(row.count) * bytes;
      is_of_large_data
          ? formats::copy_piece(row.destination, row.source, row_bytes, row.source + row.next_source)
          : formats::copy_bytes(row.destination, row.source, row_bytes);
    } else if (row.destination_step == size) {  // gather: the compiler knows one step
      for (std::int64_t i = 0; i < row.count; ++i) {
        std::memcpy(row.destination + i * size, row.source + i * row.source_step, bytes);
      }
    } else {
      for (std::int64_t i = 0; i < row.count; ++i) {
        std::memcpy(row.destination + i * row.destination_step, row.source + i * row.source_step, bytes);
      }
    }
  }

 private:
  static void copy_ordered(const Row& row) noexcept {
    constexpr auto size = static_cast<std::int64_t>(bytes);
    if (row.source_step == size && row.destination_step == size)
      return formats::copy_ordered(row.destination, row.source, bytes, row.count, formats::ByteOrder::big);
    for (std::int64_t i = 0; i < row.count; ++i)
      copy_element(row.destination + i * row.destination_step, row.source + i * row.source_step);
  }
  /// From big-endian; the compiler makes one instruction of the loop.
  static void copy_element(std::byte* destination, const std::byte* source) noexcept {
    std::array<std::byte, bytes> element;
    std::memcpy(element.data(), source, bytes);
    if constexpr (std::endian::native == std::endian::little) {
      for (std::size_t i = 0; i < bytes / 2; ++i) std::swap(element[i], element[bytes - 1 - i]);
    }
    std::memcpy(destination, element.data(), bytes);
  }
};

/// Repeats one element.
template <std::size_t bytes>
struct FillRow {
  void operator()(const Row& row) const noexcept {
    for (std::int64_t i = 0; i < row.count; ++i) {
      std::memcpy(row.destination + i * row.destination_step, row.source, bytes);
    }
  }
};

/// Runs only the elements of a row whose destination lies in a part of the whole. The part begins and ends
/// between two elements.
template <class RowFunction>
class RowsWithin {
 public:
  RowsWithin(RowFunction row_function, const std::byte* first, const std::byte* end) noexcept
      : row_function_(row_function), first_(first), end_(end) {}

  void operator()(const Row& row) const noexcept {
    if (row.destination_step > 0) {
      run(row, count_before(first_, row), count_before(end_, row));
      return;
    }
    for (std::int64_t i = 0; i < row.count; ++i) {
      const std::byte* const at = row.destination + i * row.destination_step;
      if (at >= first_ && at < end_) run(row, i, i + 1);
    }
  }

 private:
  /// The number of elements of the row that lie before the limit.
  [[nodiscard]] static std::int64_t count_before(const std::byte* limit, const Row& row) noexcept {
    if (limit <= row.destination) return 0;
    return std::min<std::int64_t>(
        row.count, (limit - row.destination + row.destination_step - 1) / row.destination_step);
  }
  void run(Row row, std::int64_t first, std::int64_t end) const noexcept {
    if (first >= end) return;
    row.source += first * row.source_step;
    row.destination += first * row.destination_step;
    row.count = end - first;
    row_function_(row);
  }

  RowFunction row_function_;
  const std::byte* first_;
  const std::byte* end_;
};

/// Converts a row. If either side has gaps, or the source another byte order, works in parts that fit in the
/// first-level cache.
class ConvertRow {
 public:
  ConvertRow(formats::Type external, formats::Type memory, bool byte_is_unsigned) noexcept
      : external_(external), memory_(memory), byte_is_unsigned_(byte_is_unsigned) {}

  void operator()(const Row& row) noexcept {
    const auto source_bytes = static_cast<std::int64_t>(formats::size_of(external_));
    const auto destination_bytes = static_cast<std::int64_t>(formats::size_of(memory_));
    const bool is_source_ready = (row.source_step == source_bytes || row.count == 1) && !row.is_big_endian;
    const bool is_destination_dense = row.destination_step == destination_bytes || row.count == 1;
    if (is_source_ready && is_destination_dense) {
      convert(row.destination, row.source, row.count);
      return;
    }
    std::byte gathered[part_elements * 8];
    std::byte converted[part_elements * 8];
    for (std::int64_t done = 0; done < row.count; done += part_elements) {
      const std::int64_t n = std::min(part_elements, row.count - done);
      const std::byte* source = row.source + done * row.source_step;
      std::byte* destination = row.destination + done * row.destination_step;
      if (!is_source_ready) {
        move_elements(gathered, source_bytes, source, row.source_step, source_bytes, n);
        if (row.is_big_endian) put_in_order(gathered, source_bytes, n);
        source = gathered;
      }
      convert(is_destination_dense ? destination : converted, source, n);
      if (!is_destination_dense) {
        move_elements(destination, row.destination_step, converted, destination_bytes, destination_bytes, n);
      }
    }
  }

  /// NC_NOERR or NC_ERANGE for all rows so far.
  [[nodiscard]] int status() const noexcept { return status_; }

 private:
  static constexpr std::int64_t part_elements = 512;

  void convert(std::byte* destination, const std::byte* source, std::int64_t n) noexcept {
    const int status = formats::convert_get(memory_, destination, external_, source, n, byte_is_unsigned_);
    if (status != NC_NOERR) status_ = status;
  }
  static void put_in_order(std::byte* elements, std::int64_t bytes, std::int64_t n) noexcept {
    formats::copy_ordered(elements, elements, static_cast<std::size_t>(bytes), n, formats::ByteOrder::big);
  }
  static void move_elements(std::byte* destination, std::int64_t destination_step, const std::byte* source,
                            std::int64_t source_step, std::int64_t bytes, std::int64_t n) noexcept {
    for (std::int64_t i = 0; i < n; ++i) {
      std::memcpy(destination + i * destination_step, source + i * source_step,
                  static_cast<std::size_t>(bytes));
    }
  }

  formats::Type external_;
  formats::Type memory_;
  bool byte_is_unsigned_;
  int status_ = NC_NOERR;
};

}  // namespace sluice::replay
