#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "sluice/matcher/process_table.hpp"
#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

bool mentions(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

/// a writes x.nc for b, and b writes y.nc for a. They have that many processes.
World two_components(std::uint32_t a_size, std::uint32_t b_size) {
  return World({{"x.nc", "a", {"b"}}, {"y.nc", "b", {"a"}}}, 64 * mib, {{"a", a_size}, {"b", b_size}});
}

}  // namespace

TEST_SUITE("registry: ends and failures") {
  TEST_CASE("a process that dies before it has published discards the step of its whole group, once") {
    World world(one_rule());
    const auto p = world.processes("model", 3);
    const StepId step = world.answer(world.create(p[0], "a.nc", world.member(1, 0, 3))).step;
    world.create(p[1], "a.nc", world.member(1, 1, 3));
    world.need(p[1], step, mib);
    world.registry.disconnect(p[0]);
    REQUIRE(world.memory.gone.size() == 1);
    CHECK(world.memory.gone[0].rank == 0);
    CHECK(world.refusal(world.create(p[2], "a.nc", world.member(1, 2, 3))) == NC_EIO);
    CHECK(world.refusal(world.need(p[1], step, mib)) == NC_EIO);
    CHECK_THROWS_AS((void)world.registry.step_for_get(p[1], step), Error);
    world.publish(p[1], step);  // the process could not know
    CHECK(world.is_waiting(world.open(world.process("analysis"), "a.nc", world.alone())));
    CHECK(world.registry.status().datasets.at(0).steps_discarded == 1);
    CHECK(world.registry.pool().used_bytes() == 0);
  }

  TEST_CASE("the memory of a discarded step is not given to others while a member may still write to it") {
    World world(one_rule());
    const auto p = world.processes("model", 2);
    const StepId step = world.answer(world.create(p[0], "a.nc", world.member(1, 0, 2))).step;
    world.create(p[1], "a.nc", world.member(1, 1, 2));
    const SegmentId segment = world.answer(world.need(p[1], step, mib)).segment;
    world.registry.disconnect(p[0]);
    const StepId other = world.answer(world.create(p[1], "b.nc", world.alone())).step;
    CHECK(world.answer(world.need(p[1], other, mib)).segment != segment);
    world.publish(p[1], step);
    CHECK(world.answer(world.need(p[1], other, mib)).segment == segment);
  }

  TEST_CASE("segments that a process had mapped when it died in writing are not recycled") {
    World world(one_rule());
    const auto p = world.processes("model", 2);
    const StepId step = world.answer(world.create(p[0], "a.nc", world.alone())).step;
    const SegmentId segment = world.answer(world.need(p[0], step, mib)).segment;
    world.registry.pool().note_mapped(segment, p[0]);
    world.registry.disconnect(p[0]);
    CHECK(world.memory.destroyed.contains(segment));
  }

  TEST_CASE("a process ends with its last connection") {
    World world(one_rule());
    const ProcessId first = world.registry.connect("model", 5, 50);
    CHECK(world.registry.connect("model", 5, 50) == first);
    CHECK(world.registry.connect("model", 5, 51) != first);  // a fork
    const StepId step = world.answer(world.create(first, "a.nc", world.alone())).step;
    world.registry.disconnect(first);
    world.publish(first, step);
    CHECK(world.is_opened(world.open(world.process("analysis"), "a.nc", world.alone())));
    world.registry.disconnect(first);
    CHECK_THROWS_AS(world.publish(first, step), Error);
  }

  TEST_CASE("a reader that dies releases its open steps") {
    World world(one_rule());
    const auto writer = world.process("model");
    const auto readers = world.processes("analysis", 2);
    world.write(writer, "a.nc", mib);
    const StepId step = world.answer(world.open(readers[0], "a.nc", world.member(1, 0, 2))).step;
    world.open(readers[1], "a.nc", world.member(1, 1, 2));
    world.write(writer, "a.nc", mib);
    CHECK(world.registry.pool().used_bytes() == 2 * mib);
    world.registry.disconnect(readers[0]);
    CHECK(world.registry.pool().used_bytes() == 2 * mib);
    world.close(readers[1], step);
    CHECK(world.registry.pool().used_bytes() == mib);
  }

  TEST_CASE("a process that dies while it waits is forgotten, and the rest of its group goes on waiting") {
    World world(one_rule());
    const auto readers = world.processes("analysis", 2);
    const auto gone = world.open(readers[0], "a.nc", world.member(1, 0, 2));
    const auto stays = world.open(readers[1], "a.nc", world.member(1, 1, 2));
    world.registry.disconnect(readers[0]);
    const StepId step = world.write(world.process("model"), "a.nc");
    CHECK(world.is_waiting(gone));
    CHECK(world.answer(stays).step == step);
    world.close(readers[1], step);
  }

  TEST_CASE("when a writer has exited, all waits for its files get NC_ENOENT at once, with the reason") {
    World world({{"a*.nc", "model", {"analysis"}}, {"b.nc", "other", {"analysis"}}});
    const auto readers = world.processes("analysis", 3);
    const auto one = world.open(readers[0], "a1.nc", world.alone());
    const auto two = world.open(readers[1], "a2.nc", world.alone());
    world.rule = 1;
    const auto not_concerned = world.open(readers[2], "b.nc", world.alone());
    world.registry.component_exited("model", "was killed by signal 9 (SIGKILL)");
    CHECK(world.refusal(one) == NC_ENOENT);
    CHECK(world.refusal(two) == NC_ENOENT);
    CHECK(mentions(world.answer(one).text, "was killed by signal 9"));
    CHECK(mentions(world.answers.events.at(0), "a1.nc"));
    CHECK(world.is_waiting(not_concerned));
  }

  TEST_CASE("an open of a file whose writer has exited without it fails at once") {
    World world(one_rule());
    world.registry.component_exited("model", "exited with status 1");
    const auto tag = world.open(world.process("analysis"), "a.nc", world.alone());
    CHECK(world.refusal(tag) == NC_ENOENT);
    CHECK(mentions(world.answer(tag).text, "exited with status 1"));
  }

  TEST_CASE("a step that part of its group never came to is discarded when the component has exited") {
    World world(one_rule());
    const auto p = world.processes("model", 2);
    const StepId step = world.answer(world.create(p[0], "a.nc", world.member(1, 0, 3))).step;
    world.create(p[1], "a.nc", world.member(1, 1, 3));
    world.publish(p[0], step);
    world.publish(p[1], step);
    const auto waits = world.open(world.process("analysis"), "a.nc", world.alone());
    world.registry.component_exited("model", "exited with status 0");
    CHECK(world.refusal(waits) == NC_ENOENT);
    CHECK(world.registry.pool().used_bytes() == 0);
  }

  TEST_CASE("a reader's group of which one member never came ends with its component") {
    World world(one_rule());
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    world.write(writer, "a.nc", mib);
    const StepId step = world.answer(world.open(reader, "a.nc", world.member(1, 0, 2))).step;
    world.close(reader, step);
    world.write(writer, "a.nc", mib);
    CHECK(world.registry.pool().used_bytes() == 2 * mib);
    world.registry.component_exited("analysis", "exited with status 0");
    CHECK(world.registry.pool().used_bytes() == mib);
  }

  TEST_CASE("the exit of an unknown component does no harm") {
    World world(one_rule());
    world.registry.component_exited("stranger", "exited with status 0");
    CHECK(world.is_created(world.create(world.process("model"), "a.nc", world.alone())));
  }
}

