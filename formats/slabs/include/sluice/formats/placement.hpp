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

/// The distance in bytes between each element of a variable and the element with the same indexes at another
/// place. At the other place, the variable consists of parts, one after the other, in each record. Each part
/// moves as a whole.
struct Displacement {
  std::vector<std::int64_t> begins;  ///< where the parts begin at the other place (in the first record)
  std::vector<std::int64_t> bytes;   ///< distance of each part
  std::int64_t record_size = 0;      ///< 0 without records

  /// The distance of the element at an offset of the other place.
  [[nodiscard]] std::int64_t of(std::int64_t offset) const noexcept;
};

/// The positions of a variable's elements: offsets in bytes, in a file or in a file space (file_space.hpp).
class VariablePlace {
 public:
  explicit VariablePlace(std::int64_t element_bytes) : element_bytes_(element_bytes) {}
  virtual ~VariablePlace() = default;

  /// The hyperslab as one run, if that is easy to determine; a run of length 0 if the hyperslab has no
  /// elements. Decompositions consist of very many of these.
  [[nodiscard]] virtual std::optional<FileRun> single_run(const HyperslabView& slab) const = 0;
  /// Appends the runs of any hyperslab in the order of its elements. No run ends inside an element.
  virtual void append(const HyperslabView& slab, std::vector<FileRun>& runs) const = 0;

  /// The distance between the offsets of this place and the offsets of another, in the same order. Returns
  /// nothing if the two are divided differently, or if the distance is unknown.
  [[nodiscard]] virtual std::optional<Displacement> displacement_from(const VariablePlace&) const {
    return std::nullopt;
  }

  [[nodiscard]] std::int64_t element_bytes() const noexcept { return element_bytes_; }

 private:
  std::int64_t element_bytes_;
};

/// The positions of a dataset's elements.
class Placement {
 public:
  virtual ~Placement() = default;
  /// The result refers to this object. Null for a variable without written data.
  [[nodiscard]] virtual std::unique_ptr<VariablePlace> place_of(int varid) const = 0;
  /// The byte order of the elements. Data that is not big-endian is read-only.
  [[nodiscard]] virtual ByteOrder byte_order() const noexcept { return ByteOrder::big; }
};

/// The steps between the elements of a variable, in bytes.
struct ElementSteps {
  std::int64_t begin = 0;  ///< offset of the first element
  std::int64_t element_bytes = 0;
  std::vector<std::int64_t> step_bytes;  ///< step from one index of a dimension to the next
};

/// A variable with a fixed distance in bytes between its indexes, as in an ordinary file.
class PlainPlace final : public VariablePlace {
 public:
  explicit PlainPlace(ElementSteps steps) : VariablePlace(steps.element_bytes), steps_(std::move(steps)) {}
  /// The place by `header` and `layout`.
  PlainPlace(const Header& header, const Layout& layout, int varid);

  [[nodiscard]] std::optional<FileRun> single_run(const HyperslabView& slab) const override;
  void append(const HyperslabView& slab, std::vector<FileRun>& runs) const override;
  [[nodiscard]] std::optional<Displacement> displacement_from(const VariablePlace& other) const override;
  /// Whether each element has the same distance from the first as at another place.
  [[nodiscard]] bool is_shaped_as(const PlainPlace& other) const {
    return other.element_bytes() == element_bytes() && other.steps_.step_bytes == steps_.step_bytes;
  }
  /// The position of the first element of an index of one dimension.
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
