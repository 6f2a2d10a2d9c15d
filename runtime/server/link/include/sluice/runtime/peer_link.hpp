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
#include <utility>
#include <vector>

#include "sluice/runtime/piece_transport.hpp"

namespace sluice::runtime {

/// The kind of a packet between matcher ranks: it selects the receiving part of the matcher. Only the sending
/// and receiving parts know the contents.
enum class PacketKind : std::uint8_t {
  relay = 0,     ///< requests of processes to the registry, and its answers (control_protocol.hpp)
  exchange = 1,  ///< matching and data between matchers
};
inline constexpr std::size_t packet_kinds = 2;

/// The traffic of one kind over a link. Pieces of data count as packets of the exchange.
struct PeerCounters {
  std::uint64_t packets_sent = 0, bytes_sent = 0;
  std::uint64_t packets_received = 0, bytes_received = 0;
};

/// The bytes of a packet, in several parts. Packets to several ranks may share parts, which are then not
/// copied for each rank.
class PacketParts {
 public:
  using Part = std::shared_ptr<const std::vector<std::byte>>;

  void add(Part part) {
    bytes_ += part->size();
    if (!part->empty()) parts_.push_back(std::move(part));
  }
  void add(std::vector<std::byte> part) {
    add(std::make_shared<const std::vector<std::byte>>(std::move(part)));
  }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  /// Copies the bytes that follow the last ones. There must be as many.
  void take(std::span<std::byte> place) noexcept;

 private:
  std::deque<Part> parts_;
  std::size_t bytes_ = 0;  ///< that are left
  std::size_t begin_ = 0;  ///< of what is left in the first part
};

/// A matcher's link to the other matchers. It carries packets of any length, in order between each two
/// ranks. It also carries data, which goes beside the packets, directly to its place in the receiver's
/// memory. One thread. All work happens in poll(), which the rank's event loop calls. Packets and data that
/// cannot be sent yet wait in a queue. To each rank, at most `window_bytes` of packets and as much data are
/// under way.
class PeerLink {
 public:
  using Handler = std::function<void(std::uint32_t from, std::span<const std::byte> bytes)>;
  using DataRoute = PieceTransport::DataRoute;

  /// The next piece of data to send.
  struct Data {
    std::span<const std::byte> bytes;  ///< in `buffer` or elsewhere; an empty piece counts as a piece
    /// for memory elsewhere: keeps it in place until the piece has been sent
    std::shared_ptr<const void> keeper;
    bool is_last = false;
  };
  /// Provides the next piece of data, at most the size of `buffer`. Not called again after the last piece. It
  /// must not throw; it may send.
  using DataSource = std::function<Data(std::span<std::byte> buffer)>;
  /// A piece of data has arrived at the place that was named for it. The piece may be shorter than the place.
  using Landed = std::function<void(std::size_t bytes)>;

  /// The largest piece.
  static constexpr std::size_t max_packet_piece_bytes = 1U << 20;
  static constexpr std::size_t max_data_piece_bytes = 1U << 20;
  static constexpr std::size_t window_bytes = 4U << 20;
  /// Limit of data under way to all ranks together.
  static constexpr std::size_t data_bytes_under_way = 64U << 20;

  explicit PeerLink(std::unique_ptr<PieceTransport> transport);
  PeerLink(const PeerLink&) = delete;
  PeerLink& operator=(const PeerLink&) = delete;

  [[nodiscard]] std::uint32_t rank() const noexcept { return transport_->rank(); }
  [[nodiscard]] std::uint32_t size() const noexcept { return transport_->size(); }

  /// Sets the receiver of packets of `kind`. Call it before the first packet may come. The handler may send.
  void on_packet(PacketKind kind, Handler handler);

  /// Sends `bytes` to `to`, which may be this rank itself. They arrive as one packet, after all earlier
  /// packets to that rank. Never blocks. Throws Error(NC_EIO) when the other rank cannot be reached.
  void send_parts(std::uint32_t to, PacketKind kind, PacketParts parts);
  void send(std::uint32_t to, PacketKind kind, std::vector<std::byte> bytes);

  /// Sends data to another rank, piece by piece as space becomes free. Packets and data have no order between
  /// them. Several channels to one rank take turns; each channel has one source at a time.
  void send_data(DataRoute to, DataSource source);
  /// Names the place for the next piece on this channel. The memory must stay in place until poll() calls
  /// `landed`. Name places ahead: data without a named place waits at its sender.
  void expect_data(DataRoute from, std::span<std::byte> place, Landed landed);

  /// Sends as much as possible, and passes arrivals to their handlers. Returns whether anything happened;
  /// then more is likely to come soon. Throws Error(NC_EIO), and the errors of handlers.
  bool poll();

  /// Whether no packet or data of this rank is queued or under way.
  [[nodiscard]] bool is_idle() const noexcept;
  /// Whether a place is named for data that has not arrived.
  [[nodiscard]] bool is_expecting() const noexcept { return !expected_.empty(); }

  /// Call this at the end of the run, when no more data is expected. Continue with poll() until may_leave().
  void begin_to_leave() { transport_->begin_to_leave(); }
  [[nodiscard]] bool may_leave() { return transport_->may_leave(); }

  [[nodiscard]] const PeerCounters& counters(PacketKind kind) const noexcept {
    return counters_[static_cast<std::size_t>(kind)];
  }

 private:
  using PieceBuffer = std::unique_ptr<std::byte[]>;  ///< of max_data_piece_bytes

  struct Packet {
    PacketKind kind{};
    PacketParts left;
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
    std::vector<std::byte> received;  ///< the beginning of a packet that arrives in several pieces
  };
  /// Data under way.
  struct SentData {
    PieceBuffer buffer;
    std::shared_ptr<const void> keeper;  ///< shared with other pieces from the same memory
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
  std::set<std::uint32_t> waiting_;  ///< ranks with queued packets or data
  std::uint32_t next_turn_ = 0;      ///< the rank that may send data first
  std::vector<std::vector<std::byte>> spare_buffers_;
  std::vector<PieceBuffer> spare_pieces_;
  std::size_t pieces_under_way_ = 0;
  std::size_t data_under_way_ = 0;  ///< in bytes, to all ranks
  std::unordered_map<std::uint64_t, SentData> sent_data_;
  std::unordered_map<std::uint64_t, Landed> expected_;
  std::uint64_t next_key_ = 1;
};

/// Links among `size` ranks in one process and one thread, for tests. Only poll() moves anything, so each
/// test run is the same.
[[nodiscard]] std::vector<std::unique_ptr<PeerLink>> links_within_process(std::uint32_t size);

}  // namespace sluice::runtime
