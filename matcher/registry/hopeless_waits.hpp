#pragma once
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "memberships.hpp"
#include "wait_analysis.hpp"
#include "wait_texts.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// Fails waits that are proved never to end, and reports waits that only look hopeless.
class HopelessWaits {
 public:
  explicit HopelessWaits(RegistryParts& parts) : parts_(parts) {}

  /// Answers some waits that can never end. Returns true when there were any: others may then continue.
  bool fail_any();
  /// Reports a wait that has looked hopeless since the last call, without a proof. Returns true when
  /// something looks hopeless and needs a new look.
  bool look_again();
  /// Asks for looks at processes that do not wait themselves, where waits would be hopeless without them.
  void ask_about_others();

 private:
  [[nodiscard]] bool is_nobody_waiting() const;
  [[nodiscard]] std::set<std::uint32_t> nodes_waited_for() const;
  bool fail_inbound(const WaitAnalysis& analysis);
  bool fail_memory(std::uint32_t node);
  bool fail_youngest(const std::function<bool(const MemoryWait&)>& concerns);
  bool fail_creates(std::uint32_t node);
  bool exceed_queue(const WaitAnalysis& analysis);
  bool fail_cycle(const WaitAnalysis& analysis);
  bool give_own_step(const std::vector<StuckWait>& cycle);
  [[nodiscard]] std::string suspicion() const;

  RegistryParts& parts_;
  std::string suspicion_;  ///< the text of the last look_again()
  std::set<std::string> reported_suspicions_;
};

}  // namespace sluice::matcher
