// Several nodes, and several matchers of a node: whose memory is taken, and who waits for memory.
#include <doctest/doctest.h>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

constexpr std::uint64_t no_retention = 0;

/// Two processes of one group, on different nodes, that write a step.
struct GroupOnTwoNodes {
  World world{one_rule(), 5 * mib, no_retention, {}, 2};
  ProcessId here = world.process("model", {0, 0});
  ProcessId there = world.process("model", {1, 2});
  StepId step = 0;

  GroupOnTwoNodes() {
    Member first = world.member(1, 0, 2);
    Member second = world.member(1, 1, 2);
    first.spans_nodes = second.spans_nodes = true;
    step = world.answer(world.create(here, "a.nc", first)).step;
    CHECK(world.answer(world.create(there, "a.nc", second)).step == step);
  }
};
}  // namespace

TEST_SUITE("registry: nodes") {
  TEST_CASE("a segment's id tells the node and the matcher that own it") {
    const SegmentId id = segment_id({65535, 1023}, (1ULL << 38) - 1);
    CHECK(owner_of(id) == MatcherPlace{65535, 1023});
    CHECK(node_of(segment_id({7, 1}, 1)) == 7);
    CHECK(segment_id({0, 0}, 42) == 42);
  }

  TEST_CASE("each process gets memory of its own node, owned by its own matcher") {
    World world(one_rule(), 4 * mib, no_retention, {}, 2);
    for (const MatcherPlace place : {MatcherPlace{0, 0}, MatcherPlace{1, 0}, MatcherPlace{1, 3}}) {
      const ProcessId p = world.process("model", place);
      const StepId step = world.answer(world.create(p, "a.nc", world.alone())).step;
      const SegmentId segment = world.answer(world.need(p, step, mib)).segment;
      CHECK(owner_of(segment) == place);
      CHECK(world.memory.sizes.at(segment) == mib);
      world.publish(p, step);
    }
    CHECK_THROWS_AS((void)world.process("model", {2, 0}), Error);
  }

  TEST_CASE("freed memory of a node is used again by the same matcher, or serves the others") {
    World world(one_rule(), 4 * mib, no_retention, {}, 1);
    const ProcessId left = world.process("model", {0, 0});
    const ProcessId right = world.process("model", {0, 1});
    const ProcessId reader = world.process("analysis", {0, 1});
    world.write(left, "a.nc", 3 * mib);
    world.read(reader, "a.nc");
    const StepId step = world.answer(world.create(right, "b.nc", world.alone())).step;
    const std::uint32_t need = world.need(right, step, 3 * mib);
    REQUIRE(world.is_granted(need));
    CHECK(owner_of(world.answer(need).segment) == MatcherPlace{0, 1});
    CHECK(world.registry.pool(0).used_bytes() + world.registry.pool(0).free_bytes() <= 4 * mib);
  }

  TEST_CASE("memory for inbound data counts on its node, and goes with the step") {
    World world(one_rule(), 4 * mib, no_retention, {}, 2);
    const ProcessId writer = world.process("model", {0, 0});
    const ProcessId reader = world.process("analysis", {1, 0});
    world.write(writer, "a.nc", mib);
    const StepId step = world.answer(world.open(reader, "a.nc", world.alone())).step;
    const MatcherPlace place{1, 2};
    const auto lease = [&](StepId of, const InboundSize& size) {
      const Answer answer = world.answer(world.lease(reader, of, place, size));
      if (answer.kind == Answer::Kind::granted) CHECK(owner_of(answer.segment) == place);
      return answer.kind == Answer::Kind::refused ? static_cast<std::uint64_t>(-answer.status) : answer.bytes;
    };
    const auto refused = [](int status) { return static_cast<std::uint64_t>(-status); };
    CHECK(lease(step, {mib, 2 * mib}) == 2 * mib);
    CHECK(lease(step, {mib, 8 * mib}) == mib);
    // The last quarter is kept for waiting gets.
    CHECK(lease(step, {mib, mib, true}) == refused(NC_ENO_SPACE));
    const ProcessId other = world.process("model", place);
    const StepId full = world.answer(world.create(other, "c.nc", world.alone())).step;
    CHECK(world.is_waiting(world.need(other, full, 512 * kib)));
    CHECK(world.is_waiting(world.need(other, full, 64 * kib, SegmentUse::table)));
    CHECK(lease(step, {512 * kib, 512 * kib}) == 512 * kib);
    world.registry.close(other, {Discard{full}});
    world.close(reader, step);
    CHECK(lease(step, {mib, mib}) == refused(NC_EBADID));  // no process reads the step
    // The next step takes the memory of the step that was read.
    world.write(writer, "b.nc", mib);
    const StepId next = world.answer(world.open(reader, "b.nc", world.alone())).step;
    CHECK(lease(next, {3 * mib, 3 * mib}) == 3 * mib);
    CHECK(lease(step, {mib, mib}) == refused(NC_EBADID));
    CHECK(lease(999, {mib, mib}) == refused(NC_EBADID));
  }

  TEST_CASE("inbound data waits while a process may free memory of the node, and fails when none can") {
    // a.nc and c.nc are for picture, b.nc for analysis.
    World world({{"[ac].nc", "model", {"picture"}}, {"b.nc", "model", {"analysis"}}}, 4 * mib, no_retention,
                {{"model", 1}, {"analysis", 1}, {"picture", 1}}, 2);
    const ProcessId writer = world.process("model", {0, 0});
    const ProcessId reader = world.process("analysis", {1, 0});
    const ProcessId other = world.process("picture", {1, 0});
    const MatcherPlace place{1, 0};
    const auto open = [&](ProcessId of, const std::string& name) {
      world.rule = of == reader ? 1 : 0;
      world.write(writer, name, mib);
      return world.answer(world.open(of, name, world.alone())).step;
    };
    const StepId held = open(other, "a.nc");
    CHECK(world.is_granted(world.lease(other, held, place, {3 * mib, 3 * mib})));
    const StepId wanted = open(reader, "b.nc");
    const std::uint32_t waiting = world.lease(reader, wanted, place, {2 * mib, 2 * mib});
    CHECK(world.is_waiting(waiting));
    REQUIRE(world.registry.view({}).waits.size() == 1);
    CHECK(world.registry.view({}).waits[0].waits_for ==
          "memory for the data of 'b.nc' that it reads from other nodes (picture has 'a.nc' open)");
    world.close(other, held);
    CHECK(world.is_granted(waiting));

    SUBCASE("because who could free it waits for the same") {
      const StepId again = open(other, "c.nc");
      CHECK(world.is_granted(world.lease(other, again, place, {mib, mib})));
      const std::uint32_t first = world.lease(reader, wanted, place, {3 * mib, 3 * mib});
      CHECK(world.is_waiting(first));
      const std::uint32_t second = world.lease(other, again, place, {3 * mib, 3 * mib});
      CHECK(world.refusal(second) == NC_ENO_SPACE);
      CHECK(world.answer(second).text.find("raise staging.memory") != std::string::npos);
      CHECK(world.is_waiting(first));  // `other` has been told, and may close its file now
      world.close(other, again);
      CHECK(world.refusal(first) == NC_ENO_SPACE);  // 3 MiB more than the 2 MiB that it has
    }
    SUBCASE("because who could free it waits behind it") {
      const StepId again = open(other, "c.nc");
      CHECK(world.is_granted(world.lease(other, again, place, {mib, mib})));
      const std::uint32_t first = world.lease(reader, wanted, place, {3 * mib, 3 * mib});
      CHECK(world.is_waiting(first));
      world.registry.join_inbound_wait(wanted, place, {other, 0});
      CHECK(world.refusal(first) == NC_ENO_SPACE);
      world.close(other, again);
    }
    SUBCASE("because only others of its own component could free it") {
      const StepId held_itself = open(reader, "b.nc");
      CHECK(world.is_granted(world.lease(reader, held_itself, place, {mib, mib})));
      const ProcessId sibling = world.process("analysis", {1, 0});
      const StepId again = world.answer(world.open(sibling, "b.nc", world.alone())).step;
      CHECK(world.refusal(world.lease(sibling, again, place, {2 * mib, 2 * mib})) == NC_ENO_SPACE);
    }
    SUBCASE("because its reader ends") {
      CHECK(world.is_granted(world.lease(other, open(other, "c.nc"), place, {mib, mib})));
      const std::uint32_t first = world.lease(reader, wanted, place, {3 * mib, 3 * mib});
      CHECK(world.is_waiting(first));
      world.registry.disconnect(reader);
      CHECK(world.refusal(first) == NC_EIO);
    }
  }

  TEST_CASE("a get that waits for memory of several matchers of its node is one thread that waits") {
    // picture has a.nc open on the node, and waits for c.nc. The other thread of analysis may still write
    // c.nc.
    World world(
        {{"a.nc", "model", {"picture"}}, {"b.nc", "model", {"analysis"}}, {"c.nc", "analysis", {"picture"}}},
        4 * mib, no_retention, {{"model", 1}, {"analysis", 1}, {"picture", 1}}, 2);
    const ProcessId writer = world.process("model", {0, 0});
    const ProcessId other = world.process("picture", {1, 0});
    const ProcessId reader = world.registry.connect("analysis", 5, 50, {1, 1});
    REQUIRE(world.registry.connect("analysis", 5, 50, {1, 1}) == reader);
    world.write(writer, "a.nc", mib);
    const StepId held = world.answer(world.open(other, "a.nc", world.alone())).step;
    CHECK(world.is_granted(world.lease(other, held, {1, 0}, {3584 * kib, 3584 * kib})));
    world.rule = 2;
    const std::uint32_t opening = world.open(other, "c.nc", world.alone());
    world.rule = 1;
    world.write(writer, "b.nc", mib);
    const StepId wanted = world.answer(world.open(reader, "b.nc", world.alone())).step;
    const InboundSize size{640 * kib, 640 * kib};
    const std::uint32_t first = world.lease(reader, wanted, {1, 0}, size, 7);
    const std::uint32_t second = world.lease(reader, wanted, {1, 1}, size, 7);
    CHECK(world.is_waiting(first));
    CHECK(world.is_waiting(second));

    SUBCASE("so another thread may still end the wait") {
      world.rule = 2;
      const StepId written = world.answer(world.create(reader, "c.nc", world.alone())).step;
      world.publish(reader, written);
      CHECK(world.answer(opening).step == written);
      world.close(other, held);
      CHECK(world.is_granted(first));
      CHECK(world.is_granted(second));
    }
    SUBCASE("and when that waits, too, nobody can end both waits") {
      world.registry.join_inbound_wait(wanted, {1, 1}, {reader, 8});
      CHECK(world.refusal(second) == NC_ENO_SPACE);
      CHECK(world.is_waiting(first));  // the other thread has been told, and may continue
    }
    SUBCASE("and both end with its process") {
      world.registry.disconnect(reader);
      world.registry.disconnect(reader);
      CHECK(world.refusal(first) == NC_EIO);
      CHECK(world.refusal(second) == NC_EIO);
    }
  }

  TEST_CASE("a writer waits while its own node is full, whatever the others have free") {
    World world(one_rule(), 5 * mib, no_retention, {{"model", 2}, {"analysis", 1}}, 2);
    const ProcessId here = world.process("model", {0, 0});
    const ProcessId there = world.process("model", {1, 0});
    const ProcessId reader = world.process("analysis", {1, 0});
    world.write(here, "a.nc", 3 * mib);
    const StepId step = world.answer(world.create(here, "b.nc", world.alone())).step;
    const std::uint32_t need = world.need(here, step, 3 * mib);
    CHECK(world.is_waiting(need));
    world.write(there, "c.nc", 3 * mib);  // node 1 has free memory
    world.read(reader, "c.nc");           // which frees nothing on node 0
    CHECK(world.is_waiting(need));
    world.read(reader, "a.nc");
    CHECK(world.is_granted(need));
  }

  TEST_CASE("a put fails when nothing can free memory of its node, though memory of another may come free") {
    World world(one_rule(), 5 * mib, no_retention, {{"model", 2}, {"analysis", 1}}, 2);
    const ProcessId here = world.process("model", {0, 0});
    const ProcessId there = world.process("model", {1, 0});
    const ProcessId reader = world.process("analysis", {1, 0});
    world.write(there, "other.nc", 3 * mib);  // not read yet
    const StepId step = world.answer(world.create(here, "a.nc", world.alone())).step;
    REQUIRE(world.is_granted(world.need(here, step, 3 * mib)));
    const std::uint32_t need = world.need(here, step, 3 * mib);
    CHECK(world.refusal(need) == NC_ENO_SPACE);
    CHECK(world.answer(need).text.find("node 0") != std::string::npos);
    world.read(reader, "other.nc");
  }

  TEST_CASE("a group that spans nodes has no control block, one within a node has it there") {
    GroupOnTwoNodes group;
    auto& [world, here, there, step] = group;
    CHECK(world.registry.pool(0).used_bytes() + world.registry.pool(1).used_bytes() == 0);
    CHECK(node_of(world.answer(world.need(here, step, 100)).segment) == 0);
    CHECK(node_of(world.answer(world.need(there, step, 100)).segment) == 1);
    world.publish(here, step);
    world.publish(there, step);
    const StepId own = world.answer(world.create(there, "b.nc", world.alone())).step;
    CHECK(node_of(world.registry.step_for_get(there, own).control.id()) == 1);
  }

  TEST_CASE("a group that says it is within one node is") {
    World world(one_rule(), 5 * mib, no_retention, {}, 2);
    const ProcessId here = world.process("model", {0, 0});
    const ProcessId there = world.process("model", {1, 0});
    CHECK(world.is_created(world.create(here, "a.nc", world.member(1, 0, 2))));
    CHECK(world.refusal(world.create(there, "a.nc", world.member(1, 1, 2))) == NC_EINVAL);
  }

  TEST_CASE(
      "a process that dies on a node taints memory of that node only, and its group's step is discarded") {
    GroupOnTwoNodes group;
    auto& [world, here, there, step] = group;
    const SegmentId kept = world.answer(world.need(here, step, mib)).segment;
    const SegmentId lost = world.answer(world.need(there, step, mib)).segment;
    world.registry.pool(0).note_mapped(kept, here);
    world.registry.pool(1).note_mapped(lost, there);
    world.registry.disconnect(there);
    CHECK(world.memory.gone.empty());  // no control block exists for it
    world.registry.close(here, {Discard{step}});
    CHECK(world.memory.destroyed.contains(lost));
    CHECK_FALSE(world.memory.destroyed.contains(kept));
    CHECK(world.answers.erased_steps.contains(step));
  }

  TEST_CASE(
      "the view of a step tells where each log is, and changes with each grant, header and publication") {
    GroupOnTwoNodes group;
    auto& [world, here, there, step] = group;
    const auto view = [&] { return group.world.registry.step_for_get(group.here, group.step).view(); };
    const std::uint64_t first_revision = view().revision;
    world.need(there, step, 100, SegmentUse::table);
    CHECK(view().revision > first_revision);
    CHECK(view().logs.at(1).tables.size() == 1);
    CHECK(owner_of(view().logs.at(1).tables[0].segment) == MatcherPlace{1, 2});
    const std::uint64_t before = view().revision;
    world.registry.set_header({0, 999}, here, {step, std::vector<std::byte>(5)});
    CHECK(view().revision > before);
    CHECK(view().header_revision == view().revision);
    CHECK_FALSE(view().is_final);
    world.publish(here, step);
    world.publish(there, step);
    const ProcessId reader = world.process("analysis");
    CHECK(world.answer(world.open(reader, "a.nc", world.alone())).step == step);
    CHECK(world.registry.step_for_get(reader, step).view().is_final);
  }
}
