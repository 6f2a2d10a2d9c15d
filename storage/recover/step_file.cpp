#include "step_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/storage/gathered_writes.hpp"

namespace sluice::storage {
namespace {

constexpr std::int64_t window_bytes = std::int64_t{8} << 20;
constexpr std::int64_t longest_element = 8;  // all element sizes divide this number

/// Writes fill values at the positions of the variables' elements, in ascending order.
class Filler {
 public:
  Filler(File& file, const formats::Header& header, const formats::Layout& layout)
      : header_(header), layout_(layout), writes_(file, window_bytes, GatheredWrites::Gaps::kept) {
    for (int i = 0; i < header.variable_count(); ++i) {
      (header.is_record_variable(i) ? of_records_ : fixed_).push_back(i);
    }
    const auto begin_of = [&](int varid) { return header_.variable(varid).begin; };
    std::ranges::sort(fixed_, {}, begin_of);
    std::ranges::sort(of_records_, {}, begin_of);
  }

  void fill_fixed() {
    for (const int varid : fixed_) fill(varid, 0);
  }
  void fill_records(std::int64_t first, std::int64_t end) {
    for (std::int64_t record = first; record < end; ++record) {
      for (const int varid : of_records_) fill(varid, record * layout_.record_size);
    }
  }
  void flush() { writes_.flush(); }

 private:
  void fill(int varid, std::int64_t shift_bytes) {
    std::array<std::byte, longest_element> value{};
    header_.fill_value(varid, value.data());
    const std::size_t size = formats::size_of(header_.variable(varid).type);
    if constexpr (std::endian::native == std::endian::little)
      std::reverse(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(size));
    for (std::size_t i = size; i < value.size(); ++i) value[i] = value[i - size];
    const std::int64_t bytes = formats::data_bytes(header_, varid);
    const std::int64_t begin = header_.variable(varid).begin + shift_bytes;
    for (std::int64_t done = 0; done < bytes;) {
      const auto part = writes_.reserve(begin + done, std::min(bytes - done, window_bytes));
      for (std::size_t i = 0; i < part.size(); ++i) part[i] = value[i % longest_element];
      done += std::ssize(part);
    }
  }

  const formats::Header& header_;
  const formats::Layout& layout_;
  GatheredWrites writes_;
  std::vector<int> fixed_;
  std::vector<int> of_records_;
};

/// The end of the data in the file.
std::int64_t end_of_data(const formats::Header& header, const formats::Layout& layout, std::int64_t records) {
  std::int64_t end = layout.header_size;
  for (int i = 0; i < header.variable_count(); ++i) {
    const std::int64_t bytes = formats::data_bytes(header, i);
    std::int64_t before = 0;  // the last of its records
    if (header.is_record_variable(i)) {
      if (records == 0) continue;
      if (__builtin_mul_overflow(records - 1, layout.record_size, &before))
        throw Error(NC_EINTOVERFLOW, std::to_string(records) + " records are more than a file can hold");
    }
    std::int64_t last = 0;
    if (__builtin_add_overflow(header.variable(i).begin + bytes, before, &last))
      throw Error(NC_EINTOVERFLOW, std::to_string(records) + " records are more than a file can hold");
    end = std::max(end, last);
  }
  return end;
}

}  // namespace

void create_filled_file(File& file, const formats::Header& header, std::int64_t records) {
  const auto bytes = formats::encode_header(header);
  const auto layout = formats::layout_of(header, std::ssize(bytes));
  file.reserve(end_of_data(header, layout, records));
  file.write(0, bytes);
  Filler filler(file, header, layout);
  filler.fill_fixed();
  filler.fill_records(0, records);
  filler.flush();
}

void fill_records(File& file, const formats::Header& header, std::int64_t first, std::int64_t end) {
  if (first >= end) return;
  const auto layout = formats::layout_of(header, formats::encoded_size(header));
  file.reserve(end_of_data(header, layout, end));
  Filler filler(file, header, layout);
  filler.fill_records(first, end);
  filler.flush();
}

}  // namespace sluice::storage
