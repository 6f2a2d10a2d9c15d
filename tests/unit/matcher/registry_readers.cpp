#include <doctest/doctest.h>

#include <algorithm>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

constexpr std::uint64_t no_retention = 0;
constexpr int files = 6;

/// One writer. One file fits in memory; the others go to disk.
struct ReaderWorld : World {
  explicit ReaderWorld(std::uint32_t readers, std::uint64_t disk_mib = 100, std::string spill = "/scratch")
      : World(one_rule(), 8 * mib, no_retention, {{"model", 1}, {"analysis", readers}}, 1, std::move(spill)) {
    memory.disk_bytes = disk_mib * mib + least_segment;
    writer = process("model");
  }
  static std::string name(int i) { return "f" + std::to_string(i) + ".nc"; }
  /// Writes the next file. Returns false when its put waits or is refused.
  bool write_next() {
    const StepId step = answer(create(writer, name(written), alone())).step;
    const auto put = need(writer, step, 4 * mib);
    if (!is_granted(put)) return false;
    publish(writer, step);
    ++written;
    return true;
  }
  /// Writes all files; `p` reads each at once.
  void write_and_read(ProcessId p) {
    for (int i = 0; i < files; ++i) {
      REQUIRE(write_next());
      REQUIRE(read(p, name(i)) != 0);
    }
  }
  int readable_by(ProcessId p) {
    int count = 0;
    for (int i = 0; i < written; ++i) count += read(p, name(i)) != 0 ? 1 : 0;
    return count;
  }

  ProcessId writer{};
  int written = 0;
};

}  // namespace

