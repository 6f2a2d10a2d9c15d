#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "cached_steps.hpp"
#include "exchange_protocol.hpp"
#include "sluice/matcher/matcher_place.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

/// Receives a view, or the reason why there is none.
using ViewReceiver = std::function<void(const Outcome& outcome, const StepViewPointer& view)>;

/// The services of the matcher that matching and fetching use. One thread.
class ExchangeHost {
 public:
  virtual ~ExchangeHost() = default;
  [[nodiscard]] virtual std::uint32_t rank_of(matcher::MatcherPlace place) const = 0;
  /// Sends a packet to a matcher, which may be this one. Must not call back.
  virtual void send(std::uint32_t to, std::vector<std::byte> packet) = 0;
  /// Provides a view, at once or later. For an unpublished step, the newest view.
  virtual void view(std::uint64_t step, ViewReceiver receiver) = 0;
};

template <class Message>
void send_message(ExchangeHost& host, std::uint32_t to, ExchangePacket kind, const Message& message) {
  std::vector<std::byte> packet{static_cast<std::byte>(kind)};
  const std::vector<std::byte> fields = encode(message);
  packet.insert(packet.end(), fields.begin(), fields.end());
  host.send(to, std::move(packet));
}

}  // namespace sluice::runtime
