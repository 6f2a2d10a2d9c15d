#include "sluice/runtime/peer_link.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

/// Precedes each piece: its kind, and whether more of the same packet follows. Has eight bytes, so that the
/// bytes behind it keep their alignment.
struct Mark {
  std::uint8_t kind = 0;
  std::uint8_t has_more = 0;
  std::array<std::uint8_t, 6> unused{};
};
static_assert(sizeof(Mark) == 8);

static_assert(PieceTransport::max_piece_bytes >= PeerLink::max_packet_piece_bytes + sizeof(Mark));
static_assert(PieceTransport::max_piece_bytes >= PeerLink::max_data_piece_bytes);

/// Pieces that are delivered in a row before the caller's other work has its turn.
constexpr int turn_pieces = 64;
constexpr std::size_t max_spare_buffers = 8;

/// The least weight of a piece of data, which bounds the number of pieces under way, too.
constexpr std::size_t least_data_weight = 4096;

void write_mark(std::vector<std::byte>& piece, PacketKind kind, bool has_more) {
  const Mark mark{static_cast<std::uint8_t>(kind), static_cast<std::uint8_t>(has_more ? 1 : 0), {}};
  std::memcpy(piece.data(), &mark, sizeof mark);
}

}  // namespace

PeerLink::PeerLink(std::unique_ptr<PieceTransport> transport)
    : transport_(std::move(transport)), peers_(transport_->size()) {}

void PeerLink::on_packet(PacketKind kind, Handler handler) {
  handlers_[static_cast<std::size_t>(kind)] = std::move(handler);
}

void PacketParts::take(std::span<std::byte> place) noexcept {
  bytes_ -= place.size();
  while (!place.empty()) {
    const auto left = std::span(*parts_.front()).subspan(begin_);
    const std::size_t length = std::min(left.size(), place.size());
    std::memcpy(place.data(), left.data(), length);
    place = place.subspan(length);
    begin_ += length;
    if (length < left.size()) return;
    parts_.pop_front();
    begin_ = 0;
  }
}

void PeerLink::send(std::uint32_t to, PacketKind kind, std::vector<std::byte> bytes) {
  PacketParts parts;
  parts.add(std::move(bytes));
  send_parts(to, kind, std::move(parts));
}

void PeerLink::send_parts(std::uint32_t to, PacketKind kind, PacketParts parts) {
  PeerCounters& counters = counters_[static_cast<std::size_t>(kind)];
  ++counters.packets_sent;
  counters.bytes_sent += parts.size();
  Peer& peer = peers_.at(to);
  waiting_.insert(to);
  peer.packets.push_back({kind, std::move(parts)});
  if (to != rank()) send_packets_to(to);
}

void PeerLink::send_data(DataRoute to, DataSource source) {
  peers_.at(to.rank).streams.push_back({to.channel, std::move(source)});
  waiting_.insert(to.rank);
}

void PeerLink::expect_data(DataRoute from, std::span<std::byte> place, Landed landed) {
  const std::uint64_t key = next_key_++;
  expected_.emplace(key, std::move(landed));
  transport_->expect_data(from, place, key);
}

bool PeerLink::poll() {
  bool has_happened = take_done();
  has_happened = send_queued() || has_happened;
  const auto receiver = [this](std::uint32_t from, std::span<const std::byte> piece) {
    take_piece(from, piece);
  };
  for (int i = 0; i < turn_pieces && transport_->receive(receiver); ++i) has_happened = true;
  has_happened = hand_over_landed() || has_happened;
  return hand_over_own() || has_happened;
}

bool PeerLink::is_idle() const noexcept {
  return pieces_under_way_ == 0 && sent_data_.empty() && waiting_.empty();
}

// Sending

/// Recycles the buffers of sent pieces.
bool PeerLink::take_done() {
  bool has_happened = false;
  while (auto sent = transport_->take_sent()) {
    peers_[sent->to].packet_bytes_under_way -= sent->buffer.size();
    --pieces_under_way_;
    if (spare_buffers_.size() < max_spare_buffers) spare_buffers_.push_back(std::move(sent->buffer));
    has_happened = true;
  }
  while (const auto sent = transport_->take_sent_data()) {
    const auto data = sent_data_.extract(sent->key);
    peers_[sent->rank].data_bytes_under_way -= data.mapped().weight;
    data_under_way_ -= data.mapped().weight;
    if (data.mapped().buffer != nullptr && spare_pieces_.size() < max_spare_buffers)
      spare_pieces_.push_back(std::move(data.mapped().buffer));
    has_happened = true;
  }
  return has_happened;
}

/// Packets go first, because a process usually waits for them. Data mostly serves many later reads. All ranks
/// take turns with data.
bool PeerLink::send_queued() {
  // a copy: a source may send and so change the set
  std::vector<std::uint32_t> waiting(waiting_.begin(), waiting_.end());
  std::erase(waiting, rank());
  if (waiting.empty()) return false;
  bool has_happened = false;
  for (const std::uint32_t to : waiting) has_happened = send_packets_to(to) || has_happened;
  const auto first = std::ranges::lower_bound(waiting, next_turn_);
  std::rotate(waiting.begin(), first, waiting.end());
  for (const std::uint32_t to : waiting) has_happened = send_data_to(to) || has_happened;
  next_turn_ = waiting.front() + 1;
  return has_happened;
}

bool PeerLink::send_packets_to(std::uint32_t to) {
  Peer& peer = peers_[to];
  bool has_happened = false;
  while (peer.packet_bytes_under_way < window_bytes && !peer.packets.empty()) {
    send_next_piece(to, peer.packets.front());
    if (peer.packets.front().left.size() == 0) peer.packets.pop_front();
    has_happened = true;
  }
  if (peer.packets.empty() && peer.streams.empty()) waiting_.erase(to);
  return has_happened;
}

