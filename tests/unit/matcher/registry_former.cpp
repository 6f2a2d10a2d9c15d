#include <doctest/doctest.h>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

FileRule kept_rule() {
  FileRule rule{"*.nc", "model", {"viewer"}};
  rule.keep.keeps = true;
  return rule;
}

FileRule stream_rule() {
  FileRule rule = kept_rule();
  rule.is_stream = true;
  return rule;
}

FormerStep former(const std::string& name, const std::string& file, std::set<std::string> readers = {}) {
  return {{0, name}, "/files/" + name, file, 2, std::move(readers)};
}

}  // namespace

TEST_SUITE("registry: steps of a former run") {
  TEST_CASE("readers open them at once, and the format is known") {
    World world({kept_rule()});
    const StepId step = world.registry.restore(former("a.nc", "/files/a.nc")).id;
    const auto reader = world.process("viewer");
    const auto opened = world.open(reader, "a.nc", world.alone());
    CHECK(world.is_opened(opened));
    CHECK(world.answer(opened).step == step);
    CHECK(world.answer(opened).logs == 0);
    CHECK(world.answer(world.inquire(reader, "a.nc")).version == 2);
    world.close(reader, step);
    CHECK(world.answers.drains.empty());
  }

  TEST_CASE("the writer makes a new step of the name, or goes on in the file") {
    World world({kept_rule()});
    world.registry.restore(former("a.nc", "/files/a.nc"));
    const auto writer = world.process("model");
    const auto reader = world.process("viewer");
    SUBCASE("a new step") {
      const StepId step = world.write(writer, "a.nc");
      CHECK(world.answer(world.open(reader, "a.nc", world.alone())).step == step);
    }
    SUBCASE("goes on") {
      CHECK(world.file(world.open_earlier(writer, "a.nc", true)) == "/files/a.nc");
      const StepId step = world.answer(world.import(writer, "a.nc")).step;
      REQUIRE(step != 0);
      world.publish(writer, step);
      CHECK(world.answer(world.open(reader, "a.nc", world.alone())).step == step);
    }
  }

  TEST_CASE("in a stream a reader gets those that it has not read, in order, and new ones after them") {
    World world({stream_rule()});
    world.registry.restore(former("s.nc", "/copies/1", {"viewer"}));
    const StepId second = world.registry.restore(former("s.nc", "/copies/2")).id;
    const StepId third = world.registry.restore(former("s.nc", "/copies/3")).id;
    const StepId fourth = world.write(world.process("model"), "s.nc");
    const auto reader = world.process("viewer");
    for (const StepId step : {second, third, fourth}) {
      CHECK(world.answer(world.open(reader, "s.nc", world.alone())).step == step);
      world.close(reader, step);
    }
  }

  TEST_CASE("jobs are wanted for those that have had none") {
    World world({kept_rule()}, 64 * mib, 0, {}, 1, {}, {{"viewer", 0, 1, 1}});
    world.registry.restore(former("a.nc", "/files/a.nc", {"viewer"}));
    const StepId step = world.registry.restore(former("b.nc", "/files/b.nc")).id;
    CHECK(world.answers.jobs["viewer"] == std::vector<StepId>{step});
  }

  TEST_CASE("numbers go on behind those of former runs") {
    FileRule rule = kept_rule();
    rule.modes = {{"viewer", ReadMode::every, 3}};
    World world({rule});
    world.registry.go_on_counting({{0, {}}, 5});
    FormerStep third = former("c.nc", "/files/c.nc");
    third.number = third.number_in_rule = 3;
    CHECK(world.registry.restore(third).read_by.at(0).is_passed);
    const auto writer = world.process("model");
    for (const auto& [name, is_skipped] : {std::pair("f.nc", true), std::pair("g.nc", false)}) {
      const Step& step = world.registry.step(world.write(writer, name));
      CHECK(step.number_in_rule == step.number);
      CHECK(step.read_by.at(0).is_skipped == is_skipped);
    }
  }

  TEST_CASE("a stream goes on behind its own steps, and its rule behind all") {
    World world({stream_rule()});
    world.registry.go_on_counting({{0, {}}, 7});
    world.registry.go_on_counting({{0, "s.nc"}, 4});
    const Step& step = world.registry.step(world.write(world.process("model"), "s.nc"));
    CHECK(step.number == 5);
    CHECK(step.number_in_rule == 8);
  }

  TEST_CASE("a step that has a rule of another workflow is refused") {
    World world({kept_rule()});
    FormerStep step = former("a.nc", "/files/a.nc");
    step.key.rule = 7;
    CHECK_THROWS_AS(world.registry.restore(step), Error);
  }
}
