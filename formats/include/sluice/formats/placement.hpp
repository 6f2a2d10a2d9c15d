#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/formats/hyperslab.hpp"
#include "sluice/formats/layout.hpp"

namespace sluice::formats {

/// How many bytes each element of a variable is behind the element of the same indexes of another. The other
/// variable is in parts, one behind the other, in each record; what is in one part is moved as one.
struct Displacement {
  std::vector<std::int64_t> begins;  ///< where the parts of the other variable begin (in the first record)
  std::vector<std::int64_t> bytes;   ///< by part
  std::int64_t record_size = 0;      ///< 0 where it has no records

  /// Of the element that the other variable has at an offset.
  [[nodiscard]] std::int64_t of(std::int64_t offset) const noexcept;
};

/// Where the elements of one variable are: offsets in bytes, in a file or in a file space (file_space.hpp).
class VariablePlace {
 public:
  explicit VariablePlace(std::int64_t element_bytes) : element_bytes_(element_bytes) {}
  virtual ~VariablePlace() = default;

  /// The hyperslab as one run where that is easy to tell, or one of length 0 when it has no elements.
  /// Decompositions come as very many of these.
  [[nodiscard]] virtual std::optional<FileRun> single_run(const HyperslabView& slab) const = 0;
  /// Appends the runs of any hyperslab in the order of its elements. No run ends inside an element.
  virtual void append(const HyperslabView& slab, std::vector<FileRun>& runs) const = 0;

  /// How to get the offsets of this place from those of another, in the same order; nothing where the two are
  /// divided in different ways, or where that is not known.
  [[nodiscard]] virtual std::optional<Displacement> displacement_from(const VariablePlace&) const {
    return std::nullopt;
  }

  [[nodiscard]] std::int64_t element_bytes() const noexcept { return element_bytes_; }

 private:
  std::int64_t element_bytes_;
};

/// Where the elements of a dataset are.
class Placement {
 public:
  virtual ~Placement() = default;
  /// The result refers to this; null for a variable of which nothing has been written.
  [[nodiscard]] virtual std::unique_ptr<VariablePlace> place_of(int varid) const = 0;
  /// Of the elements. What is not big-endian can be read only.
  [[nodiscard]] virtual ByteOrder byte_order() const noexcept { return ByteOrder::big; }
};

/// How the elements of a variable follow one another, in bytes.
struct ElementSteps {
  std::int64_t begin = 0;  ///< of the first one
  std::int64_t element_bytes = 0;
  std::vector<std::int64_t> step_bytes;  ///< from one index of a dimension to the next
};

/// A variable whose indexes are each a fixed number of bytes apart, as in a file of its own.
class PlainPlace final : public VariablePlace {
 public:
  explicit PlainPlace(ElementSteps steps) : VariablePlace(steps.element_bytes), steps_(std::move(steps)) {}
  /// As `header` and `layout` say.
  PlainPlace(const Header& header, const Layout& layout, int varid);

  [[nodiscard]] std::optional<FileRun> single_run(const HyperslabView& slab) const override;
  void append(const HyperslabView& slab, std::vector<FileRun>& runs) const override;
  [[nodiscard]] std::optional<Displacement> displacement_from(const VariablePlace& other) const override;
  /// Whether each element is as many bytes behind the first as at another place.
  [[nodiscard]] bool is_shaped_as(const PlainPlace& other) const {
    return other.element_bytes() == element_bytes() && other.steps_.step_bytes == steps_.step_bytes;
  }
  /// Where the first element of an index of one dimension is.
  [[nodiscard]] std::int64_t begin_of(std::size_t dimension, std::int64_t index) const {
    return steps_.begin + index * steps_.step_bytes[dimension];
  }

 private:
  ElementSteps steps_;
};

/// All data in one canonical file; keeps references.
class FilePlacement final : public Placement {
 public:
  FilePlacement(const Header& header, const Layout& layout) : header_(header), layout_(layout) {}
  [[nodiscard]] std::unique_ptr<VariablePlace> place_of(int varid) const override {
    return std::make_unique<PlainPlace>(header_, layout_, varid);
  }

 private:
  const Header& header_;
  const Layout& layout_;
};

}  // namespace sluice::formats
