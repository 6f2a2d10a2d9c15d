// The page of offers: its functions, and all interleavings of what a small group and the registry do with it.
#include "sluice/runtime/offer_page.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/fingerprint.hpp"

using namespace sluice;
using namespace sluice::runtime;
using State = OfferPage::State;

namespace {

/// Zeroed memory, as a segment has.
class Memory {
 public:
  explicit Memory(std::size_t bytes)
      : bytes_(bytes), lines_(std::make_unique<Line[]>(bytes / sizeof(Line) + 1)) {}
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {lines_[0].bytes, bytes_}; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64] = {};
  };
  std::size_t bytes_;
  std::unique_ptr<Line[]> lines_;
};

std::vector<std::byte> fields_of(const std::string& text) {
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}
std::string text_of(const OfferPage::Letter& letter) {
  return {reinterpret_cast<const char*>(letter.fields.data()), letter.fields.size()};
}

OfferedSegments offer_of(std::uint64_t step, std::uint32_t ranks) {
  OfferedSegments offer{step, step * 100, {}};
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    offer.logs.push_back({step * 100 + 10 + rank, step * 100 + 20 + rank});
  return offer;
}

constexpr OfferPage::Shape small{2, 128, 64};

}  // namespace

TEST_SUITE("offer page") {
  TEST_CASE("an offer is found by each rank, taken by rank 0, and found by nobody afterwards") {
    const Memory memory(OfferPage::bytes_of(small));
    const OfferPage page = OfferPage::begin(memory.bytes(), small);
    const OfferPage other(memory.bytes());
    CHECK_FALSE(other.find(0));
    page.offer(1, offer_of(7, 2));
    page.offer(0, offer_of(8, 2));
    const auto found = other.find(1);
    REQUIRE(found);
    CHECK(found->step == 7);
    CHECK(found->slot == 1);
    CHECK(found->control == 700);
    CHECK(found->log == OfferedLog{711, 721});
    CHECK_FALSE(other.find(2));
    CHECK(other.take(1, 7, MessageType::open, fields_of("seven"), 1));
    CHECK(other.find(1)->step == 8);
    CHECK(page.look(1) == OfferPage::Seen{State::taken, 7});
    CHECK_FALSE(page.withdraw(1, 7));
    CHECK(page.withdraw(0, 8));
    CHECK_FALSE(other.take(0, 8, MessageType::open, fields_of("eight"), 1));
    CHECK_FALSE(other.find(0));
    page.clear(1);
    CHECK(page.look(1).state == State::empty);
  }

  TEST_CASE("letters come in the order in which they were posted, and each once") {
    const Memory memory(OfferPage::bytes_of(small));
    const OfferPage page = OfferPage::begin(memory.bytes(), small);
    page.offer(0, offer_of(7, 2));
    REQUIRE(page.take(0, 7, MessageType::open, fields_of("seven"), 1));
    const std::size_t first = page.mail_bytes(0, 0);
    CHECK(page.post(0, 0, MessageType::header, {}, 2));
    CHECK(page.post(0, 0, MessageType::close, fields_of("over"), 3));
    const auto begin = page.letters(0, 0, 0, first, 3);
    REQUIRE(begin.size() == 1);
    CHECK(begin[0].type == MessageType::open);
    CHECK(text_of(begin[0]) == "seven");
    const auto rest = page.letters(0, 0, first, page.mail_bytes(0, 0), 3);
    REQUIRE(rest.size() == 2);
    CHECK(rest[0].type == MessageType::header);
    CHECK(rest[0].fields.empty());
    CHECK(text_of(rest[1]) == "over");
    CHECK(rest[1].time == 3);
    CHECK(rest[1].end == page.mail_bytes(0, 0));
    CHECK(page.mail_bytes(0, 1) == 0);
    const auto earlier = page.letters(0, 0, 0, page.mail_bytes(0, 0), 2);
    REQUIRE(earlier.size() == 2);
    CHECK(earlier[1].end == rest[0].end);
  }

  TEST_CASE("a letter that does not fit is refused, and the mail is as before") {
    const Memory memory(OfferPage::bytes_of(small));
    const OfferPage page = OfferPage::begin(memory.bytes(), small);
    page.offer(0, offer_of(7, 2));
    CHECK_FALSE(page.take(0, 7, MessageType::open, fields_of(std::string(200, 'x')), 1));
    CHECK(page.look(0).state == State::offered);
    REQUIRE(page.take(0, 7, MessageType::open, fields_of("seven"), 1));
    CHECK(page.post(0, 1, MessageType::close, fields_of(std::string(40, 'x')), 2));
    const std::size_t before = page.mail_bytes(0, 1);
    CHECK_FALSE(page.post(0, 1, MessageType::close, fields_of(std::string(40, 'x')), 2));
    CHECK(page.mail_bytes(0, 1) == before);
  }

  TEST_CASE("the last process that leaves is told so") {
    const Memory memory(OfferPage::bytes_of(small));
    const OfferPage page = OfferPage::begin(memory.bytes(), small);
    page.offer(0, offer_of(7, 2));
    CHECK_FALSE(page.leave(0, 7));
    CHECK(page.leave(0, 7));
    page.offer(0, offer_of(8, 2));
    CHECK_FALSE(page.leave(0, 7));  // the registry has found its mail meanwhile
    CHECK_FALSE(page.leave(0, 8));
    CHECK(page.leave(0, 8));
  }

  TEST_CASE("a page or mail that is damaged is refused") {
    const Memory memory(OfferPage::bytes_of(small));
    CHECK_THROWS_AS((void)OfferPage(memory.bytes()), Error);  // no ranks
    const OfferPage page = OfferPage::begin(memory.bytes(), small);
    CHECK_THROWS_AS((void)OfferPage(memory.bytes().first(memory.bytes().size() - 64)), Error);
    CHECK_THROWS_AS((void)OfferPage(memory.bytes().first(8)), Error);
    // The bytes of these mailboxes together are 2^64 more than those of a small page.
    constexpr OfferPage::Shape overflowing{(1U << 30) + 1, 0, (1U << 31) - 64};
    const Memory other(4096);
    std::memcpy(other.bytes().data(), &overflowing, sizeof overflowing);
    CHECK_THROWS_AS((void)OfferPage(other.bytes()), Error);
    page.offer(0, offer_of(7, 2));
    REQUIRE(page.take(0, 7, MessageType::open, fields_of("seven"), 1));
    CHECK_THROWS_AS((void)page.letters(0, 0, 0, 4, 1), Error);
    CHECK_THROWS_AS((void)page.letters(0, 0, 0, 8, 1), Error);
  }
}