TEST_SUITE("registry: read by all") {
  TEST_CASE("a step that one of two separate processes has read stays for the other") {
    ReaderWorld world(2);
    const auto first = world.process("analysis");
    world.write_and_read(first);
    const auto second = world.process("analysis");
    CHECK(world.readable_by(second) == files);
    CHECK(world.registry.status().bytes_spilled_ever > 0);
    const auto spilled_before = world.registry.status().bytes_spilled_ever;
    REQUIRE(world.write_next());  // all steps have been read, so memory is used again
    CHECK(world.registry.status().bytes_spilled_ever == spilled_before);
  }

  TEST_CASE("a component of unknown size may read again until it exits") {
    ReaderWorld world(0);
    const auto first = world.process("analysis");
    world.write_and_read(first);
    world.registry.disconnect(first);
    const auto second = world.process("analysis");
    CHECK(world.readable_by(second) == files);
    world.registry.component_exited("analysis", "exited with status 0");
    REQUIRE(world.write_next());
    CHECK(world.registry.status().bytes_spilled <= 4 * mib);  // the last step of its rule stays
  }

  TEST_CASE("the same for a component with more processes than ranks, or whose processes start others") {
    for (const bool is_child : {true, false}) {
      ReaderWorld world(1);
      const auto first = is_child
                             ? world.registry.connect("analysis", 77, 77, {}, Registry::StartedBy::component)
                             : world.process("analysis");
      if (!is_child) world.process("analysis");
      world.write_and_read(first);
      world.registry.disconnect(first);
      CHECK(world.readable_by(world.process("analysis")) == files);
    }
  }

  TEST_CASE("files that a reader leaves out go on disk, and when it has ended they go") {
    ReaderWorld world(1);
    const auto reader = world.process("analysis");
    for (int i = 0; i < files; ++i) REQUIRE(world.write_next());
    CHECK(world.read(reader, "f0.nc") != 0);
    CHECK(world.read(reader, "f5.nc") != 0);
    REQUIRE(world.write_next());
    CHECK(world.read(reader, "f1.nc") != 0);
    const auto spilled = world.registry.status().bytes_spilled;
    CHECK(spilled > 4 * mib);
    world.registry.disconnect(reader);
    CHECK(world.registry.status().bytes_spilled <= 4 * mib);  // the last step of its rule stays
  }

  TEST_CASE("the close of a part of the processes counts for these") {
    ReaderWorld world(3);
    const auto readers = world.processes("analysis", 3);
    REQUIRE(world.write_next());
    const StepId step = world.answer(world.open(readers[0], "f0.nc", world.member(1, 0, 2))).step;
    world.open(readers[1], "f0.nc", world.member(1, 1, 2));
    world.close(readers[0], step);
    world.close(readers[1], step);
    for (int i = 0; i < 3; ++i) REQUIRE(world.write_next());
    CHECK(world.read(readers[2], "f0.nc") == step);
    REQUIRE(world.write_next());
    CHECK(world.refusal(world.open(readers[2], "f0.nc", world.alone())) == NC_ENOENT);
  }

  TEST_CASE("a process that has ended without it will not ask for it") {
    ReaderWorld world(2);
    const auto readers = world.processes("analysis", 2);
    REQUIRE(world.write_next());
    CHECK(world.read(readers[0], "f0.nc") != 0);
    world.registry.disconnect(readers[1]);
    REQUIRE(world.write_next());
    REQUIRE(world.write_next());
    CHECK(world.refusal(world.open(readers[0], "f0.nc", world.alone())) == NC_ENOENT);
  }

  TEST_CASE("without a disk a put waits for a process that is known not to have read") {
    ReaderWorld world(2, 0, "");
    const auto first = world.process("analysis");
    REQUIRE(world.write_next());
    CHECK(world.read(first, "f0.nc") != 0);
    const StepId step = world.answer(world.create(world.writer, "f1.nc", world.alone())).step;
    const auto put = world.need(world.writer, step, 6 * mib);
    CHECK(world.is_waiting(put));
    CHECK(world.read(world.process("analysis"), "f0.nc") != 0);
    CHECK(world.is_granted(put));
  }

  TEST_CASE("without any space, steps that all running processes have read are dropped") {
    for (const std::uint64_t disk_mib : {0, 4}) {
      ReaderWorld world(0, disk_mib, disk_mib == 0 ? "" : "/scratch");
      const auto first = world.process("analysis");
      world.write_and_read(first);
      CHECK(std::ranges::any_of(world.answers.events, [](const std::string& event) {
        return event.find("although a reader may open it again") != std::string::npos;
      }));
      const auto gone = world.open(first, "f0.nc", world.alone());
      CHECK(world.refusal(gone) == NC_ENOENT);
      CHECK(world.answer(gone).text.find("staging.spill") != std::string::npos);
      const auto is_lost = [](const DatasetStatus& file) {
        return file.name == "f0.nc" && file.steps_lost == 1;
      };
      CHECK(std::ranges::none_of(world.registry.status().datasets, is_lost));
      CHECK(world.refusal(world.open(world.process("analysis"), "f0.nc", world.alone())) == NC_ENOENT);
      CHECK(std::ranges::any_of(world.registry.status().datasets, is_lost));
    }
  }

  TEST_CASE("there, too, it stays for a process that has come and has not read it") {
    ReaderWorld world(0, 0, "");
    const auto first = world.process("analysis");
    REQUIRE(world.write_next());
    CHECK(world.read(first, "f0.nc") != 0);
    const auto second = world.process("analysis");
    const StepId step = world.answer(world.create(world.writer, "f1.nc", world.alone())).step;
    const auto put = world.need(world.writer, step, 6 * mib);
    CHECK(world.is_waiting(put));
    CHECK(world.read(second, "f0.nc") != 0);
    CHECK(world.is_granted(put));
  }

  TEST_CASE("files that may be opened for writing again go on disk before any of them is given up") {
    ReaderWorld world(1);
    const auto reader = world.process("analysis");
    for (int last = 0; last < 4; ++last) {
      REQUIRE(world.write_next());
      for (int file = 0; file <= last; ++file) {
        const auto reopened = world.reopen(world.writer, world.name(file), world.alone());
        REQUIRE(world.is_opened(reopened));
        const StepId step = world.answer(reopened).step;
        REQUIRE(world.is_granted(world.need(world.writer, step, 3 * mib)));
        world.publish(world.writer, step);
        REQUIRE(world.read(reader, world.name(file)) == step);
      }
    }
  }
}
