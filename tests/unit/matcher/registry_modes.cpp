// How readers go through the steps of a rule: docs/steps.md.
#include <doctest/doctest.h>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

constexpr std::uint64_t no_retention = 0;

FileRule rule_of(std::vector<std::string> readers) {
  FileRule rule;
  rule.pattern = "*.nc";
  rule.writer = "model";
  rule.readers = std::move(readers);
  return rule;
}
FileRule with_mode(ReadMode mode, std::uint32_t every = 1) {
  FileRule rule = rule_of({"analysis"});
  rule.modes = {{"analysis", mode, every}};
  return rule;
}
FileRule stream(std::vector<std::string> readers = {"analysis"}) {
  FileRule rule = rule_of(std::move(readers));
  rule.is_stream = true;
  return rule;
}
FileRule with_queue(FileRule rule, std::uint32_t queue, WhenFull when_full) {
  rule.queue = queue;
  rule.when_full = when_full;
  return rule;
}

/// A writer with one process, and readers of known size; memory for two steps, and no disk.
struct ModeWorld : World {
  explicit ModeWorld(const FileRule& file_rule, std::uint32_t ranks = 1, std::string spill = {},
                     std::uint64_t memory_bytes = 8 * mib, std::uint32_t opens = 1)
      : World({file_rule}, memory_bytes, no_retention,
              {{"model", 1}, {"analysis", ranks, 0, opens}, {"picture", 1}}, 1, std::move(spill)) {
    memory.disk_bytes = 100 * mib;
    writer = process("model");
    reader = process("analysis");
  }
  static std::string name(int i) { return "f" + std::to_string(i) + ".nc"; }
  /// 0: there is no room.
  StepId write_next(const std::string& file, std::uint64_t bytes = 3 * mib) {
    const auto created = create(writer, file, alone());
    if (!is_created(created)) return 0;
    const StepId step = answer(created).step;
    if (!is_granted(need(writer, step, bytes))) return 0;
    publish(writer, step);
    return step;
  }
  /// The step that an open of all processes of a reader gets; all close it.
  StepId read_together(const std::vector<ProcessId>& ranks, const std::string& file) {
    const std::uint64_t group = ++next_group;
    std::vector<std::uint32_t> tags;
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
      tags.push_back(open(ranks[rank], file, member(group, rank, static_cast<std::uint32_t>(ranks.size()))));
    const StepId step = answer(tags.front()).step;
    for (const std::uint32_t tag : tags) CHECK(answer(tag).step == step);
    for (std::size_t rank = 0; rank < ranks.size() && step != 0; ++rank) close(ranks[rank], step);
    return step;
  }
  ReaderStatus counts(std::size_t of = 0) { return registry.status().rules.at(0).readers.at(of); }
  bool has_counts(std::uint64_t taken, std::uint64_t skipped, std::uint64_t missed, std::size_t of = 0) {
    const ReaderStatus found = counts(of);
    CAPTURE(found.taken);
    CAPTURE(found.skipped);
    CAPTURE(found.missed);
    CHECK(found.taken == taken);
    CHECK(found.skipped == skipped);
    CHECK(found.missed == missed);
    return found.taken == taken && found.skipped == skipped && found.missed == missed;
  }

  ProcessId writer{};
  ProcessId reader{};
};

}  // namespace