TEST_SUITE("registry: waits that can never end") {
  TEST_CASE("the blocked processes of a component are counted, whatever ends their waits") {
    ProcessTable table({{"model", 3}});
    const Component& model = *table.find_component("model");
    Process& first = table.connect("model", 1, 11);
    Process& second = table.connect("model", 2, 12);
    CHECK(model.blocked == 0);
    ProcessTable::change(first, [&] { ++first.waits; });
    ProcessTable::change(second, [&] { ++second.waits; });
    CHECK(model.blocked == 2);
    CHECK(model.can_act(model.blocked));  // the third process has not connected
    (void)table.connect("model", 1, 11);  // another thread of the first process, which can act
    CHECK(model.blocked == 1);
    ProcessTable::change(first, [&] { ++first.inbound_waits.change()[7]; });
    CHECK(model.blocked == 2);
    ProcessTable::change(first, [&] { first.inbound_waits.change().clear(); });
    CHECK(model.blocked == 1);
    ProcessTable::change(first, [&] { --first.connections; });
    CHECK(model.blocked == 2);
    table.erase(second.id);
    CHECK(model.blocked == 1);
    ProcessTable::change(first, [&] { --first.waits; });
    CHECK(model.blocked == 0);
    table.erase(first.id);
    CHECK(model.blocked == 0);
  }

  TEST_CASE("a cycle of components of many processes is seen when the last of them waits, and no sooner") {
    constexpr std::uint32_t size = 8;
    World world = two_components(size, size);
    const auto a = world.processes("a", size);
    const auto b = world.processes("b", size);
    std::vector<std::uint32_t> opens;
    world.rule = 1;
    for (std::uint32_t i = 0; i < size; ++i) opens.push_back(world.open(a[i], "y.nc", {1, i, size}));
    world.rule = 0;
    for (std::uint32_t i = 0; i < size; ++i) {
      for (const auto open : opens) REQUIRE(world.is_waiting(open));
      opens.push_back(world.open(b[i], "x.nc", {2, i, size}));
    }
    for (const auto open : opens) CHECK(world.refusal(open) == NC_ENOENT);
  }

  TEST_CASE("two components that wait for each other get an error that names the cycle") {
    World world = two_components(1, 1);
    const auto y_by_a = (world.rule = 1, world.open(world.process("a"), "y.nc", world.alone()));
    CHECK(world.is_waiting(y_by_a));
    world.rule = 0;
    const auto x_by_b = world.open(world.process("b"), "x.nc", world.alone());
    CHECK(world.refusal(y_by_a) == NC_ENOENT);
    CHECK(world.refusal(x_by_b) == NC_ENOENT);
    CHECK(mentions(world.answer(x_by_b).text, "a waits for 'y.nc' from b, which waits for 'x.nc' from a"));
  }

  TEST_CASE(
      "no cycle is seen while a process of the component has not shown up, or computes, or is a thread of "
      "its own") {
    World world = two_components(2, 1);
    const auto a = world.process("a");
    world.rule = 1;
    const auto y_by_a = world.open(a, "y.nc", world.alone());
    world.rule = 0;
    const auto x_by_b = world.open(world.process("b"), "x.nc", world.alone());
    CHECK(world.is_waiting(x_by_b));  // the other process of a may write it
    const auto other = world.registry.connect("a", 77, 77);
    world.registry.connect("a", 77, 77);  // with two threads
    world.rule = 1;
    const auto y_by_other = world.open(other, "y.nc", world.alone());
    CHECK(world.is_waiting(x_by_b));
    CHECK(world.is_waiting(y_by_a));
    const auto y_by_thread = world.open(other, "y.nc", world.alone());
    CHECK(world.refusal(x_by_b) == NC_ENOENT);
    for (const auto tag : {y_by_a, y_by_other, y_by_thread}) CHECK_FALSE(world.is_opened(tag));
  }

  TEST_CASE("no cycle is seen where the sizes of components are not known") {
    World world = two_components(0, 0);
    world.rule = 1;
    const auto y_by_a = world.open(world.process("a"), "y.nc", world.alone());
    world.rule = 0;
    const auto x_by_b = world.open(world.process("b"), "x.nc", world.alone());
    CHECK(world.is_waiting(y_by_a));
    CHECK(world.is_waiting(x_by_b));
  }

  TEST_CASE(
      "who waits for a component in a cycle goes on waiting: it may still write after its open has failed") {
    World world({{"x.nc", "a", {"b", "c"}}, {"y.nc", "b", {"a"}}}, 64 * mib, {{"a", 1}, {"b", 1}, {"c", 1}});
    const auto x_by_c = world.open(world.process("c"), "x.nc", world.alone());
    const auto a = world.process("a");
    world.rule = 1;
    const auto y_by_a = world.open(a, "y.nc", world.alone());
    world.rule = 0;
    const auto x_by_b = world.open(world.process("b"), "x.nc", world.alone());
    CHECK(world.refusal(y_by_a) == NC_ENOENT);
    CHECK(world.refusal(x_by_b) == NC_ENOENT);
    CHECK(world.is_waiting(x_by_c));
    const StepId step = world.write(a, "x.nc");
    CHECK(world.answer(x_by_c).step == step);
  }

  TEST_CASE("a process that opens for reading what it has open for writing itself is told so") {
    World world(one_rule(), 64 * mib, {{"model", 4}});
    const auto writer = world.process("model");
    world.create(writer, "a.nc", world.alone());
    const auto tag = world.open(writer, "a.nc", world.alone());
    CHECK(world.refusal(tag) == NC_ENOENT);
    CHECK(mentions(world.answer(tag).text, "still has open for writing"));
  }

  TEST_CASE("a cycle over a step in progress is seen when all of its writers wait") {
    World world = two_components(2, 1);
    const auto a = world.processes("a", 2);
    world.create(a[0], "x.nc", world.member(1, 0, 2));
    world.create(a[1], "x.nc", world.member(1, 1, 2));
    const auto x_by_b = world.open(world.process("b"), "x.nc", world.alone());
    world.rule = 1;
    const auto first = world.open(a[0], "y.nc", world.member(2, 0, 2));
    CHECK(world.is_waiting(x_by_b));
    const auto second = world.open(a[1], "y.nc", world.member(2, 1, 2));
    CHECK(world.refusal(first) == NC_ENOENT);
    CHECK(world.refusal(second) == NC_ENOENT);
    CHECK(world.refusal(x_by_b) == NC_ENOENT);
  }

  TEST_CASE("the status shows the waits: processes, files, numbers, and since when") {
    World world(one_rule());
    const auto readers = world.processes("analysis", 2);
    world.now_ms = 1000;
    world.open(readers[0], "a.nc", world.member(1, 0, 2));
    world.now_ms = 1500;
    world.open(readers[1], "a.nc", world.member(1, 1, 2));
    world.now_ms = 4000;
    const RunView report = world.registry.view({});
    REQUIRE(report.waits.size() == 1);
    CHECK(report.waits[0].component == "analysis");
    CHECK(report.waits[0].processes == 2);
    CHECK(report.waits[0].since_ms == 3000);
    CHECK(mentions(report.waits[0].waits_for, "'a.nc' from model"));
  }
}