namespace {

// All interleavings. Ranks and the registry make one step at a time; each step is one access to the page, or
// one collective call that ends. A rank may end before each of its steps.

enum class At : std::uint8_t {
  begin,    ///< finds the slot
  copy,     ///< copies the offer
  recheck,  ///< looks again
  agree,    ///< waits in the first collective call
  check,    ///< rank 0: take(), first part
  write,    ///< second part
  take,     ///< third part
  result,   ///< waits in the second collective call
  header,   ///< rank 0
  publish,
  leave,
  over,
  ended,
};

struct Rank {
  At at = At::begin;
  std::uint32_t creates = 0;
  std::uint32_t slot = 0;
  std::uint64_t step = 0;  ///< that it has found; 0: none
  OfferPage::Found copy;
  bool is_told = false;  ///< the header's collective call is over
};

constexpr std::uint32_t most_ranks = 2;
constexpr std::uint32_t most_offers = 4;
constexpr std::uint32_t creates_of_each = 2;
constexpr std::uint32_t model_slots = 2;

/// What the registry knows of a slot.
struct Place {
  std::uint64_t step = 0;  ///< offered or taken; 0: the slot is free
  bool is_created = false;
  bool has_header = false;
  std::array<bool, most_ranks> has_published = {};
  std::array<std::size_t, most_ranks> taken = {};
};

struct World {
  std::uint32_t ranks = 1;
  Memory memory;
  std::array<Rank, most_ranks> rank;
  std::array<Place, model_slots> places;
  std::uint64_t next_step = 1;
  std::uint32_t withdrawals = 0;
  bool has_ended = false;  ///< a rank has
  bool is_taken = false;   ///< what rank 0 tells in the second collective call
  std::uint32_t created = 0, completed = 0, bells = 0;

