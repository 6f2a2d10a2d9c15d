#pragma once

namespace sluice::api {

/// The one place where an exception becomes a status: that of the exception being handled. Its text becomes
/// the last error. Call it in a catch block.
[[nodiscard]] int current_exception_status() noexcept;

/// Runs what stands behind a C function: its status, or that of what it throws. Nothing gets out.
template <class Work>
int guard(const Work& work) noexcept {
  try {
    return work();
  } catch (...) {
    return current_exception_status();
  }
}

}  // namespace sluice::api
