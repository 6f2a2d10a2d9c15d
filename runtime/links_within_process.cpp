// Links among ranks that are all in one process: the pieces go from deque to deque.
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/peer_link.hpp"

namespace sluice::runtime {

namespace {

/// What is between all ranks.
struct Exchange {
  struct Piece {
    std::uint32_t from = 0;
    std::vector<std::byte> bytes;
  };
  std::vector<std::deque<Piece>> inboxes;                   ///< by receiver
  std::vector<std::deque<PieceTransport::SentPiece>> sent;  ///< by sender
};

class TransportWithinProcess final : public PieceTransport {
 public:
  TransportWithinProcess(std::shared_ptr<Exchange> exchange, std::uint32_t rank)
      : exchange_(std::move(exchange)), rank_(rank) {}

  std::uint32_t rank() const noexcept override { return rank_; }
  std::uint32_t size() const noexcept override {
    return static_cast<std::uint32_t>(exchange_->inboxes.size());
  }
  void start(std::uint32_t to, std::vector<std::byte> piece) override {
    exchange_->inboxes.at(to).push_back({rank_, std::move(piece)});
  }
  std::optional<SentPiece> take_sent() override {
    auto& sent = exchange_->sent[rank_];
    if (sent.empty()) return std::nullopt;
    SentPiece first = std::move(sent.front());
    sent.pop_front();
    return first;
  }
  bool receive(const Receiver& receiver) override {
    auto& inbox = exchange_->inboxes[rank_];
    if (inbox.empty()) return false;
    Exchange::Piece piece = std::move(inbox.front());
    inbox.pop_front();
    receiver(piece.from, piece.bytes);
    exchange_->sent[piece.from].push_back({rank_, std::move(piece.bytes)});
    return true;
  }

 private:
  std::shared_ptr<Exchange> exchange_;  // shared by the transports of all ranks
  std::uint32_t rank_;
};

}  // namespace

std::vector<std::unique_ptr<PeerLink>> links_within_process(std::uint32_t size) {
  const auto exchange = std::make_shared<Exchange>();
  exchange->inboxes.resize(size);
  exchange->sent.resize(size);
  std::vector<std::unique_ptr<PeerLink>> links;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    links.push_back(std::make_unique<PeerLink>(std::make_unique<TransportWithinProcess>(exchange, rank)));
  }
  return links;
}

}  // namespace sluice::runtime
