#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "dataset.hpp"
#include "pnetcdf/entry.hpp"
#include "scattered_buffer.hpp"
#include "selection.hpp"
#include "varn_slabs.hpp"

namespace sluice::api {

/// A call of a data function after all checks. It goes to the driver, or waits in the queue.
struct PreparedAccess {
  Selection selection;
  Access access;                ///< `buffer` is null if `scattered` describes the memory
  std::int64_t record_end = 0;  ///< the record after the last one that a put touches; 0 for a fixed variable
  std::unique_ptr<ScatteredBuffer> scattered;  ///< the user's memory if it is not a dense row

  bool is_long = false;  ///< the elements in memory have type `long`: see fill_longs

  /// For a vard that covers several variables: the access divided by variable, in the order of the elements.
  std::vector<Access> parts;
  std::deque<Selection> part_selections;

  [[nodiscard]] bool is_empty() const noexcept { return access.elements == 0; }
  /// The accesses for the driver, after `access.buffer` is set; empty for an empty access.
  [[nodiscard]] std::span<Access> accesses() noexcept;
  /// The driver's status. For several parts: the first failure, or else NC_ERANGE.
  [[nodiscard]] int status() const noexcept;
};

/// Checks the call against the dataset's modes: NC_EPERM, NC_EINDEFINE, NC_ENOTINDEP, NC_EINDEP. The modes
/// are the same on all ranks, so no rank waits for a rank that returns one of these errors.
[[nodiscard]] int check_mode(const Dataset& dataset, const AccessCall& call) noexcept;

/// Checks all other arguments in PnetCDF's order and fills `prepared`. Returns NC_NOERR or the error code. On
/// error, set_last_error() has the details and `prepared` is invalid. Throws nothing, because a rank of a
/// collective call has to continue.
[[nodiscard]] int prepare(Dataset& dataset, const AccessCall& call, PreparedAccess& prepared) noexcept;

/// Same as prepare(), for a vard whose file type is given as `parts`. Ignores the selection of `call`. The
/// checks have vard's order.
[[nodiscard]] int prepare_parts(Dataset& dataset, const AccessCall& call,
                                std::span<const VariableSlabs> parts, PreparedAccess& prepared) noexcept;

/// Gives a scattered access a dense row of elements as its buffer. If the access `writes`, fills the row from
/// the user's memory. Returns NC_NOERR or NC_ENOMEM.
[[nodiscard]] int prepare_row(PreparedAccess& prepared, bool writes,
                              std::unique_ptr<std::byte[]>& row) noexcept;

/// Called after a get with NC_ERANGE. For values that do not fit a `long`, PnetCDF returns NC_FILL_INT and
/// not NC_FILL_INT64, for any size of long.
void fill_longs(std::int64_t* longs, std::int64_t n) noexcept;

/// Uninitialised memory for `elements` elements of `type`.
[[nodiscard]] std::unique_ptr<std::byte[]> dense_row(formats::Type type, std::int64_t elements);

[[nodiscard]] constexpr bool is_put(Verb verb) noexcept {
  return verb == Verb::put || verb == Verb::iput || verb == Verb::bput;
}
[[nodiscard]] constexpr bool is_blocking(Verb verb) noexcept {
  return verb == Verb::put || verb == Verb::get;
}

}  // namespace sluice::api
