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
#include "slab_list.hpp"

namespace sluice::api {

/// A call of a data function after all checks: what goes to the driver, or is kept for the wait.
struct PreparedAccess {
  Selection selection;
  Access access;                ///< `buffer` is null where `scattered` says where the elements are
  std::int64_t record_end = 0;  ///< the record after the last one that a put touches; 0 for a fixed variable
  std::unique_ptr<ScatteredBuffer> scattered;  ///< the user's memory when it is not a dense row

  bool is_long = false;  ///< the elements in memory are of type `long`: fill_longs

  /// Of a vard that reaches into several variables: the access cut by them, in the order of the elements.
  std::vector<Access> parts;
  std::deque<Selection> part_selections;

  [[nodiscard]] bool is_empty() const noexcept { return access.elements == 0; }
  /// What goes to the driver, once `access.buffer` is set: none when it is empty.
  [[nodiscard]] std::span<Access> accesses() noexcept;
  /// What the driver said; of several parts the first failure, or else NC_ERANGE.
  [[nodiscard]] int status() const noexcept;
};

/// Checks the call against the dataset's modes: NC_EPERM, NC_EINDEFINE, NC_ENOTINDEP, NC_EINDEP. The modes
/// are the same on all ranks, so that no rank waits for one that returns such an error.
[[nodiscard]] int check_mode(const Dataset& dataset, const AccessCall& call) noexcept;

/// Checks all other arguments in PnetCDF's order and fills `prepared`. Returns NC_NOERR, or the code, having
/// said more by set_last_error(); then `prepared` is of no use. Throws nothing: a rank of a collective call
/// has to go on.
[[nodiscard]] int prepare(Dataset& dataset, const AccessCall& call, PreparedAccess& prepared) noexcept;

/// The same for a vard, whose file type is `parts` already; of `call` the selection is not looked at. The
/// order of the checks is vard's.
[[nodiscard]] int prepare_parts(Dataset& dataset, const AccessCall& call,
                                std::span<const VariableSlabs> parts, PreparedAccess& prepared) noexcept;

/// Gives a scattered access a dense row of elements as its buffer, filled from the user's memory when it
/// `writes`. NC_NOERR or NC_ENOMEM.
[[nodiscard]] int prepare_row(PreparedAccess& prepared, bool writes,
                              std::unique_ptr<std::byte[]>& row) noexcept;

/// After a get with NC_ERANGE: PnetCDF gives what does not fit a `long` NC_FILL_INT, whatever the size of a
/// long, and not NC_FILL_INT64.
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
