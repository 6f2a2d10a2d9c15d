#include "read_block.hpp"

#include <algorithm>
#include <cstring>

namespace sluice::api::netcdf {

namespace {

constexpr int gets_before = 8;
constexpr std::size_t least_bytes = std::size_t{4} << 10, first_bytes = std::size_t{16} << 10,
                      most_bytes = std::size_t{1} << 20;

}  // namespace

bool ReadBlock::count_get(std::size_t bytes) noexcept {
  if (bytes == 0 || bytes > least_bytes) return false;
  if (gets_ < gets_before) ++gets_;
  return gets_ == gets_before;
}

void ReadBlock::give_up() noexcept {
  constexpr int gets_after = 100;
  gets_ = gets_before - gets_after;
  values_.clear();
}

bool ReadBlock::contains(Numbers start, Numbers count) const noexcept {
  if (values_.empty()) return false;
  for (std::size_t i = 0; i < start.size(); ++i)
    if (start[i] < start_[i] || start[i] + count[i] > start_[i] + count_[i]) return false;
  return true;
}

void ReadBlock::copy(Numbers start, Numbers count, void* to) {
  ++hits_;
  auto* out = static_cast<std::byte*>(to);
  const std::size_t last = start.size() - 1;
  const std::size_t run = count[last] * element_bytes_;
  std::vector<std::size_t> at(start.begin(), start.end());
  for (;;) {
    std::size_t from = 0;
    for (std::size_t i = 0; i <= last; ++i) from = from * count_[i] + at[i] - start_[i];
    std::memcpy(out, values_.data() + from * element_bytes_, run);
    out += run;
    std::size_t i = last;
    while (i > 0 && ++at[i - 1] == start[i - 1] + count[i - 1]) {
      at[i - 1] = start[i - 1];
      --i;
    }
    if (i == 0) return;
  }
}

/// Whole rows of the last dimensions, and of the dimension before them as many as fit, from a multiple of
/// these on.
void ReadBlock::place(std::size_t element_bytes, Numbers start, Numbers shape) {
  constexpr std::size_t hits_worth = 8, hits_too_few = 2;
  if (most_bytes_ == 0)
    most_bytes_ = first_bytes;
  else if (hits_ >= hits_worth)
    most_bytes_ = std::min(most_bytes, most_bytes_ * 2);
  else if (hits_ < hits_too_few)
    most_bytes_ = std::max(least_bytes, most_bytes_ / 2);
  hits_ = 0;
  element_bytes_ = element_bytes;
  start_.assign(start.begin(), start.end());
  count_.assign(start.size(), 1);
  std::size_t elements = 1;
  for (std::size_t i = start.size(); i-- > 0;) {
    const std::size_t rows = std::clamp<std::size_t>(most_bytes_ / element_bytes_ / elements, 1, shape[i]);
    start_[i] = start[i] / rows * rows;
    count_[i] = std::min(rows, shape[i] - start_[i]);
    elements *= count_[i];
    if (rows < shape[i]) break;
  }
  values_.resize(elements * element_bytes_);
}

}  // namespace sluice::api::netcdf
