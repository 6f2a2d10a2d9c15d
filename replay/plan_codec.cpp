// Normative specification: docs/formats/plan.md.
#include <bit>
#include <cstring>

#include "copy_bounds.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/box.hpp"
#include "sluice/replay/plan.hpp"

namespace sluice::replay {
namespace {

constexpr std::size_t word_bytes = 8;
constexpr std::size_t head_words = 4;
constexpr std::size_t copy_words = 4;
constexpr std::size_t dimension_words = 3;
constexpr std::uint64_t needs_fill_bit = 1;
constexpr std::uint64_t depends_on_clock_bit = 2;
constexpr int dimensions_shift = 32;
constexpr int fill_shift = 48;

[[noreturn]] void fail(std::size_t position, const char* what) {
  throw Error(NC_EIO, "encoded copy plan, byte " + std::to_string(position) + ": " + what);
}

class Encoder {
 public:
  Encoder(std::vector<std::byte>& out, std::size_t words) : position_(out.size()), out_(out) {
    out.resize(position_ + words * word_bytes);
  }
  void word(std::uint64_t value) noexcept {
    for (int i = 0; i < 8; ++i) out_[position_++] = static_cast<std::byte>(value >> (8 * i));
  }
  void number(std::int64_t value) noexcept { word(static_cast<std::uint64_t>(value)); }

 private:
  std::size_t position_;
  std::vector<std::byte>& out_;
};

/// Reads words; the caller must check that enough words are left.
class Decoder {
 public:
  Decoder(std::span<const std::byte> bytes, std::size_t position) noexcept
      : bytes_(bytes), position_(position) {}

  [[nodiscard]] std::size_t position() const noexcept { return position_; }
  [[nodiscard]] std::size_t words_left() const noexcept {
    return position_ <= bytes_.size() ? (bytes_.size() - position_) / word_bytes : 0;
  }
  std::uint64_t word() noexcept {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value |= static_cast<std::uint64_t>(bytes_[position_++]) << (8 * i);
    return value;
  }
  std::int64_t number() noexcept { return static_cast<std::int64_t>(word()); }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_;
};

Copy decode_copy(Decoder& in, std::size_t all_dimensions) {
  const std::uint64_t head = in.word();
  const std::uint64_t first_dimension = in.word();
  Copy copy;
  copy.writer = static_cast<std::uint32_t>(head);
  copy.dimensions = static_cast<std::uint16_t>(head >> dimensions_shift);
  copy.is_fill = ((head >> fill_shift) & 1) != 0;
  copy.log_offset = in.word();
  copy.destination = in.number();
  if ((head >> fill_shift) > 1) fail(in.position(), "reserved bits of a copy are set");
  if (copy.dimensions > max_copy_dimensions || first_dimension > all_dimensions ||
      copy.dimensions > all_dimensions - first_dimension) {
    fail(in.position(), "a copy has dimensions that are not there");
  }
  copy.first_dimension = static_cast<std::uint32_t>(first_dimension);
  return copy;
}

}  // namespace

void encode(const Plan& plan, std::vector<std::byte>& out) {
  Encoder encoder(out,
                  head_words + copy_words * plan.copies.size() + dimension_words * plan.dimensions.size());
  encoder.word((plan.needs_fill ? needs_fill_bit : 0) | (plan.depends_on_clock ? depends_on_clock_bit : 0));
  encoder.number(plan.elements);
  encoder.word(plan.copies.size());
  encoder.word(plan.dimensions.size());
  for (const Copy& copy : plan.copies) {
    encoder.word(copy.writer | static_cast<std::uint64_t>(copy.dimensions) << dimensions_shift |
                 static_cast<std::uint64_t>(copy.is_fill) << fill_shift);
    encoder.word(copy.first_dimension);
    encoder.word(copy.log_offset);
    encoder.number(copy.destination);
  }
  for (const CopyDimension& dimension : plan.dimensions) {
    encoder.number(dimension.count);
    encoder.number(dimension.source_step_bytes);
    encoder.number(dimension.destination_step);
  }
}

Plan decode_plan(std::span<const std::byte> bytes, std::size_t& position) {
  Decoder in(bytes, position);
  if (in.words_left() < head_words) fail(position, "it is cut off");
  Plan plan;
  const std::uint64_t flags = in.word();
  plan.elements = in.number();
  const std::uint64_t copies = in.word();
  const std::uint64_t dimensions = in.word();
  if (flags > (needs_fill_bit | depends_on_clock_bit)) fail(position, "reserved bits are set");
  if (plan.elements < 0 || plan.elements > matcher::max_elements)
    fail(position, "the number of elements is out of range");
  plan.needs_fill = (flags & needs_fill_bit) != 0;
  plan.depends_on_clock = (flags & depends_on_clock_bit) != 0;
  // The check comes before memory is allocated.
  if (copies > in.words_left() / copy_words ||
      dimensions > (in.words_left() - copies * copy_words) / dimension_words) {
    fail(position, "it is cut off");
  }
  plan.copies.reserve(copies);
  for (std::uint64_t i = 0; i < copies; ++i) plan.copies.push_back(decode_copy(in, dimensions));
  plan.dimensions.reserve(dimensions);
  for (std::uint64_t i = 0; i < dimensions; ++i) {
    CopyDimension& dimension = plan.dimensions.emplace_back();
    dimension.count = in.number();
    dimension.source_step_bytes = in.number();
    dimension.destination_step = in.number();
  }
  position = in.position();
  return plan;
}

}  // namespace sluice::replay
