#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
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

/// What went over a link, of one kind. Pieces of data count as packets of the exchange.
struct PeerCounters {
  std::uint64_t packets_sent = 0, bytes_sent = 0;
  std::uint64_t packets_received = 0, bytes_received = 0;
};

/// A matcher rank's line to the other ranks: packets of any length, in order between each two ranks; and
/// data, which goes beside the packets, straight to its place in the receiver's memory. One thread;
/// everything happens in poll(), which the rank's event loop calls. What cannot be sent yet waits in a queue;
/// of packets and of data at most `window_bytes` each are under way to each rank.
class PeerLink {
 public:
  using Handler = std::function<void(std::uint32_t from, std::span<const std::byte> bytes)>;
  using DataRoute = PieceTransport::DataRoute;

  /// A piece of data, to be sent next.
  struct Data {
    std::span<const std::byte> bytes;    ///< in the room that was offered, or elsewhere; none is a piece, too
    std::shared_ptr<const void> keeper;  ///< elsewhere: what keeps the memory in place until it has been sent
    bool is_last = false;
  };
  /// Gives the next piece of data, at most as much as `room` holds. Not called again after the last one. It
  /// must not throw; it may send.
  using DataSource = std::function<Data(std::span<std::byte> room)>;
  /// A piece of data has landed in the place that was named for it; it may be shorter.
  using Landed = std::function<void(std::size_t bytes)>;

  /// What travels in one piece.
  static constexpr std::size_t max_packet_piece_bytes = 1U << 20;
  static constexpr std::size_t max_data_piece_bytes = 1U << 20;
  static constexpr std::size_t window_bytes = 4U << 20;
  /// Of data to all ranks together.
  static constexpr std::size_t data_bytes_under_way = 64U << 20;

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

  /// Sends data to another rank, piece by piece as there is room. Packets are neither ahead nor behind it.
  /// What is sent on several channels to one rank takes turns; on one channel there is one source at a time.
  void send_data(DataRoute to, DataSource source);
  /// Where the next piece on this channel lands. The memory stays in place until `landed` is called, in
  /// poll(). Name places ahead, or what is sent waits at its sender.
  void expect_data(DataRoute from, std::span<std::byte> place, Landed landed);

  /// Sends what there is room for, and hands what has come to its handlers. Whether anything happened: then
  /// more is likely to come soon. Throws Error(NC_EIO), and what handlers throw.
  bool poll();

  /// Whether nothing of this rank's is queued or under way.
  [[nodiscard]] bool is_idle() const noexcept;
  /// Whether a place has been named for data that has not come.
  [[nodiscard]] bool is_expecting() const noexcept { return !expected_.empty(); }

  /// At the end of the run, when nothing is expected any more: go on with poll() until may_leave().
  void begin_to_leave() { transport_->begin_to_leave(); }
  [[nodiscard]] bool may_leave() { return transport_->may_leave(); }

  [[nodiscard]] const PeerCounters& counters(PacketKind kind) const noexcept {
    return counters_[static_cast<std::size_t>(kind)];
  }

 private:
  using Room = std::unique_ptr<std::byte[]>;  ///< of max_data_piece_bytes

  struct Packet {
    PacketKind kind{};
    std::vector<std::byte> bytes;
    std::size_t sent_bytes = 0;
  };
  struct Stream {
    std::uint32_t channel = 0;
    DataSource next;
  };
  struct Peer {
    std::deque<Packet> packets;
    std::deque<Stream> streams;
    std::size_t packet_bytes_under_way = 0;
    std::size_t data_bytes_under_way = 0;
    std::vector<std::byte> received;  ///< the beginning of a packet that comes in several pieces
  };
  /// Data under way.
  struct SentData {
    Room room;
    std::shared_ptr<const void> keeper;  ///< shared with others that send from there
    std::size_t weight = 0;
  };

  bool take_done();
  bool send_queued();
  bool send_packets_to(std::uint32_t to);
  bool send_data_to(std::uint32_t to);
  void send_next_piece(std::uint32_t to, Packet& packet);
  [[nodiscard]] bool send_next_data(std::uint32_t to, Stream& stream);
  bool hand_over_own();
  bool hand_over_landed();
  void take_piece(std::uint32_t from, std::span<const std::byte> piece);
  void hand_over(std::uint32_t from, PacketKind kind, std::span<const std::byte> bytes);
  [[nodiscard]] std::vector<std::byte> take_buffer();

  std::unique_ptr<PieceTransport> transport_;
  std::array<Handler, packet_kinds> handlers_;
  std::array<PeerCounters, packet_kinds> counters_{};
  std::vector<Peer> peers_;
  std::set<std::uint32_t> waiting_;  ///< ranks that something is queued for
  std::uint32_t next_turn_ = 0;      ///< which of them is the first to send data
  std::vector<std::vector<std::byte>> spare_buffers_;
  std::vector<Room> spare_rooms_;
  std::size_t pieces_under_way_ = 0;
  std::size_t data_under_way_ = 0;  ///< bytes, to all ranks
  std::unordered_map<std::uint64_t, SentData> sent_data_;
  std::unordered_map<std::uint64_t, Landed> expected_;
  std::uint64_t next_key_ = 1;
};

/// Links among `size` ranks in one process and one thread, for tests: nothing is under way but what poll() of
/// either side moves, so that what happens is the same each time.
[[nodiscard]] std::vector<std::unique_ptr<PeerLink>> links_within_process(std::uint32_t size);

}  // namespace sluice::runtime
