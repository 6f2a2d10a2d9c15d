#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sluice/formats/types.hpp"

namespace sluice::api::cdl {

/// A number in CDL. Its suffix, or its form and size, give the type ("1s", "2.5f", "7ULL", "NaN").
struct CdlNumber {
  formats::Type type = formats::Type::nat;
  double real = 0;               ///< value of a float32 or float64
  bool is_negative = false;      ///< for integers
  std::uint64_t magnitude = 0;   ///< for integers
  bool is_out_of_range = false;  ///< out of the range of its own type
};

/// Parses a number; returns nothing if the word is not a number.
[[nodiscard]] std::optional<CdlNumber> parse_cdl_number(std::string_view word);

/// The type that can hold both, as ncgen decides for several numbers without a type in an attribute.
[[nodiscard]] formats::Type common_cdl_type(formats::Type a, formats::Type b) noexcept;

/// Appends the number as one value of `type` in native byte order. Returns false if the number does not fit.
[[nodiscard]] bool append_cdl_value(const CdlNumber& number, formats::Type type,
                                    std::vector<std::byte>& values);

}  // namespace sluice::api::cdl
