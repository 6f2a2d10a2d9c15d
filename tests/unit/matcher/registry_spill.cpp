#include <doctest/doctest.h>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

constexpr std::uint64_t no_retention = 0;

/// One node with little memory, and a disk.
struct DiskWorld : World {
  explicit DiskWorld(std::uint64_t disk_bytes)
      : World(one_rule(), 4 * mib, no_retention, {{"model", 1}, {"analysis", 1}}, 1, "/scratch") {
    memory.disk_bytes = disk_bytes;
    writer = process("model");
    reader = process("analysis");
  }
  StepId begin(const std::string& name) { return answer(create(writer, name, alone())).step; }
  bool is_on_disk(std::uint32_t tag) { return is_granted(tag) && is_spilled(answer(tag).segment); }
  bool is_in_memory(std::uint32_t tag) { return is_granted(tag) && !is_spilled(answer(tag).segment); }

  ProcessId writer{};
  ProcessId reader{};
};

}  // namespace

TEST_SUITE("registry: spilled segments") {
  TEST_CASE("data goes to disk when memory is used up, and consumed steps return the disk space") {
    DiskWorld world(50 * mib);
    const StepId step = world.begin("a.nc");
    CHECK(world.is_in_memory(world.need(world.writer, step, 3 * mib)));
    CHECK(world.answers.events.empty());
    const std::uint32_t spilled = world.need(world.writer, step, 2 * mib);
    CHECK(world.is_on_disk(spilled));
    CHECK(world.answer(spilled).bytes == 2 * mib);
    CHECK(world.is_on_disk(world.need(world.writer, step, 20 * mib)));  // more than all memory
    REQUIRE(world.answers.events.size() == 1);
    CHECK(world.answers.events[0] == "'a.nc' goes on in /scratch: staging.memory is used up");
    world.publish(world.writer, step);
    StatusReport report = world.registry.status();
    CHECK(report.bytes_spilled == 22 * mib);
    CHECK(report.bytes_staged < 4 * mib);
    CHECK(report.datasets.at(0).bytes_spilled == 22 * mib);
    // It is the last step of its rule, so it stays readable until the disk space is needed.
    CHECK(world.read(world.reader, "a.nc") == step);
    world.write(world.writer, "b.nc", 30 * mib);
    CHECK_FALSE(world.is_opened(world.open(world.reader, "a.nc", world.alone())));
    report = world.registry.status();
    CHECK(report.bytes_spilled == 30 * mib);
    CHECK(report.bytes_spilled_ever == 52 * mib);
    CHECK(world.memory.destroyed.contains(world.answer(spilled).segment));
  }

  TEST_CASE("request tables and control blocks find room however much data there is") {
    DiskWorld world(64 * mib);
    const StepId step = world.begin("a.nc");
    for (int i = 0; i < 40; ++i) CHECK(world.is_granted(world.need(world.writer, step, mib)));
    CHECK(world.is_in_memory(world.need(world.writer, step, 64 * kib, SegmentUse::table)));
    CHECK(world.is_created(world.create(world.writer, "b.nc", world.alone())));
    // When even the reserved memory is used up, tables go to disk, too.
    for (int i = 0; i < 16; ++i)
      CHECK(world.is_granted(world.need(world.writer, step, 64 * kib, SegmentUse::table)));
    CHECK(world.is_on_disk(world.need(world.writer, step, 64 * kib, SegmentUse::table)));
  }

  TEST_CASE("when the disk cannot hold the wanted size, a process gets the needed size") {
    DiskWorld world(8 * mib);
    const StepId step = world.begin("a.nc");
    CHECK(world.is_in_memory(world.need(world.writer, step, 3 * mib)));
    const std::uint32_t spilled = world.need(world.writer, step, mib, SegmentUse::data, 16 * mib);
    CHECK(world.is_on_disk(spilled));
    CHECK(world.answer(spilled).bytes == mib);
  }

  TEST_CASE(
      "the bytes of a file count where there is room; those that are on disk already, there, without room") {
    DiskWorld world(8 * mib);
    const StepId step = world.begin("a.nc");
    CHECK(world.is_in_memory(world.need(world.writer, step, mib, SegmentUse::file)));
    CHECK(world.is_on_disk(world.need(world.writer, step, 6 * mib, SegmentUse::file)));
    const std::uint32_t there = world.need_for_file_on_disk(world.writer, step, 9 * mib);
    CHECK(world.is_on_disk(there));
    CHECK(world.memory.sizes.at(world.answer(there).segment) == 0);
    world.publish(world.writer, step);
    CHECK(world.registry.status().bytes_spilled == 15 * mib);
    CHECK(world.read(world.reader, "a.nc") == step);
  }

  TEST_CASE("a put waits while memory and disk are full and a reader may free some, else it fails") {
    DiskWorld world(8 * mib);
    world.write(world.writer, "a.nc", 3 * mib);
    world.write(world.writer, "b.nc", 6 * mib);
    const StepId step = world.begin("c.nc");
    const std::uint32_t waiting = world.need(world.writer, step, 5 * mib);
    CHECK(world.is_waiting(waiting));
    CHECK(world.read(world.reader, "a.nc") != 0);
    CHECK(world.is_waiting(waiting));  // 3 MiB of memory are too little
    world.memory.is_disk_slow = false;
    CHECK(world.read(world.reader, "b.nc") != 0);
    CHECK(world.is_on_disk(waiting));
    // Now no other step is left: the step itself fills everything.
    CHECK(world.is_in_memory(world.need(world.writer, step, 3 * mib)));
    const std::uint32_t refused = world.need(world.writer, step, 5 * mib);
    CHECK(world.refusal(refused) == NC_ENO_SPACE);
    CHECK(world.answer(refused).text.find("staging.spill: the disk is full") != std::string::npos);
    world.publish(world.writer, step);
    CHECK(world.is_opened(world.open(world.reader, "c.nc", world.alone())));
  }

  TEST_CASE("a put for which all that has been read would be too little fails, and does not wait for that") {
    DiskWorld world(8 * mib);
    world.write(world.writer, "a.nc", 3 * mib);
    CHECK(world.read(world.reader, "a.nc") != 0);
    const StepId step = world.begin("b.nc");
    const std::uint32_t opened = world.open(world.reader, "c.nc", world.alone());
    CHECK(world.refusal(world.need(world.writer, step, 20 * mib)) == NC_ENO_SPACE);
    world.registry.close(world.writer, {Discard{step}});
    world.write(world.writer, "c.nc", 6 * mib);
    CHECK(world.is_opened(opened));
  }

  TEST_CASE("a segment that another matcher makes is granted when it is there") {
    DiskWorld world(64 * mib);
    world.memory.is_disk_slow = true;
    const StepId step = world.begin("a.nc");
    CHECK(world.is_in_memory(world.need(world.writer, step, 3 * mib)));
    const std::uint32_t waiting = world.need(world.writer, step, mib - 5, SegmentUse::data, 2 * mib - 5);
    REQUIRE(world.memory.being_made.size() == 1);
    CHECK(world.is_waiting(waiting));
    REQUIRE(world.registry.view({}).waits.size() == 1);
    CHECK(world.registry.view({}).waits[0].waits_for == "disk space for 'a.nc'");
    SUBCASE("and it is") {
      world.registry.spill_made(world.memory.being_made[0], "");
      CHECK(world.is_on_disk(waiting));
      CHECK(world.registry.view({}).waits.empty());
    }
    SUBCASE("or as much as is needed") {
      world.registry.spill_made(world.memory.being_made[0], "the disk is full");
      REQUIRE(world.memory.being_made.size() == 2);
      CHECK(world.memory.sizes.at(world.memory.being_made[1]) == mib);
      world.registry.spill_made(world.memory.being_made[1], "");
      CHECK(world.is_on_disk(waiting));
      CHECK(world.registry.status().bytes_spilled == mib);
    }
    SUBCASE("or not at all, and nobody can free any") {
      world.registry.spill_made(world.memory.being_made[0], "the disk is full");
      world.registry.spill_made(world.memory.being_made[1], "the disk is full");
      CHECK(world.memory.being_made.size() == 2);
      CHECK(world.refusal(waiting) == NC_ENO_SPACE);
      CHECK(world.registry.status().bytes_spilled == 0);
    }
    SUBCASE("or its process has ended meanwhile") {
      world.registry.disconnect(world.writer);
      world.registry.spill_made(world.memory.being_made[0], "");
      CHECK(world.is_waiting(waiting));
      CHECK(world.registry.status().bytes_spilled == 0);
    }
  }

  TEST_CASE("two that wait for a full disk ask again only when some of it was given back") {
    World world(one_rule(), 4 * mib, no_retention, {{"model", 3}, {"analysis", 1}}, 1, "/scratch");
    world.memory.disk_bytes = 64 * mib;
    world.memory.is_disk_slow = true;
    const ProcessId first = world.process("model");
    const ProcessId second = world.process("model");
    const ProcessId third = world.process("model");
    const ProcessId reader = world.process("analysis");
    const auto put = [&](ProcessId p, const std::string& name, std::uint64_t bytes) {
      const StepId step = world.answer(world.create(p, name, world.alone())).step;
      return world.need(p, step, bytes);
    };
    const StepId held = world.write(third, "a.nc", 3 * mib);
    const std::uint32_t one = put(first, "b.nc", 6 * mib);
    const std::uint32_t two = put(second, "c.nc", 6 * mib);
    const std::uint32_t small = put(third, "d.nc", mib);
    auto& asked = world.memory.being_made;
    REQUIRE(asked.size() == 3);
    world.registry.spill_made(asked[2], "");
    world.registry.spill_made(asked[0], "full");
    world.registry.spill_made(asked[1], "full");
    CHECK(world.is_granted(small));
    CHECK(world.is_waiting(one));
    CHECK(world.is_waiting(two));
    CHECK(asked.size() == 3);
    CHECK(world.read(reader, "a.nc") == held);
    CHECK(asked.size() == 3);
    world.publish(third, world.answer(world.create(third, "e.nc", world.alone())).step);
    CHECK(asked.size() == 3);
    world.registry.disconnect(third);  // its d.nc is discarded
    CHECK(asked.size() == 3);
    world.registry.spill_gone(world.answer(small).segment);
    CHECK(asked.size() == 5);
  }
}
