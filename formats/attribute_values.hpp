#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sluice/formats/attribute_view.hpp"
#include "sluice/formats/header.hpp"

namespace sluice::formats {

/// An attribute of integers: int, or int64 where one of them needs it.
[[nodiscard]] Attribute integer_attribute(std::string name, std::span<const std::int64_t> values);
[[nodiscard]] inline Attribute integer_attribute(std::string name, std::int64_t value) {
  return integer_attribute(std::move(name), {&value, 1});
}
/// The values of an attribute of type int or int64; nothing where it is of another type.
[[nodiscard]] std::vector<std::int64_t> integers_of(const Attribute& attribute);
/// The same without taking memory: whether there are just as many integers as there is room for.
[[nodiscard]] bool read_integers(const AttributeView& attribute, std::span<std::int64_t> values);

/// Integers as a file has them (int32 or int64), and back.
[[nodiscard]] std::vector<std::byte> encode_integers(std::span<const std::int64_t> values, Type type,
                                                     ByteOrder order = ByteOrder::big);
[[nodiscard]] std::vector<std::int64_t> decode_integers(std::span<const std::byte> bytes, Type type,
                                                        ByteOrder order = ByteOrder::big);

}  // namespace sluice::formats
