#pragma once
#include "call_mark.hpp"

namespace sluice::api {

/// Converts the exception being handled to a status; all exceptions are converted here. Its text becomes the
/// last error. Must be called in a catch block.
[[nodiscard]] int current_exception_status() noexcept;

/// Marks the start of a call: set_last_error_of() checks whether an error text was set since then.
void begin_call() noexcept;

/// Makes the general text of a status the last error, unless this call has set a more specific text (a failed
/// access of a list, set_last_error()).
void set_last_error_of(int status) noexcept;

/// Runs the implementation of a C function and returns its status, or the status of its exception. No
/// exception leaves this function.
template <class Work>
int guard(const Work& work) noexcept {
  const CallMark mark;
  begin_call();
  try {
    const int status = work();
    if (status != 0) set_last_error_of(status);
    return status;
  } catch (...) {
    return current_exception_status();
  }
}

}  // namespace sluice::api
