#include <doctest/doctest.h>

#include <algorithm>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

std::vector<FileRule> one_rule(const std::string& pattern, Identity identity) {
  FileRule rule{pattern, "model", {"viewer"}};
  rule.identity = identity;
  return {rule};
}

std::uint32_t create_at(World& world, ProcessId p, const std::string& name, const std::string& path) {
  return world.ask([&](const Ticket& ticket) {
    world.registry.open(ticket, p, {{0, name}, world.alone(), path, Purpose::create});
  });
}

bool contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_SUITE("registry: names") {
  TEST_CASE("files are named relative to the workflow's directory, and others by their whole path") {
    KeptAnswers answers;
    PlainMemory memory;
    Registry registry(
        {one_rule("*.nc", Identity::path), {}, 64 * mib, [] { return 0; }, 0, 1, {}, {}, "/work/flow"},
        memory, answers);
    const ProcessId writer = registry.connect("model", 1, 1);
    std::uint32_t tag = 0;
    for (const char* path : {"/work/flow/d/x.nc", "/work/flow2/x.nc"}) {
      ++tag;
      registry.open({0, tag}, writer, {{0, path}, {tag, 0, 1}, path, Purpose::create});
    }
    const StatusReport report = registry.status();
    REQUIRE(report.datasets.size() == 2);
    CHECK(report.datasets[0].name == "d/x.nc");
    CHECK(report.datasets[1].name == "/work/flow2/x.nc");
    CHECK(registry.step(answers.by_tag[1].step).view().name == "d/x.nc");
  }

  TEST_CASE("a wait mentions a file of the same name elsewhere, and no other") {
    World world(one_rule("out/*.nc", Identity::path));
    const auto writer = world.process("model");
    const auto asked = world.open(world.process("viewer"), "/there/out/x.nc", world.alone());
    const auto wait_text = [&] { return world.registry.view({}).waits.at(0).waits_for; };
    world.write(writer, "/here/out/y.nc");
    CHECK_FALSE(contains(wait_text(), "published"));
    world.write(writer, "/here/out/x.nc");
    CHECK(contains(wait_text(), "(it has published '/here/out/x.nc'. "));
    CHECK(contains(wait_text(), "`identity: name`"));
    CHECK(contains(wait_text(), "give it a name that 'out/*.nc' does not cover"));
    CHECK(world.registry.view({}).waits.at(0).is_doubtful);
    world.registry.component_exited("model", "exited with status 0");
    CHECK(world.refusal(asked) == NC_ENOENT);
    CHECK(contains(world.answer(asked).text, "(it has published '/here/out/x.nc'. "));
  }

  TEST_CASE(
      "by name, a writer's second path of one name is refused, however it comes, until the first is "
      "deleted") {
    World world(one_rule("*.nc", Identity::name));
    const auto writer = world.process("model");
    const auto first = create_at(world, writer, "x.nc", "/a/x.nc");
    REQUIRE(world.is_created(first));
    const auto second = create_at(world, writer, "x.nc", "/b/x.nc");
    CHECK(world.refusal(second) == NC_EINVAL);
    CHECK(contains(world.answer(second).text, "/b/x.nc and /a/x.nc"));
    CHECK(std::ranges::any_of(world.answers.events,
                              [](const std::string& event) { return contains(event, "identity: name"); }));
    world.publish(writer, world.answer(first).step);
    const auto opened = world.ask([&](const Ticket& ticket) {
      world.registry.open(ticket, writer, {{0, "x.nc"}, world.alone(), "/b/x.nc", Purpose::write});
    });
    CHECK(world.refusal(opened) == NC_EINVAL);
    const auto remove_at = [&](const std::string& path) {
      return world.ask([&](const Ticket& ticket) {
        world.registry.open(ticket, writer, {{0, "x.nc"}, {}, path, Purpose::remove});
      });
    };
    CHECK(world.refusal(remove_at("/b/x.nc")) == NC_EINVAL);
    CHECK(world.is_created(create_at(world, writer, "x.nc", "/a/x.nc")));
    CHECK(world.is_created(create_at(world, writer, "y.nc", "/b/y.nc")));
    CHECK(world.read(world.process("viewer"), "x.nc") != 0);
  }

  TEST_CASE("by name, another path may be written when the first has been deleted") {
    World world(one_rule("*.nc", Identity::name));
    const auto writer = world.process("model");
    world.publish(writer, world.answer(create_at(world, writer, "x.nc", "/a/x.nc")).step);
    world.remove(writer, "x.nc");
    CHECK(world.is_created(create_at(world, writer, "x.nc", "/b/x.nc")));
  }

  TEST_CASE("a file that is written is published by the name that it has at the end, if any") {
    World world(one_rule("*.nc", Identity::path));
    const auto writer = world.process("model");
    const auto first = world.answer(world.create(writer, "x.nc", world.alone())).step;
    world.remove(writer, "x.nc");
    const auto second = world.answer(world.create(writer, "x.nc", world.alone())).step;
    CHECK(world.registry.rename_written({0, "x.nc"}, {0, "y.nc"}, "/files/y.nc"));
    world.remove(writer, "x.nc");
    CHECK_FALSE(world.registry.rename_written({0, "x.nc"}, {0, "z.nc"}, "/files/z.nc"));
    world.publish(writer, first);
    world.publish(writer, second);
    CHECK(world.read(world.process("viewer"), "y.nc") == second);
  }

  TEST_CASE("a rank that removes a file before it creates it leaves what the others have begun") {
    World world(one_rule("*.nc", Identity::path));
    const auto rank0 = world.process("model"), rank1 = world.process("model");
    const auto first = world.create(rank0, "x.nc", world.member(1, 0, 2));
    const auto removed = world.ask([&](const Ticket& ticket) {
      world.registry.open(ticket, rank1, {{0, "x.nc"}, {}, "/files/x.nc", Purpose::remove});
    });
    CHECK(world.refusal(removed) == NC_ENOENT);
    CHECK_FALSE(world.registry.rename_written({0, "x.nc"}, {0, "y.nc"}, "/files/y.nc"));
    const auto second = world.create(rank1, "x.nc", world.member(1, 1, 2));
    CHECK(world.is_created(first));
    CHECK(world.is_created(second));
  }
}
