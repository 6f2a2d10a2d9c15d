#include "sluice/runtime/peer_link.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

/// In front of each piece: its kind, and whether more of the same packet follows. Eight bytes, so that what
/// is behind keeps its alignment.
struct Mark {
  std::uint8_t kind = 0;
  std::uint8_t has_more = 0;
  std::array<std::uint8_t, 6> unused{};
};
static_assert(sizeof(Mark) == 8);

static_assert(PieceTransport::max_piece_bytes >= PeerLink::max_stream_packet_bytes + sizeof(Mark));

/// Pieces in a row that are handed over; then the caller's other work has its turn.
constexpr int turn_pieces = 64;
constexpr std::size_t max_spare_buffers = 8;

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

void PeerLink::send(std::uint32_t to, PacketKind kind, std::vector<std::byte> bytes) {
  PeerCounters& counters = counters_[static_cast<std::size_t>(kind)];
  ++counters.packets_sent;
  counters.bytes_sent += bytes.size();
  Peer& peer = peers_.at(to);
  waiting_.insert(to);
  peer.packets.push_back({kind, std::move(bytes), 0});
  if (to != rank()) send_queued_to(to);
}

void PeerLink::stream(std::uint32_t to, PacketKind kind, Producer producer) {
  Peer& peer = peers_.at(to);
  waiting_.insert(to);
  peer.streams.push_back({kind, std::move(producer)});
}

bool PeerLink::poll() {
  bool has_happened = false;
  while (auto sent = transport_->take_sent()) {
    peers_[sent->to].under_way_bytes -= sent->buffer.size();
    --pieces_under_way_;
    if (spare_buffers_.size() < max_spare_buffers) spare_buffers_.push_back(std::move(sent->buffer));
    has_happened = true;
  }
  has_happened = send_queued() || has_happened;
  const auto receiver = [this](std::uint32_t from, std::span<const std::byte> piece) {
    take_piece(from, piece);
  };
  for (int i = 0; i < turn_pieces && transport_->receive(receiver); ++i) has_happened = true;
  return hand_over_own() || has_happened;
}

bool PeerLink::is_idle() const noexcept {
  return pieces_under_way_ == 0 && waiting_.empty();
}

// Sending

bool PeerLink::send_queued() {
  bool has_happened = false;
  const auto waiting = waiting_;  // it changes: a producer may send
  for (const std::uint32_t to : waiting) has_happened = (to != rank() && send_queued_to(to)) || has_happened;
  return has_happened;
}

/// Packets first: they are what somebody waits for, where a stream is mostly what many will need.
bool PeerLink::send_queued_to(std::uint32_t to) {
  Peer& peer = peers_[to];
  bool has_happened = false;
  while (peer.under_way_bytes < window_bytes) {
    if (!peer.packets.empty()) {
      send_next_piece(to, peer.packets.front());
      if (peer.packets.front().sent_bytes == peer.packets.front().bytes.size()) peer.packets.pop_front();
    } else if (!peer.streams.empty()) {
      Stream stream = std::move(peer.streams.front());
      peer.streams.pop_front();
      if (send_next_piece(to, stream)) peer.streams.push_back(std::move(stream));
    } else {
      break;
    }
    has_happened = true;
  }
  if (peer.packets.empty() && peer.streams.empty()) waiting_.erase(to);
  return has_happened;
}

void PeerLink::send_next_piece(std::uint32_t to, Packet& packet) {
  const std::size_t rest = packet.bytes.size() - packet.sent_bytes;
  const std::size_t length = std::min(rest, max_stream_packet_bytes);
  std::vector<std::byte> piece = take_buffer();
  piece.resize(sizeof(Mark) + length);
  write_mark(piece, packet.kind, length < rest);
  if (length > 0) std::memcpy(piece.data() + sizeof(Mark), packet.bytes.data() + packet.sent_bytes, length);
  packet.sent_bytes += length;
  start(to, std::move(piece));
}

bool PeerLink::send_next_piece(std::uint32_t to, Stream& stream) {
  std::vector<std::byte> piece = take_buffer();
  piece.resize(sizeof(Mark) + max_stream_packet_bytes);
  write_mark(piece, stream.kind, false);
  const std::size_t length = stream.produce(std::span(piece).subspan(sizeof(Mark)));
  if (length == 0) {
    if (spare_buffers_.size() < max_spare_buffers) spare_buffers_.push_back(std::move(piece));
    return false;
  }
  piece.resize(sizeof(Mark) + length);
  PeerCounters& counters = counters_[static_cast<std::size_t>(stream.kind)];
  ++counters.packets_sent;
  counters.bytes_sent += length;
  start(to, std::move(piece));
  return true;
}

void PeerLink::start(std::uint32_t to, std::vector<std::byte> piece) {
  peers_[to].under_way_bytes += piece.size();
  ++pieces_under_way_;
  transport_->start(to, std::move(piece));
}

std::vector<std::byte> PeerLink::take_buffer() {
  if (spare_buffers_.empty()) return {};
  std::vector<std::byte> buffer = std::move(spare_buffers_.back());
  spare_buffers_.pop_back();
  return buffer;
}

// Receiving

/// What this rank has sent to itself, in the order in which others would get it.
bool PeerLink::hand_over_own() {
  Peer& own = peers_[rank()];
  bool has_happened = false;
  for (int i = 0; i < turn_pieces && !own.packets.empty(); ++i) {
    const Packet packet = std::move(own.packets.front());
    own.packets.pop_front();
    hand_over(rank(), packet.kind, packet.bytes);
    has_happened = true;
  }
  if (own.packets.empty() && !own.streams.empty()) {
    Stream stream = std::move(own.streams.front());
    own.streams.pop_front();
    std::vector<std::byte> room(max_stream_packet_bytes);
    if (const std::size_t length = stream.produce(room); length > 0) {
      own.streams.push_back(std::move(stream));
      PeerCounters& counters = counters_[static_cast<std::size_t>(own.streams.back().kind)];
      ++counters.packets_sent;
      counters.bytes_sent += length;
      hand_over(rank(), own.streams.back().kind, std::span(room).first(length));
    }
    has_happened = true;
  }
  if (own.packets.empty() && own.streams.empty()) waiting_.erase(rank());
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
  // Pieces of one packet come in a row: streams are sent when there is no packet to send.
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
  if (!handler) throw Error(NC_EIO, "a packet from matcher " + std::to_string(from) + " that nobody expects");
  handler(from, bytes);
}

}  // namespace sluice::runtime
