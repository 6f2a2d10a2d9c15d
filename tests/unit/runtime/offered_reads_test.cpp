// Offered reads: all interleavings of a writer, a group of readers, another writer that uses messages, and
// the registry (docs/design/offers.md). All steps have one name, so that readers must get the newest
// one. The other writer's step may have another.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sluice/matcher/fingerprint.hpp"
#include "sluice/runtime/offer_page.hpp"

using namespace sluice;
using namespace sluice::runtime;
using State = OfferPage::State;

namespace {

// Everybody makes one step at a time. A step is one access to a page, one collective call that ends, or one
// turn of the registry.

constexpr std::uint32_t most_ranks = 2;
constexpr std::uint32_t most_steps = 3;   ///< of the writer
constexpr std::uint32_t model_slots = 2;  ///< of the writers' page
constexpr std::uint64_t by_message = 9;   ///< the other writer's step
constexpr std::uint64_t always = std::numeric_limits<std::uint64_t>::max();

enum class At : std::uint8_t {
  begin,
  look,     ///< at a slot of the writers' page
  letter,   ///< its first letter: all steps have the name
  offered,  ///< whether the read is offered
  count,    ///< whether the step is complete
  header,   ///< copies the letter
  publish,  ///< the same
  agree,    ///< waits in the first collective call
  check,    ///< rank 0: take(), first part
  write,    ///< second part
  take,     ///< third part
  result,   ///< waits in the second collective call
  close,
  leave,
  over,   ///< has closed, or asks by message
  ended,  ///< the process has died
};

struct Reader {
  At at = At::begin;
  std::uint32_t slot = 0;                       ///< that it looks at
  std::uint32_t found_slot = 0;                 ///< with the step
  std::uint32_t read_slot = 0;                  ///< of the readers' page
  std::uint64_t looked_at = 0;                  ///< the step in the slot
  std::uint64_t step = 0;                       ///< that it has found; 0: none
  bool is_many = false;                         ///< there are several steps of the name
  std::uint64_t header_of = 0, publish_of = 0;  ///< the steps whose letters it has copied
};

struct Writer {
  std::uint32_t done = 0;  ///< accesses; four a step
  std::uint64_t step = 0;
  std::uint32_t slot = 0;
};

/// What the registry knows of a step of the writers' page.
struct Known {
  bool is_offered = false, is_created = false, is_published = false, is_erased = false;
  std::uint32_t slot = 0;
  bool has_slot = false;
  enum class Read : std::uint8_t { none, offered, taken, open } read = Read::none;
  std::uint32_t read_slot = 0;
  std::uint32_t closed = 0;  ///< ranks
};

/// The other writer: 0 nothing, 1 its create was answered, 2 it has sent its publication, 3 that was handled.
using Other = std::uint8_t;

OfferPage::Shape shape(std::uint32_t ranks) {
  return {ranks, 128, 64, model_slots + 1};
}

struct Memory {
  explicit Memory(std::uint32_t ranks) : lines(OfferPage::bytes_of(shape(ranks)) / sizeof(Line) + 1) {
    (void)OfferPage::begin(bytes(), shape(ranks));
  }
  struct alignas(64) Line {
    std::byte bytes[64] = {};
  };
  [[nodiscard]] std::span<std::byte> bytes() const noexcept {
    return {const_cast<std::byte*>(lines[0].bytes), lines.size() * sizeof(Line)};
  }
  [[nodiscard]] OfferPage page() const { return OfferPage(bytes()); }
  std::vector<Line> lines;
};

/// What is tried, and the rules. Without any one of them, something is wrong.
struct Setting {
  std::uint32_t readers = 1;
  std::uint32_t steps = 2;  ///< of the writer
  bool has_other = false;   ///< the other writer
  bool has_removal = false;
  bool has_deaths = false;
  bool is_of_name = true;     ///< the other writer's step has the name of the others
  bool is_hidden = true;      ///< reads are withdrawn when the other writer's step is created
  bool hides_unknown = true;  ///< of steps, too, that the registry does not know to have been created
  bool is_superseded = true;  ///< the read of an older step is withdrawn
  bool keeps_slot = true;     ///< a writers' slot stays while its read is offered
  bool refuses_many = true;   ///< readers do not choose between two steps of a name
};

struct World {
  explicit World(const Setting& with) : size(with.readers), rules(with), writes(1), reads(with.readers) {}
  std::uint32_t size;
  Setting rules;
  Memory writes, reads;
  Writer writer;
  std::array<Reader, most_ranks> reader;
  std::array<Known, most_steps + 1> known;  ///< by step
  std::uint64_t next_step = 1;
  Other other = 0;
  bool is_removed = false;  ///< the file was deleted once
  bool is_taken = false;    ///< what rank 0 tells in the second collective call
  bool has_died = false;
  bool has_begun = false;
  std::uint32_t withdrawals = 0;
  std::vector<std::uint8_t> complete;  ///< steps in the order in which their writers completed them
  std::size_t complete_at_begin = 0;   ///< how many were, when the first reader began
  std::size_t gone_at_begin = 0;       ///< how many of these were deleted
  std::size_t gone = 0;
  std::uint64_t newest = 0;  ///< for the registry
  bool is_wrong = false;
  void expect(bool is_right) { is_wrong = is_wrong || !is_right; }

