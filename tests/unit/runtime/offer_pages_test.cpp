// The matcher's pages of offers: what its processes are told, and how their mail is handled.
#include "offer_pages.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/formats/error.hpp"
#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::runtime;

namespace {

/// Clients that keep what they are told, and mail that is handled.
class Clients final : public OfferClients {
 public:
  PageMemory memory_of(matcher::SegmentId /*page*/) override { return {bytes(), nullptr}; }
  OfferMember member_of(std::uint64_t connection) override {
    if (connection == 0) throw Error(NC_EIO, "the connection has ended");
    return {matcher::ProcessId{connection + 100}, connection};
  }
  void introduce(const OfferMember& member, matcher::SegmentId segment) override {
    if (is_out_of_descriptors || member.connection == unreachable) throw Error(NC_ENFILE, "no descriptor");
    known[member.connection].insert(segment);
  }
  bool is_behind(const OfferMember& member) override { return member.connection == behind; }
  void tell(const OfferMember& member, const OffersNotice& notice) override {
    told.push_back(std::to_string(member.connection) + ": rank " + std::to_string(notice.rank) + " of " +
                   std::to_string(notice.size));
  }
  void note_open(const OfferMember& member, matcher::StepId step) override {
    handled.push_back("open " + std::to_string(step) + " by " + std::to_string(member.connection));
  }
  void look_for_messages() override {
    ++looks;
    sent = in_sockets;
  }
  bool handle_earlier(std::uint64_t time) override {
    if (sent.empty() || sent.begin()->first >= time) return false;
    const auto first = sent.extract(sent.begin());
    in_sockets.erase(first.key());
    if (pages != nullptr) pages->take_mail(first.key());  // as each message does
    handled.push_back(first.mapped());
    return true;
  }
  void take_mail_later() override { ++later; }
  void handle(const OfferMember& sender, OfferPage::Letter letter) override {
    const std::string text(reinterpret_cast<const char*>(letter.fields.data()), letter.fields.size());
    handled.push_back(text + " of " + std::to_string(sender.connection));
    if (text == "damaged") throw Error(NC_EIO, "damaged");
  }
  void hang_up(const OfferMember& sender, const std::string& /*reason*/) override {
    handled.push_back("hang up " + std::to_string(sender.connection));
  }
  [[nodiscard]] std::span<std::byte> bytes() const { return {lines[0].bytes, 64 * lines.size()}; }

