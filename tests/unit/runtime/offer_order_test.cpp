// The order in which mail and messages are handled: all interleavings of two groups that write files of one
// name in turn, and of the registry, which looks at one place at a time. docs/design/offers.md.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "sluice/matcher/fingerprint.hpp"
#include "sluice/runtime/offer_page.hpp"

using namespace sluice;
using namespace sluice::runtime;
using State = OfferPage::State;

namespace {

constexpr std::size_t processes = 2;  // each is a group of its own
constexpr int files = 3;              // of one name, one after the other
constexpr std::uint32_t model_slots = 2;
constexpr std::uint64_t last_step = 5;  // that is offered
constexpr OfferPage::Shape shape{1, 128, 64, model_slots};

/// What a process does, one access to what others see at a time. Its letters and messages have numbers, in
/// the order in which they are sent: a process begins when it was told that the one before it has ended.
enum class At : std::uint8_t {
  begin,    ///< looks for an offer, or sends create
  take,     ///< the offer, with the letter and its time
  created,  ///< chooses between letter and message
  post,     ///< the letter, whose time it has
  send,     ///< publish, whose time it has
  leave,    ///< the step that was offered
  tell,     ///< calls the registry, unless somebody has called
  mail,     ///< sends it
  over,
};

struct Message {
  std::uint32_t number = 0;
  char what = 0;  ///< c: create, p: publish, m: mail
  std::uint64_t time = 0;
};

/// How the registry orders what it handles. The parts are left out to show that each is needed.
struct Order {
  bool has_end = true;        ///< letters later than the message that is handled stay
  bool has_messages = true;   ///< messages that were sent before a letter come first
  bool is_by_time = true;     ///< letters of several pages and slots
  bool looks_again = true;    ///< when later letters stay: who has left them may have relied on the same call
  bool forgets_first = true;  ///< a call, before it looks for letters
};

struct Letter {
  std::uint32_t number = 0;
  char what = 0;
  std::uint64_t time = 0;
};

/// Where the registry is in its work.
struct Turn {
  bool is_going_on = false;
  std::optional<std::size_t> socket;  ///< of the message; none: it looks for another reason
  Message message;
  std::uint64_t until = 0;
  std::size_t place = 0;       ///< the mailbox or the socket that it looks at next
  bool has_forgotten = false;  ///< the call of the page
  std::vector<Letter> found;
  std::array<std::uint64_t, processes> heads = {};
};

struct alignas(64) Lines {
  std::array<std::byte, 1024> bytes = {};
};

struct World {
  std::array<Lines, processes> memory;
  std::array<std::vector<Message>, processes> sockets;
  std::array<std::array<std::size_t, model_slots>, processes> taken = {};
  std::uint64_t clock = 0, next_step = 1;
  int file = 0;
  std::uint32_t next_number = 0;
  std::size_t writer = 0;  ///< whose turn it is
  At at = At::begin;
  bool is_offered = false, waits = false;
  bool looks_again = false;  ///< the registry, soon
  std::uint32_t slot = 0;
  std::uint64_t step = 0, time = 0;
  Turn turn;
  std::uint64_t letters = 0, handled = 0;  ///< by number, a bit for each

  World() {
    for (std::size_t p = 0; p < processes; ++p) (void)OfferPage::begin(memory[p].bytes, shape);
  }
  [[nodiscard]] OfferPage page(std::size_t p) const {
    return OfferPage(std::span(const_cast<std::byte*>(memory[p].bytes.data()), memory[p].bytes.size()));
  }

