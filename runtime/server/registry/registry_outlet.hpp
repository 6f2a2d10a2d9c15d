#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "control_protocol.hpp"

namespace sluice::runtime {

/// Sends the registry's messages and events.
class RegistryOutlet {
 public:
  virtual ~RegistryOutlet() = default;
  /// Sends to `message.matcher`. A message to this matcher is carried out at once. It may then throw Error
  /// when a segment cannot be made.
  virtual void send(MessageToMatcher message) = 0;
  virtual void event(const std::string& text) = 0;   ///< adds a line to the event log
  virtual void detail(const std::string& text) = 0;  ///< adds a line of little interest
  virtual void send(FilePublished file) = 0;         ///< to the coordinator

  void send_to(std::uint32_t matcher, MatcherBody body) { send({matcher, std::move(body)}); }
};

}  // namespace sluice::runtime
