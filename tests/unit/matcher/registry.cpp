#include "sluice/matcher/registry.hpp"

#include <doctest/doctest.h>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

TEST_SUITE("registry: groups") {
  TEST_CASE("the members of a creating group get the same step, in whatever order they arrive") {
    World world(one_rule());
    const auto p = world.processes("model", 3);
    const auto second = world.create(p[2], "a.nc", world.member(1, 2, 3));
    const auto first = world.create(p[0], "a.nc", world.member(1, 0, 3));
    const auto third = world.create(p[1], "a.nc", world.member(1, 1, 3));
    REQUIRE(world.is_created(first));
    CHECK(world.answer(first).step == world.answer(second).step);
    CHECK(world.answer(first).step == world.answer(third).step);
    CHECK(world.answer(first).logs == 3);
  }

  TEST_CASE(
      "a member whose rank, size, call or name does not fit its group is refused, and the group goes on") {
    World world(one_rule());
    const auto p = world.processes("model", 5);
    const auto good = world.create(p[0], "a.nc", world.member(1, 0, 2));
    CHECK(world.refusal(world.create(p[1], "a.nc", world.member(1, 1, 3))) == NC_EINVAL);
    CHECK(world.refusal(world.create(p[2], "a.nc", world.member(1, 0, 2))) == NC_EINVAL);
    CHECK(world.refusal(world.create(p[2], "a.nc", world.member(1, 2, 2))) == NC_EINVAL);
    CHECK(world.refusal(world.create(p[3], "b.nc", world.member(1, 1, 2))) == NC_EINVAL);
    CHECK(world.refusal(world.open(p[3], "a.nc", world.member(1, 1, 2))) == NC_EINVAL);
    CHECK(world.refusal(world.create(p[3], "a.nc", world.member(2, 0, 0))) == NC_EINVAL);
    CHECK(world.refusal(world.create(p[3], "a.nc", world.member(2, 0, 0xffffffff))) == NC_EINVAL);
    const auto last = world.create(p[4], "a.nc", world.member(1, 1, 2));
    CHECK(world.answer(last).step == world.answer(good).step);
    world.publish(p[0], world.answer(good).step);
    world.publish(p[4], world.answer(good).step);
    CHECK(world.is_opened(world.open(world.process("analysis"), "a.nc", world.alone())));
  }

  TEST_CASE("a component that the rule does not name may neither write nor read") {
    World world(one_rule());
    const auto stranger = world.process("stranger");
    const auto reader = world.process("analysis");
    CHECK(world.refusal(world.create(stranger, "a.nc", world.alone())) == NC_EPERM);
    CHECK(world.refusal(world.create(reader, "a.nc", world.alone())) == NC_EPERM);
    CHECK(world.refusal(world.reopen(reader, "a.nc", world.alone())) == NC_EPERM);
    CHECK(world.refusal(world.open(stranger, "a.nc", world.alone())) == NC_EPERM);
    CHECK(world.refusal(world.remove(stranger, "a.nc")) == NC_EPERM);
    world.rule = 7;
    CHECK(world.refusal(world.create(stranger, "a.nc", world.alone())) == NC_EINVAL);
  }

  TEST_CASE("groups of two components may have drawn the same id") {
    World world({{"a.nc", "model", {"analysis"}}, {"b.nc", "analysis", {"model"}}});
    const auto a = world.create(world.process("model"), "a.nc", world.member(1, 0, 1));
    world.rule = 1;
    const auto b = world.create(world.process("analysis"), "b.nc", world.member(1, 0, 1));
    CHECK(world.is_created(a));
    CHECK(world.is_created(b));
    CHECK(world.answer(a).step != world.answer(b).step);
  }
}