  struct alignas(64) Line {
    std::byte bytes[64] = {};
  };
  mutable std::vector<Line> lines{2048};
  OfferPages* pages = nullptr;
  bool is_out_of_descriptors = false;
  std::uint64_t unreachable = 0, behind = 0;  ///< connections
  std::map<std::uint64_t, std::set<matcher::SegmentId>> known;
  std::vector<std::string> told, handled;
  std::map<std::uint64_t, std::string> in_sockets, sent;  ///< messages by time
  int looks = 0;
  int later = 0;
};

constexpr std::uint64_t all = ~std::uint64_t{0};

std::vector<std::byte> fields_of(const std::string& text) {
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

struct Board {
  Board() {
    clients.pages = &pages;
    pages.find_connections_by([this](matcher::ProcessId process) -> std::optional<std::uint64_t> {
      const auto found = connections.find(process);
      return found == connections.end() ? std::nullopt : std::optional(found->second);
    });
  }

  matcher::StepOffer offer_of(matcher::StepId step) {
    matcher::StepOffer offer;
    offer.step = step;
    const auto take = [&] { return std::move(*pool.make({4096, matcher::SegmentUse::data, {}, 0})); };
    offer.control = take();
    for (int rank = 0; rank < 2; ++rank) {
      matcher::StepOffer::Log& log = offer.logs.emplace_back();
      log.table = take();
      if (rank == 0) log.data = take();
    }
    return offer;
  }
  [[nodiscard]] OfferPage page() const { return OfferPage(clients.bytes()); }

  matcher::test::PlainMemory memory;
  matcher::SegmentPool pool{memory, std::uint64_t{1} << 20};
  Clients clients;
  OfferPages pages{clients};
  std::map<matcher::ProcessId, std::uint64_t> connections{{matcher::ProcessId{1}, 11},
                                                          {matcher::ProcessId{2}, 12}};
  matcher::OfferedGroup group{7, 0, {matcher::ProcessId{1}, matcher::ProcessId{2}}, 100, 0, 8};
};

}  // namespace

TEST_SUITE("offer pages") {
  TEST_CASE("the processes of a group learn of their page and of the segments of each offer") {
    Board board;
    REQUIRE(board.pages.begin(board.group));
    CHECK(board.clients.told == std::vector<std::string>{"11: rank 0 of 2", "12: rank 1 of 2"});
    const auto offer = board.offer_of(5);
    REQUIRE(board.pages.offer(7, 1, offer));
    const auto found = board.page().find(0);
    REQUIRE(found);
    CHECK(found->step == 5);
    CHECK(found->slot == 1);
    CHECK(found->control == offer.control.id());
    CHECK(found->log == OfferedLog{offer.logs[0].table.id(), offer.logs[0].data.id()});
    CHECK(board.page().find(1)->log == OfferedLog{offer.logs[1].table.id(), 0});
    CHECK(board.clients.known[11] ==
          std::set<matcher::SegmentId>{7, found->control, found->log.table, found->log.data});
    CHECK(board.clients.known[12] ==
          std::set<matcher::SegmentId>{7, found->control, offer.logs[1].table.id()});
    CHECK(board.pages.withdraw(7, 1, 5));
    CHECK_FALSE(board.page().find(0));
  }

  TEST_CASE("what cannot be told is not offered") {
    Board board;
    board.connections[matcher::ProcessId{2}] = 0;  // it has ended
    CHECK_FALSE(board.pages.begin(board.group));
    board.connections.erase(matcher::ProcessId{2});
    CHECK_FALSE(board.pages.begin(board.group));
    board.connections[matcher::ProcessId{2}] = 12;
    CHECK_FALSE(board.pages.offer(7, 0, board.offer_of(5)));
    REQUIRE(board.pages.begin(board.group));
    board.clients.is_out_of_descriptors = true;
    CHECK_FALSE(board.pages.offer(7, 0, board.offer_of(5)));
    CHECK_FALSE(board.page().find(0));
  }

  TEST_CASE("mail is handled in order, each letter once") {
    Board board;
    REQUIRE(board.pages.begin(board.group));
    REQUIRE(board.pages.offer(7, 0, board.offer_of(5)));
    const OfferPage page = board.page();
    board.pages.take_mail(all);
    CHECK(board.clients.handled.empty());
    REQUIRE(page.take(0, 5, MessageType::open, fields_of("create"), 1));
    CHECK_FALSE(board.pages.withdraw(7, 0, 5));
    REQUIRE(page.post(0, 1, MessageType::close, fields_of("close"), 3));
    REQUIRE(page.post(0, 0, MessageType::header, fields_of("header"), 2));
    board.pages.take_mail(all);
    CHECK(board.clients.handled == std::vector<std::string>{"open 5 by 11", "open 5 by 12", "create of 11",
                                                            "header of 11", "close of 12"});
    board.clients.handled.clear();
    board.pages.take_mail(all);
    CHECK(board.clients.handled.empty());
    REQUIRE(page.post(0, 0, MessageType::close, fields_of("close"), 4));
    board.pages.take_mail(all);
    CHECK(board.clients.handled == std::vector<std::string>{"close of 11"});
    board.pages.clear(7, 0);
    REQUIRE(board.pages.offer(7, 0, board.offer_of(6)));
    board.clients.handled.clear();
    REQUIRE(page.take(0, 6, MessageType::open, fields_of("next"), 1));
    board.pages.take_mail(all);
    CHECK(board.clients.handled == std::vector<std::string>{"open 6 by 11", "open 6 by 12", "next of 11"});
  }

  TEST_CASE("letters of all slots and pages, and messages before them, are handled in order of time") {
    Board board;
    REQUIRE(board.pages.begin(board.group));
    REQUIRE(board.pages.offer(7, 0, board.offer_of(5)));
    REQUIRE(board.pages.offer(7, 1, board.offer_of(6)));
    const OfferPage page = board.page();
    REQUIRE(page.take(1, 6, MessageType::open, fields_of("c6"), 10));
    REQUIRE(page.take(0, 5, MessageType::open, fields_of("c5"), 20));
    REQUIRE(page.post(1, 0, MessageType::close, fields_of("p6"), 40));
    REQUIRE(page.post(0, 0, MessageType::close, fields_of("p5"), 30));
    REQUIRE(page.post(0, 1, MessageType::close, fields_of("q5"), 60));
    board.clients.in_sockets = {{15, "m15"}, {35, "m35"}, {36, "m36"}, {45, "m45"}};
    board.pages.take_mail(9);
    CHECK(board.clients.handled.empty());
    CHECK(board.clients.looks == 0);
    board.pages.take_mail(50);
    std::vector<std::string> without_opens = board.clients.handled;
    std::erase_if(without_opens, [](const std::string& one) { return one.starts_with("open"); });
    CHECK(without_opens ==
          std::vector<std::string>{"c6 of 11", "m15", "c5 of 11", "p5 of 11", "m35", "m36", "p6 of 11"});
    CHECK(board.clients.in_sockets.contains(45));  // nothing that was found comes after it
    board.clients.handled.clear();
    board.pages.take_mail(60);
    CHECK(board.clients.handled == std::vector<std::string>{"m45", "q5 of 12"});
  }

  TEST_CASE("a look takes note of calls, and is followed by another one when it leaves later letters") {
    Board board;
    REQUIRE(board.pages.begin(board.group));
    REQUIRE(board.pages.offer(7, 0, board.offer_of(5)));
    const OfferPage page = board.page();
    REQUIRE(page.take(0, 5, MessageType::open, fields_of("c"), 10));
    page.bell().is_called = 1;
    board.pages.take_mail(10);
    CHECK(page.bell().is_called == 0);
    CHECK(board.clients.later == 0);
    REQUIRE(page.post(0, 1, MessageType::close, fields_of("p"), 20));
    board.pages.take_mail(15);
    CHECK(board.clients.later == 1);
    board.pages.take_mail(20);
    CHECK(board.clients.later == 1);
    CHECK(board.clients.handled.back() == "p of 12");
    // A letter of the future is damage, or somebody else's clock: nobody looks for it again and again.
    REQUIRE(page.post(0, 0, MessageType::close, fields_of("q"), all - 1));
    board.pages.take_mail(25);
    CHECK(board.clients.later == 1);
  }

  TEST_CASE("with few offers left their group calls; all offers may be used up") {
    Board board;
    REQUIRE(board.pages.begin(board.group));
    CHECK(board.pages.is_used_up(7));
    for (std::uint32_t slot = 0; slot < 8; ++slot) {
      REQUIRE(board.pages.offer(7, slot, board.offer_of(5 + slot)));
      CHECK(board.page().bell().few == 2);
    }
    CHECK(board.page().offered() == 8);
    CHECK_FALSE(board.pages.is_used_up(7));
    for (std::uint32_t slot = 0; slot < 8; ++slot)
      REQUIRE(board.page().take(slot, 5 + slot, MessageType::open, fields_of("c"), 10));
    CHECK(board.pages.is_used_up(7));
  }

  TEST_CASE("damaged mail ends the connection of its sender, and nothing else") {
    Board board;
    REQUIRE(board.pages.begin(board.group));
    REQUIRE(board.pages.offer(7, 0, board.offer_of(5)));
    const OfferPage page = board.page();
    REQUIRE(page.take(0, 5, MessageType::open, fields_of("create"), 1));
    REQUIRE(page.post(0, 1, MessageType::close, fields_of("damaged"), 2));
    REQUIRE(page.post(0, 1, MessageType::close, fields_of("more"), 3));
    board.clients.handled.clear();
    board.pages.take_mail(all);
    CHECK(board.clients.handled.at(3) == "damaged of 12");
    CHECK(board.clients.handled.at(4) == "hang up 12");
    CHECK(board.clients.handled.at(5) == "more of 12");
    board.pages.end(7);
    board.pages.take_mail(all);
    CHECK(board.pages.withdraw(7, 0, 5));
  }

  TEST_CASE("readers learn of the writers' page and of the data, and their mail is handled as other mail") {
    Board board;
    board.group.written = 3;
    REQUIRE(board.pages.begin(board.group));
    REQUIRE(board.pages.offer_read(7, 2, 5, {21, 22}));
    CHECK(board.clients.known[11] == std::set<matcher::SegmentId>{3, 7, 21, 22});
    CHECK(board.clients.known[12] == std::set<matcher::SegmentId>{3, 7, 21, 22});
    const OfferPage page = board.page();
    CHECK(page.is_offered(2, 5));
    REQUIRE(page.take(2, 5, MessageType::open, fields_of("open"), 1));
    REQUIRE(page.post(2, 1, MessageType::close, fields_of("close"), 2));
    board.pages.take_mail(all);
    CHECK(board.clients.handled ==
          std::vector<std::string>{"open 5 by 11", "open 5 by 12", "open of 11", "close of 12"});
    CHECK_FALSE(board.pages.withdraw(7, 2, 5));
    CHECK_FALSE(board.pages.offer_read(8, 0, 6, {}));
    board.clients.behind = 12;
    CHECK(board.pages.offer_read(7, 1, 6, {24}));
    CHECK(board.clients.known[11].contains(24));
    CHECK_FALSE(board.clients.known[12].contains(24));
    board.clients.is_out_of_descriptors = true;
    CHECK_FALSE(board.pages.offer_read(7, 0, 6, {23}));
  }

  TEST_CASE("nobody hears of a page that not all processes can hear of") {
    Board board;
    board.clients.unreachable = 12;
    CHECK_FALSE(board.pages.begin(board.group));
    CHECK(board.clients.told.empty());
  }

  TEST_CASE("pages are quiet while nobody waits; who makes them loud looks for mail afterwards") {
    Board board;
    REQUIRE(board.pages.begin(board.group));
    CHECK(board.page().bell().is_quiet == 0);
    board.pages.set_quiet(true);
    CHECK(board.page().bell().is_quiet == 1);
    CHECK(board.clients.later == 0);
    board.pages.set_quiet(false);
    CHECK(board.page().bell().is_quiet == 0);
    CHECK(board.clients.later == 1);
    board.pages.set_quiet(false);
    CHECK(board.clients.later == 1);
    board.pages.make_loud(7);
    board.pages.set_quiet(true);
    CHECK(board.page().bell().is_quiet == 0);
  }
}