  [[nodiscard]] matcher::Fingerprint identity() const {
    matcher::FingerprintBuilder builder;
    const auto add = [&](auto... numbers) { (builder.add(static_cast<std::uint64_t>(numbers)), ...); };
    const auto add_message = [&](const Message& one) { add(one.number, one.what, one.time); };
    for (std::size_t p = 0; p < processes; ++p) {
      builder.add_bytes(memory[p].bytes);
      add(sockets[p].size(), turn.heads[p]);
      for (const Message& one : sockets[p]) add_message(one);
      for (const std::size_t end : taken[p]) add(end);
    }
    add(clock, next_step, file, next_number, writer, at, is_offered, waits, slot, step, time);
    add(turn.is_going_on, turn.socket.value_or(processes), turn.until, turn.place, turn.found.size());
    add(turn.has_forgotten, looks_again);
    add_message(turn.message);
    for (const Letter& one : turn.found) add(one.number, one.what, one.time);
    add(handled, letters);
    return builder.value();
  }
};

/// What and number.
std::vector<std::byte> text_of(char what, std::uint32_t number) {
  return {static_cast<std::byte>(what), static_cast<std::byte>(number)};
}

constexpr std::uint64_t bit(std::uint32_t number) {
  return std::uint64_t{1} << number;
}

std::uint64_t send_time(World& world) {
  return ++world.clock;
}

void send(World& world, char what, std::uint64_t time) {
  world.sockets[world.writer].push_back({world.next_number++, what, time});
}

/// The process has closed its file and tells the next one.
void end_file(World& world, std::size_t next) {
  world.at = ++world.file < files ? At::begin : At::over;
  world.writer = next;
  world.is_offered = false;
}

using Explorer = std::vector<World>;

/// All that the process may do next.
void go_on(const World& world, Explorer& next) {
  if (world.waits) return;
  const OfferPage page = world.page(world.writer);
  const auto add = [&](const auto& change) {
    World& changed = next.emplace_back(world);
    change(changed);
  };
  const auto go_to = [&](At at, const World& changed) { next.emplace_back(changed).at = at; };
  const auto close = [&](const World& closed) {
    for (std::size_t other = 0; other < processes; ++other) end_file(next.emplace_back(closed), other);
  };
  switch (world.at) {
    case At::begin: {
      const auto slot = page.first_offered();
      if (slot)
        add([&](World& w) {
          w.slot = *slot;
          w.step = page.look(*slot).step;
          w.at = At::take;
        });
      add([&](World& w) {
        send(w, 'c', send_time(w));
        w.waits = true;
        w.at = At::created;
      });
      return;
    }
    case At::take:
      return add([&](World& w) {
        REQUIRE(w.page(w.writer).write_first(w.slot, MessageType::open, text_of('c', w.next_number),
                                             send_time(w)));
        REQUIRE(w.page(w.writer).try_take(w.slot, w.step));  // nothing is withdrawn here
        w.letters |= bit(w.next_number++);
        w.is_offered = true;
        w.at = At::created;
      });
    case At::created:
      if (world.is_offered)
        add([&](World& w) {
          w.time = send_time(w);
          w.at = At::post;
        });
      return add([&](World& w) {
        w.time = send_time(w);
        w.at = At::send;
      });
    case At::post:
      return add([&](World& w) {
        REQUIRE(w.page(w.writer).post(w.slot, 0, MessageType::close, text_of('p', w.next_number), w.time));
        w.letters |= bit(w.next_number++);
        w.at = At::leave;
      });
    case At::send: {
      World sent(world);
      send(sent, 'p', sent.time);
      return sent.is_offered ? go_to(At::leave, sent) : close(sent);
    }
    case At::leave: {
      World left(world);
      return left.page(left.writer).leave(left.slot, left.step) ? go_to(At::tell, left) : close(left);
    }
    case At::tell: {
      World told(world);
      const bool is_first = told.page(told.writer).bell().is_called.exchange(1) == 0;
      return is_first ? go_to(At::mail, told) : close(told);
    }
    case At::mail: {
      World told(world);
      send(told, 'm', send_time(told));
      return close(told);
    }
    case At::over:
      return;
  }
}

/// Whether everything comes in the order in which it must: a letter after all that was sent before, and a
/// message after all letters that were posted before.
bool handle(World& world, std::uint32_t number, char what, bool is_letter) {
  for (std::uint32_t earlier = 0; earlier < number; ++earlier) {
    const bool must_be_there = is_letter || (world.letters & bit(earlier)) != 0;
    if (must_be_there && (world.handled & bit(earlier)) == 0) return false;
  }
  world.handled |= bit(number);
  if (what == 'c' && !is_letter) world.waits = false;
  return true;
}

/// The step is published: its slot is free, and is offered anew.
void clear_published(World& world) {
  for (std::size_t p = 0; p < processes; ++p) {
    for (std::uint32_t slot = 0; slot < model_slots; ++slot) {
      const OfferPage page = world.page(p);
      const auto seen = page.look(slot);
      if (seen.state == State::taken) {
        // Create and publish were handled, of a process that goes on to its next file or leaves this one.
        const bool is_published =
            world.taken[p][slot] == page.mail_bytes(slot, 0) &&
            page.letters(slot, 0, 0, world.taken[p][slot], ~std::uint64_t{0}).size() == 2;
        if (!is_published) continue;
        page.clear(slot);
      } else if (seen.state == State::offered) {
        continue;
      }
      if (world.next_step > last_step) continue;
      page.offer(slot, {world.next_step, 1, {{1, 1}}});
      ++world.next_step;
      world.taken[p][slot] = 0;
    }
  }
}

constexpr std::size_t mailboxes = processes * model_slots;

/// The registry looks at a mailbox, at a socket, handles something, or ends its turn. Returns false when it
/// has handled something too early.
bool go_on_with_turn(World& world, const Order& order) {
  Turn& turn = world.turn;
  if (turn.place < mailboxes) {
    const std::size_t p = turn.place / model_slots;
    const auto slot = static_cast<std::uint32_t>(turn.place % model_slots);
    const OfferPage page = world.page(p);
    if (slot == (order.forgets_first ? 0 : model_slots - 1) && !turn.has_forgotten) {
      page.bell().is_called.exchange(0);
      turn.has_forgotten = true;
      if (order.forgets_first) return true;
    }
    if (++turn.place % model_slots == 0) turn.has_forgotten = false;
    if (page.look(slot).state != State::taken) return true;
    const std::uint64_t until = order.has_end ? turn.until : ~std::uint64_t{0};
    for (const auto& letter : page.letters(slot, 0, world.taken[p][slot], page.mail_bytes(slot, 0), until)) {
      world.taken[p][slot] = letter.end;
      const Letter found{static_cast<std::uint32_t>(letter.fields[1]), static_cast<char>(letter.fields[0]),
                         letter.time};
      auto place = turn.found.end();
      while (order.is_by_time && place != turn.found.begin() && std::prev(place)->time > found.time) --place;
      turn.found.insert(place, found);
    }
    if (order.looks_again && world.taken[p][slot] < page.mail_bytes(slot, 0)) world.looks_again = true;
    return true;
  }
  const std::size_t socket = turn.place - mailboxes;
  if (socket < processes && !turn.found.empty()) {
    ++turn.place;
    turn.heads[socket] = world.sockets[socket].empty() ? 0 : world.sockets[socket].front().time;
    return true;
  }
  if (!turn.found.empty()) {
    const Letter letter = turn.found.front();
    for (std::size_t p = 0; order.has_messages && p < processes; ++p) {
      const std::uint64_t head = turn.heads[p];
      const std::uint64_t other = turn.heads[1 - p];
      if (head == 0 || head >= letter.time || (other != 0 && other < head)) continue;
      const Message message = world.sockets[p].front();
      world.sockets[p].erase(world.sockets[p].begin());
      turn.heads[p] = world.sockets[p].empty() ? 0 : world.sockets[p].front().time;
      return handle(world, message.number, message.what, false);
    }
    turn.found.erase(turn.found.begin());
    return handle(world, letter.number, letter.what, true);
  }
  const bool is_right = !turn.socket || handle(world, turn.message.number, turn.message.what, false);
  turn = {};
  clear_published(world);
  return is_right;
}

void begin_turns(const World& world, Explorer& next) {
  for (std::size_t p = 0; p < processes; ++p) {
    if (world.sockets[p].empty()) continue;
    World& begun = next.emplace_back(world);
    begun.turn.is_going_on = true;
    begun.turn.socket = p;
    begun.turn.message = begun.sockets[p].front();
    begun.turn.until = begun.turn.message.time;
    begun.sockets[p].erase(begun.sockets[p].begin());
  }
  World& looks = next.emplace_back(world);
  looks.looks_again = false;
  looks.turn.is_going_on = true;
  looks.turn.until = looks.clock;
}

struct Counts {
  std::size_t states = 0, ends = 0, mistakes = 0;
  int letters = 0;
};

/// Ends with the first mistake.
Counts explore_all(const Order& order) {
  Counts counts;
  std::set<matcher::Fingerprint> seen;
  Explorer open(1);
  clear_published(open.front());
  while (!open.empty() && counts.mistakes == 0) {
    const World world = std::move(open.back());
    open.pop_back();
    if (!seen.insert(world.identity()).second) continue;
    ++counts.states;
    Explorer next;
    go_on(world, next);
    if (world.turn.is_going_on) {
      World changed(world);
      if (go_on_with_turn(changed, order)) {
        next.push_back(std::move(changed));
      } else {
        ++counts.mistakes;
      }
    } else {
      begin_turns(world, next);
    }
    const bool is_over = world.at == At::over && !world.turn.is_going_on && world.sockets[0].empty() &&
                         world.sockets[1].empty() && !world.looks_again;
    if (is_over) {
      ++counts.ends;
      counts.letters = std::max(counts.letters, std::popcount(world.letters));
      // Nothing is left for a turn that nobody begins.
      if (world.handled != bit(world.next_number) - 1) ++counts.mistakes;
    }
    for (World& one : next) open.push_back(std::move(one));
  }
  MESSAGE(counts.states << " states, " << counts.ends << " ends, " << counts.mistakes << " mistakes");
  return counts;
}

}  // namespace

TEST_SUITE("offers: all orders of mail and messages") {
  TEST_CASE("a letter comes after all that was sent before it, and a message after all letters before it") {
    const Counts counts = explore_all({});
    CHECK(counts.mistakes == 0);
    CHECK(counts.ends > 0);
    CHECK(counts.letters == 2 * files);
  }
  TEST_CASE("each part of the order is needed") {
    CHECK(explore_all({false, true, true}).mistakes > 0);
    CHECK(explore_all({true, false, true}).mistakes > 0);
    CHECK(explore_all({true, true, false}).mistakes > 0);
    CHECK(explore_all({true, true, true, false}).mistakes > 0);
    CHECK(explore_all({true, true, true, true, false}).mistakes > 0);
  }
}