TEST_SUITE("registry: steps") {
  TEST_CASE("an open waits until every member of the writing group has published") {
    World world(one_rule());
    const auto writers = world.processes("model", 2);
    const auto reader = world.process("analysis");
    const auto early = world.open(reader, "a.nc", world.alone());
    CHECK(world.is_waiting(early));
    const StepId step = world.answer(world.create(writers[0], "a.nc", world.member(1, 0, 2))).step;
    world.create(writers[1], "a.nc", world.member(1, 1, 2));
    world.publish(writers[0], step, 3);
    CHECK(world.is_waiting(early));
    world.publish(writers[1], step, 5);
    REQUIRE(world.is_opened(early));
    CHECK(world.answer(early).step == step);
    CHECK(world.answer(early).record_count == 5);
  }

  TEST_CASE(
      "all members of a reading group get the step that the first of them got, also when a newer one comes "
      "in between") {
    World world(one_rule());
    const auto writer = world.process("model");
    const auto readers = world.processes("analysis", 2);
    const StepId first = world.write(writer, "a.nc");
    const auto one = world.open(readers[0], "a.nc", world.member(1, 0, 2));
    const StepId second = world.write(writer, "a.nc");
    const auto other = world.open(readers[1], "a.nc", world.member(1, 1, 2));
    CHECK(world.answer(one).step == first);
    CHECK(world.answer(other).step == first);
    CHECK(world.answer(world.open(readers[0], "a.nc", world.alone())).step == second);
  }

  TEST_CASE("the header that readers get is the last one before publication") {
    World world(one_rule());
    const auto writer = world.process("model");
    const StepId step = world.answer(world.create(writer, "a.nc", world.alone())).step;
    for (const std::size_t bytes : {10U, 20U}) {
      const auto tag = world.ask([&](const Ticket& t) {
        world.registry.set_header(t, writer, {step, std::vector<std::byte>(bytes)});
      });
      CHECK(world.answer(tag).kind == Answer::Kind::done);
    }
    world.publish(writer, step);
    CHECK(world.answer(world.open(world.process("analysis"), "a.nc", world.alone())).header_bytes == 20);
  }

  TEST_CASE("names that contain one another are different datasets, and so are equal names under two rules") {
    World world({{"f.*", "model", {"analysis"}}, {"g/f.*", "model", {"analysis"}}});
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    const StepId ten = world.write(writer, "f.10");
    CHECK(world.is_waiting(world.open(reader, "f.1", world.alone())));
    world.rule = 1;
    CHECK(world.is_waiting(world.open(reader, "f.10", world.alone())));
    world.rule = 0;
    CHECK(world.answer(world.open(reader, "f.10", world.alone())).step == ten);
  }

  TEST_CASE("NC_NOCLOBBER is refused where a step is published or in progress, on every member") {
    World world(one_rule());
    const auto p = world.processes("model", 2);
    const StepId step = world.answer(world.create(p[0], "a.nc", world.alone(), true)).step;
    CHECK(world.refusal(world.create(p[0], "a.nc", world.member(1, 0, 2), true)) == NC_EEXIST);
    CHECK(world.refusal(world.create(p[1], "a.nc", world.member(1, 1, 2), true)) == NC_EEXIST);
    world.publish(p[0], step);
    CHECK(world.refusal(world.create(p[0], "a.nc", world.alone(), true)) == NC_EEXIST);
    CHECK(world.is_created(world.create(p[0], "a.nc", world.alone())));
  }

  TEST_CASE("a published step survives its writer, and so do steps of a component that has exited") {
    World world(one_rule());
    const auto writer = world.process("model");
    const StepId step = world.write(writer, "a.nc", mib);
    world.registry.disconnect(writer);
    world.registry.component_exited("model", "exited with status 0");
    CHECK(world.answer(world.open(world.process("analysis"), "a.nc", world.alone())).step == step);
  }

  TEST_CASE("an aborted step is never seen, and the one before it stays") {
    World world(one_rule());
    const auto p = world.processes("model", 2);
    const StepId old = world.write(p[0], "a.nc");
    const StepId step = world.answer(world.create(p[0], "a.nc", world.member(1, 0, 2))).step;
    world.create(p[1], "a.nc", world.member(1, 1, 2));
    world.registry.close(p[0], {Discard{step}});
    CHECK(world.refusal(world.need(p[1], step, 100)) == NC_EIO);
    world.registry.close(p[1], {Discard{step}});
    CHECK(world.answer(world.open(world.process("analysis"), "a.nc", world.alone())).step == old);
    CHECK(world.registry.status().datasets.at(0).steps_discarded == 1);
  }

  TEST_CASE("a step into which nobody has written anything ends without a word and without a trace") {
    World world(one_rule());
    const auto writer = world.process("model");
    const StepId old = world.write(writer, "a.nc");
    const StepId step = world.answer(world.reopen(writer, "a.nc", world.alone())).step;
    world.registry.close(writer, {Discard{step, StepEnd::untouched}});
    CHECK(world.answers.events.empty());
    CHECK(world.registry.status().datasets.at(0).steps_discarded == 0);
    CHECK(world.answer(world.open(world.process("analysis"), "a.nc", world.alone())).step == old);
  }

  TEST_CASE("the reason why a process gives up a step is told") {
    World world(one_rule());
    const auto writer = world.process("model");
    const StepId failed = world.answer(world.create(writer, "a.nc", world.alone())).step;
    world.registry.close(writer,
                         {Discard{failed, StepEnd::aborted, "the log of a process could not be made"}});
    REQUIRE(world.answers.events.size() == 1);
    CHECK(world.answers.events[0] ==
          "the step of 'a.nc' was discarded: the log of a process could not be made");
    const StepId aborted = world.answer(world.create(writer, "a.nc", world.alone())).step;
    world.registry.close(writer, {Discard{aborted}});
    CHECK(world.answers.events.back().find(" aborted it") != std::string::npos);
  }

  TEST_CASE("a process can only write, close and read steps that it has open") {
    World world(one_rule());
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    const StepId step = world.answer(world.create(writer, "a.nc", world.alone())).step;
    CHECK_THROWS_AS(world.publish(reader, step), Error);
    CHECK_THROWS_AS(world.close(writer, step), Error);
    CHECK_THROWS_AS(world.registry.close(reader, {Discard{step}}), Error);
    CHECK_THROWS_AS((void)world.registry.step_for_get(reader, step), Error);
    CHECK(world.refusal(world.need(reader, step, 100)) == NC_EINVAL);
    CHECK(world.refusal(world.need(writer, step, 100, SegmentUse::control)) == NC_EINVAL);
    CHECK(world.registry.step_for_get(writer, step).id == step);
    world.publish(writer, step);
    CHECK_THROWS_AS(world.publish(writer, step), Error);
    CHECK_THROWS_AS((void)world.registry.step_for_get(writer, step), Error);
  }

  TEST_CASE("one process may have the same step open twice") {
    World world(one_rule());
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    const StepId step = world.write(writer, "a.nc");
    world.open(reader, "a.nc", world.alone());
    world.open(reader, "a.nc", world.alone());
    world.close(reader, step);
    CHECK(world.registry.step_for_get(reader, step).id == step);
    world.close(reader, step);
    CHECK_THROWS_AS((void)world.registry.step_for_get(reader, step), Error);
  }
}

