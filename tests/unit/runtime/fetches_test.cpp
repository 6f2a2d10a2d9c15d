// How data arrives in inbound segments, and when these segments may be reused.
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "remote_fetcher.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/file_descriptor.hpp"
#include "support/exchange_ranks.hpp"

using namespace sluice;
using namespace sluice::test;
using formats::Hyperslab;
using runtime::FetchSpec;
using runtime::PeerLink;

namespace {

constexpr std::int64_t rows = 32;
constexpr std::int64_t columns = 1 << 18;  // 1 MiB in each row
const Hyperslab everything{{0, 0}, {rows, columns}, {}};

/// A variable that one node has written and another node reads.
struct TwoNodes {
  Ranks ranks{2, 1, {}};
  SpreadStep step{header_of_shapes({{rows, columns}}, 0), {{0, 0}}, ranks.memory()};

  TwoNodes() {
    step.put(0, 0, everything);
    step.publish();
    ranks.tell(step);
  }
  /// Continues until the first places have been named.
  void turn_until_fetching() {
    for (int i = 0; i < 100 && !ranks.moving(1).is_expecting(); ++i) ranks.turn();
    REQUIRE(ranks.moving(1).is_expecting());
  }
  /// The segments in which data of an ended step may still arrive.
  [[nodiscard]] std::vector<matcher::SegmentId> held() {
    std::vector<matcher::SegmentId> segments;
    for (const matcher::SegmentId segment : ranks.leased_segments) {
      if (ranks.moving(1).is_receiving_into(segment)) segments.push_back(segment);
    }
    return segments;
  }
};

/// A range of addresses in which each MiB is the same memory.
class SameMebibytes {
 public:
  explicit SameMebibytes(std::size_t bytes) : bytes_(bytes) {
    const int file = ::memfd_create("test", 0);
    REQUIRE(::ftruncate(file, static_cast<off_t>(unit)) == 0);
    memory_ = static_cast<std::byte*>(::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(memory_ != MAP_FAILED);
    for (std::size_t offset = 0; offset < bytes; offset += unit) {
      REQUIRE(::mmap(memory_ + offset, std::min(unit, bytes - offset), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED);
    }
    ::close(file);
  }
  ~SameMebibytes() { ::munmap(memory_, bytes_); }
  SameMebibytes(const SameMebibytes&) = delete;
  SameMebibytes& operator=(const SameMebibytes&) = delete;
  [[nodiscard]] std::span<std::byte> bytes() const { return {memory_, bytes_}; }

  static constexpr std::size_t unit = 1U << 20;

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_;
};

/// One segment that is the whole memory of its matcher.
class OneSegment final : public matcher::SegmentMemory {
 public:
  explicit OneSegment(std::span<std::byte> bytes) : bytes_(bytes) {}
  void create(matcher::SegmentId, std::uint64_t) override {}
  bool create_spilled(matcher::SegmentId, std::uint64_t, matcher::DiskRoom) override { return true; }
  void clear(matcher::SegmentId, matcher::SegmentUse) override {}
  bool destroy(matcher::SegmentId) noexcept override { return true; }
  std::span<const std::byte> contents(matcher::SegmentId) override { return bytes_; }
  void mark_gone(matcher::SegmentId, std::uint32_t) noexcept override {}

 private:
  std::span<std::byte> bytes_;
};

/// The first `bytes` bytes of the first writer's log.
runtime::FetchSpecPointer wanted_bytes(std::uint64_t bytes) {
  auto wanted = std::make_shared<FetchSpec>();
  wanted->bytes = bytes;
  wanted->fingerprint = {bytes, 1};
  wanted->copies.copies.push_back({.dimensions = 1});
  wanted->copies.dimensions.push_back({static_cast<std::int64_t>(bytes), 1, 0});
  return wanted;
}

/// One of two nodes, whose inbound memory is one range of addresses.
class OneNode final : public runtime::FetchHost {
 public:
  OneNode(PeerLink& link, runtime::StepViewPointer view, std::span<std::byte> memory, std::uint64_t& pieces)
      : link_(link), view_(std::move(view)), memory_(memory), pieces_(pieces) {}

  std::uint32_t rank_of(matcher::MatcherPlace place) const override { return place.node; }
  void send(std::uint32_t to, std::vector<std::byte> packet) override {
    link_.send(to, PacketKind::exchange, std::move(packet));
  }
  void view(std::uint64_t, ViewReceiver receiver) override { receiver({}, view_); }
  std::span<std::byte> inbound_memory(matcher::SegmentId) override { return memory_; }
  std::shared_ptr<const void> keep_mapped(matcher::SegmentId) override { return std::make_shared<int>(0); }
  void open(std::vector<matcher::SegmentId> segments, runtime::SegmentUser use) override {
    use(segments, true);
  }
  void lease(const runtime::LeaseRequest& request, runtime::LeaseReceiver receiver) override {
    receiver({}, matcher::LogSegment{matcher::segment_id({1, 0}, 1), request.bytes});
  }
  void join_lease(std::uint64_t, const runtime::FetchReader&) override {}
  void on_release() override {}
  void send_data(PeerLink::DataRoute to, PeerLink::DataSource next) override {
    link_.send_data(to, std::move(next));
  }
  void expect_data(PeerLink::DataRoute from, std::span<std::byte> place, PeerLink::Landed landed) override {
    ++pieces_;
    link_.expect_data(from, place, std::move(landed));
  }

 private:
  PeerLink& link_;
  runtime::StepViewPointer view_;  ///< shared with the test
  std::span<std::byte> memory_;
  std::uint64_t& pieces_;
};

}  // namespace

TEST_SUITE("fetches") {
  TEST_CASE("contiguous log data is sent from its place, other data is packed") {
    TwoNodes nodes;
    Answer whole;
    nodes.ranks.get(1, 0, {everything}, whole);
    nodes.ranks.settle();
    CHECK(nodes.ranks.run(whole) == nodes.step.expected(0, {everything}));
    CHECK(nodes.ranks.pieces_not_packed == rows);
    const Hyperslab some{{0, 0}, {rows, columns / 2}, {1, 2}};
    Answer strided;
    nodes.ranks.get(1, 0, {some}, strided);
    nodes.ranks.settle();
    CHECK(nodes.ranks.run(strided) == nodes.step.expected(0, {some}));
  }

  TEST_CASE("a step that goes while data is under way keeps its memory until the last piece has come") {
    for (int turns = 0; turns < 6; ++turns) {
      TwoNodes nodes;
      Answer answer;
      nodes.ranks.get(1, 0, {everything}, answer);
      nodes.turn_until_fetching();
      for (int i = 0; i < turns; ++i) nodes.ranks.turn();
      REQUIRE_FALSE(answer.has_come);
      const std::uint64_t landed = nodes.ranks.landed_bytes();
      nodes.ranks.moving(1).forget(1);
      CHECK(answer.has_come);
      CHECK(answer.outcome.status == NC_EIO);
      CHECK_FALSE(nodes.held().empty());
      CHECK(nodes.ranks.moving(1).is_expecting());
      CHECK(nodes.ranks.released.empty());
      nodes.ranks.settle();
      CHECK(nodes.held().empty());
      CHECK_FALSE(nodes.ranks.moving(1).is_expecting());
      CHECK(nodes.ranks.released == std::vector<std::uint32_t>{1});
      CHECK(nodes.ranks.landed_bytes() == landed);
      // From now on the memory belongs to another user.
      for (const matcher::SegmentId segment : nodes.ranks.leased_segments)
        std::ranges::fill(nodes.ranks.memory()({1, 0}).writable(segment), std::byte{0x5a});
      nodes.ranks.settle();
      for (const matcher::SegmentId segment : nodes.ranks.leased_segments) {
        const auto memory = nodes.ranks.memory()({1, 0}).contents(segment);
        CHECK(std::ranges::count(memory, std::byte{0x5a}) == std::ssize(memory));
      }
      Answer again;
      nodes.ranks.get(1, 0, {everything}, again);
      nodes.ranks.settle();
      CHECK(nodes.ranks.run(again) == nodes.step.expected(0, {everything}));
    }
  }

  TEST_CASE("little is sent of data that no reader needs any more") {
    TwoNodes nodes;
    Answer answer;
    nodes.ranks.get(1, 0, {everything}, answer);
    nodes.turn_until_fetching();
    nodes.ranks.moving(1).forget(1);
    nodes.ranks.settle();
    CHECK(nodes.ranks.bytes_of_exchange() < 4 * PeerLink::window_bytes);
  }

  TEST_CASE("memory is given up although the matcher that has the data does not know the step yet") {
    TwoNodes nodes;
    Answer answer;
    nodes.ranks.get(1, 0, {everything}, answer);
    nodes.turn_until_fetching();
    nodes.ranks.is_slow = true;
    for (int i = 0; i < 20; ++i) nodes.ranks.turn();
    nodes.ranks.moving(1).forget(1);
    CHECK_FALSE(nodes.held().empty());
    for (int i = 0; i < 100; ++i) nodes.ranks.turn();
    CHECK(nodes.held().empty());
    nodes.ranks.settle();  // now the view comes
  }

  TEST_CASE("data that fails in its midst is an error of the gets that need it, and of no others") {
    TwoNodes nodes;
    Answer half;
    nodes.ranks.get(1, 0, {{{0, 0}, {4, columns}, {}}}, half);
    nodes.ranks.settle();
    CHECK(half.outcome.text == "");
    Answer whole;
    nodes.ranks.get(1, 0, {everything}, whole);
    nodes.turn_until_fetching();
    nodes.ranks.turn();
    REQUIRE_FALSE(whole.has_come);
    const matcher::SegmentId data = nodes.step.view().logs[0].data.front().segment;
    nodes.ranks.memory()({0, 0}).destroy(data);
    nodes.ranks.settle();
    REQUIRE(whole.has_come);
    CHECK(whole.outcome.status == NC_EIO);
    CHECK_FALSE(nodes.ranks.moving(1).is_expecting());
    Answer again;
    nodes.ranks.get(1, 0, {{{1, 0}, {2, columns}, {}}}, again);
    nodes.ranks.settle();
    CHECK(again.outcome.text == "");
  }

  TEST_CASE("a receiver that ends the step leaves no other get without an answer") {
    const auto receive_ending = [](Ranks& ranks, std::vector<Outcome>& told) {
      return [&ranks, &told](const Outcome& outcome, MatchedGet, const std::vector<InboundPart>&) {
        if (told.empty()) ranks.forget(1);
        told.push_back(outcome);
      };
    };
    for (const bool does_fail : {false, true}) {
      TwoNodes nodes;
      std::vector<Outcome> told;
      for (int i = 0; i < 3; ++i) {  // all want the same parts
        nodes.ranks.matching(1).match(
            get_request(1, 0, {everything}), [&](const Outcome& outcome, MatchedGet matched) {
              REQUIRE(outcome.text == "");
              nodes.ranks.moving(1).land(std::move(matched), receive_ending(nodes.ranks, told));
            });
      }
      nodes.turn_until_fetching();
      if (does_fail) nodes.ranks.memory()({0, 0}).destroy(nodes.step.view().logs[0].data.front().segment);
      nodes.ranks.settle();
      REQUIRE(told.size() == 3);
      CHECK(told[0].is_failure() == does_fail);
      CHECK(told[1].status == NC_EIO);
      CHECK(told[2].status == NC_EIO);
    }
  }

  TEST_CASE("any number of gets is served, however few of their fetches may be under way") {
    TwoNodes nodes;
    std::deque<Answer> answers(500);
    const auto read_of = [](std::size_t i) {
      const auto number = static_cast<std::int64_t>(i);
      return Hyperslab{{number % rows, 7 * number}, {1, 50}, {1, 3}};
    };
    for (std::size_t i = 0; i < answers.size(); ++i) nodes.ranks.get(1, 0, {read_of(i)}, answers[i]);
    nodes.ranks.settle();
    for (std::size_t i = 0; i < answers.size(); ++i) {
      REQUIRE(answers[i].has_come);
      CHECK(nodes.ranks.run(answers[i]) == nodes.step.expected(0, {read_of(i)}));
    }
    CHECK_FALSE(nodes.ranks.moving(1).is_expecting());
  }

  TEST_CASE("a part of more than 2 GiB comes whole, and one of nothing costs nothing") {
    constexpr std::uint64_t bytes = (std::uint64_t{1} << 31) + (5U << 20) + 24;
    const SameMebibytes source(bytes);
    const SameMebibytes destination(bytes);
    for (std::size_t i = 0; i < SameMebibytes::unit; ++i)
      source.bytes()[i] = static_cast<std::byte>(i * 7 + i / 251);
    OneSegment source_memory(source.bytes());
    OneSegment inbound_memory(destination.bytes());
    matcher::StepView view;
    view.step = 1;
    view.is_final = true;
    view.logs.resize(1);
    view.logs[0].tables.push_back({matcher::segment_id({0, 0}, 1), 64});
    view.logs[0].data.push_back({matcher::segment_id({0, 0}, 2), bytes});
    view.logs[0].ranges.push_back({0, 0, bytes, matcher::segment_id({0, 0}, 2), 0});
    const auto known = std::make_shared<matcher::StepView>(view);
    const auto links = runtime::links_within_process(2);
    std::uint64_t pieces = 0;
    std::vector<std::unique_ptr<OneNode>> hosts;
    std::vector<std::unique_ptr<RemoteFetcher>> exchanges;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      hosts.push_back(std::make_unique<OneNode>(*links[rank], known, destination.bytes(), pieces));
      exchanges.push_back(std::make_unique<RemoteFetcher>(
          *hosts.back(), rank == 0 ? source_memory : inbound_memory, RemoteFetcher::Seat{{rank, 0}}));
      links[rank]->on_packet(PacketKind::exchange, [&, rank](std::uint32_t from, auto packet) {
        exchanges[rank]->take(from, static_cast<ExchangePacket>(packet.front()), packet.subspan(1));
      });
    }
    const auto fetch = [&](const runtime::FetchSpecPointer& wanted) {
      exchanges[1]->fetch_ahead(known, {wanted});
      bool is_over = false;
      exchanges[1]->when_ahead(1, [&] { is_over = true; });
      for (bool has_happened = true; has_happened;) {
        has_happened = false;
        for (const auto& link : links) has_happened = link->poll() || has_happened;
      }
      return is_over;
    };
    CHECK(fetch(wanted_bytes(0)));
    CHECK(pieces == 0);
    CHECK(links[1]->counters(PacketKind::exchange).packets_sent == 0);
    CHECK(fetch(wanted_bytes(bytes)));
    CHECK(pieces == (bytes + PeerLink::max_data_piece_bytes - 1) / PeerLink::max_data_piece_bytes);
    CHECK(exchanges[1]->landed_bytes() == bytes);
    CHECK(std::ranges::equal(destination.bytes().first(SameMebibytes::unit),
                             source.bytes().first(SameMebibytes::unit)));
  }
}