bool PeerLink::send_data_to(std::uint32_t to) {
  Peer& peer = peers_[to];
  bool has_happened = false;
  while (!peer.streams.empty() && peer.data_bytes_under_way < window_bytes &&
         data_under_way_ < data_bytes_under_way) {
    Stream stream = std::move(peer.streams.front());
    peer.streams.pop_front();
    if (send_next_data(to, stream)) {
      peer.streams.push_back(std::move(stream));
      waiting_.insert(to);  // its source may have sent a packet meanwhile, when the queue was empty
    }
    has_happened = true;
  }
  if (peer.packets.empty() && peer.streams.empty()) waiting_.erase(to);
  return has_happened;
}

void PeerLink::send_next_piece(std::uint32_t to, Packet& packet) {
  const std::size_t rest = packet.left.size();
  const std::size_t length = std::min(rest, max_packet_piece_bytes);
  std::vector<std::byte> piece = take_buffer();
  piece.resize(sizeof(Mark) + length);
  write_mark(piece, packet.kind, length < rest);
  packet.left.take(std::span(piece).subspan(sizeof(Mark)));
  peers_[to].packet_bytes_under_way += piece.size();
  ++pieces_under_way_;
  transport_->start(to, std::move(piece));
}

/// Returns whether there is more.
bool PeerLink::send_next_data(std::uint32_t to, Stream& stream) {
  PieceBuffer buffer;
  if (spare_pieces_.empty()) {
    buffer = std::make_unique_for_overwrite<std::byte[]>(max_data_piece_bytes);
  } else {
    buffer = std::move(spare_pieces_.back());
    spare_pieces_.pop_back();
  }
  Data data = stream.next({buffer.get(), max_data_piece_bytes});
  if (data.keeper != nullptr || data.bytes.empty()) {
    spare_pieces_.push_back(std::move(buffer));
    buffer = nullptr;
  }
  PeerCounters& counters = counters_[static_cast<std::size_t>(PacketKind::exchange)];
  ++counters.packets_sent;
  counters.bytes_sent += data.bytes.size();
  const std::size_t weight = std::max(data.bytes.size(), least_data_weight);
  peers_[to].data_bytes_under_way += weight;
  data_under_way_ += weight;
  const std::uint64_t key = next_key_++;
  sent_data_.emplace(key, SentData{std::move(buffer), std::move(data.keeper), weight});
  transport_->start_data({to, stream.channel}, data.bytes, key);
  return !data.is_last;
}

std::vector<std::byte> PeerLink::take_buffer() {
  if (spare_buffers_.empty()) return {};
  std::vector<std::byte> buffer = std::move(spare_buffers_.back());
  spare_buffers_.pop_back();
  return buffer;
}

// Receiving

/// Delivers this rank's packets to itself, in the same order as for other ranks.
bool PeerLink::hand_over_own() {
  Peer& own = peers_[rank()];
  bool has_happened = false;
  for (int i = 0; i < turn_pieces && !own.packets.empty(); ++i) {
    Packet packet = std::move(own.packets.front());
    own.packets.pop_front();
    std::vector<std::byte> bytes(packet.left.size());
    packet.left.take(bytes);
    hand_over(rank(), packet.kind, bytes);
    has_happened = true;
  }
  if (own.packets.empty()) waiting_.erase(rank());
  return has_happened;
}

bool PeerLink::hand_over_landed() {
  bool has_happened = false;
  for (int i = 0; i < turn_pieces; ++i) {
    const auto done = transport_->take_landed_data();
    if (!done) break;
    PeerCounters& counters = counters_[static_cast<std::size_t>(PacketKind::exchange)];
    ++counters.packets_received;
    counters.bytes_received += done->bytes;
    const auto expected = expected_.extract(done->key);
    expected.mapped()(done->bytes);
    has_happened = true;
  }
  return has_happened;
}

void PeerLink::take_piece(std::uint32_t from, std::span<const std::byte> piece) {
  Mark mark;
  if (piece.size() < sizeof mark)
    throw Error(NC_EIO, "a damaged packet from matcher " + std::to_string(from));
  std::memcpy(&mark, piece.data(), sizeof mark);
  const auto bytes = piece.subspan(sizeof mark);
  std::vector<std::byte>& received = peers_.at(from).received;
  if (mark.kind >= packet_kinds) {
    throw Error(NC_EIO, "a packet of an unknown kind from matcher " + std::to_string(from));
  }
  // Pieces of one packet come in a row.
  const auto kind = static_cast<PacketKind>(mark.kind);
  const bool is_part = mark.has_more != 0;
  if (!is_part && received.empty()) return hand_over(from, kind, bytes);
  received.insert(received.end(), bytes.begin(), bytes.end());
  if (is_part) return;
  const std::vector<std::byte> whole = std::exchange(received, {});
  hand_over(from, kind, whole);
}

void PeerLink::hand_over(std::uint32_t from, PacketKind kind, std::span<const std::byte> bytes) {
  PeerCounters& counters = counters_[static_cast<std::size_t>(kind)];
  ++counters.packets_received;
  counters.bytes_received += bytes.size();
  const Handler& handler = handlers_[static_cast<std::size_t>(kind)];
  if (!handler)
    throw Error(NC_EIO, "a packet from matcher " + std::to_string(from) + " that has no receiver");
  handler(from, bytes);
}

}  // namespace sluice::runtime
