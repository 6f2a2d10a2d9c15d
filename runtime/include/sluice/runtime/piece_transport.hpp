#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace sluice::runtime {

/// Moves bounded pieces between matcher ranks; beneath PeerLink, which is what one wants. Nothing of it
/// blocks; pieces from one rank to another arrive in the order in which they were started.
///
/// Data goes beside them, from the sender's memory to a place in the receiver's that was named before, on
/// numbered channels: of the pieces of data on one channel from one rank to another each lands in the place
/// that was named in its turn. A piece may be shorter than its place; one that is longer is an error, and
/// nothing is written behind the place.
class PieceTransport {
 public:
  /// The longest piece, with PeerLink's mark.
  static constexpr std::size_t max_piece_bytes = (1U << 20) + 64;
  /// Channels between two ranks, in either direction: 0 to this, less one.
  static constexpr std::uint32_t channels = 1024;

  struct SentPiece {
    std::uint32_t to = 0;
    std::vector<std::byte> buffer;
  };
  using Receiver = std::function<void(std::uint32_t from, std::span<const std::byte> piece)>;

  virtual ~PieceTransport() = default;
  [[nodiscard]] virtual std::uint32_t rank() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t size() const noexcept = 0;

  /// Starts to send to another rank; the buffer comes back from take_sent(). Throws Error(NC_EIO).
  virtual void start(std::uint32_t to, std::vector<std::byte> piece) = 0;
  /// A piece whose buffer may be used again. Throws Error(NC_EIO).
  [[nodiscard]] virtual std::optional<SentPiece> take_sent() = 0;
  /// Gives one piece that has come to `receiver`, which may start others; false when there is none. Throws
  /// Error(NC_EIO), and what `receiver` throws.
  virtual bool receive(const Receiver& receiver) = 0;

  /// The other rank and the channel.
  struct DataRoute {
    std::uint32_t rank = 0;
    std::uint32_t channel = 0;
  };
  /// A piece of data that was sent, or has landed.
  struct DataDone {
    std::uint64_t key = 0;   ///< as it was given
    std::size_t bytes = 0;   ///< that landed
    std::uint32_t rank = 0;  ///< the other one
  };
  /// Starts to send at most max_piece_bytes, which stay as they are until take_sent_data() names `key`.
  /// Throws Error(NC_EIO).
  virtual void start_data(DataRoute to, std::span<const std::byte> bytes, std::uint64_t key) = 0;
  /// The place of the next piece on this channel, the transport's until take_landed_data() names `key`.
  /// Throws Error(NC_EIO).
  virtual void expect_data(DataRoute from, std::span<std::byte> place, std::uint64_t key) = 0;
  /// One of those that are done. Throws Error(NC_EIO), also when a piece was longer than its place.
  [[nodiscard]] virtual std::optional<DataDone> take_sent_data() = 0;
  [[nodiscard]] virtual std::optional<DataDone> take_landed_data() = 0;

  /// This rank expects no data any more, but still serves the others. Throws Error(NC_EIO).
  virtual void begin_to_leave() {}
  /// Whether no rank expects any.
  [[nodiscard]] virtual bool may_leave() { return true; }
};

}  // namespace sluice::runtime
