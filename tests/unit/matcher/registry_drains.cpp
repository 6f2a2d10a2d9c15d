// Steps that are written to files.
#include <doctest/doctest.h>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

std::vector<FileRule> kept() {
  auto rules = one_rule();
  rules[0].keep.keeps = true;
  return rules;
}

const DrainOutcome well{NC_NOERR, {}, 100};

}  // namespace

TEST_SUITE("registry: drains") {
  TEST_CASE("a complete step of a rule that keeps is drained, one that is not complete is not") {
    World world(kept());
    const auto model = world.process("model");
    (void)world.create(model, "a.nc", world.alone());
    CHECK(world.answers.drains.empty());
    const StepId step = world.write(model, "b.nc");
    CHECK(world.answers.drains == std::vector<StepId>{step});
    REQUIRE(world.registry.view({}).drains.size() == 1);
    world.registry.note_drain(step, {7, 100});
    CHECK(world.registry.view({}).drains[0].done_bytes == 7);
    world.registry.drained(step, well);
    CHECK(world.registry.view({}).drains.empty());
    CHECK(world.registry.status().datasets.back().bytes_kept == 100);

    World other(one_rule());
    other.write(other.process("model"), "a.nc");
    CHECK(other.answers.drains.empty());
  }

  TEST_CASE("burst-buffer data is drained without being asked to be kept; files that are on disk are not") {
    for (const Through through : {Through::burst_buffer, Through::file, Through::subfiles, Through::blobs}) {
      auto rules = one_rule();
      rules[0].through = through;
      rules[0].keep.keeps = through != Through::burst_buffer;
      World world(rules);
      world.write(world.process("model"), "a.nc");
      CHECK(world.answers.drains.empty() == (through != Through::burst_buffer));
    }
  }

  TEST_CASE("steps are drained one after the other, in the order of their publication") {
    World world(kept());
    const auto model = world.process("model");
    const StepId a = world.write(model, "a.nc");
    const StepId b = world.write(model, "b.nc");
    const StepId c = world.write(model, "c.nc");
    CHECK(world.answers.drains == std::vector<StepId>{a});
    CHECK(world.registry.view({}).drains.size() == 1);
    CHECK(world.registry.view({}).waiting_drains == 2);
    world.registry.drained(b, well);  // its drain was not ordered yet
    CHECK(world.answers.drains == std::vector<StepId>{a});
    world.registry.drained(a, well);
    world.registry.drained(b, well);
    CHECK(world.answers.drains == std::vector<StepId>{a, b, c});
  }

  TEST_CASE("a newer step of the name takes the place of one that waits, not of one that is being drained") {
    World world(kept());
    const auto model = world.process("model");
    const StepId first = world.write(model, "a.nc", mib);
    const StepId second = world.write(model, "a.nc", mib);
    const StepId third = world.write(model, "a.nc", mib);
    CHECK(world.answers.drains == std::vector<StepId>{first});
    CHECK(world.answers.erased_steps == std::set<StepId>{second});
    world.registry.drained(first, well);
    CHECK(world.answers.drains == std::vector<StepId>{first, third});
    CHECK(world.answers.erased_steps == std::set<StepId>{first, second});
  }

  TEST_CASE("memory that all have read comes free when its drain has ended, and a put waits for that") {
    World world(kept(), 4 * mib, {{"model", 1}, {"analysis", 1}});
    const auto model = world.process("model");
    const auto analysis = world.process("analysis");
    const StepId step = world.write(model, "a.nc", 3 * mib);
    CHECK(world.read(analysis, "a.nc") == step);
    const StepId next = world.answer(world.create(model, "b.nc", world.alone())).step;
    const auto need = world.need(model, next, 3 * mib);
    CHECK(world.is_waiting(need));
    SUBCASE("a drain that went well") {
      world.registry.drained(step, well);
    }
    SUBCASE("a drain that failed") {
      world.registry.drained(step, {NC_ENO_SPACE, "the disk is full", 0});
    }
    CHECK(world.is_granted(need));
  }

  TEST_CASE("a consumed step whose memory was used again is read from its file") {
    auto rules = kept();
    DrainOutcome outcome = well;
    bool is_served = true;
    SUBCASE("that has all of it") {}
    SUBCASE("which could not be written") {
      outcome = {NC_ENO_SPACE, "the disk is full", 0};
      is_served = false;
    }
    SUBCASE("not where only some variables are kept") {
      rules[0].keep.variables = {"temperature"};
      is_served = false;
    }
    World world(rules, 4 * mib, 0, {{"model", 1}, {"analysis", 1}});
    const auto model = world.process("model");
    const auto analysis = world.process("analysis");
    const StepId step = world.write(model, "a.nc", 3 * mib);
    world.read(analysis, "a.nc");
    world.registry.drained(step, outcome);
    const StepId next = world.write(model, "b.nc", 3 * mib);
    REQUIRE(world.answers.erased_steps.contains(step));
    const auto again = world.open(analysis, "a.nc", world.alone());
    CHECK(world.file(again) == (is_served ? "/files/a.nc" : ""));
    CHECK(world.refusal(again) == (is_served ? 0 : NC_ENOENT));
    CHECK(world.answers.events.back().find(is_served ? "reads 'a.nc' from the file /files/a.nc"
                                                     : "raise staging.retain") != std::string::npos);
    CHECK(world.described(world.inquire(analysis, "a.nc")) == (is_served ? 1 : 0));
    // Its writer reads it there, too, and goes on in it: it imports the file into a new step.
    CHECK(world.file(world.open(model, "a.nc", world.alone())) == (is_served ? "/files/a.nc" : ""));
    const auto reopened = world.reopen(model, "a.nc", world.alone());
    CHECK(world.file(reopened) == (is_served ? "/files/a.nc" : ""));
    CHECK(world.refusal(reopened) == (is_served ? 0 : NC_ENOENT));
    CHECK(world.refusal(world.create(model, "a.nc", world.alone(), true)) == NC_EEXIST);
    // A new file of the name is waited for, and then read.
    const auto created = is_served ? world.import(model, "a.nc") : world.create(model, "a.nc", world.alone());
    CHECK(world.refusal(world.import(model, "a.nc")) == NC_EEXIST);
    const auto later = world.open(analysis, "a.nc", world.alone());
    CHECK(world.is_waiting(later));
    world.publish(model, world.answer(created).step);
    CHECK(world.is_opened(later));
    world.registry.drained(next, well);
  }

  TEST_CASE("a file that was deleted is not given to readers any more") {
    World world(kept(), 4 * mib, 0, {});
    const auto model = world.process("model");
    const auto analysis = world.process("analysis");
    const StepId step = world.write(model, "a.nc", 3 * mib);
    world.read(analysis, "a.nc");
    world.registry.drained(step, well);
    world.write(model, "b.nc", 3 * mib);
    world.remove(model, "a.nc");
    CHECK(world.is_waiting(world.open(analysis, "a.nc", world.alone())));
  }

  TEST_CASE("a put that waits for a drain does not fail when all readers have ended") {
    World world(kept(), 4 * mib, {{"model", 1}, {"analysis", 1}});
    const auto model = world.process("model");
    world.registry.component_exited("analysis", "exited with status 0");
    const StepId step = world.write(model, "a.nc", 3 * mib);
    const StepId next = world.answer(world.create(model, "b.nc", world.alone())).step;
    const auto need = world.need(model, next, 3 * mib);
    CHECK(world.is_waiting(need));
    world.registry.drained(step, well);
    CHECK(world.is_granted(need));
  }

  TEST_CASE("a step that could not be written is reported, and others are not affected") {
    World world(kept());
    const auto model = world.process("model");
    const StepId a = world.write(model, "a.nc");
    const StepId b = world.write(model, "b.nc");
    world.registry.drained(a, {NC_ENO_SPACE, "/d/.a.nc.sluice-partial: No space left on device", 0});
    world.registry.drained(b, well);
    const StatusReport report = world.registry.status();
    REQUIRE(report.drain_failures.size() == 1);
    CHECK(report.drain_failures[0].find("'a.nc'") != std::string::npos);
    CHECK(report.drain_failures[0].find("No space left") != std::string::npos);
    CHECK(world.answers.events == report.drain_failures);
    CHECK(world.is_opened(world.open(world.process("analysis"), "a.nc", world.alone())));
  }

  TEST_CASE("removing a dataset takes back a drain that has not begun, and waits for one that has") {
    World world(kept());
    const auto model = world.process("model");
    const StepId a = world.write(model, "a.nc");
    const StepId b = world.write(model, "b.nc");
    CHECK(world.answer(world.remove(model, "b.nc")).kind == Answer::Kind::done);
    CHECK(world.answers.erased_steps == std::set<StepId>{b});
    const auto removal = world.remove(model, "a.nc");
    CHECK(world.is_waiting(removal));
    world.registry.drained(a, well);
    CHECK(world.answer(removal).kind == Answer::Kind::done);
    CHECK(world.answers.drains == std::vector<StepId>{a});
  }

  TEST_CASE("a drain gets the previous drain's position in the file if the step continues from there") {
    World world(kept());
    const auto model = world.process("model");
    const StepId first = world.answer(world.create(model, "a.nc", world.alone())).step;
    world.publish(model, first, 3);
    CHECK(world.registry.step(first).drained_records == -1);
    const StepId second = world.answer(world.reopen(model, "a.nc", world.alone())).step;
    world.publish(model, second, 5);
    SUBCASE("it went well") {
      world.registry.drained(first, well);
      CHECK(world.registry.step(second).drained_records == 3);
      CHECK(world.registry.step(second).drained_logs.size() == 1);
    }
    SUBCASE("it failed") {
      world.registry.drained(first, {NC_ENO_SPACE, "full", 0});
      CHECK(world.registry.step(second).drained_records == -1);
    }
    SUBCASE("a new file of the name") {
      world.registry.drained(first, well);
      world.registry.drained(second, well);
      const StepId other = world.write(model, "a.nc");
      CHECK(world.registry.step(other).drained_records == -1);
    }
  }

  TEST_CASE("a reopened file keeps the path that it was created with") {
    World world(kept());
    const auto model = world.process("model");
    const auto tag = world.ask([&](const Ticket& t) {
      world.registry.open(t, model, {{0, "a.nc"}, world.alone(), "/somewhere/a.nc", Purpose::create, {}, 2});
    });
    const StepId step = world.answer(tag).step;
    CHECK(world.registry.step(step).path == "/somewhere/a.nc");
    world.publish(model, step);
    const StepId more = world.answer(world.reopen(model, "a.nc", world.alone())).step;
    CHECK(world.registry.step(more).path == "/somewhere/a.nc");
  }
}
