#pragma once
#include <cstdint>

namespace sluice::runtime {

/// Distinguishes a forked child from the process that made the guard. A check needs no system call.
class ForkGuard {
 public:
  /// Throws IoError(NC_ENOMEM).
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  [[nodiscard]] bool is_child() const noexcept {
    return *mark_ == 0 || (process_id_ != 0 && is_other_process());
  }

 private:
  [[nodiscard]] bool is_other_process() const noexcept;

  volatile std::uint64_t* mark_ = nullptr;  ///< in a page that the kernel clears in a child
  int process_id_ = 0;                      ///< used where the kernel cannot clear it
};

}  // namespace sluice::runtime