TEST_SUITE("registry: what looks hopeless") {
  /// model reads b.nc and writes a.nc; analysis reads a.nc and writes b.nc.
  struct KnotWorld : World {
    KnotWorld(std::uint32_t model_processes, std::uint32_t analysis_processes)
        : World({{"a.nc", "model", {"analysis"}}, {"b.nc", "analysis", {"model"}}}, 64 * mib,
                {{"model", model_processes}, {"analysis", analysis_processes}}) {
      model = process("model");
      analysis = process("analysis");
      rule = 1;
      of_model = open(model, "b.nc", alone());
      rule = 0;
      of_analysis = open(analysis, "a.nc", alone());
    }
    bool has_failed() { return refusal(of_model) == NC_ENOENT && refusal(of_analysis) == NC_ENOENT; }
    bool is_waiting_still() { return is_waiting(of_model) && is_waiting(of_analysis); }
    bool is_told() {
      return std::ranges::any_of(answers.events, [](const std::string& event) {
        return mentions(event, "this may be a cycle of waits: model waits for 'b.nc' from analysis");
      });
    }

    ProcessId model{};
    ProcessId analysis{};
    std::uint32_t of_model = 0;
    std::uint32_t of_analysis = 0;
  };

  TEST_CASE("a cycle of processes that are all there is fails at once") {
    KnotWorld world(1, 1);
    CHECK(world.has_failed());
  }

  TEST_CASE("a cycle that another thread may end is reported, and fails when no thread may") {
    KnotWorld world(1, 1);
    world.are_processes_idle = false;
    REQUIRE(world.is_waiting_still());
    CHECK_FALSE(world.is_told());
    world.registry.look_again();
    CHECK(world.is_waiting_still());
    world.registry.look_again();
    CHECK(world.is_waiting_still());
    CHECK(world.is_told());
    const std::size_t events = world.answers.events.size();
    world.registry.look_again();
    CHECK(world.is_waiting_still());
    CHECK(world.answers.events.size() == events);
    world.are_processes_idle = true;
    world.registry.look_again();
    CHECK(world.has_failed());
  }

  TEST_CASE("all processes of a component of unknown size are looked at") {
    KnotWorld world(1, 0);
    REQUIRE(world.is_waiting_still());
    world.registry.look_again();
    world.registry.look_again();
    CHECK(world.is_told());
    CHECK(world.is_waiting_still());
    const auto other = world.process("analysis");
    world.rule = 1;
    world.write(other, "b.nc");
    CHECK(world.is_opened(world.of_model));
  }

  TEST_CASE("a wait fails when the system shows that no other process exists") {
    KnotWorld world(1, 0);
    world.are_components_idle = true;
    CHECK(world.has_failed());
  }

  TEST_CASE("a look at processes that have continued meanwhile does not count") {
    KnotWorld world(1, 1);
    const auto looks = std::exchange(world.answers.looks, {});
    REQUIRE(looks.size() == 2);
    REQUIRE(world.registry.connect("analysis", 2, 1002) == world.analysis);  // another thread of analysis
    for (const LookRequest& look : looks) world.registry.looked(look.number, true);
    CHECK(world.is_waiting_still());
  }
}