TEST_SUITE("registry: modes of readers") {
  TEST_CASE("steps that a reader of the latest has not opened hold nothing back") {
    ModeWorld world(with_mode(ReadMode::latest));
    for (int i = 0; i < 10; ++i) REQUIRE(world.write_next(ModeWorld::name(i)) != 0);
    CHECK(world.read(world.reader, ModeWorld::name(9)) != 0);
    const auto old = world.open(world.reader, ModeWorld::name(3), world.alone());
    CHECK(world.refusal(old) == NC_ENOENT);
    CHECK(world.answer(old).text.find("`analysis: latest`") != std::string::npos);
    CHECK(world.has_counts(1, 9, 0));
  }

  TEST_CASE("a step that a reader of the latest has open stays") {
    ModeWorld world(with_mode(ReadMode::latest), 1, {}, 16 * mib);
    world.write_next("first.nc");
    const StepId held = world.answer(world.open(world.reader, "first.nc", world.alone())).step;
    for (int i = 0; i < 10; ++i) REQUIRE(world.write_next(ModeWorld::name(i)) != 0);
    CHECK_FALSE(world.answers.erased_steps.contains(held));
    world.close(world.reader, held);
    CHECK(world.has_counts(1, 9, 1));  // the last one is not skipped: nothing newer came
  }

  TEST_CASE("a skipped step that is still there can be opened, and counts as taken") {
    ModeWorld world(with_mode(ReadMode::latest), 1, {}, 64 * mib);
    world.write_next("a.nc");
    world.write_next("b.nc");
    CHECK(world.read(world.reader, "a.nc") != 0);
    CHECK(world.has_counts(1, 0, 1));
  }

  TEST_CASE("every third step holds back the writer, the others do not") {
    ModeWorld world(with_mode(ReadMode::every, 3), 1, {}, 10 * mib);
    for (int i = 0; i < 7; ++i) REQUIRE(world.write_next(ModeWorld::name(i)) != 0);
    CHECK(world.write_next(ModeWorld::name(7)) == 0);  // 0, 3 and 6 fill the memory
    CHECK(world.read(world.reader, ModeWorld::name(0)) != 0);
    CHECK(world.read(world.reader, ModeWorld::name(3)) != 0);
    const auto skipped = world.open(world.reader, ModeWorld::name(1), world.alone());
    CHECK(world.answer(skipped).text.find("`analysis: 3`, and this is step 2") != std::string::npos);
    CHECK(world.has_counts(2, 4, 1));
  }

  TEST_CASE("a reader of all steps keeps what another reader skips") {
    FileRule rule = rule_of({"analysis", "picture"});
    rule.modes = {{"picture", ReadMode::latest, 1}};
    ModeWorld world(rule);
    world.write_next("a.nc");
    world.write_next("b.nc");
    CHECK(world.write_next("c.nc") == 0);
    CHECK(world.read(world.reader, "a.nc") != 0);
    CHECK(world.read(world.process("picture"), "b.nc") != 0);
    CHECK(world.has_counts(1, 0, 1, 0));
    CHECK(world.has_counts(1, 1, 0, 1));
  }

  TEST_CASE("a file that is written again before it was read is missed") {
    ModeWorld world(rule_of({"analysis"}));
    world.write_next("a.nc");
    world.write_next("a.nc");
    CHECK(world.read(world.reader, "a.nc") != 0);
    CHECK(world.has_counts(1, 0, 1));
  }

  TEST_CASE("the end of a sequence is told without advice") {
    ModeWorld world(rule_of({"analysis"}));
    world.write_next("wave_09.nc");
    CHECK(world.read(world.reader, "wave_09.nc") != 0);
    const auto next = world.open(world.reader, "wave_10.nc", world.alone());
    CHECK(world.is_waiting(next));
    world.registry.component_exited("model", "exited with status 0");
    CHECK(world.refusal(next) == NC_ENOENT);
    CHECK(world.answer(next).text.ends_with("its writer model exited with status 0"));
    const auto mistyped = world.open(world.reader, "wave_9.nc", world.alone());
    CHECK(world.answer(mistyped).text.find("did you mean that? If analysis makes this file itself") !=
          std::string::npos);
  }
}

