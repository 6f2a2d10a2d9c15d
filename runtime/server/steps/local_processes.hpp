#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "sluice/matcher/step.hpp"

namespace sluice::runtime {

/// A process in the matcher that it is connected to.
struct LocalProcess {
  matcher::ProcessId id{};  ///< this matcher's number, not the registry's; never reused
  std::string component;
  std::uint64_t token = 0;
  std::uint32_t process_id = 0;  ///< of the operating system
  std::uint32_t connections = 0;
  std::map<matcher::StepId, std::uint32_t> open_steps;  ///< with the number of times

  [[nodiscard]] bool has_open(matcher::StepId step) const { return open_steps.contains(step); }
  void note_open(matcher::StepId step) { ++open_steps[step]; }
  void note_close(matcher::StepId step);
};

/// The processes that are connected to a matcher.
class LocalProcesses {
 public:
  /// Adds a connection. Component, token and process id identify the process.
  LocalProcess& connect(const std::string& component, std::uint64_t token, std::uint32_t process_id);
  /// Removes a connection. The process ends with its last connection.
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
