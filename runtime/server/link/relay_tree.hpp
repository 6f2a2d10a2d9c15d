#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "control_protocol.hpp"
#include "sluice/runtime/peer_link.hpp"

namespace sluice::runtime {

/// The path between the matchers and the registry at matcher 0: a tree of all ranks. The messages of one turn
/// of the event loop go as one packet to each neighbour in the tree. The number of packets at a matcher
/// therefore does not grow with the number of processes. Messages arrive in the order in which they were
/// sent, up and down. Matcher 0's own messages are passed at once, as values. A message that many matchers
/// are sent in one turn is in each packet once, and the relays pass it on to those for whom it is.
class RelayTree {
 public:
  /// The number of children of a matcher.
  static constexpr std::uint32_t fan_out = 8;

  struct Handlers {
    std::function<void(MessageToRegistry)> to_registry;  ///< at matcher 0: messages from any matcher
    /// messages of the registry to this matcher, including rounds
    std::function<void(MessageToMatcher)> to_matcher;
    /// at matcher 0: all matchers have done the round
    std::function<void(std::uint64_t round)> on_round_done;
  };

  /// `link` may be null for a single matcher. It must outlive this object.
  RelayTree(PeerLink* link, Handlers handlers);

  [[nodiscard]] std::uint32_t rank() const noexcept { return link_ == nullptr ? 0 : link_->rank(); }
  [[nodiscard]] std::uint32_t size() const noexcept { return link_ == nullptr ? 1 : link_->size(); }

  /// The neighbour towards matcher 0 of another matcher.
  [[nodiscard]] static constexpr std::uint32_t parent_of(std::uint32_t rank) noexcept {
    return (rank - 1) / fan_out;
  }

  /// Sends from this matcher to the registry. Requests of one kind that come one after the other go as one.
  void send_up(RegistryBody body);
  /// Sends from the registry (at matcher 0) to `message.matcher`.
  void send_down(MessageToMatcher&& message);
  /// The same. Orders to one matcher that follow one another go as one message.
  void send_down(std::uint32_t to, const GrantOrder& order);
  /// Sends from the registry to receivers at one other matcher, of which there is one at least. Messages with
  /// the same bytes (the same object) in one turn travel as one, where that does not change the order of a
  /// matcher's messages.
  void send_down(std::span<const Receiver> to, const SharedMessage& message);
  /// At matcher 0: starts a round of all matchers, with the number next_round().
  void start_round(RoundTask task);
  [[nodiscard]] std::uint64_t next_round() const noexcept { return next_round_; }
  /// This matcher's part of a round goes on when its message has been taken, until end_part().
  void hold_part(std::uint64_t round) { ++rounds_.at(round); }
  void end_part(std::uint64_t round) { note_round_done(round); }
  /// Whether this matcher, or one below it, has yet to finish a started round.
  [[nodiscard]] bool has_open_rounds() const noexcept { return !rounds_.empty(); }

  /// Sends the gathered messages. Called at the end of each turn of the event loop.
  void flush();

 private:
  /// Appends the last of this matcher's own messages to the packet for the registry.
  void send_last();
  /// A message for several receivers behind one neighbour. It follows the first `position` bytes of the
  /// batch.
  struct SharedItem {
    SharedMessage message;
    std::size_t position = 0;
    std::uint64_t order = 0;  ///< among the messages of this turn
    std::vector<Receiver> receivers;
  };
  /// Orders to one matcher.
  struct Grants {
    std::uint32_t to = 0;
    GrantSeries series;
  };
  /// The messages of a turn to one neighbour.
  struct Batch {
    std::vector<std::byte> bytes;  ///< of the messages that are not shared
    std::optional<Grants> grants;  ///< come behind them, and further ones may join them
    std::vector<SharedItem> shared;
  };

  [[nodiscard]] Batch& batch_for(std::uint32_t matcher);
  static void append_grants(Batch& batch);
  void take_packet(std::uint32_t from, std::span<const std::byte> packet);
  void take_encoded(std::uint32_t destination, std::span<const std::byte> encoded, bool goes_up);
  void take_shared(std::span<const std::byte> listed);
  void do_round(MessageToMatcher message, std::span<const std::byte> encoded);
  void note_round_done(std::uint64_t round);
  [[nodiscard]] std::uint32_t next_hop(std::uint32_t destination) const noexcept;
  [[nodiscard]] std::vector<std::uint32_t> children() const;
  void append(std::uint32_t neighbour, std::uint32_t destination, std::span<const std::byte> encoded);
  void note_sent(std::uint32_t destination);
  [[nodiscard]] bool may_join(const SharedItem& item, std::uint32_t matcher) const;
  [[nodiscard]] static PacketParts packet_of(Batch batch);

  PeerLink* link_;
  Handlers handlers_;
  std::optional<RegistryBody> last_;        ///< what the next message of this matcher may join
  std::map<std::uint32_t, Batch> batches_;  ///< by neighbour
  /// Many messages to a matcher follow one another.
  struct LastBatch {
    std::uint32_t matcher = 0;
    Batch* batch = nullptr;  ///< in batches_; null: there was none
  };
  LastBatch last_batch_;
  std::uint64_t order_ = 0;         ///< of the last message
  std::uint64_t order_to_all_ = 0;  ///< of the last message to all matchers
  /// By rank: the order of the last message to it, since a message was shared first.
  std::vector<std::uint64_t> last_orders_;
  std::map<std::uint64_t, std::uint32_t> rounds_;  ///< for each round, the number of unfinished participants
  std::uint64_t next_round_ = 1;
};

}  // namespace sluice::runtime
