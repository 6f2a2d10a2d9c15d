#include <doctest/doctest.h>

#include <set>
#include <utility>
#include <vector>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

const DrainOutcome well{NC_NOERR, "", 100};

std::vector<FileRule> burst_rule() {
  auto rules = one_rule();
  rules[0].through = Through::burst_buffer;
  return rules;
}

/// A writer whose data is in burst-buffer logs, and a reader.
struct LogWorld : World {
  explicit LogWorld(std::vector<ComponentSize> sizes = {{"model", 1}, {"analysis", 1}})
      : World(burst_rule(), 4 * mib, std::move(sizes)) {
    writer = process("model");
    reader = process("analysis");
  }
  struct Written {
    StepId step = 0;
    SegmentId log = 0;
  };
  Written begin(const std::string& name) {
    Written written;
    written.step = answer(create(writer, name, alone())).step;
    written.log = answer(log(writer, written.step, 20 * mib, "/logs/" + name + ".meta")).segment;
    return written;
  }
  Written write_log(const std::string& name) {
    const Written written = begin(name);
    publish(writer, written.step);
    return written;
  }
  /// Written, read and drained: no process needs the log.
  Written finish(const std::string& name) {
    const Written written = write_log(name);
    read(reader, name);
    registry.drained(written.step, well);
    return written;
  }
  std::string waits_for() {
    const auto waits = registry.view({}).waits;
    return waits.size() == 1 ? waits[0].waits_for : std::to_string(waits.size()) + " waits";
  }
  /// A process that finds the disk full asks, tries once more, and asks again.
  std::uint32_t await_disk_in_vain(ProcessId process, StepId step) {
    const std::uint32_t first = await_disk(process, step);
    CHECK(is_disk_freed(first));
    return await_disk(process, step, answer(first).given_back);
  }
  bool is_kept(SegmentId log) { return memory.kept_logs.contains(log) && memory.kept_logs.at(log); }

  ProcessId writer{};
  ProcessId reader{};
};

}  // namespace

