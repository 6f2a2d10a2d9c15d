// What the registry tells of a run while it goes on.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "registry_world.hpp"

namespace sluice::matcher::test {
namespace {

std::vector<Activity::Kind> kinds_of(const RunView& view) {
  std::vector<Activity::Kind> kinds;
  for (const Activity& activity : view.activities) kinds.push_back(activity.kind);
  return kinds;
}

}  // namespace

TEST_CASE("a view counts what is over, and lists what is open or unread") {
  World world(one_rule(), 64 * mib, {{"model", 1}, {"analysis", 1}});
  const ProcessId model = world.process("model");
  const ProcessId reader = world.process("analysis");
  for (int i = 0; i < 10000; ++i) {
    const std::string name = std::to_string(i) + ".nc";
    (void)world.write(model, name);
    (void)world.read(reader, name);
  }
  (void)world.write(model, "unread.nc", mib);
  const StepId open = world.answer(world.create(model, "open.nc", world.alone())).step;
  REQUIRE(open != 0);
  world.now_ms = 250;
  const RunView view = world.registry.view({});
  REQUIRE(view.rules.size() == 1);
  CHECK(view.rules[0].pattern == "*.nc");
  CHECK(view.rules[0].totals.files == 10001);
  CHECK(view.rules[0].totals.steps == 10001);
  REQUIRE(view.files.size() == 2);
  CHECK(view.files[0].name == "open.nc");
  REQUIRE(view.files[0].users.size() == 1);
  CHECK(view.files[0].users[0].is_writing);
  CHECK(view.files[0].users[0].since_ms == 250);
  CHECK(view.files[1].name == "unread.nc");
  CHECK(view.files[1].is_published);
  CHECK(view.files[1].bytes >= mib);
  CHECK(view.files[1].unread_by == std::vector<std::string>{"analysis"});
  CHECK(view.more_files == 0);
  CHECK(view.activities.empty());
}

TEST_CASE("a view of 10,000 unread files and 1000 ranks that wait is small") {
  World world(one_rule(), std::uint64_t{100'000} * mib, {{"model", 1}, {"analysis", 1000}});
  const ProcessId model = world.process("model");
  for (int i = 0; i < 10'000; ++i) (void)world.write(model, std::to_string(i) + ".nc");
  for (std::uint32_t rank = 0; rank < 1000; ++rank)
    (void)world.open(world.process("analysis"), "next.nc", world.member(1, rank, 1000));
  const RunView view = world.registry.view({});
  CHECK(view.rules[0].totals.files == 10'000);
  CHECK(view.files.size() == 100);
  CHECK(view.more_files == 9900);
  REQUIRE(view.waits.size() == 1);
  CHECK(view.waits[0].processes == 1000);
  CHECK(view.waits[0].ranks.size() <= 8);
  CHECK(view.components.size() == 2);
}

TEST_CASE("a large copy is in the view until it ends, also if its end comes before its begin") {
  World world(one_rule(), 64 * mib, {{"model", 1}, {"analysis", 1}});
  const ProcessId model = world.process("model");
  const StepId step = world.answer(world.create(model, "a.nc", world.alone())).step;
  world.now_ms = 100;
  world.registry.note(model, {CopyNotice{1, step, true, false}});
  world.registry.note(model, {CopyNotice{2, step, true, false}});
  world.now_ms = 350;
  auto copies = world.registry.view({}).copies;
  REQUIRE(copies.size() == 1);
  CHECK(copies[0].component == "model");
  CHECK(copies[0].file == "a.nc");
  CHECK(copies[0].is_put);
  CHECK(copies[0].processes == 2);
  CHECK(copies[0].since_ms == 250);
  world.registry.note(model, {CopyNotice{2, step, true, true}});
  CHECK(world.registry.view({}).copies.at(0).processes == 1);
  world.registry.note(model, {CopyNotice{3, step, true, true}});
  world.registry.note(model, {CopyNotice{3, step, true, false}});
  world.registry.note(model, {CopyNotice{1, step, true, true}});
  CHECK(world.registry.view({}).copies.empty());
  world.registry.note(model, {CopyNotice{4, step, true, false}});
  world.registry.disconnect(model);
  CHECK(world.registry.view({}).copies.empty());
}

TEST_CASE("the puts and the gets of a step are one activity each, unless they took less than a millisecond") {
  World world(one_rule(), 64 * mib, {{"model", 1}, {"analysis", 1}});
  const ProcessId model = world.process("model");
  const ProcessId reader = world.process("analysis");
  world.now_ms = 1000;
  const StepId step = world.answer(world.create(model, "a.nc", world.alone())).step;
  PublishRequest publish{step, 0, {.puts = 3, .put_bytes = 4096}};
  publish.times.puts = {800'000, 300'000, 12'000};
  publish.times.gets = {800'000, 799'500, 400};
  world.now_ms = 2000;
  world.registry.close(model, {std::move(publish)});
  const StepId opened = world.answer(world.open(reader, "a.nc", world.alone())).step;
  world.now_ms = 2500;
  world.registry.close(reader,
                       {ReadEnd{opened, {.gets = 1, .get_bytes = 64}, {{}, {200'000, 100'000, 99'000}}}});
  const auto& activities = world.registry.view({true, 0}).activities;
  std::vector<Activity> calls;
  std::ranges::copy_if(activities, std::back_inserter(calls), [](const Activity& activity) {
    return activity.kind == Activity::Kind::put || activity.kind == Activity::Kind::get;
  });
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].kind == Activity::Kind::put);
  CHECK(calls[0].component == "model");
  CHECK(calls[0].begin_ms == 1200);
  CHECK(calls[0].end_ms == 1700);
  CHECK(calls[0].busy_us == 12'000);
  CHECK(calls[0].bytes == 4096);
  CHECK(calls[1].kind == Activity::Kind::get);
  CHECK(calls[1].begin_ms == 2300);
  CHECK(calls[1].end_ms == 2400);
}

TEST_CASE("of many unread files the oldest are listed, and the others counted") {
  World world(one_rule(), 64 * mib, {{"model", 1}, {"analysis", 1}});
  const ProcessId model = world.process("model");
  (void)world.process("analysis");
  for (int i = 0; i < 1000; ++i) (void)world.write(model, "f" + std::to_string(i) + ".nc");
  const RunView view = world.registry.view({});
  CHECK(view.files.size() == 100);
  CHECK(view.files.front().name == "f0.nc");
  CHECK(view.more_files == 900);
}

TEST_CASE("a view says which ranks wait for what, and since when") {
  World world(one_rule(), 64 * mib, {{"model", 1}, {"analysis", 3}});
  (void)world.process("model");
  std::vector<ProcessId> readers;
  for (std::int32_t rank = 0; rank < 3; ++rank)
    readers.push_back(world.registry.connect("analysis", 100U + static_cast<std::uint32_t>(rank), 50, {},
                                             Registry::StartedBy::run, rank));
  CHECK(world.is_waiting(world.open(readers[1], "a.nc", world.member(1, 0, 2))));
  world.now_ms = 400;
  CHECK(world.is_waiting(world.open(readers[2], "a.nc", world.member(1, 1, 2))));
  world.now_ms = 1000;
  const RunView view = world.registry.view({});
  REQUIRE(view.waits.size() == 1);
  CHECK(view.waits[0].waits_for == "'a.nc' from model");
  CHECK(view.waits[0].processes == 2);
  CHECK(view.waits[0].ranks == std::vector<std::uint32_t>{1, 2});
  CHECK(view.waits[0].since_ms == 1000);
  REQUIRE(view.components.size() == 2);
  CHECK(view.components[0].name == "analysis");
  CHECK(view.components[0].connected == 3);
  CHECK(view.components[0].waiting == 2);
}

TEST_CASE("activities are given once, in their order, with times since the beginning") {
  World world(one_rule(), 64 * mib, {{"model", 1}, {"analysis", 1}});
  const ProcessId model = world.process("model");
  const ProcessId reader = world.process("analysis");
  const std::uint32_t open = world.open(reader, "a.nc", world.alone());
  world.now_ms = 10;
  const StepId step = world.answer(world.create(model, "a.nc", world.alone())).step;
  world.now_ms = 30;
  world.registry.close(model, {PublishRequest{step, 0, {7, 700, 0, 0}}});
  REQUIRE(world.is_opened(open));
  world.now_ms = 40;
  world.registry.close(reader, {ReadEnd{step, {0, 0, 3, 500}}});
  const RunView view = world.registry.view({true, 0});
  CHECK(kinds_of(view) ==
        std::vector<Activity::Kind>{Activity::Kind::write, Activity::Kind::wait_open, Activity::Kind::read});
  CHECK(view.activities[0].begin_ms == 10);
  CHECK(view.activities[0].end_ms == 30);
  CHECK(view.activities[0].bytes == 700);
  CHECK(view.activities[0].file == "a.nc");
  CHECK(view.activities[1].begin_ms == 0);
  CHECK(view.activities[1].end_ms == 30);
  CHECK(view.activities[2].component == "analysis");
  CHECK(view.activities[2].bytes == 500);
  CHECK(view.last_activity == 3);
  CHECK(world.registry.view({true, 2}).activities.size() == 1);
  CHECK(world.registry.view({true, 3}).activities.empty());
  REQUIRE(view.uses.size() == 2);
  CHECK(view.uses[0].component == "analysis");
  CHECK(view.uses[0].counters.get_bytes == 500);
  CHECK(view.uses[1].counters.put_bytes == 700);
}

TEST_CASE("who asks too late is told how many activities it has missed") {
  World world(one_rule(), 64 * mib, {{"model", 1}, {"analysis", 1}});
  const ProcessId model = world.process("model");
  for (int i = 0; i < 20000; ++i) (void)world.write(model, "a.nc");
  const RunView view = world.registry.view({true, 100});
  CHECK(view.last_activity == 20000);
  CHECK(view.activities.size() + view.lost_activities == 19900);
  CHECK(view.lost_activities > 0);
}

TEST_CASE("programs that only look are in no view") {
  World world(one_rule());
  const ProcessId model = world.process("model");
  (void)world.write(model, "a.nc");
  const ProcessId looker = world.process(std::string(attached_name));
  (void)world.read(looker, "a.nc");
  const RunView view = world.registry.view({true, 0});
  CHECK(kinds_of(view) == std::vector<Activity::Kind>{Activity::Kind::write});
  for (const ComponentView& component : view.components) CHECK(component.name != attached_name);
}

TEST_CASE("the progress has the steps that readers have taken, and no files") {
  World world(one_rule(), 64 * mib, {{"model", 1}, {"analysis", 1}});
  const ProcessId model = world.process("model");
  const ProcessId reader = world.process("analysis");
  for (int i = 0; i < 3; ++i) (void)world.write(model, "f" + std::to_string(i) + ".nc");
  (void)world.read(reader, "f0.nc");
  const RunView view = world.registry.view({.is_for_progress = true});
  CHECK(view.files.empty());
  CHECK(view.activities.empty());
  REQUIRE(view.rules.size() == 1);
  const RuleStatus& use = view.rules[0].use;
  CHECK(use.users == std::vector<std::string>{"model", "analysis"});
  REQUIRE(use.readers.size() == 1);
  CHECK(use.readers[0].reader == "analysis");
  CHECK(use.readers[0].taken == 1);
  CHECK(use.readers[0].missed == 2);
}

}  // namespace sluice::matcher::test
