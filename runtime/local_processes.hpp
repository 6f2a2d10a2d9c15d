#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "sluice/matcher/step.hpp"

namespace sluice::runtime {

/// A process as the matcher knows it that it is connected to.
struct LocalProcess {
  matcher::ProcessId id{};  ///< of this matcher, not the registry's; never used again
  std::string component;
  std::uint32_t process_id = 0;  ///< of the operating system
  std::uint32_t connections = 0;
  std::map<matcher::StepId, std::uint32_t> open_steps;  ///< how often

  [[nodiscard]] bool has_open(matcher::StepId step) const { return open_steps.contains(step); }
  void note_open(matcher::StepId step) { ++open_steps[step]; }
  void note_close(matcher::StepId step);
};

/// The processes that are connected to a matcher.
class LocalProcesses {
 public:
  /// A new connection. The process is known by its component, its token and its process id.
  LocalProcess& connect(const std::string& component, std::uint64_t token, std::uint32_t process_id);
  /// The end of a connection; the last one's ends the process.
  void disconnect(LocalProcess& process);

 private:
  struct Identity {
    std::string component;
    std::uint64_t token = 0;
    std::uint32_t process_id = 0;
    auto operator<=>(const Identity&) const = default;
  };
  std::map<Identity, LocalProcess> processes_;
  std::uint64_t next_id_ = 1;
};

}  // namespace sluice::runtime
