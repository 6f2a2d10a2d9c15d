// Reads of offered steps that the registry offers ahead: docs/design/offers.md.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "unit/matcher/offered_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

constexpr std::uint64_t step_bytes = 64 * kib;

/// A model of one process that gets offers, and a group of readers that gets those of the reads.
struct Reading : Offered {
  explicit Reading(std::vector<FileRule> rules = one_rule(), std::uint32_t size = 1,
                   std::uint64_t memory_bytes = 64 * mib, std::uint64_t bytes = step_bytes)
      : Offered(std::move(rules), memory_bytes), writers(world.processes("model", 1)), bytes_of_step(bytes) {
    for (std::uint32_t i = 0; i < size; ++i) readers.push_back(world.process("analysis"));
  }
  std::string next_name() { return std::to_string(++files) + ".nc"; }
  StepId write_next() { return write_offered(writers, next_name(), bytes_of_step); }
  StepId read_by_message(const std::string& name) {
    const std::uint64_t group = ++world.next_group;
    const auto size = static_cast<std::uint32_t>(readers.size());
    StepId step = 0;
    for (std::uint32_t rank = 0; rank < size; ++rank)
      step = world.answer(world.open(readers[rank], name, world.member(group, rank, size))).step;
    for (const ProcessId reader : readers) world.close(reader, step);
    return step;
  }
  /// Until the reads of all offered steps are offered, too.
  void get_reads() {
    write(writers, next_name(), bytes_of_step);
    write(writers, next_name(), bytes_of_step);
    for (int i = 0; i < 10; ++i) {
      const StepId step = write_next();
      CHECK(read_by_message(std::to_string(files) + ".nc") == step);
    }
    for (const auto& offer : board.offers()) REQUIRE(board.is_read_offered(offer.step));
  }
  [[nodiscard]] SegmentId readers_page() const {
    for (const OfferedGroup& group : board.groups)
      if (group.written != 0) return group.page;
    return 0;
  }
  Open open_request(const std::string& name) {
    const Member member = world.member(++world.next_group, 0, static_cast<std::uint32_t>(readers.size()));
    group = member.group;
    return {{world.rule, name}, member, "/files/" + name};
  }
  /// Rank 0 takes the read, and the registry does not know it.
  void take_read(StepId step) { board.taken_reads.insert({readers_page(), step}); }
  void open(StepId step, const std::string& name) {
    take_read(step);
    open_offered(world.registry, readers[0], readers_page(), step, open_request(name));
  }
  void close(ProcessId process, StepId step) {
    world.registry.close(process, {ReadEnd{step, {}, {}, group}});
  }
  int refused_open(ProcessId process, StepId step, const Open& request) {
    try {
      open_offered(world.registry, process, readers_page(), step, request);
    } catch (const Error& error) {
      return error.status();
    }
    return NC_NOERR;
  }

  std::vector<ProcessId> writers, readers;
  std::uint64_t bytes_of_step;
  int files = 0;
  std::uint64_t group = 0;  ///< of the last open
};

}  // namespace

