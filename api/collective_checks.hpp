#pragma once
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "agreement.hpp"
#include "dataset.hpp"

namespace sluice::api {

/// An argument of a collective metadata call: what it is as bytes, and the status for a rank where it is not
/// what rank 0 has.
struct Argument {
  Status status;
  std::string bytes;
};

template <class T>
requires std::is_trivially_copyable_v<T>
[[nodiscard]] Argument argument(Status status, const T& value) {
  return {status, std::string(reinterpret_cast<const char*>(&value), sizeof value)};
}
[[nodiscard]] inline Argument argument(Status status, std::string value) {
  return {status, std::move(value)};
}
/// A string of the user's, which may be null.
[[nodiscard]] inline Argument argument(Status status, const char* value) {
  return {status, value != nullptr ? std::string(value) : std::string()};
}

/// A rank's own mistake.
struct Mistake {
  int status = NC_NOERR;
  std::string what;
};

/// Collective: throws on all ranks the worst status of those whose arguments are not rank 0's, and of those
/// that have made another mistake; a rank that has made one throws that.
void compare_arguments(const Communicator& comm, const std::vector<Argument>& arguments, Mistake mine = {});

/// Runs the checks of a collective metadata call. In safe mode (PNETCDF_SAFE_MODE=1) all ranks fail when one
/// does, or when they disagree in an argument; else, as in PnetCDF, each rank is on its own and rank 0's
/// metadata goes to the file. `arguments` is only called in safe mode.
template <class Checks, class Arguments>
void check_collectively(const Dataset& dataset, const Checks& checks, const Arguments& arguments) {
  if (!dataset.is_safe_mode) {
    checks();
    return;
  }
  together(dataset.comm, checks);
  if (dataset.comm.size() > 1) compare_arguments(dataset.comm, arguments());
}

/// The same where PnetCDF compares the arguments although a rank has found a mistake.
template <class Checks, class Arguments>
void check_and_compare(const Dataset& dataset, const Checks& checks, const Arguments& arguments) {
  Mistake mine;
  try {
    checks();
  } catch (const Error& error) {
    if (!dataset.is_safe_mode) throw;
    mine = {error.status(), error.what()};
  }
  if (dataset.is_safe_mode) compare_arguments(dataset.comm, arguments(), std::move(mine));
}

/// Collective in safe mode: the worst mistake of all ranks in the arguments of a collective data access. Each
/// rank goes on by itself outside of safe mode, and, as in PnetCDF, with what is found only on the way to the
/// buffer (NC_EIOMISMATCH, NC_ENOMEM, NC_ERANGE): then NC_NOERR.
[[nodiscard]] int status_of_all(const Dataset& dataset, int status);

}  // namespace sluice::api
