#include "variable_sizes.hpp"

#include <limits>
#include <string>

#include "sluice/formats/error.hpp"

namespace sluice::formats {

namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max() - 3;

/// The largest size of a variable that other variables may follow.
std::int64_t max_bytes(Version version) noexcept {
  switch (version) {
    case Version::cdf1:
      return 0x7fff'fffc;
    case Version::cdf2:
      return 0xffff'fffc;
    case Version::cdf5:
      break;
  }
  return no_limit;
}

[[noreturn]] void throw_beyond_63_bits() {
  throw Error(NC_EVARSIZE, "a size or file offset is beyond 2^63 - 1 bytes: make the variables smaller");
}

}  // namespace

std::int64_t data_bytes(const Header& header, int varid) {
  return data_bytes(header, header.variable(varid));
}

std::int64_t data_bytes(const Header& header, const Variable& variable) {
  auto bytes = static_cast<std::int64_t>(size_of(variable.type));
  for (const int id : variable.dimids) {
    if (header.dimension(id).is_record) continue;
    if (__builtin_mul_overflow(bytes, header.dimension(id).length, &bytes) || bytes > no_limit)
      throw Error(NC_EVARSIZE, "variable " + variable.name + " has more than 2^63 - 4 bytes");
  }
  return bytes;
}

std::int64_t checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw_beyond_63_bits();
  return sum;
}

std::int64_t rounded_up(std::int64_t bytes, std::int64_t alignment) {
  const auto beyond = bytes % alignment;
  return beyond == 0 ? bytes : checked_sum(bytes, alignment - beyond);
}

std::int64_t max_begin(Version version) noexcept {
  return version == Version::cdf1 ? 0x7fff'ffff : std::numeric_limits<std::int64_t>::max();
}

std::vector<VariableExtent> extents_of(const Header& header) {
  std::vector<VariableExtent> extents;
  extents.reserve(header.variables().size());
  for (int id = 0; id < header.variable_count(); ++id) {
    const auto& variable = header.variable(id);
    extents.push_back(
        {variable.name, data_bytes(header, variable), variable.begin, header.is_record_variable(id)});
  }
  return extents;
}

void check_variable_sizes(Version version, std::span<const VariableExtent> variables) {
  const VariableExtent* last_large_fixed = nullptr;
  const VariableExtent* last_fixed = nullptr;
  const VariableExtent* last_large_record = nullptr;
  const VariableExtent* last_record = nullptr;
  int large_fixed = 0;
  int large_record = 0;
  for (const auto& variable : variables) {
    (variable.is_record ? last_record : last_fixed) = &variable;
    if (variable.data_bytes <= max_bytes(version)) continue;
    (variable.is_record ? last_large_record : last_large_fixed) = &variable;
    ++(variable.is_record ? large_record : large_fixed);
  }
  const bool fixed_is_well =
      large_fixed == 0 || (large_fixed == 1 && last_large_fixed == last_fixed && last_record == nullptr);
  const bool record_is_well = large_record == 0 || (large_record == 1 && last_large_record == last_record);
  if (fixed_is_well && record_is_well) return;
  const auto* const culprit = fixed_is_well ? last_large_record : last_large_fixed;
  throw Error(NC_EVARSIZE, "variable " + std::string(culprit->name) + " is too large for format CDF-" +
                               std::to_string(static_cast<int>(version)) +
                               " unless it is the only such one and the last: define it last, or use CDF-5");
}

std::int64_t record_bytes(std::span<const VariableExtent> variables) {
  std::int64_t sum = 0;
  std::int64_t unpadded = 0;
  int records = 0;
  for (const auto& variable : variables) {
    if (!variable.is_record) continue;
    ++records;
    unpadded = variable.data_bytes;
    sum = checked_sum(sum, rounded_up(unpadded, 4));
  }
  return records == 1 ? unpadded : sum;
}

}  // namespace sluice::formats
