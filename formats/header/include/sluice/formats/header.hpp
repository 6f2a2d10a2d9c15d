#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/formats/name_index.hpp"
#include "sluice/formats/types.hpp"

namespace sluice::formats {

/// Format versions of the classic model: the byte after "CDF".
enum class Version : std::uint8_t { cdf1 = 1, cdf2 = 2, cdf5 = 5 };

/// A dimension; length in elements. The record dimension has length 0 in the file; its extent is
/// Header::record_count.
struct Dimension {
  std::string name;
  std::int64_t length = 0;
  bool is_record = false;
};

/// An attribute: `count` elements of `type`, stored in native byte order (count * size_of(type) bytes).
struct Attribute {
  std::string name;
  Type type = Type::nat;
  std::int64_t count = 0;
  std::vector<std::byte> values;
};

/// An ordered list of attributes with look-up by name in constant time.
class Attributes {
 public:
  /// Index of the attribute with that name (compared after NFC normalisation, as stored), or -1.
  [[nodiscard]] int find(std::string_view name) const;
  [[nodiscard]] int size() const noexcept { return static_cast<int>(list_.size()); }
  [[nodiscard]] const Attribute& operator[](int i) const { return list_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] Attribute& operator[](int i) { return list_[static_cast<std::size_t>(i)]; }
  /// Adds an attribute, or replaces the attribute with the same name in its position. Names must be in stored
  /// form: normalised_name(). Returns the index.
  int put(Attribute attribute);
  /// Adds an attribute without a look-up of its name: for decoders.
  void reserve(int attributes) { list_.reserve(static_cast<std::size_t>(attributes)); }
  void append(Attribute attribute);
  void remove(int i);
  void rename(int i, std::string name);
  [[nodiscard]] auto begin() const { return list_.begin(); }
  [[nodiscard]] auto end() const { return list_.end(); }

 private:
  /// Up to this number, attributes are searched one by one.
  static constexpr std::size_t few = 16;
  void index_all();

  std::vector<Attribute> list_;
  NameIndex names_;  ///< used for more than `few` attributes
  bool is_indexed_ = false;
};

/// A variable. The layout (layout.hpp) sets `begin` and `vsize`, in bytes; the rest is the user's definition.
struct Variable {
  std::string name;
  Type type = Type::nat;
  std::vector<int> dimids;
  Attributes attributes;
  std::int64_t begin = 0;  ///< file offset of the first element (of the first record)
  std::int64_t vsize = 0;  ///< bytes of the variable, or of one record of it, padded to 4
  bool no_fill =
      true;  ///< not in the file: fill mode of this variable in this session (PnetCDF's default is NOFILL)
};

/// The metadata of a dataset: dimensions, global attributes, variables. A value type; copies are independent.
class Header {
 public:
  Version version = Version::cdf1;
  std::int64_t record_count = 0;

  [[nodiscard]] const std::vector<Dimension>& dimensions() const noexcept { return dimensions_; }
  [[nodiscard]] const std::vector<Variable>& variables() const noexcept { return variables_; }
  [[nodiscard]] const Dimension& dimension(int id) const { return dimensions_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Variable& variable(int id) const { return variables_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] Variable& variable(int id) { return variables_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] int dimension_count() const noexcept { return static_cast<int>(dimensions_.size()); }
  [[nodiscard]] int variable_count() const noexcept { return static_cast<int>(variables_.size()); }

  /// Global attributes.
  Attributes attributes;

  /// Id of the dimension or variable with that name (compared after NFC normalisation, as stored), or -1.
  [[nodiscard]] int find_dimension(std::string_view name) const;
  [[nodiscard]] int find_variable(std::string_view name) const;
  /// Id of the record dimension, or -1.
  [[nodiscard]] int record_dimension() const noexcept { return record_dimension_; }

  /// Adds a definition and returns its id; ids are consecutive. Does not repeat the checks of the interface
  /// (names in use, limits).
  int add_dimension(Dimension dimension);
  int add_variable(Variable variable);
  void rename_dimension(int id, std::string name);
  void rename_variable(int id, std::string name);

  [[nodiscard]] bool is_record_variable(int id) const;
  /// The lengths of the variable's dimensions; for a record variable the first is record_count.
  [[nodiscard]] std::vector<std::int64_t> shape(int varid) const;
  /// Elements of a fixed variable, or of one record of a record variable; 1 for a scalar.
  [[nodiscard]] std::int64_t elements_per_record(int varid) const;
  /// The fill value of the variable in native byte order: its _FillValue attribute (with the variable's type
  /// and one element), or the default.
  void fill_value(int varid, void* destination) const;

 private:
  std::vector<Dimension> dimensions_;
  std::vector<Variable> variables_;
  NameIndex dimension_names_;
  NameIndex variable_names_;
  int record_dimension_ = -1;
};

}  // namespace sluice::formats
