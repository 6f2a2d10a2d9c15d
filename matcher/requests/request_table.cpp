#include "sluice/matcher/request_table.hpp"

#include <algorithm>
#include <limits>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/box.hpp"

namespace sluice::matcher {
namespace {

constexpr std::size_t word_bytes = 8;
constexpr std::uint64_t has_stride_bit = 1U << 8;
constexpr std::uint64_t one_element_bit = 1U << 9;
constexpr std::uint64_t reserved_bits = 0xfc00U;
constexpr std::size_t max_dimensions = 0xffff;
constexpr std::size_t request_head_words = 3;
constexpr std::size_t segment_words = 5;
constexpr std::size_t list_head_words = 2;
constexpr std::size_t list_request_words = 5;

/// A word of shared memory: loads and stores are atomic. Loading never writes, so the const_cast is harmless.
std::atomic_ref<std::uint64_t> word_at(std::span<const std::byte> chunk, std::size_t offset_bytes) noexcept {
  auto* address = const_cast<std::byte*>(chunk.data() + offset_bytes);
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(address));
}

[[noreturn]] void fail(std::size_t position, const char* what) {
  throw Error(NC_EIO, "request table, byte " + std::to_string(position) + ": " + what);
}

bool is_one_element(const formats::HyperslabView& box) noexcept {
  return std::ranges::all_of(box.count, [](std::int64_t count) { return count == 1; });
}

/// Stores words one after the other.
class Appender {
 public:
  Appender(std::span<std::byte> chunk, std::size_t position) noexcept : chunk_(chunk), position_(position) {}

  void word(std::uint64_t value) noexcept {
    word_at(chunk_, position_).store(value, std::memory_order_relaxed);
    position_ += word_bytes;
  }
  void numbers(std::span<const std::int64_t> values) noexcept {
    for (const std::int64_t value : values) word(static_cast<std::uint64_t>(value));
  }

 private:
  std::span<std::byte> chunk_;
  std::size_t position_;
};

void append_box(Appender& out, const TableEntry& entry) noexcept {
  const bool one_element = is_one_element(entry.box);
  const bool has_stride = !one_element && !entry.box.stride.empty();
  out.word(static_cast<std::uint64_t>(entry.kind) | (has_stride ? has_stride_bit : 0) |
           (one_element ? one_element_bit : 0) | static_cast<std::uint64_t>(entry.box.start.size()) << 16 |
           static_cast<std::uint64_t>(static_cast<std::uint32_t>(entry.varid)) << 32);
  out.word(entry.sequence);
  out.word(entry.log_offset);
  out.numbers(entry.box.start);
  if (!one_element) out.numbers(entry.box.count);
  if (has_stride) out.numbers(entry.box.stride);
}

void append_segment(Appender& out, const TableEntry& entry) noexcept {
  out.word(static_cast<std::uint64_t>(entry.kind));
  out.word(entry.log_offset);
  out.word(entry.length_bytes);
  out.word(entry.segment_id);
  out.word(entry.segment_offset);
}

/// Which arrays the boxes of a list have.
struct ListShape {
  explicit ListShape(std::span<const formats::HyperslabView> boxes) noexcept
      : one_element(std::ranges::all_of(boxes, is_one_element)),
        has_stride(!one_element &&
                   !std::ranges::all_of(boxes, [](const auto& box) { return box.stride.empty(); })) {}
  [[nodiscard]] std::size_t arrays() const noexcept { return one_element ? 1 : (has_stride ? 3 : 2); }

  bool one_element;
  bool has_stride;
};

void append_list(Appender& out, const TableEntry& entry) noexcept {
  const ListShape shape(entry.boxes);
  const std::size_t dimensions = entry.boxes[0].start.size();
  out.word(static_cast<std::uint64_t>(entry.kind) | (shape.has_stride ? has_stride_bit : 0) |
           (shape.one_element ? one_element_bit : 0) | static_cast<std::uint64_t>(dimensions) << 16);
  out.word(entry.boxes.size());
  for (const formats::HyperslabView& box : entry.boxes) {
    out.numbers(box.start);
    if (!shape.one_element) out.numbers(box.count);
    if (!shape.has_stride) continue;
    out.numbers(box.stride);
    for (std::size_t d = box.stride.size(); d < dimensions; ++d) out.word(1);
  }
}

void append_list_request(Appender& out, const TableEntry& entry) noexcept {
  out.word(static_cast<std::uint64_t>(entry.kind) | static_cast<std::uint64_t>(entry.dimensions) << 16 |
           static_cast<std::uint64_t>(static_cast<std::uint32_t>(entry.varid)) << 32);
  out.word(entry.sequence);
  out.word(entry.log_offset);
  out.word(entry.element_bytes);
  out.word(entry.list);
}

}  // namespace

