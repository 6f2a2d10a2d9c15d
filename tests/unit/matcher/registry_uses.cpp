#include <doctest/doctest.h>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

TEST_SUITE("registry: who uses what") {
  TEST_CASE("the status shows which components have connected and used a rule, and since when files exist") {
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

  TEST_CASE("an ordinary file that a rule covers for others is reported once, others only in the status") {
    World world(one_rule());
    const ProcessId plot = world.process("plot");
    for (const char* path : {"/x/a.nc", "/x/b.nc"}) world.registry.note(plot, {OrdinaryFile{0, path}});
    CHECK(world.answers.events.size() == 1);
    for (int i = 0; i < 100; ++i)
      world.registry.note(plot, {OrdinaryFile{OrdinaryFile::no_rule, "/x/" + std::to_string(i), true}});
    CHECK(world.answers.events.size() == 1);
    const auto files = world.registry.status().ordinary_files;
    REQUIRE(files.size() == 9);
    CHECK(files.front().component == "plot");
    CHECK(files.front().path == "/x/a.nc");
    CHECK_THROWS_AS(world.registry.note(plot, {OrdinaryFile{7, "/x/a.nc"}}), Error);
  }

  TEST_CASE("a reader cannot change what the run has published, and removes it unless it is kept") {
    auto rules = one_rule();
    rules.push_back(rules.front());
    rules.back().keep.keeps = true;
    World world(rules);
    const ProcessId model = world.process("model");
    const ProcessId analysis = world.process("analysis");
    CHECK(world.refusal(world.change_file(analysis, "a.nc", true)) == NC_ENOENT);
    CHECK(world.answers.events.empty());
    CHECK(world.refusal(world.change_file(analysis, "a.nc", false)) == NC_ENOENT);
    REQUIRE(world.answers.events.size() == 1);
    CHECK(world.answers.events.back().ends_with("names it as a reader only"));
    const StepId step = world.answer(world.create(model, "a.nc", world.alone())).step;
    CHECK(world.refusal(world.change_file(analysis, "a.nc", false)) == NC_EPERM);
    world.publish(model, step);
    CHECK(world.answer(world.change_file(analysis, "a.nc", false)).text ==
          "analysis cannot change 'a.nc': model writes it, and analysis only reads it. Let analysis write to "
          "another name");
    CHECK(world.answer(world.change_file(analysis, "a.nc", true)).kind == Answer::Kind::done);
    CHECK(world.is_opened(world.open(analysis, "a.nc", world.alone())));
    world.rule = 1;
    world.publish(model, world.answer(world.create(model, "b.nc", world.alone())).step);
    CHECK(world.answer(world.change_file(analysis, "b.nc", true)).text ==
          "analysis cannot remove 'b.nc': the rule keeps it on disk");
  }

  TEST_CASE("a step whose writer ends before closing it is lost, an aborted one is not") {
    World world(one_rule());
    const ProcessId model = world.process("model");
    world.registry.close(model, {Discard{world.answer(world.create(model, "a.nc", world.alone())).step}});
    CHECK(world.registry.status().datasets.at(0).steps_lost == 0);
    world.create(model, "a.nc", world.alone());
    world.registry.disconnect(model);
    CHECK(world.registry.status().datasets.at(0).steps_lost == 1);
    CHECK(world.registry.status().datasets.at(0).steps_discarded == 2);
  }

  TEST_CASE("a written file that cannot be published is lost") {
    World world(one_rule());
    const ProcessId model = world.process("model");
    const StepId step = world.answer(world.create(model, "a.nc", world.alone())).step;
    world.registry.close(model, {Discard{step, StepEnd::lost, "process 7 of model was killed"}});
    CHECK(world.answers.events.back() == "the step of 'a.nc' was discarded: process 7 of model was killed");
    CHECK(world.registry.status().datasets.at(0).steps_lost == 1);
    world.registry.close(model, {Discard{0, StepEnd::lost, {}, {0, "a.nc"}}});
    CHECK(world.registry.status().datasets.at(0).steps_lost == 2);
    world.registry.component_restarts("model", "exited with status 1");
    CHECK(world.registry.status().datasets.at(0).steps_lost == 0);
    const ProcessId analysis = world.process("analysis");
    CHECK_THROWS_AS(world.registry.close(analysis, {Discard{0, StepEnd::lost, {}, {0, "a.nc"}}}), Error);
    CHECK_THROWS_AS(
        world.registry.close(world.process("model"), {Discard{0, StepEnd::lost, {}, {7, "a.nc"}}}), Error);
  }

  TEST_CASE("a step that was lost counts no longer when the file is written anew, unless it is a stream") {
    for (const bool is_stream : {false, true}) {
      CAPTURE(is_stream);
      FileRule rule = one_rule().front();
      rule.is_stream = is_stream;
      World world({rule});
      const ProcessId model = world.process("model");
      world.create(model, "a.nc", world.alone());
      world.registry.disconnect(model);
      const ProcessId again = world.process("model");
      world.write(again, "b.nc");
      CHECK(world.registry.status().datasets.at(0).steps_lost == 1);
      world.write(again, "a.nc");
      CHECK(world.registry.status().datasets.at(0).steps_lost == (is_stream ? 1 : 0));
      world.registry.component_restarts("model", "exited with status 1");
      CHECK(world.registry.status().datasets.at(0).steps_lost == 0);
    }
  }

  TEST_CASE("what was lost of a file stays lost when a later step goes on with what was there before") {
    World world(one_rule());
    const ProcessId model = world.process("model");
    world.write(model, "a.nc");
    world.reopen(model, "a.nc", world.alone());
    world.registry.disconnect(model);
    const ProcessId again = world.process("model");
    world.publish(again, world.answer(world.reopen(again, "a.nc", world.alone())).step);
    CHECK(world.registry.status().datasets.at(0).steps_lost == 1);
  }

  TEST_CASE("a reader of a file that cannot come is told the most similar published or uncovered name") {
    World world(one_rule());
    const ProcessId model = world.process("model");
    world.publish(model, world.answer(world.create(model, "wave_10.nc", world.alone())).step);
    world.registry.note(model, {OrdinaryFile{OrdinaryFile::no_rule, "/x/height.dat", true}});
    world.registry.component_exited("model", "exited with status 0");
    const ProcessId analysis = world.process("analysis");
    const auto text = [&](const char* name) {
      return world.answer(world.open(analysis, name, world.alone())).text;
    };
    const std::string own = " makes this file itself, give it a name that '*.nc' does not cover";
    CHECK(text("wave_11.nc").ends_with("; 'wave_10.nc' was published: did you mean that? If analysis" + own));
    CHECK(
        text("hieght.dat").ends_with("; 'height.dat' was written, but no rule covers it. If analysis" + own));
    CHECK(text("picture.nc").ends_with("exited with status 0. If analysis" + own));
  }
}
