#include "relay_tree.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "request_series.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

namespace {

static_assert(sizeof(Receiver) == 16, "receivers are copied as they are");

/// Precedes each message of a packet.
struct MessageHead {
  std::uint32_t destination = 0;  ///< on the way up: matcher 0
  std::uint32_t length = 0;
};
constexpr std::uint32_t root = registry_rank;

void add(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// All matchers are one program on machines of one kind.
template <class Value>
std::span<const std::byte> bytes_of(const Value& value) {
  return std::as_bytes(std::span(&value, 1));
}

void add_message(std::vector<std::byte>& to, std::uint32_t destination, std::span<const std::byte> encoded) {
  add(to, bytes_of(MessageHead{destination, static_cast<std::uint32_t>(encoded.size())}));
  add(to, encoded);
}

}  // namespace

RelayTree::RelayTree(PeerLink* link, Handlers handlers) : link_(link), handlers_(std::move(handlers)) {
  if (link_ == nullptr) return;
  link_->on_packet(PacketKind::relay, [this](std::uint32_t from, std::span<const std::byte> packet) {
    take_packet(from, packet);
  });
}

void RelayTree::send_up(RegistryBody body) {
  if (rank() == root) return handlers_.to_registry({rank(), std::move(body)});
  if (last_ && join(*last_, body)) return;
  send_last();
  last_ = std::move(body);
}

void RelayTree::send_last() {
  if (!last_) return;
  sort_by_connection(*last_);
  append(parent_of(rank()), root, encode(MessageToRegistry{rank(), *std::exchange(last_, std::nullopt)}));
}

void RelayTree::send_down(MessageToMatcher&& message) {
  if (message.matcher == rank()) return handlers_.to_matcher(std::move(message));
  append(next_hop(message.matcher), message.matcher, encode(message));
}

void RelayTree::send_down(std::uint32_t to, const GrantOrder& order) {
  if (to == rank()) return handlers_.to_matcher({to, body_of(order)});
  note_sent(to);
  Batch& batch = batch_for(to);
  if (!batch.grants || batch.grants->to != to) {
    append_grants(batch);
    constexpr std::size_t likely = 64;  // the processes of a node
    batch.grants.emplace(Grants{to, {}}).series.grants.reserve(likely);
  }
  std::visit([&](const auto& one) { batch.grants->series.add(one); }, order);
}

RelayTree::Batch& RelayTree::batch_for(std::uint32_t matcher) {
  if (last_batch_.batch == nullptr || last_batch_.matcher != matcher)
    last_batch_ = {matcher, &batches_[next_hop(matcher)]};
  return *last_batch_.batch;
}

void RelayTree::append_grants(Batch& batch) {
  if (!batch.grants) return;
  auto [to, series] = *std::exchange(batch.grants, std::nullopt);
  add_message(batch.bytes, to, encode(MessageToMatcher{to, std::move(series)}));
}

void RelayTree::send_down(std::span<const Receiver> to, const SharedMessage& message) {
  const std::uint32_t matcher = to.front().matcher;
  Batch& batch = batch_for(matcher);
  if (last_orders_.empty()) last_orders_.resize(size());
  for (SharedItem& item : batch.shared) {
    if (item.message != message || !may_join(item, matcher)) continue;
    item.receivers.insert(item.receivers.end(), to.begin(), to.end());
    last_orders_[matcher] = item.order;
    return;
  }
  note_sent(matcher);
  append_grants(batch);
  batch.shared.push_back({message, batch.bytes.size(), order_, {to.begin(), to.end()}});
}

/// Whether nothing that comes behind the message is for the matcher.
bool RelayTree::may_join(const SharedItem& item, std::uint32_t matcher) const {
  return last_orders_[matcher] <= item.order && order_to_all_ < item.order;
}

void RelayTree::note_sent(std::uint32_t destination) {
  ++order_;
  if (destination == all_matchers) order_to_all_ = order_;
  if (destination < last_orders_.size()) last_orders_[destination] = order_;
}

void RelayTree::start_round(RoundTask task) {
  MessageToMatcher message{all_matchers, BeginRound{next_round_++, std::move(task)}};
  const auto encoded = link_ == nullptr ? std::vector<std::byte>{} : encode(message);
  do_round(std::move(message), encoded);
}

void RelayTree::flush() {
  send_last();
  for (auto& [neighbour, batch] : batches_) {
    append_grants(batch);
    if (!batch.bytes.empty() || !batch.shared.empty())
      link_->send_parts(neighbour, PacketKind::relay, packet_of(std::exchange(batch, {})));
  }
}

/// Puts the shared messages at their places.
PacketParts RelayTree::packet_of(Batch batch) {
  constexpr std::size_t most_copied = 4096;
  PacketParts parts;
  if (batch.shared.empty()) {
    parts.add(std::move(batch.bytes));
    return parts;
  }
  std::vector<std::byte> packet;
  std::size_t done = 0;
  const auto copy_to = [&](std::size_t end) {
    add(packet, std::span(batch.bytes).subspan(done, end - done));
    done = end;
  };
  for (const SharedItem& item : batch.shared) {
    copy_to(item.position);
    const auto count = static_cast<std::uint32_t>(item.receivers.size());
    const auto receivers = std::as_bytes(std::span(item.receivers));
    const std::size_t length = sizeof count + receivers.size() + item.message->size();
    add(packet, bytes_of(MessageHead{several_matchers, static_cast<std::uint32_t>(length)}));
    add(packet, bytes_of(count));
    add(packet, receivers);
    if (item.message->size() <= most_copied) {
      add(packet, *item.message);
    } else {
      parts.add(std::exchange(packet, {}));
      parts.add(item.message);
    }
  }
  copy_to(batch.bytes.size());
  parts.add(std::move(packet));
  return parts;
}

void RelayTree::append(std::uint32_t neighbour, std::uint32_t destination,
                       std::span<const std::byte> encoded) {
  note_sent(destination);
  Batch& batch = batches_[neighbour];
  append_grants(batch);
  add_message(batch.bytes, destination, encoded);
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
  if (destination == several_matchers) return take_shared(encoded);
  if (destination == all_matchers) return do_round(decode<MessageToMatcher>(encoded), encoded);
  if (destination == rank()) {
    return for_each_message(decode<MessageToMatcher>(encoded).body, [this](MatcherBody body) {
      handlers_.to_matcher({rank(), std::move(body)});
    });
  }
  append(next_hop(destination), destination, encoded);
}

/// `listed`: the number of receivers, the receivers, and the message for them. The others come first, so that
/// they work at the same time.
void RelayTree::take_shared(std::span<const std::byte> listed) {
  std::uint32_t count = 0;
  if (listed.size() < sizeof count) throw Error(NC_EIO, "a relay's packet lacks the receivers of a message");
  std::memcpy(&count, listed.data(), sizeof count);
  listed = listed.subspan(sizeof count);
  if (count > listed.size() / sizeof(Receiver))
    throw Error(NC_EIO, "a relay's packet has fewer receivers of a message than it says");
  std::vector<Receiver> receivers(count);
  std::memcpy(receivers.data(), listed.data(), count * sizeof(Receiver));
  const auto encoded = listed.subspan(count * sizeof(Receiver));
  const auto begin_of_own =
      std::stable_partition(receivers.begin(), receivers.end(),
                            [this](const Receiver& receiver) { return receiver.matcher != rank(); });
  const std::span<const Receiver> others(receivers.begin(), begin_of_own);
  const std::span<const Receiver> own(begin_of_own, receivers.end());
  if (!others.empty()) {
    const auto message = std::make_shared<const std::vector<std::byte>>(encoded.begin(), encoded.end());
    for (const Receiver& receiver : others) send_down(std::span(&receiver, 1), message);
  }
  if (own.empty()) return;
  auto message = decode<MessageToMatcher>(encoded);
  for (const Receiver& receiver : own) {
    // A view of many writers is large, and there is one receiver of it.
    MatcherBody body = &receiver == &own.back() ? std::move(message.body) : message.body;
    if (auto* const answer = std::get_if<Answer>(&body))
      answer->connection = receiver.connection, answer->tag = receiver.tag;
    handlers_.to_matcher({rank(), std::move(body)});
  }
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