  static OfferPage::Shape shape(std::uint32_t ranks) { return {ranks, 128, 64}; }
  explicit World(std::uint32_t size) : ranks(size), memory(OfferPage::bytes_of(shape(size))) {
    (void)OfferPage::begin(memory.bytes(), shape(size));
  }
  World(const World& other) : World(other.ranks) {
    std::memcpy(memory.bytes().data(), other.memory.bytes().data(), memory.bytes().size());
    rank = other.rank;
    places = other.places;
    next_step = other.next_step;
    withdrawals = other.withdrawals;
    has_ended = other.has_ended;
    is_taken = other.is_taken;
    created = other.created;
    completed = other.completed;
    bells = other.bells;
  }
  World& operator=(const World&) = delete;
  [[nodiscard]] OfferPage page() const { return OfferPage(memory.bytes()); }

  [[nodiscard]] matcher::Fingerprint identity() const {
    matcher::FingerprintBuilder builder;
    const auto add = [&](auto... numbers) { (builder.add(static_cast<std::uint64_t>(numbers)), ...); };
    builder.add_bytes(memory.bytes());
    for (const Rank& one : rank) {
      add(one.at, one.creates, one.slot, one.step, one.copy.step, one.copy.control, one.copy.log.table,
          one.copy.log.data, one.is_told);
    }
    for (const Place& place : places) {
      add(place.step, place.is_created, place.has_header);
      for (std::uint32_t i = 0; i < most_ranks; ++i) add(place.has_published[i], place.taken[i]);
    }
    add(next_step, withdrawals, has_ended, is_taken, created, completed, bells);
    return builder.value();
  }
};

std::string word(const std::string& kind, std::uint64_t step) {
  return kind + std::to_string(step);
}

/// The registry takes what is in the mailboxes, at one moment. The letters have no times here:
/// offer_order_test tries their order.
void collect(World& world) {
  const OfferPage page = world.page();
  for (std::uint32_t slot = 0; slot < model_slots; ++slot) {
    Place& place = world.places[slot];
    const auto seen = page.look(slot);
    if (seen.state != State::taken) continue;
    REQUIRE(seen.step == place.step);  // it was offered, and not withdrawn
    std::array<std::size_t, most_ranks> ends = {};
    for (std::uint32_t r = world.ranks; r-- > 0;) ends[r] = page.mail_bytes(slot, r);
    for (std::uint32_t r = 0; r < world.ranks; ++r) {
      for (const auto& letter : page.letters(slot, r, place.taken[r], ends[r], 1)) {
        if (letter.type == MessageType::open) {
          REQUIRE(r == 0);
          REQUIRE(!place.is_created);
          REQUIRE(text_of(letter) == word("c", place.step));
          place.is_created = true;
          ++world.created;
        } else if (letter.type == MessageType::header) {
          REQUIRE(place.is_created);
          REQUIRE(!place.has_header);
          REQUIRE(text_of(letter) == word("h", place.step));
          place.has_header = true;
        } else {
          REQUIRE(letter.type == MessageType::close);
          REQUIRE(place.has_header);  // also of another rank
          REQUIRE(!place.has_published[r]);
          REQUIRE(text_of(letter) == word("p", place.step));
          place.has_published[r] = true;
        }
      }
      place.taken[r] = ends[r];
    }
    REQUIRE(place.is_created);
    bool is_over = true;
    bool is_complete = true;
    for (std::uint32_t r = 0; r < world.ranks; ++r) {
      is_complete = is_complete && place.has_published[r];
      is_over = is_over && (place.has_published[r] || world.rank[r].at == At::ended);
    }
    if (!is_over) continue;
    if (is_complete) ++world.completed;
    page.clear(slot);
    place = {};
  }
}

/// The registry does something by itself. Returns false when it has nothing to do.
bool offer_next(World& world) {
  if (world.next_step > most_offers || world.has_ended) return false;
  for (std::uint32_t slot = 0; slot < model_slots; ++slot) {
    if (world.places[slot].step != 0) continue;
    world.places[slot] = {};
    world.places[slot].step = world.next_step;
    world.page().offer(slot, offer_of(world.next_step++, world.ranks));
    return true;
  }
  return false;
}

bool withdraw(World& world, std::uint32_t slot) {
  constexpr std::uint32_t most_withdrawals = 2;
  Place& place = world.places[slot];
  if (place.step == 0 || place.is_created || world.withdrawals >= most_withdrawals) return false;
  if (world.page().withdraw(slot, place.step)) place = {};
  ++world.withdrawals;
  return true;
}

/// The collective call ends for all, if all are in it.
bool end_call(World& world, At call) {
  for (std::uint32_t r = 0; r < world.ranks; ++r)
    if (world.rank[r].at != call) return false;
  return true;
}

void next_create(Rank& rank) {
  rank.step = 0;
  rank.at = ++rank.creates < creates_of_each ? At::begin : At::over;
}

/// Rank `r` makes its next step. Returns false when it cannot now.
bool go_on(World& world, std::uint32_t r) {
  Rank& rank = world.rank[r];
  const OfferPage page = world.page();
  switch (rank.at) {
    case At::begin: {
      const auto slot = page.first_offered();
      rank.slot = slot.value_or(0);
      const auto seen = page.look(rank.slot);
      rank.step = slot && seen.state == State::offered ? seen.step : 0;
      rank.at = rank.step != 0 ? At::copy : At::agree;
      return true;
    }
    case At::copy:
      rank.copy = page.copy(rank.slot, rank.step, r);
      rank.at = At::recheck;
      return true;
    case At::recheck:
      if (!page.is_offered(rank.slot, rank.step)) rank.step = 0;
      rank.at = At::agree;
      return true;
    case At::agree: {
      if (r != 0 || !end_call(world, At::agree)) return false;
      bool is_common = rank.step != 0;
      for (std::uint32_t other = 0; other < world.ranks; ++other)
        is_common = is_common && world.rank[other].step == rank.step;
      for (std::uint32_t other = 0; other < world.ranks; ++other) {
        if (!is_common) {
          next_create(world.rank[other]);  // by messages
        } else {
          world.rank[other].at = other == 0 ? At::check : At::result;
        }
      }
      return true;
    }
    case At::check:
      world.is_taken = page.is_offered(rank.slot, rank.step);
      rank.at = world.is_taken ? At::write : At::result;
      return true;
    case At::write:
      REQUIRE(page.write_first(rank.slot, MessageType::open, fields_of(word("c", rank.step)), 1));
      rank.at = At::take;
      return true;
    case At::take:
      world.is_taken = page.try_take(rank.slot, rank.step);
      rank.at = At::result;
      return true;
    case At::result:
      if (r != 0 || !end_call(world, At::result)) return false;
      for (std::uint32_t other = 0; other < world.ranks; ++other) {
        Rank& one = world.rank[other];
        if (!world.is_taken) {
          next_create(one);
          continue;
        }
        // What each has copied is what the registry has given, and is still theirs.
        const auto given = offer_of(rank.step, world.ranks);
        REQUIRE(one.slot == rank.slot);
        REQUIRE(world.places[one.slot].step == rank.step);
        REQUIRE(one.copy.control == given.control);
        REQUIRE(one.copy.log == given.logs[other]);
        one.is_told = other == 0;
        one.at = other == 0 ? At::header : At::publish;
      }
      return true;
    case At::header:
      REQUIRE(page.post(rank.slot, r, MessageType::header, fields_of(word("h", rank.step)), 1));
      for (Rank& one : world.rank) one.is_told = true;
      rank.at = At::publish;
      return true;
    case At::publish:
      if (!rank.is_told) return false;  // in the collective call of enddef
      REQUIRE(page.post(rank.slot, r, MessageType::close, fields_of(word("p", rank.step)), 1));
      rank.at = At::leave;
      return true;
    case At::leave:
      if (page.leave(rank.slot, rank.step)) {
        ++world.bells;
        collect(world);  // it sends a message
      }
      rank.is_told = false;
      next_create(rank);
      return true;
    default:
      return false;
  }
}

struct Counts {
  std::size_t states = 0, ends = 0, completed = 0, fallen_back = 0;
};

void explore(const World& world, std::set<matcher::Fingerprint>& seen, Counts& counts, bool may_end) {
  if (!seen.insert(world.identity()).second) return;
  ++counts.states;
  bool are_all_over = !world.has_ended;
  for (std::uint32_t r = 0; r < world.ranks; ++r) are_all_over = are_all_over && world.rank[r].at == At::over;
  // The registry has heard of everything, without looking by itself.
  for (std::uint32_t slot = 0; are_all_over && slot < model_slots; ++slot)
    REQUIRE(world.page().look(slot).state != State::taken);
  bool is_end = true;
  const auto try_next = [&](const auto& action) {
    World next(world);
    if (!action(next)) return;
    is_end = false;
    explore(next, seen, counts, may_end);
  };
  for (std::uint32_t r = 0; r < world.ranks; ++r) try_next([&](World& next) { return go_on(next, r); });
  if (may_end && !world.has_ended) {
    for (std::uint32_t r = 0; r < world.ranks; ++r) {
      if (world.rank[r].at == At::over) continue;
      World next(world);
      next.rank[r].at = At::ended;
      next.has_ended = true;
      collect(next);
      for (std::uint32_t slot = 0; slot < model_slots; ++slot) {
        if (next.places[slot].step != 0 && next.page().withdraw(slot, next.places[slot].step))
          next.places[slot] = {};
      }
      explore(next, seen, counts, may_end);
    }
  }
  try_next(offer_next);
  for (std::uint32_t slot = 0; slot < model_slots; ++slot)
    try_next([&](World& next) { return withdraw(next, slot); });
  try_next([&](World& next) {
    const auto before = next.identity();
    collect(next);
    return next.identity() != before;
  });
  if (!is_end) return;
  ++counts.ends;
  if (world.has_ended) return;
  // Nobody is stuck, and every step that was taken is complete and told.
  for (std::uint32_t r = 0; r < world.ranks; ++r) REQUIRE(world.rank[r].at == At::over);
  REQUIRE(world.created == world.completed);
  REQUIRE(world.bells <= world.created);
  counts.completed += world.completed;
  counts.fallen_back += world.completed < creates_of_each ? 1 : 0;
}

Counts explore_all(std::uint32_t ranks, bool may_end) {
  Counts counts;
  std::set<matcher::Fingerprint> seen;
  explore(World(ranks), seen, counts, may_end);
  MESSAGE(counts.states << " states, " << counts.ends << " ends");
  return counts;
}

}  // namespace

TEST_SUITE("offer page: all interleavings") {
  TEST_CASE("of one process and the registry") {
    const Counts counts = explore_all(1, true);
    CHECK(counts.completed > 0);
    CHECK(counts.fallen_back > 0);
  }
  TEST_CASE("of two processes and the registry") {
    const Counts counts = explore_all(2, true);
    CHECK(counts.completed > 0);
    CHECK(counts.fallen_back > 0);
  }
}
