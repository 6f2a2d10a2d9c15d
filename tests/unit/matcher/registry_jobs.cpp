#include <doctest/doctest.h>

#include <algorithm>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

constexpr std::uint64_t no_retention = 0;

/// Rule 0: files of the model, for which "analysis" is started once for each, two at a time. Rule 1: files
/// that "analysis" writes for the model.
struct JobWorld : World {
  explicit JobWorld(FileRule rule = one_rule().front())
      : World(rules(std::move(rule)), 8 * mib, no_retention, sizes(), 1, {}, {{"analysis", 0, 2, 1}}) {
    writer = process("model");
  }
  static FileRule stream() {
    FileRule rule = one_rule().front();
    rule.is_stream = true;
    return rule;
  }
  static FileRule with_queue(WhenFull when_full) {
    FileRule rule = one_rule().front();
    rule.queue = 2;
    rule.when_full = when_full;
    return rule;
  }
  static std::vector<FileRule> rules(FileRule first) {
    std::vector<FileRule> all{std::move(first)};
    FileRule back;
    back.pattern = "back_*";
    back.writer = "analysis";
    back.readers = {"model"};
    all.push_back(back);
    return all;
  }
  static std::vector<ComponentSize> sizes() { return {{"model", 1}, {"analysis", 0}}; }

  StepId write_file(const std::string& name) {
    const StepId step = answer(create(writer, name, alone())).step;
    REQUIRE(is_granted(need(writer, step, mib)));
    publish(writer, step);
    return step;
  }
  /// Whether the step is still there when a writer needs so much memory.
  bool is_kept(StepId step, std::uint64_t bytes = 7 * mib + mib / 2) {
    const StepId big = answer(create(writer, "big" + std::to_string(++bigs), alone())).step;
    need(writer, big, bytes);
    const bool has_gone = answers.erased_steps.contains(step);
    registry.close(writer, {Discard{big}});
    return !has_gone;
  }
  [[nodiscard]] const std::vector<StepId>& wanted() { return answers.jobs["analysis"]; }

  ProcessId writer{};
  int bigs = 0;
};

}  // namespace

TEST_SUITE("registry: jobs") {
  TEST_CASE("each published step wants a job, also when its file was published before") {
    JobWorld world;
    const StepId first = world.write_file("a");
    const StepId second = world.write_file("b");
    const StepId again = world.write_file("a");
    CHECK(world.wanted() == std::vector<StepId>{first, second, again});
  }

  TEST_CASE("a step stays until its job has ended, whatever processes have read") {
    JobWorld world;
    const StepId step = world.write_file("a");
    CHECK(world.is_kept(step));
    world.registry.job_begun("analysis", step);
    const ProcessId reader = world.process("analysis");
    CHECK(world.read(reader, "a") == step);
    CHECK(world.is_kept(step));
    world.registry.disconnect(reader);
    CHECK(world.is_kept(step));
    world.registry.job_ended("analysis", step);
    CHECK_FALSE(world.is_kept(step));
  }

  TEST_CASE("a step that is skipped is consumed, and others stay") {
    JobWorld world;
    const StepId first = world.write_file("a");
    const StepId second = world.write_file("b");
    world.registry.job_ended("analysis", first);
    CHECK_FALSE(world.is_kept(first, 6 * mib + mib / 2));
    CHECK(world.is_kept(second));
  }

  TEST_CASE("in a stream, a job has its own step, however often it opens the file") {
    JobWorld world(JobWorld::stream());
    const StepId first = world.write_file("a");
    const StepId second = world.write_file("a");
    const StepId third = world.write_file("a");
    world.registry.job_begun("analysis", first);
    for (int programs = 0; programs < 2; ++programs) {
      const ProcessId reader = world.process("analysis");
      CHECK(world.read(reader, "a") == first);
      CHECK(world.read(reader, "a") == first);
      world.registry.disconnect(reader);
    }
    world.registry.job_ended("analysis", first);
    world.registry.job_ended("analysis", second);  // skipped
    const ProcessId fast = world.process("analysis");
    CHECK(world.read(fast, "a") == third);  // faster than the word that its job has begun
    world.registry.job_begun("analysis", third);
    CHECK(world.read(fast, "a") == third);
  }

  TEST_CASE("jobs of several streams have their own steps") {
    JobWorld world(JobWorld::stream());
    const StepId a = world.write_file("a");
    const StepId b = world.write_file("b");
    const StepId next = world.write_file("a");
    world.registry.job_begun("analysis", a);
    world.registry.job_begun("analysis", b);
    const ProcessId reader = world.process("analysis");
    CHECK(world.read(reader, "b") == b);
    CHECK(world.read(reader, "a") == a);
    world.registry.job_ended("analysis", a);
    world.registry.job_begun("analysis", next);
    CHECK(world.read(world.process("analysis"), "a") == next);
  }

  TEST_CASE("a step whose job has ended without opening it has no place in the queue") {
    JobWorld world(JobWorld::with_queue(WhenFull::wait));
    const StepId first = world.write_file("a");
    const StepId second = world.write_file("b");
    const auto third = world.create(world.writer, "c", world.alone());
    CHECK(world.answer(third).kind == Answer::Kind::none);
    for (const StepId step : {first, second}) {
      world.registry.job_begun("analysis", step);
      world.registry.job_ended("analysis", step);
    }
    REQUIRE(world.is_created(third));
    world.publish(world.writer, world.answer(third).step);
    CHECK(world.is_created(world.create(world.writer, "d", world.alone())));
  }

  TEST_CASE("a step is not discarded before its job has ended") {
    JobWorld world(JobWorld::with_queue(WhenFull::discard));
    const StepId first = world.write_file("a");
    world.registry.job_begun("analysis", first);
    const StepId second = world.write_file("b");
    (void)world.write_file("c");
    CHECK(world.is_kept(first));
    CHECK(world.is_kept(second));
    CHECK(world.read(world.process("analysis"), "a") == first);
    world.registry.job_ended("analysis", first);
    world.registry.job_begun("analysis", second);
    CHECK(world.read(world.process("analysis"), "b") == second);
  }

  TEST_CASE("the end of a job for a step that is gone is no error") {
    JobWorld world;
    const StepId step = world.write_file("a");
    (void)world.write_file("a");
    world.registry.job_begun("analysis", step);
    world.registry.job_ended("analysis", step);
    world.registry.job_ended("analysis", 9999);
    world.registry.job_ended("stranger", step);
    CHECK(world.wanted().size() == 2);
  }

  TEST_CASE("who waits for a job's file waits while a job may come, and no longer") {
    JobWorld world;
    const StepId step = world.write_file("a");
    world.rule = 1;
    const auto open = world.open(world.writer, "back_a", world.alone());
    CHECK(world.answer(open).kind == Answer::Kind::none);  // the job is about to start
    world.registry.job_begun("analysis", step);
    CHECK(world.answer(open).kind == Answer::Kind::none);  // its process has not connected
    const ProcessId job = world.process("analysis");
    CHECK(world.answer(open).kind == Answer::Kind::none);
    world.registry.disconnect(job);
    CHECK(world.answer(open).kind == Answer::Kind::none);  // another process of the job may follow
    world.registry.job_ended("analysis", step);
    CHECK(world.answer(open).status == NC_ENOENT);
  }
}
