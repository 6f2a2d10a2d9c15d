#include <doctest/doctest.h>

#include <algorithm>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

constexpr std::uint64_t no_retention = 0;

/// A script reads: nobody knows how many processes it has. One file of 4 MiB fits in memory.
struct ScriptWorld : World {
  explicit ScriptWorld(std::string spill = {}, std::vector<FileRule> rules = one_rule())
      : World(std::move(rules), 8 * mib, no_retention, {{"model", 1}, {"analysis", 0}}, 1, std::move(spill)) {
    writer = process("model");
  }
  std::uint32_t put(const std::string& name, std::uint64_t bytes = 6 * mib) {
    step = answer(create(writer, name, alone())).step;
    return need(writer, step, bytes);
  }
  /// The shell itself has read a file.
  ProcessId shell() {
    write(writer, "small.nc");
    const ProcessId shell = process("analysis");
    CHECK(read(shell, "small.nc") != 0);
    return shell;
  }
  /// A command of the script opens the file, closes it and ends.
  void run_command(const std::string& name) {
    const ProcessId command = process("analysis");
    CHECK(read(command, name) != 0);
    registry.disconnect(command);
  }
  bool has_told(const std::string& text) const {
    return std::ranges::any_of(
        answers.events, [&](const std::string& event) { return event.find(text) != std::string::npos; });
  }

  ProcessId writer{};
  StepId step = 0;
};

}  // namespace

TEST_SUITE("registry: little memory") {
  TEST_CASE("no put waits for a shell that is connected and never reads what its commands have read") {
    ScriptWorld world;
    const ProcessId shell = world.shell();
    world.write(world.writer, "a.nc", 6 * mib);
    world.run_command("a.nc");
    CHECK(world.is_granted(world.put("b.nc")));
    CHECK(world.refusal(world.open(shell, "a.nc", world.alone())) == NC_ENOENT);
  }

  TEST_CASE("no put waits for a worker that has read other files of the rule than this one") {
    ScriptWorld world;
    const ProcessId first = world.process("analysis");
    const ProcessId second = world.process("analysis");
    world.write(world.writer, "a.nc", mib);
    world.write(world.writer, "b.nc", 5 * mib);
    CHECK(world.read(first, "a.nc") != 0);
    CHECK(world.read(second, "b.nc") != 0);
    CHECK(world.is_granted(world.put("c.nc")));
  }

  TEST_CASE("no put waits for a process that has ended, and whose own file waits for memory") {
    ScriptWorld world({}, {{"a*", "model", {"analysis"}}, {"b*", "analysis", {"model"}}});
    world.write(world.writer, "small");
    const ProcessId both = world.process("analysis");
    CHECK(world.read(both, "small") != 0);
    world.run_command("small");
    world.registry.begin_file(both, {0, 7});
    world.write(world.writer, "a", 6 * mib);
    world.run_command("a");
    CHECK(world.is_granted(world.put("a2")));
  }

  TEST_CASE("the oldest of what was read goes first, and what nobody has read never goes") {
    ScriptWorld world;
    (void)world.shell();
    for (const char* const name : {"a.nc", "b.nc", "c.nc"}) world.write(world.writer, name, 2 * mib);
    world.run_command("a.nc");
    world.run_command("b.nc");
    CHECK(world.is_granted(world.put("d.nc", 2 * mib)));
    CHECK(world.is_opened(world.open(world.process("analysis"), "b.nc", world.alone())));
    CHECK(world.is_waiting(world.put("e.nc", 2 * mib)));
    CHECK(world.is_opened(world.open(world.process("analysis"), "c.nc", world.alone())));
  }

  TEST_CASE(
      "a put waits for a process that has just come, and for one that reads each file after another one") {
    ScriptWorld world;
    const ProcessId fast = world.shell();
    const ProcessId slow = world.process("analysis");
    world.write(world.writer, "a.nc", 6 * mib);
    CHECK(world.read(fast, "a.nc") != 0);
    const std::uint32_t first = world.put("b.nc");
    CHECK(world.is_waiting(first));
    CHECK(world.read(slow, "a.nc") != 0);
    CHECK(world.is_granted(first));
    world.publish(world.writer, world.step);
    CHECK(world.read(fast, "b.nc") != 0);
    const std::uint32_t second = world.put("c.nc");
    CHECK(world.is_waiting(second));
    CHECK(world.read(slow, "b.nc") != 0);
    CHECK(world.is_granted(second));
  }

  TEST_CASE("an image waits as little as a put for what was read") {
    ScriptWorld world;
    (void)world.shell();
    world.write(world.writer, "a.nc", 4 * mib);
    world.run_command("a.nc");
    const StepId step = world.write(world.writer, "b.nc", 2 * mib);
    const ProcessId reader = world.process("analysis");
    CHECK(world.is_opened(world.open(reader, "b.nc", world.alone())));
    CHECK(world.is_granted(world.lease(reader, step, {}, {4 * mib})));
  }

  TEST_CASE("what was read is worth less than the reserve of the spill disk, the oldest first") {
    ScriptWorld world("/scratch");
    world.memory.disk_bytes = 20 * mib + least_segment;
    world.memory.reserve_bytes = 8 * mib;
    const ProcessId reader = world.shell();
    for (const char* const name : {"a.nc", "b.nc", "c.nc"}) {
      CHECK(world.is_granted(world.put(name)));
      world.publish(world.writer, world.step);
      CHECK(world.read(reader, name) != 0);
    }
    CHECK_FALSE(world.has_told("is removed"));
    CHECK(world.is_granted(world.put("d.nc")));  // the disk has 12 MiB of 20, and keeps 8
    CHECK(world.refusal(world.open(reader, "a.nc", world.alone())) == NC_ENOENT);
    CHECK(world.is_opened(world.open(reader, "b.nc", world.alone())));
    CHECK(world.has_told("stays free for other files"));
    CHECK(world.has_told("`ranks: 1`"));
    CHECK(world.has_told("`for-each`"));
    CHECK(world.registry.status().bytes_spilled == 12 * mib);
  }

  TEST_CASE("what was read from the spill disk gives up the reserve to other programs") {
    ScriptWorld world("/scratch");
    world.memory.disk_bytes = 20 * mib + least_segment;
    world.memory.reserve_bytes = 8 * mib;
    const ProcessId reader = world.shell();
    for (const char* const name : {"a.nc", "b.nc", "c.nc"}) {
      CHECK(world.is_granted(world.put(name)));
      world.publish(world.writer, world.step);
    }
    world.memory.disk_bytes = 16 * mib + least_segment;  // other programs have the rest
    CHECK(world.read(reader, "a.nc") != 0);              // is in memory
    CHECK(world.registry.status().bytes_spilled == 12 * mib);
    CHECK(world.read(reader, "b.nc") != 0);
    CHECK(world.refusal(world.open(reader, "b.nc", world.alone())) == NC_ENOENT);
    CHECK(world.read(reader, "a.nc") != 0);
    CHECK(world.registry.status().bytes_spilled == 6 * mib);
  }

  TEST_CASE("what nobody has read uses the reserve of the spill disk") {
    ScriptWorld world("/scratch");
    world.memory.disk_bytes = 20 * mib;
    world.memory.reserve_bytes = 8 * mib;
    (void)world.shell();
    for (const char* const name : {"a.nc", "b.nc", "c.nc", "d.nc"}) {
      CHECK(world.is_granted(world.put(name)));
      world.publish(world.writer, world.step);
    }
    CHECK(world.registry.status().bytes_spilled == 18 * mib);
    CHECK_FALSE(world.has_told("is removed"));
  }
}
