#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice::runtime {

/// The numbers of the elements of a list, each as differences to those of the element before it. Elements
/// that are alike take a byte or a few: the processes of a node have numbers, segments and parts of arrays
/// that follow one another.
///
/// An element begins with a byte, its kind:
///
///   repeated   it has the differences that the element before it had
///   changed    a bit for each number whose difference is another one, then those differences
///   whole      how many numbers there are, then the numbers
///
/// The lowest bit of the first byte is for the first number. Numbers and differences are taken as signed. The
/// sign is in bit 0, and each byte has seven bits, the lowest first; the eighth one says that more follow.
class Differences {
 public:
  /// Elements with more numbers are always whole, so that a byte never stands for more than these.
  static constexpr std::size_t most_numbers = 256;

  /// The bytes of the next element, valid until the next call.
  [[nodiscard]] std::span<const std::byte> encode(std::span<const std::uint64_t> numbers);

  /// Reads the next element from the first of `bytes`. Returns how many it takes, or nothing when they are
  /// damaged.
  [[nodiscard]] std::optional<std::size_t> decode(std::span<const std::byte> bytes);
  /// The numbers of the element that was read last.
  [[nodiscard]] std::span<const std::uint64_t> numbers() const noexcept { return last_; }

 private:
  enum class Kind : std::uint8_t { repeated, changed, whole };
  /// Whether an element may be told by its differences to the last one.
  [[nodiscard]] bool has_differences(std::size_t numbers) const noexcept {
    return numbers == last_.size() && numbers <= most_numbers;
  }
  [[nodiscard]] std::span<const std::byte> encode_changes(std::span<const std::uint64_t> numbers);
  [[nodiscard]] std::span<const std::byte> encode_whole(std::span<const std::uint64_t> numbers);
  /// Room for an element of that kind, which it begins with.
  [[nodiscard]] std::byte* begin(Kind kind, std::size_t most_bytes);
  /// The bytes of the element, up to `end`.
  [[nodiscard]] std::span<const std::byte> up_to(const std::byte* end) const noexcept {
    return {bytes_.data(), end};
  }
  [[nodiscard]] bool decode_changes(std::span<const std::byte>& bytes);

  std::vector<std::uint64_t> last_;   ///< the numbers of the last element
  std::vector<std::uint64_t> steps_;  ///< their differences to those before
  std::vector<std::byte> bytes_;      ///< room for an element, which only grows
};

}  // namespace sluice::runtime