TEST_SUITE("registry: the writer's own files") {
  TEST_CASE("a process that opens its own step in progress gets it as it is, and has not consumed it") {
    World world({{"*.nc", "model", {"model", "analysis"}, true}}, 64 * mib, {{"model", 2}, {"analysis", 1}});
    const auto p = world.processes("model", 2);
    const auto created = world.create(p[0], "a.nc", world.member(1, 0, 2));
    world.create(p[1], "a.nc", world.member(1, 1, 2));
    const StepId step = world.answer(created).step;
    // Before the header exists, readers see no file, as on disk.
    CHECK(world.refusal(world.open(p[0], "a.nc", world.alone())) == NC_ENOENT);
    world.header(p[0], step);
    const auto again = world.open(p[0], "a.nc", world.alone());
    REQUIRE(world.is_opened(again));
    CHECK(world.answer(again).step == step);
    const auto reader = world.process("analysis");
    const auto other = world.open(reader, "a.nc", world.alone());
    CHECK(world.is_waiting(other));
    world.close(p[0], step);
    world.publish(p[0], step);
    // It has closed the file. Now it waits for the other process, which can still write it.
    const auto later = world.open(p[0], "a.nc", world.alone());
    CHECK(world.is_waiting(later));
    world.publish(p[1], step);
    CHECK(world.is_opened(later));
    CHECK(world.is_opened(other));
    world.close(reader, step);
    // The early open did not see the whole step; the later one is still open.
    const auto waiting =
        world.need(p[1], world.answer(world.create(p[1], "b.nc", world.alone())).step, 64 * mib);
    CHECK_FALSE(world.answers.erased_steps.contains(step));
    world.close(p[0], step);
    CHECK_FALSE(world.answers.has_answered_twice);
    static_cast<void>(waiting);
  }

  TEST_CASE("an open by the writer's component waits for its own step in progress") {
    World world(one_rule());
    const auto p = world.processes("model", 2);
    const StepId old = world.write(p[0], "a.nc");
    const StepId step = world.answer(world.create(p[0], "a.nc", world.member(1, 0, 2))).step;
    world.create(p[1], "a.nc", world.member(1, 1, 2));
    const auto other = world.open(world.process("analysis"), "a.nc", world.alone());
    CHECK(world.answer(other).step == old);
    world.publish(p[0], step);
    const auto own = world.open(p[0], "a.nc", world.alone());
    CHECK(world.is_waiting(own));
    world.publish(p[1], step);
    CHECK(world.answer(own).step == step);
  }

  TEST_CASE("who opens a file that one of its processes has closed waits for the others' closes") {
    World world(one_rule());
    const auto p = world.processes("model", 2);
    (void)world.write(p[0], "a.nc");
    const StepId step = world.answer(world.create(p[0], "a.nc", world.member(1, 0, 2))).step;
    world.create(p[1], "a.nc", world.member(1, 1, 2));
    world.publish(p[0], step);
    const auto other = world.open(world.process("analysis"), "a.nc", world.alone());
    CHECK(world.is_waiting(other));
    world.publish(p[1], step);
    CHECK(world.answer(other).step == step);
  }

  TEST_CASE("a file may have been closed while it is written, for those who would get another one") {
    World world(one_rule());
    const auto writer = world.process("model"), reader = world.process("analysis");
    const DatasetKey key{0, "a.nc"};
    CHECK(world.registry.may_be_closed_by({reader, key, true}).empty());
    (void)world.create(writer, "a.nc", world.alone());
    CHECK(world.registry.may_be_closed_by({reader, key, true}).empty());  // it waits in any case
    CHECK(world.registry.may_be_closed_by({reader, key, false}) == "model");
    CHECK(world.registry.may_be_closed_by({writer, key, true}) == "model");
    CHECK(world.registry.may_be_closed_by({reader, {0, "b.nc"}, false}).empty());
  }

  TEST_CASE("a file that has been closed is listed before it is published, and an open waits for it") {
    World world(one_rule());
    const auto writer = world.process("model"), reader = world.process("analysis");
    const WrittenFile file{0, 1};
    const DatasetKey key{0, "/files/a.nc"};
    world.registry.begin_file(writer, file);
    const auto names = [&](const std::string& component) {
      std::vector<std::string> found;
      for (const PublishedFile& known : world.registry.list({"/files", false, {}, {}, component}).files)
        found.push_back(known.path);
      return found;
    };
    world.registry.note_file(file, {{key}});
    CHECK(world.registry.may_be_closed_by({reader, key, false}) == "model");
    CHECK(world.registry.may_be_closed_by({reader, key, false, file}).empty());
    CHECK(world.registry.closed_file(key) == WrittenFile{});
    CHECK(names("analysis").empty());
    CHECK(names("model") == std::vector<std::string>{"/files/a.nc"});
    world.registry.note_file(file, {{key}, true});
    CHECK(world.registry.closed_file(key) == file);
    CHECK(names("analysis") == std::vector<std::string>{"/files/a.nc"});
    world.registry.note_file(file, {{{0, "/a.nc"}}, true});  // it has another name now
    CHECK(names("analysis").empty());
    CHECK(world.registry.list({"/", false, {}, {}}).files.size() == 1);
    world.registry.end_file(writer, file);
    CHECK(world.registry.closed_file(key) == WrittenFile{});
    CHECK(names("model").empty());
  }

  TEST_CASE("an open by the writer's component of a file that it never created fails at once") {
    World world(one_rule());
    const auto writer = world.process("model");
    CHECK(world.refusal(world.open(writer, "a.nc", world.alone())) == NC_ENOENT);
    CHECK(world.refusal(world.reopen(writer, "a.nc", world.alone())) == NC_ENOENT);
  }

  TEST_CASE(
      "a reopened step holds the logs of the one before and new ones, and supersedes it when published") {
    World world(one_rule());
    const auto p = world.processes("model", 2);
    const StepId first = world.answer(world.create(p[0], "a.nc", world.alone())).step;
    world.need(p[0], first, mib);
    world.publish(p[0], first, 4);
    const auto again = world.reopen(p[0], "a.nc", world.member(1, 0, 2));
    world.reopen(p[1], "a.nc", world.member(1, 1, 2));
    REQUIRE(world.is_opened(again));
    const StepId second = world.answer(again).step;
    CHECK(second != first);
    CHECK(world.answer(again).logs == 3);
    CHECK(world.answer(again).record_count == 4);
    const auto before = world.open(world.process("analysis"), "a.nc", world.alone());
    CHECK(world.answer(before).step == first);
    world.publish(p[0], second, 4);
    world.publish(p[1], second, 5);
    const auto after = world.open(world.process("analysis"), "a.nc", world.alone());
    CHECK(world.answer(after).step == second);
    CHECK(world.answer(after).record_count == 5);
    const Step& step = world.registry.step_for_get(ProcessId{4}, second);
    CHECK(step.staged_bytes().at(0) == mib);
  }

  TEST_CASE("a reopening that is given up leaves the step that it continued as it was") {
    World world(one_rule());
    const auto writer = world.process("model");
    const StepId first = world.write(writer, "a.nc", mib);
    const StepId second = world.answer(world.reopen(writer, "a.nc", world.alone())).step;
    world.need(writer, second, mib);
    world.registry.close(writer, {Discard{second}});
    CHECK(world.answer(world.open(world.process("analysis"), "a.nc", world.alone())).step == first);
    CHECK(world.registry.pool().used_bytes() == mib);
  }

  TEST_CASE("a deleted dataset is as if never published, but processes that have it open may continue") {
    World world(one_rule());
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    CHECK(world.refusal(world.remove(writer, "a.nc")) == NC_ENOENT);
    const StepId step = world.write(writer, "a.nc", mib);
    world.open(reader, "a.nc", world.alone());
    CHECK(world.answer(world.remove(writer, "a.nc")).kind == Answer::Kind::done);
    CHECK(world.registry.step_for_get(reader, step).id == step);
    const auto next = world.open(reader, "a.nc", world.alone());
    CHECK(world.is_waiting(next));
    CHECK(world.refusal(world.remove(writer, "a.nc")) == NC_ENOENT);
    world.close(reader, step);
    CHECK(world.registry.pool().used_bytes() == 0);
    const StepId newer = world.write(writer, "a.nc");
    CHECK(world.answer(next).step == newer);
  }

  TEST_CASE("a deletion by a process that has closed the dataset waits for the other processes' closes") {
    World world(one_rule());
    const auto p = world.processes("model", 2);
    const StepId step = world.answer(world.create(p[0], "a.nc", {100, 0, 2})).step;
    world.create(p[1], "a.nc", {100, 1, 2});
    world.publish(p[0], step);
    const auto removal = world.remove(p[0], "a.nc");
    CHECK(world.is_waiting(removal));
    CHECK(world.registry.view({}).waits.size() == 1);
    SUBCASE("the other closes it") {
      world.publish(p[1], step);
      CHECK(world.answer(removal).kind == Answer::Kind::done);
      CHECK(world.answers.erased_steps.contains(step));
    }
    SUBCASE("the other ends") {
      world.registry.disconnect(p[1]);
      CHECK(world.refusal(removal) == NC_ENOENT);
    }
    CHECK_FALSE(world.is_waiting(removal));
    CHECK_FALSE(world.answers.has_answered_twice);
  }

  TEST_CASE("a deletion by a process that has the dataset open takes its name, and nothing is published") {
    for (const bool has_other_closed : {false, true}) {
      World world(one_rule());
      const auto p = world.processes("model", 2);
      const StepId step = world.answer(world.create(p[0], "a.nc", {100, 0, 2})).step;
      world.create(p[1], "a.nc", {100, 1, 2});
      if (has_other_closed) world.publish(p[1], step);
      CHECK(world.answer(world.remove(p[0], "a.nc")).kind == Answer::Kind::done);
      CHECK_FALSE(world.answers.erased_steps.contains(step));
      if (!has_other_closed) world.publish(p[1], step);
      world.publish(p[0], step);
      CHECK(world.answers.erased_steps.contains(step));
      CHECK(world.refusal(world.remove(p[0], "a.nc")) == NC_ENOENT);
    }
  }

  TEST_CASE(
      "who looks for what it has closed itself waits for the other processes' closes, and nobody else") {
    World world(one_rule());
    const auto p = world.processes("model", 2);
    const auto look = [&](ProcessId process) {
      const Open request{{0, "a.nc"}, world.alone(), {}, Purpose::read, Open::Which::newest};
      return world.ask([&](const Ticket& t) { world.registry.open(t, process, request); });
    };
    CHECK(world.refusal(look(p[0])) == NC_ENOENT);
    const StepId step = world.answer(world.create(p[0], "a.nc", {100, 0, 2})).step;
    world.create(p[1], "a.nc", {100, 1, 2});
    CHECK(world.refusal(look(p[0])) == NC_ENOENT);
    world.publish(p[0], step);
    CHECK(world.refusal(look(p[1])) == NC_ENOENT);
    const auto looking = look(p[0]);
    CHECK(world.is_waiting(looking));
    SUBCASE("the other closes it") {
      world.publish(p[1], step);
      CHECK(world.answer(looking).step == step);
    }
    SUBCASE("the other ends") {
      world.registry.disconnect(p[1]);
      CHECK(world.refusal(looking) == NC_ENOENT);
    }
    CHECK_FALSE(world.answers.has_answered_twice);
  }

  TEST_CASE("a connection that ends while its process goes on takes its waits for files along") {
    World world(one_rule());
    const ProcessId writer = world.process("model"), reader = world.process("analysis");
    (void)world.registry.connect("analysis", world.last_process, 1000 + world.last_process, {});  // once more
    const Ticket given_up{7, 101}, kept{8, 102};
    const auto wait = [&](const Ticket& ticket) {
      world.registry.open(ticket, reader, {{0, "a.nc"}, world.alone()});
    };
    wait(given_up);
    wait(kept);
    REQUIRE(world.registry.view({}).waits.size() == 1);  // they are alike
    CHECK(world.registry.view({}).waits.front().processes == 2);
    world.registry.disconnect(reader, given_up.connection);
    REQUIRE(world.registry.view({}).waits.size() == 1);
    CHECK(world.registry.view({}).waits.front().processes == 1);
    world.write(writer, "a.nc");
    CHECK(world.answer(given_up.tag).kind == Answer::Kind::none);
    CHECK(world.answer(kept.tag).kind == Answer::Kind::opened);
  }

  TEST_CASE("a deletion that would wait for ever deletes the earlier step") {
    World world(one_rule(), 64 * mib, {{"model", 2}, {"analysis", 1}});
    const auto p = world.processes("model", 2);
    const StepId earlier = world.write(p[0], "a.nc");
    const StepId step = world.answer(world.create(p[0], "a.nc", {100, 0, 2})).step;
    world.create(p[1], "a.nc", {100, 1, 2});
    world.publish(p[0], step);
    const auto removal = world.remove(p[0], "a.nc");
    CHECK(world.is_waiting(removal));
    world.open(p[1], "a.nc", world.alone());  // its own file, which it has not closed
    CHECK(world.answer(removal).kind == Answer::Kind::done);
    CHECK(world.answers.erased_steps.contains(earlier));
  }
}
