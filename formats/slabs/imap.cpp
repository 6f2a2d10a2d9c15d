#include <cstddef>
#include <cstring>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::formats {

namespace {

enum class Direction { gather, scatter };

/// Element sizes are template arguments, so that the innermost loops are moves without calls.
template <std::size_t element_bytes, Direction direction>
class MappedCopy {
 public:
  MappedCopy(std::byte* mapped, std::byte* dense, std::span<const std::int64_t> count,
             std::span<const std::int64_t> imap)
      : dense_(dense), count_(count), imap_(imap) {
    copy(mapped, 0);
  }

 private:
  void copy(std::byte* mapped, std::size_t d) {
    if (d == count_.size()) {
      copy_row(mapped, 1, 0);
    } else if (d + 1 == count_.size()) {
      copy_row(mapped, count_[d], imap_[d] * static_cast<std::ptrdiff_t>(element_bytes));
    } else {
      for (std::int64_t i = 0; i < count_[d]; ++i) {
        copy(mapped, d + 1);
        mapped += imap_[d] * static_cast<std::ptrdiff_t>(element_bytes);
      }
    }
  }

  void copy_row(std::byte* mapped, std::int64_t n, std::ptrdiff_t step) {
    for (std::int64_t i = 0; i < n; ++i) {
      if constexpr (direction == Direction::gather) {
        std::memcpy(dense_, mapped, element_bytes);
      } else {
        std::memcpy(mapped, dense_, element_bytes);
      }
      dense_ += element_bytes;
      mapped += step;
    }
  }

  std::byte* dense_;
  std::span<const std::int64_t> count_;
  std::span<const std::int64_t> imap_;
};

template <Direction direction>
void copy_mapped(std::byte* mapped, std::byte* dense, std::span<const std::int64_t> count,
                 std::span<const std::int64_t> imap, std::size_t element_bytes) {
  for (const auto n : count) {
    if (n == 0) return;
  }
  switch (element_bytes) {
    case 1:
      MappedCopy<1, direction>(mapped, dense, count, imap);
      break;
    case 2:
      MappedCopy<2, direction>(mapped, dense, count, imap);
      break;
    case 4:
      MappedCopy<4, direction>(mapped, dense, count, imap);
      break;
    case 8:
      MappedCopy<8, direction>(mapped, dense, count, imap);
      break;
    default:
      break;
  }
}

}  // namespace

void gather_mapped(const void* mapped, std::span<const std::int64_t> count,
                   std::span<const std::int64_t> imap, std::size_t element_bytes, void* dense) noexcept {
  // The source is only read. It needs a mutable pointer because one function serves both directions.
  auto* source = static_cast<std::byte*>(const_cast<void*>(mapped));
  copy_mapped<Direction::gather>(source, static_cast<std::byte*>(dense), count, imap, element_bytes);
}

void scatter_mapped(const void* dense, std::span<const std::int64_t> count,
                    std::span<const std::int64_t> imap, std::size_t element_bytes, void* mapped) noexcept {
  auto* source = static_cast<std::byte*>(const_cast<void*>(dense));
  copy_mapped<Direction::scatter>(static_cast<std::byte*>(mapped), source, count, imap, element_bytes);
}

}  // namespace sluice::formats