TEST_SUITE("registry: offered reads") {
  TEST_CASE("reads are offered after two opens of steps of one group, and each serves one step") {
    Reading run(one_rule(), 2);
    run.write(run.writers, run.next_name(), step_bytes);
    run.write(run.writers, run.next_name(), step_bytes);
    run.write_next();
    run.read_by_message("3.nc");
    CHECK(run.readers_page() == 0);
    run.write_next();
    run.read_by_message("4.nc");
    REQUIRE(run.board.groups.size() == 2);
    CHECK(run.board.groups[1].members == run.readers);
    CHECK(run.board.groups[1].written == run.board.groups[0].page);
    for (int i = 0; i < 6; ++i) run.write_next();
    for (int i = 0; i < 50; ++i) {
      const StepId step = run.write_next();
      const std::string name = std::to_string(run.files) + ".nc";
      REQUIRE(run.board.is_read_offered(step));
      CHECK(run.board.data_of_read.at(step).size() == 1);
      run.open(step, name);
      run.close(run.readers[1], step);
      CHECK(run.board.cleared_reads == i);
      run.close(run.readers[0], step);
      CHECK(run.board.cleared_reads == i + 1);
      CHECK(run.board.offers().size() == 5);
    }
    CHECK_FALSE(run.board.is_overwritten);
    CHECK(run.board.withdrawn.empty());
  }

  TEST_CASE("only rank 0 of the group opens, once, a step whose read was offered") {
    Reading run(one_rule(), 2);
    run.get_reads();
    const StepId step = run.write_next();
    const std::string name = std::to_string(run.files) + ".nc";
    const Open good = run.open_request(name);
    CHECK(run.refused_open(run.readers[1], step, good) == NC_EINVAL);
    CHECK(run.refused_open(run.writers[0], step, good) == NC_EINVAL);
    CHECK(run.refused_open(run.readers[0], step + 1000, good) == NC_EINVAL);
    Open bad = good;
    bad.member.size = 3;
    CHECK(run.refused_open(run.readers[0], step, bad) == NC_EINVAL);
    bad = good;
    bad.member.rank = 1;
    CHECK(run.refused_open(run.readers[0], step, bad) == NC_EINVAL);
    bad = good;
    bad.which = Open::Which::look;
    CHECK(run.refused_open(run.readers[0], step, bad) == NC_EINVAL);
    for (const Purpose purpose : {Purpose::create, Purpose::write, Purpose::describe, Purpose::remove}) {
      bad = good;
      bad.purpose = purpose;
      CHECK(run.refused_open(run.readers[0], step, bad) == NC_EINVAL);
    }
    CHECK(run.refused_open(run.readers[0], step, good) == NC_NOERR);
    CHECK(run.refused_open(run.readers[0], step, good) == NC_EINVAL);
    bad = run.open_request("another.nc");
    const StepId next = run.write_next();
    CHECK(run.refused_open(run.readers[0], next, bad) == NC_EINVAL);
  }

  TEST_CASE("readers that are late have to ask, and hold back no writer") {
    struct Case {
      std::uint64_t memory_bytes = 0;
      std::size_t slots = 0;
    };
    for (const auto& [memory_bytes, slots] : {Case{512 * mib, 512}, Case{4 * mib, 32}}) {
      CAPTURE(slots);
      Reading run(one_rule(), 1, memory_bytes, kib);
      run.get_reads();
      REQUIRE(run.board.groups.size() == 2);
      for (const OfferedGroup& group : run.board.groups) CHECK(group.slots == slots);
      std::vector<StepId> steps;
      for (std::size_t i = 0; i < slots + 30; ++i) {
        steps.push_back(run.write_next());
        CHECK(run.board.is_read_offered(steps.back()));
        CHECK(run.board.offers().size() == 5);
      }
      for (std::size_t i = 30 + 5; i < steps.size(); ++i) CHECK(run.board.is_read_offered(steps[i]));
      CHECK_FALSE(run.board.is_read_offered(steps[20]));
      CHECK(run.read_by_message(std::to_string(run.files - static_cast<int>(slots)) + ".nc") != 0);
      CHECK_FALSE(run.board.is_overwritten);
    }
  }

  TEST_CASE("a read that is open keeps its place in the readers' page, whoever else closes the step") {
    Reading run(one_rule(), 1, 4 * mib, kib);
    run.get_reads();
    const StepId held = run.write_next();
    run.open(held, std::to_string(run.files) + ".nc");
    const std::uint64_t group = run.group;
    for (int i = 0; i < 100; ++i) {
      const StepId step = run.write_next();
      const std::string name = std::to_string(run.files) + ".nc";
      if (!run.board.is_read_offered(step)) {
        CHECK(run.read_by_message(name) == step);  // its slot is the one of the step that is held
        continue;
      }
      run.open(step, name);
      run.close(run.readers[0], step);
    }
    CHECK_FALSE(run.board.is_overwritten);
    run.group = group;
    const int before = run.board.cleared_reads;
    run.close(run.readers[0], held);
    CHECK(run.board.cleared_reads == before + 1);
  }

  TEST_CASE("a process ends the open that it closes, of several of one step") {
    Reading run;
    run.get_reads();
    const StepId step = run.write_next();
    const std::string name = std::to_string(run.files) + ".nc";
    run.open(step, name);
    CHECK(run.world.answer(run.world.open(run.readers[0], name, run.world.alone())).step == step);
    run.world.close(run.readers[0], step);
    CHECK(run.board.cleared_reads == 0);  // that was the open by message
    run.close(run.readers[0], step);
    CHECK(run.board.cleared_reads == 1);
  }
}

