#pragma once

namespace sluice::api {

/// The one place where an exception becomes a status: that of the exception being handled. Its text becomes
/// the last error. Call it in a catch block.
[[nodiscard]] int current_exception_status() noexcept;

/// Forgets whether something was said: set_last_error_of() looks at what was said since.
void begin_call() noexcept;

/// Makes the general text of a status the last error, unless something more particular was said during this
/// call (a failed access of a list, set_last_error()).
void set_last_error_of(int status) noexcept;

/// Runs what stands behind a C function: its status, or that of what it throws. Nothing gets out.
template <class Work>
int guard(const Work& work) noexcept {
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
