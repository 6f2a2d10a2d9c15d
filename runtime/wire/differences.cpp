#include "differences.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice::runtime {

namespace {

constexpr std::size_t most_bytes_of_number = 10;

/// Returns the end of what it wrote.
std::byte* write_number(std::byte* to, std::uint64_t number) noexcept {
  const bool is_negative = static_cast<std::int64_t>(number) < 0;
  std::uint64_t left = (number << 1U) ^ (is_negative ? ~std::uint64_t{0} : 0);
  for (; left >= 0x80; left >>= 7U) *to++ = static_cast<std::byte>(left | 0x80U);
  *to++ = static_cast<std::byte>(left);
  return to;
}

/// Reads from the front of `bytes`, which it moves on. Nothing: they are damaged.
std::optional<std::uint64_t> read_number(std::span<const std::byte>& bytes) noexcept {
  std::uint64_t folded = 0;
  for (std::size_t i = 0; i < std::min(bytes.size(), most_bytes_of_number); ++i) {
    const auto byte = std::to_integer<std::uint64_t>(bytes[i]);
    folded |= (byte & 0x7fU) << (7 * i);
    if (byte >= 0x80) continue;
    bytes = bytes.subspan(i + 1);
    return (folded >> 1U) ^ (0 - (folded & 1U));
  }
  return std::nullopt;
}

/// Several numbers at a time, as the processor adds them.
using Numbers [[gnu::vector_size(32)]] = std::uint64_t;
constexpr std::size_t at_a_time = sizeof(Numbers) / sizeof(std::uint64_t);

/// Adds to each number its step.
void add_steps(std::span<std::uint64_t> numbers, const std::uint64_t* steps) noexcept {
  std::size_t i = 0;
  for (; i + at_a_time <= numbers.size(); i += at_a_time) {
    Numbers sum, added;
    std::memcpy(&sum, &numbers[i], sizeof sum);
    std::memcpy(&added, &steps[i], sizeof added);
    sum += added;
    std::memcpy(&numbers[i], &sum, sizeof sum);
  }
  for (; i < numbers.size(); ++i) numbers[i] += steps[i];
}

/// Whether each number has the same distance to the last one as that had to the one before it.
bool have_steps(std::span<const std::uint64_t> numbers, const std::uint64_t* last,
                const std::uint64_t* steps) noexcept {
  Numbers changes{};
  std::size_t i = 0;
  for (; i + at_a_time <= numbers.size(); i += at_a_time) {
    Numbers now, before, step;
    std::memcpy(&now, &numbers[i], sizeof now);
    std::memcpy(&before, &last[i], sizeof before);
    std::memcpy(&step, &steps[i], sizeof step);
    changes |= (now - before) ^ step;
  }
  std::uint64_t change = 0;
  for (std::size_t lane = 0; lane < at_a_time; ++lane) change |= changes[lane];
  for (; i < numbers.size(); ++i) change |= (numbers[i] - last[i]) ^ steps[i];
  return change == 0;
}

}  // namespace

std::byte* Differences::begin(Kind kind, std::size_t most_bytes) {
  if (bytes_.size() < 1 + most_bytes) bytes_.resize(1 + most_bytes);
  bytes_[0] = static_cast<std::byte>(kind);
  return bytes_.data() + 1;
}

std::span<const std::byte> Differences::encode(std::span<const std::uint64_t> numbers) {
  if (!has_differences(numbers.size())) return encode_whole(numbers);
  if (!have_steps(numbers, last_.data(), steps_.data())) return encode_changes(numbers);
  std::ranges::copy(numbers, last_.begin());
  return up_to(begin(Kind::repeated, 0));
}

std::span<const std::byte> Differences::encode_changes(std::span<const std::uint64_t> numbers) {
  const std::size_t mask_bytes = (numbers.size() + 7) / 8;
  std::byte* const mask = begin(Kind::changed, mask_bytes + numbers.size() * most_bytes_of_number);
  std::byte* to = std::fill_n(mask, mask_bytes, std::byte{});
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint64_t step = numbers[i] - last_[i];
    last_[i] = numbers[i];
    if (step == steps_[i]) continue;
    steps_[i] = step;
    mask[i / 8] |= std::byte{1} << (i % 8);
    to = write_number(to, step);
  }
  return up_to(to);
}

std::span<const std::byte> Differences::encode_whole(std::span<const std::uint64_t> numbers) {
  std::byte* to = begin(Kind::whole, (1 + numbers.size()) * most_bytes_of_number);
  to = write_number(to, numbers.size());
  for (const std::uint64_t number : numbers) to = write_number(to, number);
  last_.assign(numbers.begin(), numbers.end());
  steps_.assign(numbers.size(), 0);
  return up_to(to);
}

/// Moves `bytes` on.
bool Differences::decode_changes(std::span<const std::byte>& bytes) {
  const std::size_t mask_bytes = (last_.size() + 7) / 8;
  if (mask_bytes > bytes.size()) return false;
  const auto mask = bytes.first(mask_bytes);
  bytes = bytes.subspan(mask_bytes);
  for (std::size_t i = 0; i < mask_bytes; ++i) {
    for (auto left = std::to_integer<unsigned>(mask[i]); left != 0; left &= left - 1) {
      const std::size_t place = 8 * i + static_cast<std::size_t>(std::countr_zero(left));
      const auto step = read_number(bytes);
      if (!step || place >= steps_.size()) return false;
      steps_[place] = *step;
    }
  }
  return true;
}

std::optional<std::size_t> Differences::decode(std::span<const std::byte> bytes) {
  const std::size_t before = bytes.size();
  if (bytes.empty()) return std::nullopt;
  const auto kind = static_cast<Kind>(bytes[0]);
  bytes = bytes.subspan(1);
  if (kind == Kind::whole) {
    const auto count = read_number(bytes);
    if (!count || *count > bytes.size()) return std::nullopt;  // each takes a byte at least
    last_.resize(*count);
    steps_.assign(*count, 0);
    for (std::uint64_t& number : last_) {
      const auto read = read_number(bytes);
      if (!read) return std::nullopt;
      number = *read;
    }
    return before - bytes.size();
  }
  if (kind > Kind::whole || !has_differences(last_.size())) return std::nullopt;
  if (kind == Kind::changed && !decode_changes(bytes)) return std::nullopt;
  add_steps(last_, steps_.data());
  return before - bytes.size();
}

}  // namespace sluice::runtime
