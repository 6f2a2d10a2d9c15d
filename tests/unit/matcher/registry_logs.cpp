#include <doctest/doctest.h>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

constexpr DrainOutcome well{NC_NOERR, "", 100};

std::vector<FileRule> burst_rule() {
  auto rules = one_rule();
  rules[0].through = Through::burst_buffer;
  return rules;
}

/// A writer whose data is in logs, and a reader.
struct LogWorld : World {
  LogWorld() : World(burst_rule(), 4 * mib, {{"model", 1}, {"analysis", 1}}) {
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

  TEST_CASE("logs of a writer that dies are kept until a later step has reached the file") {
    LogWorld world;
    const auto torn = world.begin("a.nc");
    world.registry.disconnect(world.writer);
    CHECK(world.is_kept(torn.log));
    CHECK(world.memory.destroyed.contains(torn.log));  // nobody reads it any more
    REQUIRE(world.answers.events.size() == 2);
    CHECK(world.answers.events[1] ==
          "the burst-buffer logs of 'a.nc' are kept: 'sluice recover /logs' brings what they hold to "
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
    world.registry.discard(world.writer, a.step);
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
