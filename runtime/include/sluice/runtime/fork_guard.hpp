#pragma once
#include <cstdint>

namespace sluice::runtime {

/// Tells a forked child from the process that made the guard, without a system call at each question.
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

  volatile std::uint64_t* mark_ = nullptr;  ///< in a page that the kernel wipes in a child
  int process_id_ = 0;                      ///< where the kernel cannot do that
};

}  // namespace sluice::runtime
