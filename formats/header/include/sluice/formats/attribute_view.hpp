#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sluice/formats/header.hpp"

namespace sluice::formats {

/// A view of an attribute in an encoded buffer or in a header; owns nothing.
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

/// Takes attributes of variables out of a header during decoding, so that very many attributes do not become
/// objects.
class AttributeTaker {
 public:
  virtual ~AttributeTaker() = default;
  /// Called when the header is decoded up to its global attributes, and again whenever decoding restarts.
  /// Returns whether this object wants attributes of variables.
  [[nodiscard]] virtual bool begin_variables(const Header& header) = 0;
  /// Returns whether this object takes an attribute of the next variable; the header then omits the
  /// attribute. The view is valid until end_variable.
  [[nodiscard]] virtual bool take(const AttributeView& attribute) = 0;
  /// Called when the variable's name, dimensions and attributes are known; the variable will be the next one
  /// of `header`.
  virtual void end_variable(const Header& header, const Variable& variable) = 0;
};

}  // namespace sluice::formats
