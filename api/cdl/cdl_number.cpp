#include "cdl_number.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace sluice::api::cdl {

using namespace formats;

namespace {

bool is_real(Type type) noexcept {
  return type == Type::float32 || type == Type::float64;
}

bool is_unsigned(Type type) noexcept {
  return type == Type::uint8 || type == Type::uint16 || type == Type::uint32 || type == Type::uint64;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  return result;
}

/// The largest magnitude in an integer type.
std::uint64_t largest(Type type, bool is_negative) noexcept {
  if (is_unsigned(type) && is_negative) return 0;
  const auto bits = 8 * size_of(type) - (is_unsigned(type) ? 0 : 1);
  // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): integer types have a size
  const auto limit = bits == 64 ? std::numeric_limits<std::uint64_t>::max() : (std::uint64_t{1} << bits) - 1;
  return is_negative ? limit + 1 : limit;
}

bool fits(const CdlNumber& number, Type type) noexcept {
  return number.magnitude <= largest(type, number.is_negative && number.magnitude > 0);
}

Type smallest_integer_type(const CdlNumber& number) noexcept {
  for (const Type type : {Type::int32, Type::uint32, Type::int64}) {
    if (fits(number, type)) return type;
  }
  return Type::uint64;
}

std::optional<CdlNumber> special_number(std::string_view unsigned_word, bool is_negative) {
  struct Special {
    const char* word;
    Type type;
    double value;
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr std::array specials{
      Special{"nan", Type::float64, nan},           Special{"nanf", Type::float32, nan},
      Special{"inf", Type::float64, infinity},      Special{"inff", Type::float32, infinity},
      Special{"infinity", Type::float64, infinity}, Special{"infinityf", Type::float32, infinity}};
  const auto word = lower(unsigned_word);
  for (const auto& special : specials) {
    if (word != special.word) continue;
    CdlNumber number;
    number.type = special.type;
    number.real = is_negative ? -special.value : special.value;
    return number;
  }
  return std::nullopt;
}

/// The type of a suffix; nothing if the suffix is invalid. An empty suffix gives nat: the value decides.
std::optional<Type> integer_type_of(std::string_view suffix) {
  struct Suffix {
    const char* text;
    Type type;
  };
  static constexpr std::array suffixes{Suffix{"", Type::nat},      Suffix{"b", Type::int8},
                                       Suffix{"s", Type::int16},   Suffix{"l", Type::int32},
                                       Suffix{"ll", Type::int64},  Suffix{"ub", Type::uint8},
                                       Suffix{"u", Type::uint32},  Suffix{"us", Type::uint16},
                                       Suffix{"ul", Type::uint32}, Suffix{"ull", Type::uint64}};
  const auto text = lower(suffix);
  for (const auto& known : suffixes) {
    if (text == known.text) return known.type;
  }
  return std::nullopt;
}

std::optional<CdlNumber> integer_number(std::string_view word, bool is_negative) {
  const bool is_hexadecimal = word.starts_with("0x") || word.starts_with("0X");
  if (is_hexadecimal) word.remove_prefix(2);
  CdlNumber number;
  number.is_negative = is_negative;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number.magnitude, is_hexadecimal ? 16 : 10);
  if (error == std::errc::invalid_argument) return std::nullopt;
  const auto type = integer_type_of({stop, static_cast<std::size_t>(end - stop)});
  if (!type) return std::nullopt;
  number.type = *type == Type::nat ? smallest_integer_type(number) : *type;
  number.is_out_of_range = error == std::errc::result_out_of_range || !fits(number, number.type);
  return number;
}

std::optional<CdlNumber> real_number(std::string_view word, bool is_negative) {
  CdlNumber number;
  number.type = Type::float64;
  const char suffix = word.empty() ? '\0' : static_cast<char>(word.back() | 0x20);
  if (suffix == 'f') number.type = Type::float32;
  if (suffix == 'f' || suffix == 'd') word.remove_suffix(1);
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number.real);
  if (error == std::errc::invalid_argument || stop != end) return std::nullopt;
  number.is_out_of_range = error == std::errc::result_out_of_range;
  if (is_negative) number.real = -number.real;
  return number;
}

template <class T>
void append(T value, std::vector<std::byte>& values) {
  const auto size = values.size();
  values.resize(size + sizeof value);
  std::memcpy(values.data() + size, &value, sizeof value);
}

}  // namespace

std::optional<CdlNumber> parse_cdl_number(std::string_view word) {
  const bool is_negative = word.starts_with('-');
  if (is_negative || word.starts_with('+')) word.remove_prefix(1);
  if (const auto special = special_number(word, is_negative)) return special;
  const bool starts_as_number = !word.empty() && ((word[0] >= '0' && word[0] <= '9') || word[0] == '.');
  if (!starts_as_number) return std::nullopt;
  if (const auto integer = integer_number(word, is_negative)) return integer;
  return real_number(word, is_negative);
}

Type common_cdl_type(Type a, Type b) noexcept {
  if (a == Type::nat || a == b) return b;
  if (is_real(a) != is_real(b)) return is_real(a) ? a : b;
  if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
  return is_unsigned(a) ? b : a;
}

bool append_cdl_value(const CdlNumber& number, Type type, std::vector<std::byte>& values) {
  if (number.is_out_of_range) return false;
  if (is_real(type)) {
    const double magnitude = static_cast<double>(number.magnitude);
    const double value = is_real(number.type) ? number.real : number.is_negative ? -magnitude : magnitude;
    if (type == Type::float64) {
      append(value, values);
      return true;
    }
    if (std::isfinite(value) && std::abs(value) > static_cast<double>(std::numeric_limits<float>::max()))
      return false;
    append(static_cast<float>(value), values);
    return true;
  }
  CdlNumber integer = number;
  if (is_real(number.type)) {
    constexpr double two_to_64 = 18446744073709551616.0;
    if (!(std::abs(number.real) < two_to_64)) return false;
    integer.is_negative = number.real < 0;
    integer.magnitude = static_cast<std::uint64_t>(std::abs(number.real));
  }
  if (!fits(integer, type)) return false;
  // Two's complement: the low bits are the value in every integer type.
  const std::uint64_t bits = integer.is_negative ? 0 - integer.magnitude : integer.magnitude;
  switch (size_of(type)) {
    case 1:
      append(static_cast<std::uint8_t>(bits), values);
      break;
    case 2:
      append(static_cast<std::uint16_t>(bits), values);
      break;
    case 4:
      append(static_cast<std::uint32_t>(bits), values);
      break;
    default:
      append(bits, values);
  }
  return true;
}

}  // namespace sluice::api::cdl
