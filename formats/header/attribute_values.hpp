#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sluice/formats/attribute_view.hpp"
#include "sluice/formats/header.hpp"

namespace sluice::formats {

/// Makes an attribute of integers: int, or int64 if a value needs it.
[[nodiscard]] Attribute integer_attribute(std::string name, std::span<const std::int64_t> values);
[[nodiscard]] inline Attribute integer_attribute(std::string name, std::int64_t value) {
  return integer_attribute(std::move(name), {&value, 1});
}
/// The values of an attribute of type int or int64; empty for another type.
[[nodiscard]] std::vector<std::int64_t> integers_of(const Attribute& attribute);
/// The same without an allocation. Returns whether the number of integers equals the size of the destination.
[[nodiscard]] bool read_integers(const AttributeView& attribute, std::span<std::int64_t> values);

/// Convert integers to and from a file's representation (int32 or int64).
[[nodiscard]] std::vector<std::byte> encode_integers(std::span<const std::int64_t> values, Type type,
                                                     ByteOrder order = ByteOrder::big);
[[nodiscard]] std::vector<std::int64_t> decode_integers(std::span<const std::byte> bytes, Type type,
                                                        ByteOrder order = ByteOrder::big);

}  // namespace sluice::formats