TableWriter::TableWriter(std::span<std::byte> chunk) noexcept : chunk_(chunk) {
  commit();
}

bool TableWriter::append(const TableEntry& entry) noexcept {
  const std::size_t bytes = entry_bytes(entry);
  const std::size_t end = word_bytes + used_;
  const std::size_t dimensions =
      entry.kind == EntryKind::list ? entry.boxes[0].start.size() : entry.box.start.size();
  if (dimensions > max_dimensions || chunk_.size() < end || chunk_.size() - end < bytes) return false;
  Appender out(chunk_, end);
  switch (entry.kind) {
    case EntryKind::segment:
      append_segment(out, entry);
      break;
    case EntryKind::list:
      append_list(out, entry);
      break;
    case EntryKind::list_request:
      append_list_request(out, entry);
      break;
    default:
      append_box(out, entry);
  }
  used_ += bytes;
  return true;
}

void TableWriter::commit() noexcept {
  if (chunk_.size() < word_bytes) return;
  word_at(chunk_, 0).store(used_, std::memory_order_release);
}

std::size_t TableWriter::entry_bytes(const TableEntry& entry) noexcept {
  switch (entry.kind) {
    case EntryKind::segment:
      return segment_words * word_bytes;
    case EntryKind::list:
      return (list_head_words +
              entry.boxes.size() * ListShape(entry.boxes).arrays() * entry.boxes[0].start.size()) *
             word_bytes;
    case EntryKind::list_request:
      return list_request_words * word_bytes;
    default:
      break;
  }
  const std::size_t arrays = ListShape(std::span(&entry.box, 1)).arrays();
  return (request_head_words + arrays * entry.box.start.size()) * word_bytes;
}

std::span<const std::byte> encoded_entry(const TableEntry& entry, std::vector<std::byte>& scratch) {
  const std::size_t bytes = TableWriter::entry_bytes(entry);
  if (scratch.size() < word_bytes + bytes) scratch.resize(word_bytes + bytes);
  TableWriter writer(scratch);
  return writer.append(entry) ? std::span<const std::byte>(scratch).subspan(word_bytes, bytes)
                              : std::span<const std::byte>();
}

TableReader::TableReader(std::span<const std::byte> chunk, std::size_t position, std::uint64_t end) noexcept
    : chunk_(chunk), position_(position) {
  if (chunk_.size() >= word_bytes)
    committed_ = std::min(word_at(chunk_, 0).load(std::memory_order_acquire), end);
}

bool TableReader::next(TableEntry& entry) {
  if (position_ == committed_) return false;
  const bool is_sound_length = committed_ <= chunk_.size() - word_bytes && committed_ % word_bytes == 0;
  if (!is_sound_length) fail(0, "the length in use is larger than the chunk or no multiple of 8");
  if (position_ > committed_ || position_ % word_bytes != 0) fail(position_, "no entry can start here");
  const std::uint64_t head = take();
  entry = TableEntry{};
  switch (static_cast<EntryKind>(head & 0xff)) {
    case EntryKind::request:
    case EntryKind::fill:
      entry.kind = static_cast<EntryKind>(head & 0xff);
      read_box(head, entry);
      return true;
    case EntryKind::segment:
      if ((head >> 8) != 0) fail(position_, "reserved bits of a segment entry are set");
      entry.kind = EntryKind::segment;
      read_segment(entry);
      return true;
    case EntryKind::list:
      entry.kind = EntryKind::list;
      read_list(head, entry);
      return true;
    case EntryKind::list_request:
      entry.kind = EntryKind::list_request;
      read_list_request(head, entry);
      return true;
  }
  fail(position_, "unknown kind of entry");
}

std::uint64_t TableReader::take() noexcept {
  const std::uint64_t value = word_at(chunk_, word_bytes + position_).load(std::memory_order_relaxed);
  position_ += word_bytes;
  return value;
}

std::span<const std::int64_t> TableReader::take_numbers(std::size_t n, std::size_t slot) noexcept {
  const std::span<std::int64_t> values = std::span(numbers_.data(), numbers_.size()).subspan(slot * n, n);
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(take());
  return values;
}

