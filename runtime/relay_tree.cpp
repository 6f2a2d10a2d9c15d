#include "relay_tree.hpp"

#include <cstring>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

namespace {

/// In front of each item of a packet.
struct ItemHead {
  std::uint32_t destination = 0;  ///< on the way up: matcher 0
  std::uint32_t length = 0;
};
constexpr std::uint32_t root = 0;

constexpr std::uint32_t parent_of(std::uint32_t rank) noexcept {
  return (rank - 1) / RelayTree::fan_out;
}

}  // namespace

RelayTree::RelayTree(PeerLink* link, Handlers handlers) : link_(link), handlers_(std::move(handlers)) {
  if (link_ == nullptr) return;
  link_->on_packet(PacketKind::relay, [this](std::uint32_t from, std::span<const std::byte> packet) {
    take_packet(from, packet);
  });
}

void RelayTree::send_up(RelayItem item) {
  item.matcher = rank();
  if (rank() == root) return handlers_.to_registry(std::move(item));
  append(parent_of(rank()), root, encode(item));
}

void RelayTree::send_down(RelayItem item) {
  if (item.matcher == rank()) return handlers_.to_matcher(std::move(item));
  append(next_hop(item.matcher), item.matcher, encode(item));
}

void RelayTree::start_round(Round round, const std::string& text, std::uint64_t wanted_bytes) {
  RelayItem item;
  item.kind = RelayItemKind::round;
  item.matcher = all_matchers;
  item.number = next_round_++;
  item.bytes = static_cast<std::uint64_t>(round);
  item.text = text;
  item.wanted_bytes = wanted_bytes;
  const auto encoded = encode(item);
  do_round(std::move(item), encoded);
}

void RelayTree::flush() {
  for (auto& [neighbour, batch] : batches_) {
    if (!batch.empty()) link_->send(neighbour, PacketKind::relay, std::exchange(batch, {}));
  }
}

void RelayTree::append(std::uint32_t neighbour, std::uint32_t destination,
                       std::span<const std::byte> encoded) {
  const ItemHead head{destination, static_cast<std::uint32_t>(encoded.size())};
  std::vector<std::byte>& batch = batches_[neighbour];
  const auto* const first = reinterpret_cast<const std::byte*>(&head);
  batch.insert(batch.end(), first, first + sizeof head);
  batch.insert(batch.end(), encoded.begin(), encoded.end());
}

void RelayTree::take_packet(std::uint32_t from, std::span<const std::byte> packet) {
  const bool goes_up = rank() == root || from != parent_of(rank());
  while (!packet.empty()) {
    ItemHead head;
    if (packet.size() < sizeof head) throw Error(NC_EIO, "a relay's packet ends within an item");
    std::memcpy(&head, packet.data(), sizeof head);
    packet = packet.subspan(sizeof head);
    if (head.length > packet.size()) throw Error(NC_EIO, "a relay's packet is shorter than its items");
    take_item(head.destination, packet.first(head.length), goes_up);
    packet = packet.subspan(head.length);
  }
}

/// What is only passing is passed on as it is.
void RelayTree::take_item(std::uint32_t destination, std::span<const std::byte> encoded, bool goes_up) {
  // A round's end is gathered here before it goes on. The kind is the first byte.
  const bool ends_round = goes_up && static_cast<RelayItemKind>(encoded.empty() ? std::byte{} : encoded[0]) ==
                                         RelayItemKind::round_done;
  if (ends_round) return note_round_done(decode<RelayItem>(encoded).number);
  if (goes_up && rank() != root) return append(parent_of(rank()), root, encoded);
  if (goes_up) return handlers_.to_registry(decode<RelayItem>(encoded));
  if (destination == all_matchers) return do_round(decode<RelayItem>(encoded), encoded);
  if (destination == rank()) return handlers_.to_matcher(decode<RelayItem>(encoded));
  append(next_hop(destination), destination, encoded);
}

/// The others first: they work at the same time.
void RelayTree::do_round(RelayItem item, std::span<const std::byte> encoded) {
  const auto below = children();
  rounds_[item.number] = static_cast<std::uint32_t>(below.size()) + 1;
  for (const std::uint32_t child : below) append(child, all_matchers, encoded);
  const std::uint64_t number = item.number;
  handlers_.to_matcher(std::move(item));
  note_round_done(number);
}

void RelayTree::note_round_done(std::uint64_t round) {
  const auto found = rounds_.find(round);
  if (found == rounds_.end()) throw Error(NC_EIO, "a relay ends a round that was not started");
  if (--found->second > 0) return;
  rounds_.erase(found);
  if (rank() == root) return handlers_.on_round_done(round);
  RelayItem item;
  item.kind = RelayItemKind::round_done;
  item.number = round;
  send_up(std::move(item));
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
