#include <doctest/doctest.h>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

TEST_SUITE("registry: who uses what") {
  TEST_CASE("the status says who has connected, who has used a rule, and since when there is something") {
    World world(one_rule());
    const ProcessId model = world.process("model");
    CHECK(world.registry.status().connected == std::vector<std::string>{"model"});
    CHECK(world.registry.status().rules.at(0).users.empty());
    const StepId step = world.answer(world.create(model, "a.nc", world.alone())).step;
    CHECK(world.registry.status().rules.at(0).users == std::vector<std::string>{"model"});
    CHECK(world.registry.status().rules.at(0).published_for_ms == 0);
    world.publish(model, step);
    CHECK(world.registry.status().rules.at(0).published_for_ms > 0);
  }

  TEST_CASE("an ordinary file that a rule covers for others is told once, others only in the status") {
    World world(one_rule());
    const ProcessId plot = world.process("plot");
    for (const char* path : {"/x/a.nc", "/x/b.nc"}) world.registry.note_ordinary_file(plot, {0, path});
    CHECK(world.answers.events.size() == 1);
    for (int i = 0; i < 100; ++i)
      world.registry.note_ordinary_file(plot, {OrdinaryFile::no_rule, "/x/" + std::to_string(i), true});
    CHECK(world.answers.events.size() == 1);
    const auto files = world.registry.status().ordinary_files;
    REQUIRE(files.size() == 9);
    CHECK(files.front().component == "plot");
    CHECK(files.front().path == "/x/a.nc");
    CHECK_THROWS_AS(world.registry.note_ordinary_file(plot, {7, "/x/a.nc"}), Error);
  }

  TEST_CASE("a step whose writer ends before it has closed it is lost, one that it gives up is not") {
    World world(one_rule());
    const ProcessId model = world.process("model");
    world.registry.discard(model, world.answer(world.create(model, "a.nc", world.alone())).step);
    CHECK(world.registry.status().datasets.at(0).steps_lost == 0);
    world.create(model, "a.nc", world.alone());
    world.registry.disconnect(model);
    CHECK(world.registry.status().datasets.at(0).steps_lost == 1);
    CHECK(world.registry.status().datasets.at(0).steps_discarded == 2);
  }

  TEST_CASE("who asks for what cannot come is told of the nearest that did, or that no rule covers") {
    World world(one_rule());
    const ProcessId model = world.process("model");
    world.publish(model, world.answer(world.create(model, "wave_10.nc", world.alone())).step);
    world.registry.note_ordinary_file(model, {OrdinaryFile::no_rule, "/x/height.dat", true});
    world.registry.component_exited("model", "exited with status 0");
    const ProcessId analysis = world.process("analysis");
    const auto text = [&](const char* name) {
      return world.answer(world.open(analysis, name, world.alone())).text;
    };
    CHECK(text("wave_11.nc").ends_with("; 'wave_10.nc' was published: did you mean that?"));
    CHECK(text("hieght.dat").ends_with("; 'height.dat' was written, but no rule covers it"));
    CHECK(text("picture.nc").ends_with("exited with status 0"));
  }
}