TEST_SUITE("registry: several groups of readers") {
  TEST_CASE("a process opens a step through the page of each of its groups") {
    Reading run(one_rule(), 2);
    run.get_reads();
    const std::vector<ProcessId> all = run.readers;
    run.readers = {all[0]};
    for (int i = 0; i < 10; ++i) {
      run.write_next();
      run.read_by_message(std::to_string(run.files) + ".nc");
    }
    REQUIRE(run.board.groups.size() == 3);
    const StepId step = run.write_next();
    const std::string name = std::to_string(run.files) + ".nc";
    const SegmentId pages[2] = {run.board.groups[1].page, run.board.groups[2].page};
    open_offered(run.world.registry, all[0], pages[1], step, run.open_request(name));
    const std::uint64_t alone = run.group;
    run.readers = all;
    open_offered(run.world.registry, all[0], pages[0], step, run.open_request(name));
    run.close(all[0], step);
    run.close(all[1], step);
    CHECK(run.board.cleared_reads == 1);
    run.world.registry.close(all[0], {ReadEnd{step, {}, {}, alone}});
    CHECK(run.board.cleared_reads == 2);
  }
}

TEST_SUITE("registry: which step is read") {
  TEST_CASE(
      "while a step is in progress that no page tells of, only reads of steps of other names are offered") {
    Reading run;
    run.get_reads();
    const StepId before = run.write_next();
    const StepId same = run.write_offered(run.writers, "x.nc", step_bytes);
    REQUIRE(run.board.is_read_offered(before));
    REQUIRE(run.board.is_read_offered(same));
    const StepId hidden = run.world.answer(run.world.create(run.writers[0], "x.nc", run.world.alone())).step;
    CHECK(run.board.is_read_offered(before));
    CHECK_FALSE(run.board.is_read_offered(same));
    for (const auto& offer : run.board.offers()) CHECK_FALSE(run.board.is_read_offered(offer.step));
    CHECK_FALSE(run.board.is_read_offered(run.write_next()));
    for (const auto& offer : run.board.offers()) CHECK_FALSE(run.board.is_read_offered(offer.step));
    run.put_and_publish(run.writers, hidden, step_bytes);
    run.write_next();
    CHECK(run.board.is_read_offered(run.board.offers().back().step));
  }

  TEST_CASE("a file that is opened for writing again hides its step in the same way") {
    Reading run;
    run.get_reads();
    const StepId other = run.write_next();
    const StepId before = run.write_next();
    (void)run.world.reopen(run.writers[0], std::to_string(run.files) + ".nc", run.world.alone());
    CHECK_FALSE(run.board.is_read_offered(before));
    CHECK(run.board.is_read_offered(other));
    for (const auto& offer : run.board.offers()) CHECK_FALSE(run.board.is_read_offered(offer.step));
  }

  TEST_CASE("no reads are offered while two groups of writers have pages") {
    Reading run;
    const auto other = run.world.processes("model", 1);
    run.get_reads();
    const StepId before = run.write_next();
    run.write(other, "a.nc", step_bytes);
    run.write(other, "b.nc", step_bytes);
    CHECK(run.board.groups.size() == 3);
    CHECK_FALSE(run.board.is_read_offered(before));
    run.write_next();
    CHECK(run.board.reads.empty());
    run.world.registry.disconnect(other[0]);
    run.write_next();
    CHECK_FALSE(run.board.reads.empty());
  }

  TEST_CASE("the read of a step that was replaced or deleted is not offered any more") {
    Reading run;
    run.get_reads();
    const StepId first = run.write_offered(run.writers, "x.nc", step_bytes);
    REQUIRE(run.board.is_read_offered(first));
    const StepId second = run.write_offered(run.writers, "x.nc", step_bytes);
    CHECK_FALSE(run.board.is_read_offered(first));
    REQUIRE(run.board.is_read_offered(second));
    (void)run.world.remove(run.writers[0], "x.nc");
    CHECK_FALSE(run.board.is_read_offered(second));
  }

  TEST_CASE("no read is offered any more when a file that is written gets another name") {
    Reading run;
    run.get_reads();
    const StepId before = run.write_offered(run.writers, "y.nc", step_bytes);
    const StepId written = run.take(run.writers, "x.nc").step;
    REQUIRE(run.board.is_read_offered(before));
    REQUIRE(run.board.is_read_offered(written));
    CHECK(
        run.world.registry.rename_written({run.world.rule, "x.nc"}, {run.world.rule, "y.nc"}, "/files/y.nc"));
    CHECK_FALSE(run.board.is_read_offered(before));
    CHECK_FALSE(run.board.is_read_offered(written));
  }

  TEST_CASE("a read that was taken keeps its step until it is closed, before the registry hears of it, too") {
    for (const bool is_deleted : {false, true}) {
      CAPTURE(is_deleted);
      Reading run;
      run.get_reads();
      const StepId first = run.write_offered(run.writers, "x.nc", step_bytes);
      run.take_read(first);
      if (is_deleted) {
        (void)run.world.remove(run.writers[0], "x.nc");
      } else {
        run.write_offered(run.writers, "x.nc", step_bytes);
      }
      CHECK_FALSE(run.world.answers.erased_steps.contains(first));
      open_offered(run.world.registry, run.readers[0], run.readers_page(), first, run.open_request("x.nc"));
      CHECK_FALSE(run.world.answers.erased_steps.contains(first));
      run.close(run.readers[0], first);
      CHECK(run.world.answers.erased_steps.contains(first));
    }
  }

  TEST_CASE("memory is not taken from a step whose read was taken") {
    Reading run(one_rule(), 1, 8 * mib);
    const auto late = run.world.process("analysis");
    run.get_reads();
    const StepId step = run.write_next();
    run.take_read(step);
    run.world.registry.disconnect(late);
    const StepId large = run.world.answer(run.world.create(run.writers[0], "x.nc", run.world.alone())).step;
    for (int i = 0; i < 8; ++i) (void)run.world.need(run.writers[0], large, mib);
    CHECK_FALSE(run.world.answers.erased_steps.contains(step));
    open_offered(run.world.registry, run.readers[0], run.readers_page(), step,
                 run.open_request(std::to_string(run.files) + ".nc"));
    run.close(run.readers[0], step);
  }
}

