#pragma once
#include <list>
#include <string>

#include "sluice/matcher/process_table.hpp"
#include "sluice/matcher/registry_requests.hpp"

namespace sluice::matcher {

/// Gets that wait for puts of steps in progress.
class GetWaits {
 public:
  GetWaits(RegistryAnswers& answers, ProcessTable& processes) : answers_(answers), processes_(processes) {}

  void begin(GetWait wait);
  /// The get continues, or was refused.
  void end(const Ticket& ticket);
  /// The process has ended.
  void drop_of(const Process& process);
  void refuse(const GetWait& wait, int status, const std::string& text);

  [[nodiscard]] const std::list<GetWait>& all() const noexcept { return waits_; }

 private:
  RegistryAnswers& answers_;
  ProcessTable& processes_;
  std::list<GetWait> waits_;
};

}  // namespace sluice::matcher
