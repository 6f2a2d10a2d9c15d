#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sluice/formats/types.hpp"

namespace sluice::formats {

/// A number as CDL writes it: a suffix or its form and size tell the type ("1s", "2.5f", "7ULL", "NaN").
struct CdlNumber {
  Type type = Type::nat;
  double real = 0;               ///< of float32 and float64
  bool is_negative = false;      ///< of integers
  std::uint64_t magnitude = 0;   ///< of integers
  bool is_out_of_range = false;  ///< of its own type
};

/// The number, or nothing where the word is none.
[[nodiscard]] std::optional<CdlNumber> parse_cdl_number(std::string_view word);

/// The type that holds both as ncgen decides: of several numbers without a type in an attribute.
[[nodiscard]] Type common_cdl_type(Type a, Type b) noexcept;

/// Appends the number as one value of `type` in native byte order; false where it does not fit.
[[nodiscard]] bool append_cdl_value(const CdlNumber& number, Type type, std::vector<std::byte>& values);

}  // namespace sluice::formats