  [[nodiscard]] matcher::Fingerprint identity() const {
    matcher::FingerprintBuilder builder;
    const auto add = [&](auto... numbers) { (builder.add(static_cast<std::uint64_t>(numbers)), ...); };
    builder.add_bytes(writes.bytes());
    builder.add_bytes(reads.bytes());
    for (const Reader& one : reader)
      add(one.at, one.slot, one.found_slot, one.read_slot, one.looked_at, one.step, one.is_many,
          one.header_of, one.publish_of);
    for (const Known& one : known)
      add(one.is_offered, one.is_created, one.is_published, one.is_erased, one.slot, one.has_slot, one.read,
          one.read_slot, one.closed);
    add(writer.done, writer.step, writer.slot, next_step, other, is_removed, is_taken, has_died, has_begun,
        withdrawals, complete_at_begin, gone_at_begin, gone, newest, is_wrong);
    for (const std::uint8_t step : complete) add(step);
    return builder.value();
  }
};

std::vector<std::byte> fields_of(std::uint64_t step) {
  return std::vector<std::byte>(1, static_cast<std::byte>(step));
}

/// The step of the first letter of the type; 0: there is none, or it is damaged.
std::uint64_t step_in(const OfferPage& page, std::uint32_t slot, MessageType type) {
  try {
    for (const auto& letter : page.letters(slot, 0, 0, page.mail_bytes(slot, 0), always))
      if (letter.type == type) return static_cast<std::uint64_t>(letter.fields.at(0));
  } catch (const std::exception&) {
  }
  return 0;
}

// The registry

/// Returns false when the readers have taken it.
bool withdraw_read(World& world, std::uint64_t step) {
  Known& known = world.known[step];
  if (known.read == Known::Read::offered) {
    const bool is_withdrawn = world.reads.page().withdraw(known.read_slot, step);
    known.read = is_withdrawn ? Known::Read::none : Known::Read::taken;
  }
  return known.read == Known::Read::none;
}

void settle(World& world) {
  for (std::uint64_t step = 1; step <= most_steps; ++step) {
    Known& known = world.known[step];
    const bool is_old = known.is_published && step != world.newest;
    if (is_old && !known.is_erased) {
      const bool is_free =
          world.rules.is_superseded ? withdraw_read(world, step) : known.read == Known::Read::none;
      known.is_erased = is_free;
    }
    const bool is_needed = world.rules.keeps_slot && known.read == Known::Read::offered;
    if (known.is_published && known.has_slot && !is_needed) {
      world.writes.page().clear(known.slot);
      known.has_slot = false;
    }
  }
}

/// Takes the mail of both pages, at one moment. Times order it: a read is opened after its publication.
void collect(World& world) {
  for (std::uint64_t step = 1; step <= most_steps; ++step) {
    Known& known = world.known[step];
    if (!known.has_slot || known.is_published) continue;
    const OfferPage page = world.writes.page();
    if (page.look(known.slot) != OfferPage::Seen{State::taken, step}) continue;
    known.is_created = true;
    known.is_offered = false;
    if (step_in(page, known.slot, MessageType::close) != step) continue;
    known.is_published = true;
    // Publications are handled in the order of their times.
    const auto place = [&](std::uint64_t one) {
      return std::find(world.complete.begin(), world.complete.end(), one) - world.complete.begin();
    };
    if (world.newest == 0 || place(world.newest) < place(step)) world.newest = step;
  }
  for (std::uint64_t step = 1; step <= most_steps; ++step) {
    Known& known = world.known[step];
    if (known.read == Known::Read::none) continue;
    const OfferPage page = world.reads.page();
    if (page.look(known.read_slot) != OfferPage::Seen{State::taken, step}) continue;
    if (known.read != Known::Read::open) {
      world.expect(known.is_published);
      world.expect(!known.is_erased);
      known.read = Known::Read::open;
    }
    known.closed = 0;
    for (std::uint32_t r = 0; r < world.size; ++r) {
      bool is_over = world.reader[r].at == At::ended;
      for (const auto& letter :
           page.letters(known.read_slot, r, 0, page.mail_bytes(known.read_slot, r), always))
        is_over = is_over || letter.type == MessageType::close;
      known.closed += is_over ? 1 : 0;
    }
    if (known.closed < world.size) continue;
    page.clear(known.read_slot);
    known.read = Known::Read::none;
  }
  settle(world);
}

bool offer_next(World& world) {
  if (world.next_step > world.rules.steps) return false;
  for (std::uint32_t slot = 0; slot < model_slots; ++slot) {
    const auto is_here = [&](const Known& known) { return known.has_slot && known.slot == slot; };
    if (std::ranges::any_of(world.known, is_here)) continue;
    const std::uint64_t step = world.next_step++;
    Known& known = world.known[step];
    known.is_offered = true;
    known.has_slot = true;
    known.slot = slot;
    world.writes.page().offer(slot, {step, 0, {{}}});
    const bool is_hidden = world.rules.is_hidden && (world.other == 1 || world.other == 2);
    if (is_hidden || world.has_died) return true;
    for (std::uint32_t place = 0; place < model_slots + 1; ++place) {
      const auto has_it = [&](const Known& one) {
        return one.read != Known::Read::none && one.read_slot == place;
      };
      if (std::ranges::any_of(world.known, has_it)) continue;
      known.read = Known::Read::offered;
      known.read_slot = place;
      world.reads.page().offer(place, {step, 0, std::vector<OfferedLog>(world.size)});
      return true;
    }
    return true;
  }
  return false;
}

/// A writers' slot is needed.
bool withdraw_one(World& world, std::uint64_t step) {
  constexpr std::uint32_t most_withdrawals = 1;
  if (world.known[step].read != Known::Read::offered || world.withdrawals >= most_withdrawals) return false;
  ++world.withdrawals;
  (void)withdraw_read(world, step);
  settle(world);
  return true;
}

/// The other writer's create is answered; it completes its step and sends that; the registry handles it.
bool go_on_other(World& world) {
  if (!world.rules.has_other) return false;
  if (world.other == 0) {
    collect(world);
    for (std::uint64_t step = 1; world.rules.is_hidden && step <= most_steps; ++step) {
      const bool is_known = world.known[step].is_created;
      const bool may_be_newer = is_known ? world.rules.is_of_name : world.rules.hides_unknown;
      if (may_be_newer) (void)withdraw_read(world, step);
    }
    settle(world);
  } else if (world.other == 1) {
    if (world.rules.is_of_name) world.complete.push_back(static_cast<std::uint8_t>(by_message));
  } else if (world.other == 2 && !world.rules.is_of_name) {
    collect(world);
  } else if (world.other == 2) {
    collect(world);  // what was posted before
    const auto place = [&](std::uint64_t one) {
      return std::find(world.complete.begin(), world.complete.end(), one) - world.complete.begin();
    };
    if (world.newest == 0 || place(world.newest) < place(by_message)) world.newest = by_message;
    settle(world);
  } else {
    return false;
  }
  ++world.other;
  return true;
}

/// The newest file is deleted, with an answer.
bool remove(World& world) {
  if (!world.rules.has_removal || world.is_removed || world.newest == 0) return false;
  collect(world);
  world.is_removed = true;
  world.gone = static_cast<std::size_t>(
      std::find(world.complete.begin(), world.complete.end(), world.newest) - world.complete.begin() + 1);
  world.newest = 0;
  settle(world);
  return true;
}

// The processes

bool go_on_writer(World& world) {
  Writer& writer = world.writer;
  const OfferPage page = world.writes.page();
  switch (writer.done % 4) {
    case 0: {
      const auto slot = page.first_offered();
      if (!slot) return false;
      writer.slot = *slot;
      writer.step = page.look(*slot).step;
      REQUIRE(page.take(*slot, writer.step, MessageType::open, fields_of(writer.step), 1));
      break;
    }
    case 1:
      REQUIRE(page.post(writer.slot, 0, MessageType::header, fields_of(writer.step), 1));
      break;
    case 2:
      // Its letter is the moment of its publication, also for the registry.
      REQUIRE(page.post(writer.slot, 0, MessageType::close, fields_of(writer.step), 1));
      world.complete.push_back(static_cast<std::uint8_t>(writer.step));
      break;
    default:
      (void)page.leave(writer.slot, writer.step);
  }
  ++writer.done;
  return true;
}

bool are_all_at(const World& world, At call) {
  for (std::uint32_t r = 0; r < world.size; ++r)
    if (world.reader[r].at != call) return false;
  return true;
}

/// The read is theirs. What they have copied is of this step, and nobody knew of a newer one before they
/// began.
void check_taken(World& world) {
  const std::uint64_t step = world.reader[0].step;
  const auto place = static_cast<std::size_t>(std::find(world.complete.begin(), world.complete.end(), step) -
                                              world.complete.begin());
  world.expect(place < world.complete.size());
  for (std::uint32_t r = 0; r < world.size; ++r) {
    world.expect(world.reader[r].step == step);
    world.expect(world.reader[r].header_of == step);
    world.expect(world.reader[r].publish_of == step);
  }
  world.expect(place + 1 >= world.complete_at_begin);
  world.expect(place + 1 > world.gone_at_begin);
  world.expect(!world.known[step].is_erased);
}

bool go_on_reader(World& world, std::uint32_t r) {
  Reader& reader = world.reader[r];
  const OfferPage writes = world.writes.page();
  const OfferPage reads = world.reads.page();
  const auto give_up = [&] { reader.step = 0, reader.at = At::agree; };
  switch (reader.at) {
    case At::begin:
      if (!world.has_begun) {
        world.has_begun = true;
        world.complete_at_begin = world.complete.size();
        world.gone_at_begin = world.gone;
      }
      reader.at = At::look;
      return true;
    case At::look: {
      const auto seen = writes.look(reader.slot);
      if (seen.state == State::taken) {
        reader.looked_at = seen.step;
        reader.at = At::letter;
        return true;
      }
      if (++reader.slot == model_slots) reader.at = At::offered;
      return true;
    }
    case At::letter:
      if (step_in(writes, reader.slot, MessageType::open) == reader.looked_at) {
        reader.is_many = reader.is_many || reader.step != 0;
        if (reader.step == 0) {
          reader.step = reader.looked_at;
          reader.found_slot = reader.slot;
        }
      }
      reader.at = ++reader.slot == model_slots ? At::offered : At::look;
      return true;
    case At::offered: {
      bool is_offered = false;
      for (std::uint32_t place = 0; place < model_slots + 1; ++place) {
        if (reader.step == 0 || reads.look(place) != OfferPage::Seen{State::offered, reader.step}) continue;
        is_offered = true;
        reader.read_slot = place;
      }
      reader.at = At::count;
      if (!is_offered || (reader.is_many && world.rules.refuses_many)) give_up();
      return true;
    }
    case At::count:
      reader.at = At::header;
      if (!writes.is_complete(reader.found_slot, reader.step)) give_up();
      return true;
    case At::header:
      reader.header_of = step_in(writes, reader.found_slot, MessageType::header);
      reader.at = At::publish;
      return true;
    case At::publish:
      reader.publish_of = step_in(writes, reader.found_slot, MessageType::close);
      reader.at = At::agree;
      return true;
    case At::agree: {
      if (r != 0 || !are_all_at(world, At::agree)) return false;
      bool is_common = reader.step != 0;
      for (std::uint32_t other = 0; other < world.size; ++other)
        is_common = is_common && world.reader[other].step == reader.step;
      for (std::uint32_t other = 0; other < world.size; ++other)
        world.reader[other].at = !is_common ? At::over : other == 0 ? At::check : At::result;
      return true;
    }
    case At::check:
      world.is_taken = reads.is_offered(reader.read_slot, reader.step);
      reader.at = world.is_taken ? At::write : At::result;
      return true;
    case At::write:
      REQUIRE(reads.write_first(reader.read_slot, MessageType::open, fields_of(reader.step), 1));
      reader.at = At::take;
      return true;
    case At::take:
      world.is_taken = reads.try_take(reader.read_slot, reader.step);
      if (world.is_taken) check_taken(world);
      reader.at = At::result;
      return true;
    case At::result:
      if (r != 0 || !are_all_at(world, At::result)) return false;
      for (std::uint32_t other = 0; other < world.size; ++other)
        world.reader[other].at = world.is_taken ? At::close : At::over;
      return true;
    case At::close:
      world.expect(!world.known[reader.step].is_erased);  // it was reading
      REQUIRE(reads.post(reader.read_slot, r, MessageType::close, fields_of(reader.step), 1));
      reader.at = At::leave;
      return true;
    case At::leave:
      (void)reads.leave(reader.read_slot, reader.step);
      reader.at = At::over;
      return true;
    default:
      return false;
  }
}

/// The registry hears of it, and has taken the mail before.
bool die(World& world, std::uint32_t r) {
  if (!world.rules.has_deaths || world.has_died || world.reader[r].at == At::over) return false;
  world.has_died = true;
  world.reader[r].at = At::ended;
  for (std::uint64_t step = 1; step <= most_steps; ++step) (void)withdraw_read(world, step);
  collect(world);
  return true;
}

struct Counts {
  std::size_t states = 0, taken = 0, asked = 0, wrong = 0;
};

/// `is_all`: also after something was wrong.
void explore(const World& world, std::set<matcher::Fingerprint>& seen, Counts& counts, bool is_all = false) {
  if (!seen.insert(world.identity()).second) return;
  ++counts.states;
  if (world.is_wrong) ++counts.wrong;
  if (world.is_wrong || (counts.wrong > 0 && !is_all)) return;
  bool is_end = true;
  const auto try_next = [&](const auto& action) {
    World next(world);
    if (!action(next)) return;
    is_end = false;
    explore(next, seen, counts, is_all);
  };
  try_next(go_on_writer);
  for (std::uint32_t r = 0; r < world.size; ++r) try_next([&](World& next) { return go_on_reader(next, r); });
  for (std::uint32_t r = 0; r < world.size; ++r) try_next([&](World& next) { return die(next, r); });
  try_next(go_on_other);
  try_next(remove);
  try_next(offer_next);
  for (std::uint64_t step = 1; step <= most_steps; ++step)
    try_next([&](World& next) { return withdraw_one(next, step); });
  try_next([&](World& next) {
    const auto before = next.identity();
    collect(next);
    return next.identity() != before;
  });
  if (!is_end) return;
  // Nobody is stuck, and the registry has heard of everything.
  REQUIRE(world.writer.done == 4 * world.rules.steps);
  for (std::uint32_t r = 0; r < world.size; ++r) {
    const At at = world.reader[r].at;
    REQUIRE((at == At::over || at == At::ended || world.has_died));
  }
  (world.is_taken ? counts.taken : counts.asked) += 1;
}

Counts explore_all(const Setting& setting) {
  Counts counts;
  std::set<matcher::Fingerprint> seen;
  explore(World(setting), seen, counts);
  MESSAGE(counts.states << " states");
  return counts;
}

void check_all(const Setting& setting) {
  const Counts counts = explore_all(setting);
  CHECK(counts.wrong == 0);
  CHECK(counts.taken > 0);
  CHECK(counts.asked > 0);
}

}  // namespace

TEST_SUITE("offered reads: all interleavings") {
  TEST_CASE("of a reader, a writer and the registry") {
    check_all({.steps = 3});
  }
  TEST_CASE("of two readers, one of which may die") {
    check_all({.readers = 2, .has_deaths = true});
  }
  TEST_CASE("with another writer that uses messages") {
    check_all({.has_other = true});
  }
  TEST_CASE("with another writer whose step has another name") {
    check_all({.steps = 3, .has_other = true, .is_of_name = false});
  }
  TEST_CASE("with a file that is deleted") {
    check_all({.has_removal = true, .has_deaths = true});
  }
  TEST_CASE("something is wrong without any one of the rules") {
    CHECK(explore_all({.has_other = true, .is_hidden = false}).wrong > 0);
    CHECK(explore_all({.has_other = true, .hides_unknown = false}).wrong > 0);
    CHECK(explore_all({.is_superseded = false}).wrong > 0);
    CHECK(explore_all({.steps = 3, .keeps_slot = false}).wrong > 0);
    CHECK(explore_all({.refuses_many = false}).wrong > 0);
  }
}
