#include "attribute_values.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "sluice/formats/convert.hpp"

namespace sluice::formats {
namespace {

/// The integers in native byte order.
template <class T>
std::vector<std::byte> narrowed(std::span<const std::int64_t> values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  return bytes;
}

template <class T>
std::vector<std::int64_t> widened(std::span<const std::byte> bytes) {
  std::vector<std::int64_t> values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value{};
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    values[i] = value;
  }
  return values;
}

}  // namespace

Attribute integer_attribute(std::string name, std::span<const std::int64_t> values) {
  const bool is_small = std::all_of(values.begin(), values.end(), [](std::int64_t value) {
    return value <= std::numeric_limits<std::int32_t>::max();
  });
  Attribute attribute{
      std::move(name), is_small ? Type::int32 : Type::int64, static_cast<std::int64_t>(values.size()), {}};
  attribute.values = is_small ? narrowed<std::int32_t>(values) : narrowed<std::int64_t>(values);
  return attribute;
}

std::vector<std::int64_t> integers_of(const Attribute& attribute) {
  if (attribute.type == Type::int32) return widened<std::int32_t>(attribute.values);
  if (attribute.type == Type::int64) return widened<std::int64_t>(attribute.values);
  return {};
}

bool read_integers(const AttributeView& attribute, std::span<std::int64_t> values) {
  const bool is_integer = attribute.type == Type::int32 || attribute.type == Type::int64;
  if (!is_integer || attribute.count != std::ssize(values)) return false;
  const bool is_native = attribute.order == native_byte_order;
  const auto* at = attribute.values.data();
  for (auto& value : values) {
    if (attribute.type == Type::int32) {
      std::uint32_t stored = 0;
      std::memcpy(&stored, at, sizeof stored);
      value = static_cast<std::int32_t>(is_native ? stored : __builtin_bswap32(stored));
      at += sizeof stored;
    } else {
      std::uint64_t stored = 0;
      std::memcpy(&stored, at, sizeof stored);
      value = static_cast<std::int64_t>(is_native ? stored : __builtin_bswap64(stored));
      at += sizeof stored;
    }
  }
  return true;
}

std::vector<std::byte> encode_integers(std::span<const std::int64_t> values, Type type, ByteOrder order) {
  auto bytes = type == Type::int32 ? narrowed<std::int32_t>(values) : narrowed<std::int64_t>(values);
  copy_ordered(bytes.data(), bytes.data(), size_of(type), static_cast<std::int64_t>(values.size()), order);
  return bytes;
}

std::vector<std::int64_t> decode_integers(std::span<const std::byte> bytes, Type type, ByteOrder order) {
  std::vector<std::byte> native(bytes.begin(), bytes.end());
  copy_ordered(native.data(), native.data(), size_of(type),
               static_cast<std::int64_t>(native.size() / size_of(type)), order);
  return type == Type::int32 ? widened<std::int32_t>(native) : widened<std::int64_t>(native);
}

}  // namespace sluice::formats
