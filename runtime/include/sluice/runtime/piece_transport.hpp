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
class PieceTransport {
 public:
  /// The longest piece, with PeerLink's mark.
  static constexpr std::size_t max_piece_bytes = (1U << 20) + 64;

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
};

}  // namespace sluice::runtime
