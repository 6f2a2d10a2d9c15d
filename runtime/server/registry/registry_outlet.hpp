#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "control_protocol.hpp"

namespace sluice::runtime {

class OfferPages;

/// Sends the registry's messages and events.
class RegistryOutlet {
 public:
  virtual ~RegistryOutlet() = default;
  /// Sends to `message.matcher`. A message to this matcher is carried out at once. It may then throw Error
  /// when a segment cannot be made.
  virtual void send(MessageToMatcher&& message) = 0;
  /// Sends to receivers at one other matcher, of which there is one at least. Messages that share their bytes
  /// and are sent in one turn travel as one.
  virtual void send(std::span<const Receiver> to, const SharedMessage& message) = 0;
  /// Sends as the first one does. Orders to one matcher that follow one another travel as one.
  virtual void send(std::uint32_t matcher, const GrantOrder& order) = 0;
  virtual void event(const std::string& text) = 0;   ///< adds a line to the event log
  virtual void detail(const std::string& text) = 0;  ///< adds a line of little interest
  virtual void send(FilePublished file) = 0;         ///< to the coordinator
  /// Does work on a disk beside the loop, which calls `then` afterwards. Neither may throw.
  virtual void do_beside(std::function<void()> work, std::function<void()> then) = 0;
  /// The round TakeSent of all matchers. Calls `then` later, as a message of its own.
  virtual void take_sent(const TakeSent& what, std::function<void()> then) = 0;
  /// Pages through which steps are offered; null where there are several matchers.
  [[nodiscard]] virtual OfferPages* offer_pages() = 0;

  void send_to(std::uint32_t matcher, MatcherBody body) { send({matcher, std::move(body)}); }
};

}  // namespace sluice::runtime