TEST_SUITE("registry: ends of processes with offered reads") {
  TEST_CASE("the end of a reader ends the reads of its group, and makes the writers' page loud") {
    Reading run(one_rule(), 2);
    run.get_reads();
    run.world.registry.disconnect(run.readers[1]);
    CHECK(run.board.reads.empty());
    CHECK(run.board.loud.contains(run.board.groups[0].page));
    CHECK_FALSE(run.board.ended.contains(run.readers_page()));
    run.write_next();
    CHECK(run.board.reads.empty());
    run.world.registry.disconnect(run.readers[0]);
    CHECK(run.board.ended.contains(run.readers_page()));
  }

  TEST_CASE("a reader ends when its group has just taken a read, or has it open") {
    for (const bool is_known : {false, true}) {
      for (const std::size_t ends : {std::size_t{0}, std::size_t{1}}) {
        CAPTURE(is_known);
        CAPTURE(ends);
        Reading run(one_rule(), 2);
        run.get_reads();
        const StepId step = run.write_next();
        const std::string name = std::to_string(run.files) + ".nc";
        run.take_read(step);
        const Open request = run.open_request(name);
        // The mail of rank 0 comes before its own end.
        if (is_known || ends == 0)
          open_offered(run.world.registry, run.readers[0], run.readers_page(), step, request);
        run.world.registry.disconnect(run.readers[ends]);
        if (!is_known && ends != 0)
          open_offered(run.world.registry, run.readers[0], run.readers_page(), step, request);
        CHECK(run.board.cleared_reads == 0);
        run.close(run.readers[1 - ends], step);
        CHECK(run.board.cleared_reads == 1);
      }
    }
  }

  TEST_CASE("the readers' page outlives the writers', and offers nothing more") {
    Reading run;
    run.get_reads();
    const StepId step = run.write_next();
    run.world.registry.disconnect(run.writers[0]);
    CHECK_FALSE(run.board.is_read_offered(step));
    CHECK(run.board.ended.contains(run.board.groups[0].page));
    CHECK_FALSE(run.world.memory.destroyed.contains(run.board.groups[0].page));
    CHECK(run.read_by_message(std::to_string(run.files) + ".nc") == step);
  }

  TEST_CASE("a reader that is started again gets reads of its own") {
    Reading run;
    run.get_reads();
    run.world.registry.component_restarts("analysis", "exited with status 1");
    CHECK(run.board.reads.empty());
    run.readers = run.world.processes("analysis", 1);
    for (int i = 0; i < 10; ++i) {
      run.write_next();
      run.read_by_message(std::to_string(run.files) + ".nc");
    }
    CHECK_FALSE(run.board.reads.empty());
  }
}

