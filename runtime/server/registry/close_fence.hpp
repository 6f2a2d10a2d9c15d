#pragma once
#include <functional>
#include <map>
#include <vector>

#include "control_protocol.hpp"
#include "registry_outlet.hpp"

namespace sluice::runtime {

/// Lets work at the registry wait until the matchers have told of all closes that were made before. Those
/// that ask for the same while a round is under way share the next one.
class CloseFence {
 public:
  using Work = std::function<void()>;
  /// The outlet must outlive this object.
  explicit CloseFence(RegistryOutlet& outlet) : outlet_(outlet) {}

  /// Calls `then` later. It must not throw: others may wait behind it.
  void pass(const TakeSent& what, Work then);
  [[nodiscard]] bool is_idle() const noexcept { return rounds_.empty(); }

 private:
  void begin(const TakeSent& what, std::vector<Work> work);

  RegistryOutlet& outlet_;
  std::map<TakeSent, std::vector<Work>> rounds_;  ///< under way, with the work for the next round
};

}  // namespace sluice::runtime
