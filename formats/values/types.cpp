#include "sluice/formats/types.hpp"

#include <cstring>

#include "default_fill.hpp"

namespace sluice::formats {

const char* type_name(Type type) noexcept {
  static constexpr std::array<const char*, type_count> names{
      "nat", "byte", "char", "short", "int", "float", "double", "ubyte", "ushort", "uint", "int64", "uint64"};
  const auto i = static_cast<std::size_t>(type);
  return i < names.size() ? names[i] : "unknown";
}

namespace {
template <Type type>
void write_default_fill(void* destination) noexcept {
  const auto value = default_fill_of<type>;
  std::memcpy(destination, &value, sizeof value);
}
}  // namespace

void default_fill(Type type, void* destination) noexcept {
  switch (type) {
    case Type::int8:
      return write_default_fill<Type::int8>(destination);
    case Type::text:
      return write_default_fill<Type::text>(destination);
    case Type::int16:
      return write_default_fill<Type::int16>(destination);
    case Type::int32:
      return write_default_fill<Type::int32>(destination);
    case Type::float32:
      return write_default_fill<Type::float32>(destination);
    case Type::float64:
      return write_default_fill<Type::float64>(destination);
    case Type::uint8:
      return write_default_fill<Type::uint8>(destination);
    case Type::uint16:
      return write_default_fill<Type::uint16>(destination);
    case Type::uint32:
      return write_default_fill<Type::uint32>(destination);
    case Type::int64:
      return write_default_fill<Type::int64>(destination);
    case Type::uint64:
      return write_default_fill<Type::uint64>(destination);
    case Type::nat:
      return;
  }
}

}  // namespace sluice::formats