TEST_SUITE("registry: streams") {
  TEST_CASE("opens of one name go through its steps in order, and end with the writer") {
    ModeWorld world(stream());
    const StepId first = world.write_next("s.nc");
    const StepId second = world.write_next("s.nc");
    CHECK(world.read(world.reader, "s.nc") == first);
    CHECK(world.read(world.reader, "s.nc") == second);
    const auto third = world.open(world.reader, "s.nc", world.alone());
    CHECK(world.is_waiting(third));
    const StepId written = world.write_next("s.nc");
    CHECK(world.answer(third).step == written);
    world.close(world.reader, written);
    const auto end = world.open(world.reader, "s.nc", world.alone());
    world.registry.component_exited("model", "exited with status 0");
    CHECK(world.refusal(end) == NC_ENOENT);
    CHECK(world.answer(end).text.starts_with("the stream has ended"));
    CHECK(world.has_counts(3, 0, 0));
  }

  TEST_CASE("each reader has its own place, and a reader that comes late begins with the first step") {
    ModeWorld world(stream({"analysis", "picture"}), 1, {}, 64 * mib);
    std::vector<StepId> steps;
    for (int i = 0; i < 4; ++i) steps.push_back(world.write_next("s.nc"));
    for (const StepId step : steps) CHECK(world.read(world.reader, "s.nc") == step);
    world.registry.component_exited("model", "exited with status 0");
    const ProcessId picture = world.process("picture");
    for (const StepId step : steps) CHECK(world.read(picture, "s.nc") == step);
    CHECK(world.refusal(world.open(picture, "s.nc", world.alone())) == NC_ENOENT);
    CHECK(world.answers.erased_steps.size() == 3);  // the last one has a name
  }

  TEST_CASE("all ranks that open together get the same step, also after one has looked alone") {
    ModeWorld world(stream(), 3, {}, 64 * mib);
    const std::vector<ProcessId> ranks{world.reader, world.process("analysis"), world.process("analysis")};
    const StepId first = world.write_next("s.nc");
    const StepId second = world.write_next("s.nc");
    CHECK(world.read(ranks[0], "s.nc") == first);
    CHECK(world.read_together(ranks, "s.nc") == first);
    CHECK(world.read(ranks[0], "s.nc") == second);
    CHECK(world.read_together(ranks, "s.nc") == second);
    const StepId third = world.write_next("s.nc");
    CHECK(world.read_together({ranks[2], ranks[0], ranks[1]}, "s.nc") == third);  // another one is first
    CHECK(world.answers.erased_steps.contains(first));
  }

  TEST_CASE("ranks that open for themselves all see all steps") {
    ModeWorld world(stream(), 2, {}, 64 * mib);
    const ProcessId other = world.process("analysis");
    const StepId first = world.write_next("s.nc");
    const StepId second = world.write_next("s.nc");
    CHECK(world.read(world.reader, "s.nc") == first);
    CHECK(world.read(world.reader, "s.nc") == second);
    CHECK(world.read(other, "s.nc") == first);
    CHECK(world.read(other, "s.nc") == second);
  }

  TEST_CASE("the commands of a script take one step after the other") {
    ModeWorld world(stream(), 0, {}, 64 * mib);
    const StepId first = world.write_next("s.nc");
    const StepId second = world.write_next("s.nc");
    CHECK(world.read(world.reader, "s.nc") == first);
    world.registry.disconnect(world.reader);
    CHECK(world.read(world.process("analysis"), "s.nc") == second);
    CHECK(world.answers.erased_steps.contains(first));
  }

  TEST_CASE("three commands of a script that take two steps each are told of once") {
    const auto run_commands = [](std::uint32_t opens_per_step, const std::vector<int>& takes) {
      ModeWorld world(stream(), 0, {}, 64 * mib, opens_per_step);
      for (const int steps : takes) {
        const ProcessId command = world.process("analysis");
        for (int i = 0; i < steps; ++i) {
          world.write_next("s.nc", kib);
          CHECK(world.read(command, "s.nc") != 0);
        }
        world.registry.disconnect(command);
      }
      return world.answers.events;
    };
    const auto events = run_commands(1, {2, 2, 2, 2, 2, 2, 2, 2});
    REQUIRE(events.size() == 1);
    CHECK(
        events[0] ==
        "the last 3 commands of analysis that opened 's.nc' took 2 steps each. Some programs open a file "
        "twice to read it once (ncra, ncpdq, cdo -sub X X), and so get two steps for one. If these commands "
        "do, give analysis 'opens-per-step: 2'");
    CHECK(run_commands(1, {1, 1, 1, 1, 1}).empty());   // each command reads a step
    CHECK(run_commands(1, {12}).empty());              // a program goes on from step to step
    CHECK(run_commands(1, {12, 12, 12, 12}).empty());  // so do several
    CHECK(run_commands(1, {2, 1, 2, 1, 2, 1}).empty());
    CHECK(run_commands(2, {2, 2, 2, 2}).empty());  // the workflow knows it
  }

  TEST_CASE("a program that opens a step several times gets the same one, which stays so long") {
    const std::uint32_t ranks = 0;  // of unknown size, and of known size
    for (const std::uint32_t size : {ranks, 1U}) {
      ModeWorld world(stream(), size, {}, 64 * mib, 3);
      std::vector<StepId> steps;
      for (int i = 0; i < 3; ++i) steps.push_back(world.write_next("s.nc"));
      for (const StepId step : steps) {
        for (int open = 0; open < 3; ++open) {
          CHECK_FALSE(world.answers.erased_steps.contains(step));
          CHECK(world.read(world.reader, "s.nc") == step);
        }
      }
      CHECK(world.answers.erased_steps.size() == 2);  // the last one has a name
      CHECK(world.has_counts(3, 0, 0));
    }
  }

  TEST_CASE("opens together with others count apart, and each process counts for itself") {
    ModeWorld world(stream(), 2, {}, 64 * mib, 2);
    const std::vector<ProcessId> ranks{world.reader, world.process("analysis")};
    const StepId first = world.write_next("s.nc");
    const StepId second = world.write_next("s.nc");
    CHECK(world.read_together(ranks, "s.nc") == first);
    CHECK(world.read_together({ranks[1], ranks[0]}, "s.nc") == first);
    CHECK(world.read_together({ranks[1], ranks[0]}, "s.nc") == second);
    CHECK(world.read_together(ranks, "s.nc") == second);
    const StepId third = world.write_next("s.nc");
    for (const ProcessId rank : ranks) CHECK(world.read(rank, "s.nc") == third);
    for (const ProcessId rank : ranks) CHECK(world.read(rank, "s.nc") == third);
  }

  TEST_CASE("who ends between its opens of a step leaves it, and the next command takes the next step") {
    ModeWorld world(with_queue(stream(), 2, WhenFull::wait), 0, {}, 64 * mib, 2);
    const ProcessId other = world.process("analysis");
    const StepId first = world.write_next("s.nc");
    const StepId second = world.write_next("s.nc");
    CHECK(world.read(world.reader, "s.nc") == first);
    CHECK(world.read(other, "s.nc") == second);
    CHECK(world.read(world.reader, "s.nc") == first);
    CHECK(world.answers.erased_steps.contains(first));
    CHECK(world.write_next("s.nc") != 0);
    const auto next = world.create(world.writer, "s.nc", world.alone());
    CHECK(world.is_waiting(next));  // the second one is not read yet
    world.registry.disconnect(other);
    CHECK(world.is_created(next));
  }

  TEST_CASE("a step that is to be opened again is neither discarded nor left for a newer one") {
    FileRule rule = with_queue(stream(), 1, WhenFull::discard);
    rule.modes = {{"analysis", ReadMode::latest, 1}};
    ModeWorld world(rule, 1, {}, 64 * mib, 2);
    const StepId first = world.write_next("s.nc");
    CHECK(world.read(world.reader, "s.nc") == first);
    for (int i = 0; i < 4; ++i) world.write_next("s.nc");
    const StepId newest = world.write_next("s.nc");
    CHECK(world.read(world.reader, "s.nc") == first);
    CHECK(world.read(world.reader, "s.nc") == newest);
  }

  TEST_CASE("who only looks gets the next step, and leaves it") {
    ModeWorld world(stream());
    const StepId first = world.write_next("s.nc");
    const auto look = world.ask([&](const Ticket& ticket) {
      world.registry.open(ticket, world.reader,
                          {{0, "s.nc"}, world.alone(), {}, Purpose::read, Open::Which::look});
    });
    CHECK(world.answer(look).step == first);
    world.close(world.reader, first);
    CHECK(world.read(world.reader, "s.nc") == first);
    CHECK(world.has_counts(1, 0, 0));
  }

  TEST_CASE("a reader of the latest jumps to the newest step, and does not get it twice") {
    FileRule rule = stream();
    rule.modes = {{"analysis", ReadMode::latest, 1}};
    ModeWorld world(rule);
    StepId newest = 0;
    for (int i = 0; i < 10; ++i) newest = world.write_next("s.nc");
    CHECK(world.read(world.reader, "s.nc") == newest);
    CHECK(world.is_waiting(world.open(world.reader, "s.nc", world.alone())));
    CHECK(world.has_counts(1, 9, 0));
  }

  TEST_CASE("a reader of every fourth step gets these alone") {
    FileRule rule = stream();
    rule.modes = {{"analysis", ReadMode::every, 4}};
    ModeWorld world(rule, 1, {}, 64 * mib);
    std::vector<StepId> steps;
    for (int i = 0; i < 8; ++i) steps.push_back(world.write_next("s.nc"));
    CHECK(world.read(world.reader, "s.nc") == steps[0]);
    CHECK(world.read(world.reader, "s.nc") == steps[4]);
    CHECK(world.is_waiting(world.open(world.reader, "s.nc", world.alone())));
    CHECK(world.has_counts(2, 6, 0));
  }

  TEST_CASE(
      "a process that wants its step once more gets that, or hears that it is gone, and never the next one") {
    ModeWorld world(stream({"analysis", "picture"}), 1, {}, 64 * mib);
    const ProcessId picture = world.process("picture");
    const auto again = [&](StepId step) {
      Open request{{0, "a.nc"}, world.alone(), {}, Purpose::read, Open::Which::look};
      request.continues = step;
      return world.ask([&](const Ticket& t) { world.registry.open(t, world.reader, request); });
    };
    const StepId first = world.write_next("a.nc");
    CHECK(world.read(world.reader, "a.nc") == first);
    const auto newest = again(first);
    CHECK(world.answer(newest).step == first);
    world.close(world.reader, first);
    const StepId second = world.write_next("a.nc");
    const auto held = again(first);  // by the other reader
    CHECK(world.answer(held).step == first);
    world.close(world.reader, first);
    CHECK(world.read(picture, "a.nc") == first);
    CHECK(world.answers.erased_steps.contains(first));
    CHECK(world.refusal(again(first)) == NC_EIO);
    CHECK(world.read(world.reader, "a.nc") == second);
  }

  TEST_CASE("a file that its writer removes stays for the readers of the stream") {
    ModeWorld world(stream());
    const StepId first = world.write_next("s.nc");
    world.remove(world.writer, "s.nc");
    const StepId second = world.write_next("s.nc");
    CHECK(world.read(world.reader, "s.nc") == first);
    CHECK(world.read(world.reader, "s.nc") == second);
  }

  TEST_CASE("a killed reader gives its step back, and one that never opens holds all until it has ended") {
    ModeWorld world(stream({"analysis", "picture"}));
    world.write_next("s.nc");
    world.write_next("s.nc");
    CHECK(world.read(world.reader, "s.nc") != 0);
    world.open(world.reader, "s.nc", world.alone());
    world.registry.disconnect(world.reader);
    const auto created = world.create(world.writer, "s.nc", world.alone());
    const auto put = world.need(world.writer, world.answer(created).step, 3 * mib);
    CHECK(world.is_waiting(put));
    world.registry.component_exited("picture", "exited with status 0");
    CHECK(world.is_granted(put));
    CHECK(world.has_counts(0, 0, 2, 1));
  }
}

