#pragma once
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "client_connections.hpp"
#include "matcher_base.hpp"
#include "matcher_pings.hpp"
#include "registry_service.hpp"
#include "watched_socket.hpp"

namespace sluice::runtime {

/// At matcher 0: the connection to the coordinator, the registry, and the rounds of all matchers that the
/// coordinator's messages start.
class CoordinatorLine final : private RegistryOutlet {
 public:
  /// `offers`: null where there are several matchers.
  CoordinatorLine(MatcherBase& base, ClientConnections& clients, OfferPages* offers, PacketSocket socket);

  void read_on() { socket_.read_on(); }
  /// Whether the coordinator has said hello.
  [[nodiscard]] bool has_registry() const noexcept { return service_.has_value(); }
  /// Passes a message to the registry.
  void take(MessageToRegistry message);
  /// All matchers have finished the round.
  void finish_round(std::uint64_t round);
  void send(const EventNotice& notice);

 private:
  void on_readable();
  void handle(const ReceivedMessage& message);
  void start_registry(const ReceivedMessage& message);
  void tell_ready(std::uint32_t tag);
  void tell_view(const WatchRequest& request, std::uint32_t tag);
  void tell_status(std::uint32_t tag);
  void start_round(RoundTask task, std::function<void()> when_done);
  void shut_down(std::function<void()> when_done);
  /// Runs `work`, which may call the registry: at once, or after what runs now.
  template <class Work>
  void in_turn(Work work);

  void look_soon();

  // RegistryOutlet
  void send(MessageToMatcher&& message) override { base_.tree.send_down(std::move(message)); }
  void send(std::uint32_t matcher, const GrantOrder& order) override { base_.tree.send_down(matcher, order); }
  void send(std::span<const Receiver> to, const SharedMessage& message) override {
    base_.tree.send_down(to, message);
  }
  void send(FilePublished file) override;
  void event(const std::string& text) override { base_.log.event(text); }
  void detail(const std::string& text) override { base_.log.detail(text); }
  void take_sent(const TakeSent& what, std::function<void()> then) override;
  OfferPages* offer_pages() override { return offers_; }
  void do_beside(std::function<void()> work, std::function<void()> then) override {
    base_.disk.submit(std::move(work), std::move(then));
  }

  MatcherBase& base_;
  ClientConnections& clients_;
  OfferPages* offers_;
  WatchedSocket socket_;
  MatcherPings pings_;
  std::optional<RegistryService> service_;                 ///< empty until coordinator_hello
  std::map<std::uint64_t, std::function<void()>> rounds_;  ///< what to do after each round
  bool is_shutting_down_ = false;
  bool is_in_turn_ = false;
  std::deque<std::function<void()>> waiting_;
  boost::asio::steady_timer look_timer_;
  std::chrono::milliseconds next_look_{};
};

}  // namespace sluice::runtime
