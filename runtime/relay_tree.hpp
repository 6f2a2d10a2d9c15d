#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "relay_protocol.hpp"
#include "sluice/runtime/peer_link.hpp"

namespace sluice::runtime {

/// The way between the matchers and the registry at matcher 0: a tree of all ranks. What one turn of the
/// event loop brings goes as one packet to each neighbour in the tree, so that the number of packets at a
/// matcher does not grow with the number of processes. Items arrive in the order in which they were sent, up
/// and down; matcher 0's own are handed over at once.
class RelayTree {
 public:
  /// Children of a matcher.
  static constexpr std::uint32_t fan_out = 8;

  struct Handlers {
    std::function<void(RelayItem)> to_registry;  ///< at matcher 0: what comes from any matcher
    std::function<void(RelayItem)> to_matcher;   ///< what the registry says to this one, rounds too
    std::function<void(std::uint64_t round)> on_round_done;  ///< at matcher 0: all matchers have done it
  };

  /// `link` may be null: then there is one matcher only. It outlives this.
  RelayTree(PeerLink* link, Handlers handlers);

  [[nodiscard]] std::uint32_t rank() const noexcept { return link_ == nullptr ? 0 : link_->rank(); }
  [[nodiscard]] std::uint32_t size() const noexcept { return link_ == nullptr ? 1 : link_->size(); }

  /// This matcher's own; its rank is put in.
  void send_up(RelayItem item);
  /// From the registry (at matcher 0) to `item.matcher`.
  void send_down(RelayItem item);
  /// At matcher 0: lets all do a round, which gets the number next_round().
  void start_round(Round round, const std::string& text = {}, std::uint64_t wanted_bytes = 0);
  [[nodiscard]] std::uint64_t next_round() const noexcept { return next_round_; }
  /// Whether this matcher, or one below it, has yet to do a round that was started.
  [[nodiscard]] bool has_open_rounds() const noexcept { return !rounds_.empty(); }

  /// Sends what has gathered; at the end of each turn of the event loop.
  void flush();

 private:
  void take_packet(std::uint32_t from, std::span<const std::byte> packet);
  void take_item(std::uint32_t destination, std::span<const std::byte> encoded, bool goes_up);
  void do_round(RelayItem item, std::span<const std::byte> encoded);
  void note_round_done(std::uint64_t round);
  [[nodiscard]] std::uint32_t next_hop(std::uint32_t destination) const noexcept;
  [[nodiscard]] std::vector<std::uint32_t> children() const;
  void append(std::uint32_t neighbour, std::uint32_t destination, std::span<const std::byte> encoded);

  PeerLink* link_;
  Handlers handlers_;
  std::map<std::uint32_t, std::vector<std::byte>> batches_;  ///< by neighbour
  std::map<std::uint64_t, std::uint32_t> rounds_;            ///< how many have yet to be done with it
  std::uint64_t next_round_ = 1;
};

}  // namespace sluice::runtime
