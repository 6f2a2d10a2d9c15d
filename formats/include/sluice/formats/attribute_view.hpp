#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sluice/formats/header.hpp"

namespace sluice::formats {

/// An attribute where it is, encoded or in a header; owns nothing.
struct AttributeView {
  std::string_view name;
  Type type = Type::nat;
  std::int64_t count = 0;
  std::span<const std::byte> values;
  ByteOrder order = native_byte_order;
};
[[nodiscard]] inline AttributeView view_of(const Attribute& attribute) {
  return {attribute.name, attribute.type, attribute.count, attribute.values, native_byte_order};
}

/// Takes attributes of variables out of a header while it is decoded, so that very many of them need not be
/// made into objects.
class AttributeTaker {
 public:
  virtual ~AttributeTaker() = default;
  /// The header is there up to its global attributes; called anew where decoding starts anew. Whether this
  /// wants any of the variables' attributes.
  [[nodiscard]] virtual bool begin_variables(const Header& header) = 0;
  /// Whether it takes an attribute of the next variable, which is then not in the header. The view is valid
  /// until end_variable.
  [[nodiscard]] virtual bool take(const AttributeView& attribute) = 0;
  /// The variable's name, dimensions and attributes are known; it will be the next one of `header`.
  virtual void end_variable(const Header& header, const Variable& variable) = 0;
};

}  // namespace sluice::formats