void TableReader::read_box(std::uint64_t head, TableEntry& entry) {
  const bool has_stride = (head & has_stride_bit) != 0;
  const bool one_element = (head & one_element_bit) != 0;
  const std::size_t dimensions = (head >> 16) & max_dimensions;
  const std::uint64_t varid = head >> 32;
  if ((head & reserved_bits) != 0 || (has_stride && one_element) ||
      varid > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    fail(position_, "bad flags or variable id");
  }
  const std::size_t arrays = one_element ? 1 : (has_stride ? 3 : 2);
  const std::size_t words = request_head_words - 1 + arrays * dimensions;
  if ((committed_ - position_) / word_bytes < words) fail(position_, "an entry is cut off");

  entry.varid = static_cast<int>(varid);
  entry.sequence = take();
  entry.log_offset = take();
  numbers_.resize(dimensions * std::max<std::size_t>(arrays, 2), boost::container::default_init);
  entry.box.start = take_numbers(dimensions, 0);
  if (one_element) {
    const std::span<std::int64_t> ones = std::span(numbers_.data(), numbers_.size()).subspan(dimensions);
    std::ranges::fill(ones, 1);
    entry.box.count = ones;
  } else {
    entry.box.count = take_numbers(dimensions, 1);
  }
  if (has_stride) entry.box.stride = take_numbers(dimensions, 2);
  if (entry.log_offset > max_log_offset || !is_sound(entry.box))
    fail(position_, "a request's numbers are out of range");
}

void TableReader::read_list(std::uint64_t head, TableEntry& entry) {
  const bool has_stride = (head & has_stride_bit) != 0;
  const bool one_element = (head & one_element_bit) != 0;
  const std::size_t dimensions = (head >> 16) & max_dimensions;
  if ((head & reserved_bits) != 0 || (head >> 32) != 0 || (has_stride && one_element) || dimensions == 0)
    fail(position_, "bad flags or dimensions of a list");
  if (position_ == committed_) fail(position_, "an entry is cut off");
  const std::uint64_t count = take();
  const std::size_t arrays = one_element ? 1 : (has_stride ? 3 : 2);
  const std::size_t box_words = arrays * dimensions;
  if (count == 0 || count > (committed_ - position_) / word_bytes / box_words)
    fail(position_, "a list is empty or cut off");

  numbers_.resize(count * box_words + (one_element ? dimensions : 0), boost::container::default_init);
  std::fill_n(numbers_.end() - static_cast<std::ptrdiff_t>(dimensions), one_element ? dimensions : 0, 1);
  const std::span<const std::int64_t> all(numbers_.data(), numbers_.size());
  boxes_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto array = [&](std::size_t k) { return all.subspan(i * box_words + k * dimensions, dimensions); };
    for (std::size_t word = 0; word < box_words; ++word)
      numbers_[i * box_words + word] = static_cast<std::int64_t>(take());
    boxes_[i] = {.start = array(0), .count = one_element ? all.last(dimensions) : array(1), .stride = {}};
    if (has_stride) boxes_[i].stride = array(2);
    if (!is_sound(boxes_[i])) fail(position_, "a list's numbers are out of range");
  }
  entry.boxes = boxes_;
}

void TableReader::read_list_request(std::uint64_t head, TableEntry& entry) {
  constexpr std::uint64_t largest_element_bytes = 8;
  const std::uint64_t varid = head >> 32;
  if (((head >> 8) & 0xff) != 0 || varid > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    fail(position_, "bad flags or variable id");
  if ((committed_ - position_) / word_bytes < list_request_words - 1) fail(position_, "an entry is cut off");
  entry.varid = static_cast<int>(varid);
  entry.dimensions = (head >> 16) & max_dimensions;
  entry.sequence = take();
  entry.log_offset = take();
  entry.element_bytes = take();
  entry.list = take();
  if (entry.log_offset > max_log_offset || entry.element_bytes == 0 ||
      entry.element_bytes > largest_element_bytes)
    fail(position_, "a request's numbers are out of range");
}

void TableReader::read_segment(TableEntry& entry) {
  if ((committed_ - position_) / word_bytes < segment_words - 1) fail(position_, "an entry is cut off");
  entry.log_offset = take();
  entry.length_bytes = take();
  entry.segment_id = take();
  entry.segment_offset = take();
  // Then neither end overflows.
  for (const std::uint64_t offset : {entry.log_offset, entry.length_bytes, entry.segment_offset}) {
    if (offset > max_log_offset) fail(position_, "a segment's numbers are out of range");
  }
}

}  // namespace sluice::matcher
