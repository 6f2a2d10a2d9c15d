#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "sluice/runtime/piece_transport.hpp"

namespace sluice::runtime {

/// What a packet between matcher ranks belongs to: who of the receiver gets it. What is in it is between
/// those.
enum class PacketKind : std::uint8_t {
  relay = 0,     ///< what processes ask of the registry, and its answers (relay_packet.hpp)
  exchange = 1,  ///< matching and data between matchers
};
inline constexpr std::size_t packet_kinds = 2;

/// What went over a link, of one kind. A stream's pieces count as packets.
struct PeerCounters {
  std::uint64_t packets_sent = 0, bytes_sent = 0;
  std::uint64_t packets_received = 0, bytes_received = 0;
};

/// A matcher rank's line to the other ranks: packets of any length, in order between each two ranks. One
/// thread; everything happens in poll(), which the rank's event loop calls. What cannot be sent yet waits in
/// a queue; at most `window_bytes` are under way to each rank.
class PeerLink {
 public:
  using Handler = std::function<void(std::uint32_t from, std::span<const std::byte> bytes)>;
  /// Packs the next piece of a stream into `room` and tells its length; 0: that was all, it is not called
  /// again. It must not throw.
  using Producer = std::function<std::size_t(std::span<std::byte> room)>;

  /// What a producer may fill at a time, and what travels in one piece.
  static constexpr std::size_t max_stream_packet_bytes = 1U << 20;
  static constexpr std::size_t window_bytes = 4U << 20;

  explicit PeerLink(std::unique_ptr<PieceTransport> transport);
  PeerLink(const PeerLink&) = delete;
  PeerLink& operator=(const PeerLink&) = delete;

  [[nodiscard]] std::uint32_t rank() const noexcept { return transport_->rank(); }
  [[nodiscard]] std::uint32_t size() const noexcept { return transport_->size(); }

  /// Who gets packets of `kind`; to be told before the first of them may come. The handler may send.
  void on_packet(PacketKind kind, Handler handler);

  /// Sends `bytes` to `to` (this rank itself, too); arrives as one packet, behind all packets sent to it
  /// before. Never blocks. Throws Error(NC_EIO) when the other rank cannot be reached.
  void send(std::uint32_t to, PacketKind kind, std::vector<std::byte> bytes);

  /// Sends what `producer` packs, piece by piece as there is room; each piece arrives as a packet of its own,
  /// in order. Packets that are sent meanwhile may arrive between the pieces (so that nothing waits for large
  /// data), but what is sent after the producer has told its end arrives behind all of them. Several streams
  /// to one rank take turns. What the producer reads from must live until it has told its end.
  void stream(std::uint32_t to, PacketKind kind, Producer producer);

  /// Sends what there is room for, and hands what has come to its handlers. Whether anything happened: then
  /// more is likely to come soon. Throws Error(NC_EIO), and what handlers throw.
  bool poll();

  /// Whether nothing of this rank's is queued or under way.
  [[nodiscard]] bool is_idle() const noexcept;

  [[nodiscard]] const PeerCounters& counters(PacketKind kind) const noexcept {
    return counters_[static_cast<std::size_t>(kind)];
  }

 private:
  struct Packet {
    PacketKind kind{};
    std::vector<std::byte> bytes;
    std::size_t sent_bytes = 0;
  };
  struct Stream {
    PacketKind kind{};
    Producer produce;
  };
  struct Peer {
    std::deque<Packet> packets;
    std::deque<Stream> streams;
    std::size_t under_way_bytes = 0;
    std::vector<std::byte> received;  ///< the beginning of a packet that comes in several pieces
  };

  bool send_queued();
  bool send_queued_to(std::uint32_t to);
  void send_next_piece(std::uint32_t to, Packet& packet);
  bool send_next_piece(std::uint32_t to, Stream& stream);
  bool hand_over_own();
  void take_piece(std::uint32_t from, std::span<const std::byte> piece);
  void hand_over(std::uint32_t from, PacketKind kind, std::span<const std::byte> bytes);
  [[nodiscard]] std::vector<std::byte> take_buffer();
  void start(std::uint32_t to, std::vector<std::byte> piece);

  std::unique_ptr<PieceTransport> transport_;
  std::array<Handler, packet_kinds> handlers_;
  std::array<PeerCounters, packet_kinds> counters_{};
  std::vector<Peer> peers_;
  std::set<std::uint32_t> waiting_;  ///< ranks that something is queued for
  std::vector<std::vector<std::byte>> spare_buffers_;
  std::size_t pieces_under_way_ = 0;
};

/// Links among `size` ranks in one process and one thread, for tests: nothing is under way but what poll() of
/// either side moves, so that what happens is the same each time.
[[nodiscard]] std::vector<std::unique_ptr<PeerLink>> links_within_process(std::uint32_t size);

}  // namespace sluice::runtime