TEST_SUITE("registry: burst-buffer logs") {
  TEST_CASE("a range of a log is granted at once, whatever memory there is") {
    LogWorld world;
    const auto [step, log] = world.begin("a.nc");
    REQUIRE(log != 0);
    CHECK(is_spilled(log));
    CHECK(world.memory.logged.at(log).metadata_path == "/logs/a.nc.meta");
    CHECK(world.memory.logged.at(log).offset_bytes == 4096);
    CHECK_FALSE(world.memory.logged.at(log).is_kept);
    CHECK(world.memory.kept_logs.empty());
    CHECK(world.registry.status().bytes_staged < mib);
    world.publish(world.writer, step);
    CHECK(world.read(world.reader, "a.nc") == step);
  }

  TEST_CASE("only data of such a rule goes to a log") {
    World world(one_rule());
    const ProcessId writer = world.process("model");
    const StepId step = world.answer(world.create(writer, "a.nc", world.alone())).step;
    CHECK(world.refusal(world.log(writer, step, mib, "/logs/a.meta")) == NC_EINVAL);
    LogWorld logs;
    CHECK(logs.refusal(logs.log(logs.writer, logs.begin("a.nc").step, 0, "/logs/a.meta")) == NC_EINVAL);
  }

  TEST_CASE("a log goes when it is drained, read, and not the last of its rule") {
    LogWorld world;
    const auto a = world.write_log("a.nc");
    world.read(world.reader, "a.nc");
    CHECK_FALSE(world.memory.destroyed.contains(a.log));
    world.registry.drained(a.step, well);
    CHECK_FALSE(world.memory.destroyed.contains(a.log));
    const auto b = world.write_log("b.nc");
    world.read(world.reader, "b.nc");
    CHECK_FALSE(world.memory.destroyed.contains(a.log));
    world.registry.drained(b.step, well);
    CHECK(world.memory.destroyed.contains(a.log));
    CHECK_FALSE(world.memory.destroyed.contains(b.log));
    CHECK(world.memory.kept_logs.empty());
  }

  TEST_CASE("a step of the same processes goes on in the log, which is kept while any step needs it") {
    LogWorld world;
    const auto first = world.begin("a.nc");
    REQUIRE(world.is_granted(world.need(world.writer, first.step, 64 * kib, SegmentUse::table)));
    world.registry.close(world.writer,
                         {PublishRequest{first.step, 1, {}, {}, {{0, 0, 100, first.log, 0}}, {1, 96, 0}}});
    const auto reopen = [&](StepId continues) {
      Open request{{0, "a.nc"}, world.alone(), {}, Purpose::write};
      request.continues = continues;
      return world.ask([&](const Ticket& ticket) { world.registry.open(ticket, world.writer, request); });
    };
    const StepId second = world.answer(reopen(first.step)).step;
    const Step& step = world.registry.step(second);
    CHECK(step.is_continued);
    CHECK(step.base == first.step);
    CHECK(step.logs.size() == 1);
    CHECK(*step.logs[0]->burst_log == "/logs/a.nc.meta");
    // The drain of the first step fails; the second step is discarded.
    world.registry.drained(first.step, {NC_EIO, "no", 0});
    CHECK(world.is_kept(first.log));
    world.registry.component_restarts("model", "failed");
    CHECK(world.is_kept(first.log));
    CHECK_FALSE(world.memory.destroyed.contains(first.log));
  }

  TEST_CASE("the exit of a reader frees a log that it has read, and keeps one without readers") {
    LogWorld world({{"model", 1}});  // the number of readers is unknown
    const auto a = world.finish("a.nc");
    const auto b = world.write_log("b.nc");
    world.registry.drained(b.step, well);
    CHECK_FALSE(world.memory.destroyed.contains(a.log));
    world.registry.component_exited("analysis", "exited with status 0");
    CHECK(world.memory.destroyed.contains(a.log));
    CHECK_FALSE(world.memory.destroyed.contains(b.log));
    CHECK(world.answers.erased_steps == std::set<StepId>{a.step});
  }

  TEST_CASE("small logs stay, and so do those of rules whose files were reopened for writing") {
    LogWorld world;
    const auto reopen = [&](const std::string& name, std::uint64_t bytes) {
      const auto opened = world.reopen(world.writer, name, world.alone());
      REQUIRE(world.is_opened(opened));
      const StepId step = world.answer(opened).step;
      world.log(world.writer, step, bytes, "/logs/" + name + std::to_string(step) + ".meta");
      world.publish(world.writer, step);
      world.read(world.reader, name);
      world.registry.drained(step, well);
    };
    for (const char* name : {"a.nc", "b.nc", "c.nc"}) {
      const StepId step = world.answer(world.create(world.writer, name, world.alone())).step;
      world.log(world.writer, step, 64 * kib, std::string("/logs/") + name + ".meta");
      world.publish(world.writer, step);
      world.read(world.reader, name);
      world.registry.drained(step, well);
    }
    for (int i = 0; i < 3; ++i) {
      for (const char* name : {"a.nc", "b.nc", "c.nc"}) reopen(name, 20 * mib);
    }
  }

  TEST_CASE("logs of a writer that dies are kept until a later step has reached the file") {
    LogWorld world;
    const auto torn = world.begin("a.nc");
    world.registry.disconnect(world.writer);
    CHECK(world.is_kept(torn.log));
    CHECK(world.memory.destroyed.contains(torn.log));  // no process reads it any more
    REQUIRE(world.answers.events.size() == 2);
    CHECK(world.answers.events[1] ==
          "the burst-buffer logs of 'a.nc' are kept: 'sluice recover /logs' writes their data to "
          "/files/a.nc");
    world.writer = world.process("model");
    const auto whole = world.write_log("a.nc");
    CHECK(world.is_kept(torn.log));
    world.registry.drained(whole.step, well);
    CHECK_FALSE(world.is_kept(torn.log));
    CHECK_FALSE(world.memory.kept_logs.contains(whole.log));
  }

  TEST_CASE("logs of a step that did not reach its file are kept") {
    LogWorld world;
    const auto a = world.write_log("a.nc");
    world.registry.drained(a.step, {NC_ENO_SPACE, "the disk is full"});
    CHECK(world.is_kept(a.log));
  }

  TEST_CASE("an aborted step leaves no logs") {
    LogWorld world;
    const auto a = world.begin("a.nc");
    world.registry.close(world.writer, {Discard{a.step}});
    CHECK(world.memory.destroyed.contains(a.log));
    CHECK(world.memory.kept_logs.empty());
  }

  TEST_CASE(
      "at the end of the run the logs of what has not reached its file are kept, with those it continues") {
    LogWorld world;
    const auto a = world.write_log("a.nc");
    world.registry.drained(a.step, well);
    const auto b = world.write_log("b.nc");
    world.registry.drained(b.step, well);
    const StepId more = world.answer(world.reopen(world.writer, "b.nc", world.alone())).step;
    REQUIRE(more != 0);
    const SegmentId log = world.answer(world.log(world.writer, more, mib, "/logs/more.meta")).segment;
    world.registry.keep_unfinished_logs();
    CHECK_FALSE(world.is_kept(a.log));
    CHECK(world.is_kept(b.log));
    CHECK(world.is_kept(log));
  }
}

