#include "relay_tree.hpp"

#include <cstring>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

namespace {

/// Precedes each message of a packet.
struct MessageHead {
  std::uint32_t destination = 0;  ///< on the way up: matcher 0
  std::uint32_t length = 0;
};
constexpr std::uint32_t root = 0;

}  // namespace

RelayTree::RelayTree(PeerLink* link, Handlers handlers) : link_(link), handlers_(std::move(handlers)) {
  if (link_ == nullptr) return;
  link_->on_packet(PacketKind::relay, [this](std::uint32_t from, std::span<const std::byte> packet) {
    take_packet(from, packet);
  });
}

void RelayTree::send_up(RegistryBody body) {
  MessageToRegistry message{rank(), std::move(body)};
  if (rank() == root) return handlers_.to_registry(std::move(message));
  append(parent_of(rank()), root, encode(message));
}

void RelayTree::send_down(MessageToMatcher message) {
  if (message.matcher == rank()) return handlers_.to_matcher(std::move(message));
  append(next_hop(message.matcher), message.matcher, encode(message));
}

void RelayTree::start_round(RoundTask task) {
  MessageToMatcher message{all_matchers, BeginRound{next_round_++, std::move(task)}};
  const auto encoded = link_ == nullptr ? std::vector<std::byte>{} : encode(message);
  do_round(std::move(message), encoded);
}

void RelayTree::flush() {
  for (auto& [neighbour, batch] : batches_) {
    if (!batch.empty()) link_->send(neighbour, PacketKind::relay, std::exchange(batch, {}));
  }
}

void RelayTree::append(std::uint32_t neighbour, std::uint32_t destination,
                       std::span<const std::byte> encoded) {
  const MessageHead head{destination, static_cast<std::uint32_t>(encoded.size())};
  std::vector<std::byte>& batch = batches_[neighbour];
  const auto* const first = reinterpret_cast<const std::byte*>(&head);
  batch.insert(batch.end(), first, first + sizeof head);
  batch.insert(batch.end(), encoded.begin(), encoded.end());
}

void RelayTree::take_packet(std::uint32_t from, std::span<const std::byte> packet) {
  const bool goes_up = rank() == root || from != parent_of(rank());
  while (!packet.empty()) {
    MessageHead head;
    if (packet.size() < sizeof head) throw Error(NC_EIO, "a relay's packet ends in the middle of a message");
    std::memcpy(&head, packet.data(), sizeof head);
    packet = packet.subspan(sizeof head);
    if (head.length > packet.size()) throw Error(NC_EIO, "a relay's packet is shorter than its messages");
    take_encoded(head.destination, packet.first(head.length), goes_up);
    packet = packet.subspan(head.length);
  }
}

/// A message for another matcher is forwarded unchanged.
void RelayTree::take_encoded(std::uint32_t destination, std::span<const std::byte> encoded, bool goes_up) {
  if (goes_up && is_round_done(encoded))  // gathered here before it is forwarded
    return note_round_done(std::get<RoundDone>(decode<MessageToRegistry>(encoded).body).round);
  if (goes_up && rank() != root) return append(parent_of(rank()), root, encoded);
  if (goes_up) return handlers_.to_registry(decode<MessageToRegistry>(encoded));
  if (destination == all_matchers) return do_round(decode<MessageToMatcher>(encoded), encoded);
  if (destination == rank()) return handlers_.to_matcher(decode<MessageToMatcher>(encoded));
  append(next_hop(destination), destination, encoded);
}

/// Forwards to the others first, so that they work at the same time.
void RelayTree::do_round(MessageToMatcher message, std::span<const std::byte> encoded) {
  const auto* const begin = std::get_if<BeginRound>(&message.body);
  if (begin == nullptr) throw Error(NC_EIO, "a relay sent a message for one matcher to all");
  const std::uint64_t round = begin->round;
  const auto below = children();
  rounds_[round] = static_cast<std::uint32_t>(below.size()) + 1;
  for (const std::uint32_t child : below) append(child, all_matchers, encoded);
  handlers_.to_matcher(std::move(message));
  note_round_done(round);
}

void RelayTree::note_round_done(std::uint64_t round) {
  const auto found = rounds_.find(round);
  if (found == rounds_.end()) throw Error(NC_EIO, "a relay ended a round that has not started");
  if (--found->second > 0) return;
  rounds_.erase(found);
  if (rank() == root) return handlers_.on_round_done(round);
  send_up(RoundDone{round});
}

std::uint32_t RelayTree::next_hop(std::uint32_t destination) const noexcept {
  while (parent_of(destination) != rank()) destination = parent_of(destination);
  return destination;
}

std::vector<std::uint32_t> RelayTree::children() const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t i = 1; i <= fan_out; ++i) {
    const std::uint64_t child = std::uint64_t{rank()} * fan_out + i;
    if (child < size()) ranks.push_back(static_cast<std::uint32_t>(child));
  }
  return ranks;
}

}  // namespace sluice::runtime
