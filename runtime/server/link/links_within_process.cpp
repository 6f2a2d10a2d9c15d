// Links among ranks in one process: pieces move from deque to deque. Data moves from memory to memory when
// its receiver polls.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/peer_link.hpp"

namespace sluice::runtime {

namespace {

/// The pieces between all ranks.
struct Exchange {
  struct Piece {
    std::uint32_t from = 0;
    std::vector<std::byte> bytes;
  };
  struct Data {
    std::span<const std::byte> bytes;
    std::uint64_t key = 0;
  };
  struct Place {
    std::span<std::byte> bytes;
    std::uint64_t key = 0;
  };
  /// From one rank to another.
  struct Route {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t channel = 0;
    auto operator<=>(const Route&) const = default;
  };
  std::vector<std::deque<Piece>> inboxes;                       ///< by receiver
  std::vector<std::deque<PieceTransport::SentPiece>> sent;      ///< by sender
  std::vector<std::deque<PieceTransport::DataDone>> sent_data;  ///< by sender
  std::map<Route, std::deque<Data>> data;
  std::map<Route, std::deque<Place>> places;
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

  void start_data(DataRoute to, std::span<const std::byte> bytes, std::uint64_t key) override {
    exchange_->data[{rank_, to.rank, to.channel}].push_back({bytes, key});
  }
  void expect_data(DataRoute from, std::span<std::byte> place, std::uint64_t key) override {
    exchange_->places[{from.rank, rank_, from.channel}].push_back({place, key});
  }
  std::optional<DataDone> take_sent_data() override {
    auto& sent = exchange_->sent_data[rank_];
    if (sent.empty()) return std::nullopt;
    const DataDone first = sent.front();
    sent.pop_front();
    return first;
  }
  std::optional<DataDone> take_landed_data() override {
    for (auto& [route, places] : exchange_->places) {
      if (route.to != rank_ || places.empty()) continue;
      auto& data = exchange_->data[route];
      if (data.empty()) continue;
      const Exchange::Place place = places.front();
      const Exchange::Data piece = data.front();
      if (piece.bytes.size() > place.bytes.size())
        throw Error(NC_EIO,
                    "more data came from matcher " + std::to_string(route.from) + " than is expected");
      places.pop_front();
      data.pop_front();
      std::ranges::copy(piece.bytes, place.bytes.begin());
      exchange_->sent_data[route.from].push_back({piece.key, piece.bytes.size(), rank_});
      return DataDone{place.key, piece.bytes.size(), route.from};
    }
    return std::nullopt;
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
  exchange->sent_data.resize(size);
  std::vector<std::unique_ptr<PeerLink>> links;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    links.push_back(std::make_unique<PeerLink>(std::make_unique<TransportWithinProcess>(exchange, rank)));
  }
  return links;
}

}  // namespace sluice::runtime