TEST_SUITE("registry: room for burst-buffer logs") {
  TEST_CASE("a put that finds the disk full waits until a log has been read and drained") {
    LogWorld world;
    const auto a = world.write_log("a.nc");
    const auto b = world.begin("b.nc");
    const std::uint32_t waiting = world.await_disk_in_vain(world.writer, b.step);
    CHECK(world.is_waiting(waiting));
    CHECK(world.waits_for() == "space in the burst buffer to write 'b.nc' (analysis has not read 'a.nc')");
    world.read(world.reader, "a.nc");
    CHECK(world.is_waiting(waiting));
    CHECK(world.waits_for() ==
          "space in the burst buffer to write 'b.nc' ('a.nc' is being written to its file)");
    world.registry.drained(a.step, well);
    CHECK(world.is_disk_freed(waiting));  // it was the last step of its rule
    CHECK(world.memory.destroyed.contains(a.log));
    CHECK(world.registry.view({}).waits.empty());
  }

  TEST_CASE("it fails when only its own step has data on the disk") {
    LogWorld world;
    const auto a = world.begin("a.nc");
    const std::uint32_t refused = world.await_disk_in_vain(world.writer, a.step);
    CHECK(world.refusal(refused) == NC_ENO_SPACE);
    CHECK(world.answer(refused).text ==
          "'a.nc': the burst buffer is full, and no process can free space: No space left on device. "
          "Use a directory with more space (staging.spill, or the hint nc_burst_buf_dirname)");
    world.publish(world.writer, a.step);
    CHECK(world.read(world.reader, "a.nc") == a.step);
  }

  TEST_CASE("disk space that was returned between the try and the request is not missed") {
    LogWorld world;
    const auto a = world.write_log("a.nc");
    const auto b = world.begin("b.nc");
    const std::uint32_t first = world.await_disk(world.writer, b.step);
    world.registry.drained(a.step, well);
    world.write_log("c.nc");
    world.read(world.reader, "c.nc");
    world.read(world.reader, "a.nc");
    CHECK(world.is_disk_freed(world.await_disk(world.writer, b.step, world.answer(first).given_back)));
  }

  TEST_CASE("unneeded steps go one at a time") {
    LogWorld world;
    const auto a = world.finish("a.nc");
    const auto b = world.begin("b.nc");
    const std::uint32_t first = world.await_disk_in_vain(world.writer, b.step);
    CHECK(world.is_disk_freed(first));
    CHECK(world.memory.destroyed.contains(a.log));
    CHECK(world.refusal(world.await_disk(world.writer, b.step, world.answer(first).given_back)) ==
          NC_ENO_SPACE);
  }

  TEST_CASE("the disk of another matcher counts when it has gone, and its wait is not hopeless before") {
    LogWorld world;
    const auto a = world.finish("a.nc");
    const auto b = world.begin("b.nc");
    world.memory.is_disk_slow = true;
    const std::uint32_t waiting = world.await_disk_in_vain(world.writer, b.step);
    CHECK(world.memory.destroyed.contains(a.log));
    CHECK(world.is_waiting(waiting));
    world.registry.spill_gone(a.log);
    CHECK(world.is_disk_freed(waiting));
    world.registry.spill_gone(a.log);  // that was known already
    CHECK(world.refusal(world.await_disk(world.writer, b.step, world.answer(waiting).given_back)) ==
          NC_ENO_SPACE);
  }

  TEST_CASE("of two that fill the disk the younger fails, and the older goes on when that has ended") {
    LogWorld world;
    const ProcessId other = world.process("model");
    const auto a = world.begin("a.nc");
    const StepId b = world.answer(world.create(other, "b.nc", world.alone())).step;
    world.log(other, b, mib, "/logs/b.meta");
    const std::uint32_t older = world.await_disk_in_vain(world.writer, a.step);
    CHECK(world.is_waiting(older));
    const std::uint32_t younger = world.await_disk_in_vain(other, b);
    CHECK(world.refusal(younger) == NC_ENO_SPACE);
    CHECK(world.is_waiting(older));
    SUBCASE("discarded") {
      world.registry.close(other, {Discard{b}});
    }
    SUBCASE("closed, which gives back what it had taken ahead") {
      world.publish(other, b);
    }
    SUBCASE("dead") {
      world.registry.disconnect(other);
    }
    CHECK(world.is_disk_freed(older));
  }

  TEST_CASE("a process that ends while it waits is forgotten") {
    LogWorld world;
    world.write_log("a.nc");
    const auto b = world.begin("b.nc");
    const std::uint32_t waiting = world.await_disk_in_vain(world.writer, b.step);
    world.registry.disconnect(world.writer);
    CHECK(world.is_waiting(waiting));
    CHECK(world.registry.view({}).waits.empty());
  }

  TEST_CASE("a wait for memory does not fail because its holder waits for disk space that can be freed") {
    auto rules = burst_rule();
    rules.push_back(one_rule()[0]);
    World world(rules, 4 * mib, {{"model", 2}, {"analysis", 1}});
    const ProcessId first = world.process("model");
    const ProcessId second = world.process("model");
    const ProcessId reader = world.process("analysis");
    const StepId read = world.answer(world.create(first, "a.nc", world.alone())).step;
    world.log(first, read, mib, "/logs/a.meta");
    world.publish(first, read);
    const StepId held = world.answer(world.create(first, "b.nc", world.alone())).step;
    CHECK(world.is_granted(world.need(first, held, 3 * mib, SegmentUse::table)));
    const std::uint64_t seen = world.answer(world.await_disk(first, held)).given_back;
    const std::uint32_t disk = world.await_disk(first, held, seen);
    CHECK(world.is_waiting(disk));
    world.rule = 1;
    const StepId small = world.answer(world.create(second, "c.nc", world.alone())).step;
    const std::uint32_t memory = world.need(second, small, 2 * mib);
    CHECK(world.is_waiting(memory));
    world.rule = 0;
    world.registry.drained(read, well);
    CHECK(world.read(reader, "a.nc") == read);
    CHECK(world.is_disk_freed(disk));
    CHECK(world.is_waiting(memory));
    world.publish(first, held);
    CHECK(world.is_waiting(memory));
    world.registry.drained(held, well);
    CHECK(world.read(reader, "b.nc") == held);
    CHECK(world.is_granted(memory));
  }

  TEST_CASE("only a process that writes to a log may wait for disk space") {
    World world(one_rule());
    const ProcessId writer = world.process("model");
    const StepId step = world.answer(world.create(writer, "a.nc", world.alone())).step;
    CHECK(world.refusal(world.await_disk(writer, step)) == NC_EINVAL);
    CHECK(world.refusal(world.await_disk(writer, step + 1)) == NC_EINVAL);
  }
}
