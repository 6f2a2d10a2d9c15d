#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace sluice::runtime {

/// Moves bounded pieces between matcher ranks. PeerLink is built on it; use PeerLink. No call blocks. Pieces
/// from one rank to another arrive in the order in which they were started.
///
/// Data goes beside them, on numbered channels, from the sender's memory to a named place in the receiver's
/// memory. The pieces of data on one channel from one rank to another arrive at the places in the order in
/// which these were named. A piece may be shorter than its place. A longer piece is an error, and nothing is
/// written behind the place.
class PieceTransport {
 public:
  /// The longest piece, with PeerLink's mark.
  static constexpr std::size_t max_piece_bytes = (1U << 20) + 64;
  /// The number of channels between two ranks, in each direction.
  static constexpr std::uint32_t channels = 1024;

  struct SentPiece {
    std::uint32_t to = 0;
    std::vector<std::byte> buffer;
  };
  using Receiver = std::function<void(std::uint32_t from, std::span<const std::byte> piece)>;

  virtual ~PieceTransport() = default;
  [[nodiscard]] virtual std::uint32_t rank() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t size() const noexcept = 0;

  /// Starts sending to another rank. take_sent() returns the buffer. Throws Error(NC_EIO).
  virtual void start(std::uint32_t to, std::vector<std::byte> piece) = 0;
  /// Returns a sent piece, whose buffer may be reused. Throws Error(NC_EIO).
  [[nodiscard]] virtual std::optional<SentPiece> take_sent() = 0;
  /// Passes one received piece to `receiver`, which may start others. Returns false when there is none.
  /// Throws Error(NC_EIO), and the errors of `receiver`.
  virtual bool receive(const Receiver& receiver) = 0;

  /// The other rank and the channel.
  struct DataRoute {
    std::uint32_t rank = 0;
    std::uint32_t channel = 0;
  };
  /// A piece of data that was sent or has arrived.
  struct DataDone {
    std::uint64_t key = 0;   ///< the key from the start
    std::size_t bytes = 0;   ///< bytes that arrived
    std::uint32_t rank = 0;  ///< the other rank
  };
  /// Starts sending at most max_piece_bytes. The bytes must not change until take_sent_data() returns `key`.
  /// Throws Error(NC_EIO).
  virtual void start_data(DataRoute to, std::span<const std::byte> bytes, std::uint64_t key) = 0;
  /// Names the place for the next piece on this channel. The transport owns the place until
  /// take_landed_data() returns `key`. Throws Error(NC_EIO).
  virtual void expect_data(DataRoute from, std::span<std::byte> place, std::uint64_t key) = 0;
  /// Returns one finished piece. Throws Error(NC_EIO), also when a piece was longer than its place.
  [[nodiscard]] virtual std::optional<DataDone> take_sent_data() = 0;
  [[nodiscard]] virtual std::optional<DataDone> take_landed_data() = 0;

  /// This rank expects no more data, but still serves the others. Throws Error(NC_EIO).
  virtual void begin_to_leave() {}
  /// Whether no rank expects data any more.
  [[nodiscard]] virtual bool may_leave() { return true; }
};

}  // namespace sluice::runtime
