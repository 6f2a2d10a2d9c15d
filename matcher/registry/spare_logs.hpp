#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sluice/matcher/step.hpp"

namespace sluice::matcher {

/// Makes the logs of steps. Those of a step that has packed all its logs serve the next one of as many
/// processes: they are many, and otherwise their memory would go back to the system and come again.
class SpareLogs {
 public:
  using Logs = std::vector<std::shared_ptr<WriteLog>>;

  /// New logs, one for each process.
  [[nodiscard]] Logs take(std::uint32_t processes);
  /// `logs` were packed, so they are as new, and no other step shares them. They replace those that are kept.
  void keep(Logs&& logs) noexcept { spare_ = std::move(logs); }

 private:
  Logs spare_;
};

}  // namespace sluice::matcher