TEST_SUITE("registry: reads that are never offered") {
  TEST_CASE("of rules for which the registry does more at an open or a publication") {
    std::vector<FileRule> rules(6, {"*.nc", "model", {"analysis"}});
    rules[0].keep.keeps = true;
    rules[1].queue = 3;
    rules[1].when_full = WhenFull::discard;
    rules[2].is_stream = true;
    rules[3].modes = {{"analysis", ReadMode::latest, 1}};
    rules[4].replays = false;
    rules[5].modes = {{"analysis", ReadMode::every, 2}};
    for (std::size_t i = 0; i < rules.size(); ++i) {
      CAPTURE(i);
      Reading run({rules[i]});
      run.write(run.writers, "1.nc", step_bytes);
      run.write(run.writers, "2.nc", step_bytes);
      for (int step = 3; step < 9; ++step) {
        const std::string name = std::to_string(step) + ".nc";
        if (run.board.offers().empty()) break;  // the writers get no offers either
        run.write_offered(run.writers, name, step_bytes);
        const auto open = run.world.open(run.readers[0], name, run.world.alone());
        if (run.world.is_opened(open)) run.world.close(run.readers[0], run.world.answer(open).step);
      }
      CHECK(run.readers_page() == 0);
      // What follows from a publication begins at once.
      for (const OfferedGroup& group : run.board.groups) CHECK(run.board.loud.contains(group.page));
    }
  }

  TEST_CASE("to the writer itself, and to attached programs") {
    Reading run;
    const auto attached = run.world.process(std::string(attached_name));
    run.write(run.writers, run.next_name(), step_bytes);
    run.write(run.writers, run.next_name(), step_bytes);
    for (int i = 0; i < 4; ++i) {
      const StepId step = run.write_next();
      const std::string name = std::to_string(run.files) + ".nc";
      CHECK(run.world.read(run.writers[0], name) == step);
      CHECK(run.world.read(attached, name) == step);
    }
    CHECK(run.readers_page() == 0);
  }
}
