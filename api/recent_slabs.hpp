#pragma once
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "sluice/formats/slab_list.hpp"

namespace sluice::api {

/// The arguments of a varn: `length` boxes of `dimensions` dimensions. `counts` may be null: ones.
struct VarnList {
  std::size_t length = 0;
  std::size_t dimensions = 0;
  const MPI_Offset* const* starts = nullptr;
  const MPI_Offset* const* counts = nullptr;
};

/// What the checks of a list depend on, beside the list.
struct ListBounds {
  std::array<std::int64_t, 8> shape{};  ///< of a put, a record variable's first length is the format's limit
  std::size_t dimensions = 0;
  bool is_record_variable = false;
  bool is_strict = false;  ///< formats::StartRule
  bool operator==(const ListBounds&) const = default;
};

/// A list that was checked against some bounds and found right.
struct CheckedList {
  std::shared_ptr<const formats::SlabList> list;  ///< shared by all requests that name the same
  ListBounds bounds;
  std::int64_t elements = 0;
  std::int64_t record_end = 0;
};

/// Finds lists of hyperslabs again that pending requests named lately: climate models write hundreds of
/// variables by two or three decompositions, each a list of tens of thousands of hyperslabs. The user's
/// arrays may change before the wait, so they are kept.
class RecentSlabs {
 public:
  /// The list of these hyperslabs: one that is there, or a new one.
  [[nodiscard]] std::shared_ptr<const formats::SlabList> list_of(
      std::span<const formats::HyperslabView> slabs);
  /// A list that these arguments name, number by number, and that was checked against the same bounds; null
  /// when there is none. Holds until the next call of list_of() or clear().
  [[nodiscard]] const CheckedList* find(const VarnList& named, const ListBounds& bounds) const noexcept;
  /// The list is one that list_of() gave, and all of what the user named.
  void remember(const CheckedList& checked);
  void clear() noexcept;

 private:
  std::array<CheckedList, 4> lists_;
  std::size_t oldest_ = 0;
};

}  // namespace sluice::api