TEST_SUITE("registry: queues") {
  TEST_CASE("a create waits until a reader has read a step (when-full: wait)") {
    ModeWorld world(with_queue(rule_of({"analysis"}), 2, WhenFull::wait), 1, {}, 64 * mib);
    world.write_next("a.nc");
    world.write_next("b.nc");
    const auto third = world.create(world.writer, "c.nc", world.alone());
    CHECK(world.is_waiting(third));
    const auto& waits = world.registry.view({}).waits;
    REQUIRE(waits.size() == 1);
    CHECK(waits[0].waits_for == "a place in the queue of '*.nc' (analysis has not read 'a.nc')");
    CHECK(world.read(world.reader, "b.nc") != 0);  // in whatever order
    CHECK(world.is_created(third));
  }

  TEST_CASE("a queue of one lets writer and reader take turns") {
    ModeWorld world(with_queue(stream(), 1, WhenFull::wait));
    for (int i = 0; i < 5; ++i) {
      REQUIRE(world.write_next("s.nc") != 0);
      const auto next = world.create(world.writer, "s.nc", world.alone());
      CHECK(world.is_waiting(next));
      CHECK(world.read(world.reader, "s.nc") != 0);
      REQUIRE(world.is_created(next));
      world.publish(world.writer, world.answer(next).step);
      CHECK(world.read(world.reader, "s.nc") != 0);
    }
    CHECK(world.has_counts(10, 0, 0));
  }

  TEST_CASE("a reader that ends, or that skips the steps, lets the writer go on") {
    FileRule rule = with_queue(rule_of({"analysis", "picture"}), 1, WhenFull::wait);
    rule.modes = {{"picture", ReadMode::every, 100}};
    ModeWorld world(rule, 1, {}, 64 * mib);
    world.write_next("a.nc");
    const auto second = world.create(world.writer, "b.nc", world.alone());
    CHECK(world.is_waiting(second));
    CHECK(world.read(world.process("picture"), "a.nc") != 0);
    CHECK(world.is_waiting(second));
    world.registry.component_exited("analysis", "exited with status 0");
    CHECK(world.is_created(second));
  }

  TEST_CASE("a writer whose readers wait for another file of it goes on beyond the queue") {
    ModeWorld world(with_queue(rule_of({"analysis"}), 1, WhenFull::wait), 1, {}, 64 * mib);
    world.write_next("a.nc");
    const auto second = world.create(world.writer, "b.nc", world.alone());
    CHECK(world.is_waiting(second));
    world.open(world.reader, "c.nc", world.alone());
    CHECK(world.is_created(second));
    CHECK(world.answers.events.back().starts_with("model goes on beyond the queue of '*.nc'"));
  }

  TEST_CASE("the oldest unread steps go, but for those that are open (when-full: discard)") {
    ModeWorld world(with_queue(rule_of({"analysis"}), 2, WhenFull::discard), 1, {}, 16 * mib);
    world.write_next("open.nc");
    const StepId held = world.answer(world.open(world.reader, "open.nc", world.alone())).step;
    for (int i = 0; i < 8; ++i) REQUIRE(world.write_next(ModeWorld::name(i)) != 0);
    CHECK_FALSE(world.answers.erased_steps.contains(held));
    CHECK(world.read(world.reader, ModeWorld::name(7)) != 0);
    const auto gone = world.open(world.reader, ModeWorld::name(0), world.alone());
    CHECK(world.refusal(gone) == NC_ENOENT);
    CHECK(world.answer(gone).text.find("was discarded before analysis had opened it") != std::string::npos);
    world.close(world.reader, held);
    CHECK(world.has_counts(2, 0, 7));
  }

  TEST_CASE("a reader of a stream goes on behind what was discarded") {
    ModeWorld world(with_queue(stream(), 2, WhenFull::discard), 1, {}, 10 * mib);
    std::vector<StepId> steps;
    for (int i = 0; i < 6; ++i) steps.push_back(world.write_next("s.nc"));
    CHECK(world.read(world.reader, "s.nc") == steps[4]);
    CHECK(world.read(world.reader, "s.nc") == steps[5]);
    CHECK(world.has_counts(2, 0, 4));
  }

  TEST_CASE("steps beyond the queue go to disk at once (when-full: spill)") {
    ModeWorld world(with_queue(rule_of({"analysis"}), 1, WhenFull::spill), 1, "/scratch", 64 * mib);
    world.write_next("a.nc");
    CHECK(world.registry.status().bytes_spilled_ever == 0);
    world.write_next("b.nc");
    CHECK(world.registry.status().bytes_spilled_ever == 3 * mib);
    CHECK(world.read(world.reader, "a.nc") != 0);
    CHECK(world.read(world.reader, "b.nc") != 0);
    world.write_next("c.nc");
    CHECK(world.registry.status().bytes_spilled_ever == 3 * mib);
  }

  TEST_CASE("a reader of a stream that is started again goes on with the step that it had open") {
    for (const std::uint32_t processes : {1U, 0U}) {  // 0: not known
      CAPTURE(processes);
      World world({stream()}, 64 * mib, no_retention, {{"model", 1, 0}, {"analysis", processes, 2}});
      const ProcessId writer = world.process("model");
      std::vector<StepId> steps;
      for (int i = 0; i < 4; ++i) steps.push_back(world.write(writer, "s.nc", kib));
      ProcessId reader = world.process("analysis");
      CHECK(world.read(reader, "s.nc") == steps[0]);
      CHECK(world.answer(world.open(reader, "s.nc", world.alone())).step == steps[1]);
      world.registry.disconnect(reader);
      world.registry.component_restarts("analysis", "was killed by signal 9 (SIGKILL)");
      reader = world.process("analysis");
      for (int i = 1; i < 4; ++i) CHECK(world.read(reader, "s.nc") == steps[static_cast<std::size_t>(i)]);
    }
  }

  TEST_CASE("a reader of a stream that had closed all steps waits for the next one after its next start") {
    World world({stream()}, 64 * mib, no_retention, {{"model", 1, 0}, {"analysis", 2, 2}});
    const ProcessId writer = world.process("model");
    world.write(writer, "s.nc", kib);
    for (const ProcessId reader : world.processes("analysis", 2)) CHECK(world.read(reader, "s.nc") != 0);
    world.registry.component_restarts("analysis", "exited with status 1");
    const auto waits = world.open(world.process("analysis"), "s.nc", world.alone());
    CHECK(world.is_waiting(waits));
    const StepId next = world.write(writer, "s.nc", kib);
    CHECK(world.answer(waits).step == next);
  }

  TEST_CASE("what a reader skipped stays skipped when it is started again") {
    World world({with_mode(ReadMode::latest)}, 8 * mib, no_retention, {{"model", 1, 0}, {"analysis", 1, 2}});
    const ProcessId writer = world.process("model");
    for (int i = 0; i < 2; ++i) world.write(writer, ModeWorld::name(i), 3 * mib);
    world.registry.component_restarts("analysis", "exited with status 1");
    const auto created = world.create(writer, ModeWorld::name(2), world.alone());
    CHECK(world.is_granted(world.need(writer, world.answer(created).step, 3 * mib)));
  }
}
