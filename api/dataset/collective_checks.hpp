#pragma once
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "agreement.hpp"
#include "dataset.hpp"

namespace sluice::api {

/// An argument of a collective metadata call as bytes, and the status of a rank whose argument differs from
/// rank 0's.
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
/// A string from the user; it may be null.
[[nodiscard]] inline Argument argument(Status status, const char* value) {
  return {status, value != nullptr ? std::string(value) : std::string()};
}

/// An error that this rank found itself.
struct Mistake {
  int status = NC_NOERR;
  std::string what;
};

/// Collective: compares the arguments with rank 0's. All ranks throw the worst status of differing arguments
/// and other errors; a rank with an error of its own throws that error.
void compare_arguments(const Communicator& comm, const std::vector<Argument>& arguments, Mistake mine = {});

/// Runs the checks of a collective metadata call. In safe mode (PNETCDF_SAFE_MODE=1) all ranks fail if one
/// rank fails, or if an argument differs between ranks. Otherwise, as in PnetCDF, each rank checks only its
/// own arguments, and rank 0's metadata goes to the file. `arguments` is only called in safe mode.
template <class Checks, class Arguments>
void check_collectively(const Dataset& dataset, const Checks& checks, const Arguments& arguments) {
  if (!dataset.is_safe_mode) {
    checks();
    return;
  }
  run_collectively(dataset.comm, checks);
  if (dataset.comm.size() > 1) compare_arguments(dataset.comm, arguments());
}

/// Same as above, for calls where PnetCDF compares the arguments even after a rank has found an error.
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

/// Collective in safe mode: returns the worst argument error of all ranks in a collective data access. As in
/// PnetCDF, each rank handles errors found after these checks itself (NC_EIOMISMATCH, NC_ENOMEM, NC_ERANGE):
/// they count as NC_NOERR here. Outside safe mode each rank continues alone, and the result is NC_NOERR.
[[nodiscard]] int status_of_all(const Dataset& dataset, int status);

}  // namespace sluice::api
