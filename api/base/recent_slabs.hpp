#pragma once
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "sluice/formats/slab_list.hpp"

namespace sluice::api {

/// The arguments of a varn: `length` boxes with `dimensions` dimensions. A null `counts` means ones.
struct VarnList {
  std::size_t length = 0;
  std::size_t dimensions = 0;
  const MPI_Offset* const* starts = nullptr;
  const MPI_Offset* const* counts = nullptr;
};

/// The inputs of a list check, besides the list itself.
struct ListBounds {
  std::array<std::int64_t, 8> shape{};  ///< for a put, a record variable's first length is the format's limit
  std::size_t dimensions = 0;
  bool is_record_variable = false;
  bool is_strict = false;  ///< formats::StartRule
  bool operator==(const ListBounds&) const = default;
};

/// A list that passed the checks against these bounds.
struct CheckedList {
  std::shared_ptr<const formats::SlabList> list;  ///< shared by all requests that use the same list
  ListBounds bounds;
  std::int64_t elements = 0;
  std::int64_t record_end = 0;
};

/// Whether the user's arrays equal the numbers of the list. False if a start is null.
[[nodiscard]] bool names(const VarnList& named, const formats::SlabList& list) noexcept;

/// Finds a list of hyperslabs that a pending request used before. Climate models write hundreds of variables
/// with two or three decompositions, each a list of tens of thousands of hyperslabs. The numbers are copied,
/// because the user's arrays may change before the wait.
class RecentSlabs {
 public:
  /// The list with these hyperslabs: an existing list or a new one.
  [[nodiscard]] std::shared_ptr<const formats::SlabList> list_of(
      std::span<const formats::HyperslabView> slabs);
  /// A list that equals these arguments number by number and was checked against the same bounds; null if
  /// there is none. The pointer is valid until the next call of list_of() or clear().
  [[nodiscard]] const CheckedList* find(const VarnList& named, const ListBounds& bounds) const noexcept;
  /// `checked` has a list from list_of(), with all hyperslabs that the user passed.
  void remember(const CheckedList& checked);
  void clear() noexcept;

 private:
  std::array<CheckedList, 4> lists_;
  std::size_t oldest_ = 0;
};

}  // namespace sluice::api
