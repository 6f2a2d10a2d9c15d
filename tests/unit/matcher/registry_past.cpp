// Files whose steps have gone: of most of them, the registry remembers little.
#include <doctest/doctest.h>

#include <algorithm>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

FileRule rule(const std::string& pattern) {
  FileRule made{pattern, "model", {"viewer"}};
  made.identity = Identity::path;
  return made;
}

/// A world that remembers three past files. Files go when their reader has closed them.
World little_world(FileRule of) {
  return World({std::move(of)}, 64 * mib, 0, {{"model", 1}, {"viewer", 1}}, 1, {}, {}, 3);
}

std::string name(int i) {
  return "/run/f" + std::to_string(i) + ".nc";
}

struct Pair {
  World& world;
  std::uint64_t bytes = 0;
  ProcessId writer = world.process("model");
  ProcessId reader = world.process("viewer");

  void pass(const std::string& file) {
    world.write(writer, file, bytes);
    const auto opened = world.open(reader, file, world.alone());
    REQUIRE(world.is_opened(opened));
    world.close(reader, world.answer(opened).step);
    world.registry.fold_past_files();
  }
};

}  // namespace

TEST_SUITE("registry: past files") {
  TEST_CASE("the status sums the oldest up, and loses nothing") {
    World world = little_world(rule("*.nc"));
    Pair pair{world};
    for (int i = 0; i < 10; ++i) pair.pass(name(i));
    const StatusReport report = world.registry.status();
    std::uint32_t files = 0;
    std::uint32_t steps = 0;
    for (const DatasetStatus& dataset : report.datasets) {
      files += dataset.files;
      steps += dataset.steps_published;
    }
    CHECK(files == 10);
    CHECK(steps == 10);
    CHECK(report.datasets.size() == 7);  // three with a step, three without, and the sum
    CHECK(std::ranges::count(report.datasets, "", &DatasetStatus::name) == 1);
    const Listing listing = world.registry.list({});
    CHECK(listing.gone + listing.files.size() == 10);
  }

  TEST_CASE("an open of an old file still fails at once, and says that it has gone") {
    World world = little_world(rule("*.nc"));
    Pair pair{world};
    for (int i = 0; i < 10; ++i) pair.pass(name(i));
    const auto recent = world.open(pair.reader, name(5), world.alone());
    const auto old = world.open(pair.reader, name(0), world.alone());
    CHECK(world.refusal(old) == NC_ENOENT);
    const auto same = [&](const std::string& text, int i) {
      std::string changed = text;
      for (std::size_t at = changed.find("f" + std::to_string(i) + ".nc"); at != std::string::npos;
           at = changed.find("f" + std::to_string(i) + ".nc"))
        changed.replace(at, 5, "F.nc");
      return changed;
    };
    CHECK(same(world.answer(old).text, 0) == same(world.answer(recent).text, 5));
    world.registry.fold_past_files();
    CHECK(world.refusal(world.open(pair.reader, name(0), world.alone())) == NC_ENOENT);  // folded again
  }

  TEST_CASE("of very many old files, the oldest are forgotten: an open waits as for a file to come") {
    World world({rule("*.nc")}, 64 * mib, 0, {{"model", 1}, {"viewer", 1}}, 1, {}, {}, 3, 5);
    Pair pair{world};
    for (int i = 0; i < 40; ++i) pair.pass(name(i));
    CHECK(world.refusal(world.open(pair.reader, name(30), world.alone())) == NC_ENOENT);
    const auto forgotten = world.open(pair.reader, name(0), world.alone());
    CHECK(world.is_waiting(forgotten));
    std::uint32_t files = 0;
    for (const DatasetStatus& dataset : world.registry.status().datasets)
      if (dataset.steps_published > 0) files += dataset.files;
    CHECK(files == 40);
    world.registry.component_exited("model", "exited with status 0");
    CHECK(world.refusal(forgotten) == NC_ENOENT);
  }

  TEST_CASE("an old name may be written again") {
    World world = little_world(rule("*.nc"));
    Pair pair{world};
    for (int i = 0; i < 10; ++i) pair.pass(name(i));
    pair.pass(name(0));
    std::uint32_t files = 0;
    std::uint32_t steps = 0;
    for (const DatasetStatus& dataset : world.registry.status().datasets) {
      files += dataset.files;
      steps += dataset.steps_published;
    }
    CHECK(files == 10);
    CHECK(steps == 11);
  }

  TEST_CASE("a file that is being written, or is wanted, is not forgotten") {
    World world = little_world(rule("*.nc"));
    Pair pair{world};
    pair.pass(name(0));
    const auto again = world.create(pair.writer, name(0), world.alone());
    REQUIRE(world.is_created(again));
    for (int i = 1; i < 10; ++i) pair.pass(name(i));
    world.publish(pair.writer, world.answer(again).step);
    const auto opened = world.open(pair.reader, name(0), world.alone());
    CHECK(world.is_opened(opened));
  }

  TEST_CASE("why a reader cannot have an old file any more is remembered") {
    FileRule latest = rule("*.nc");
    ReaderMode mode;
    mode.reader = "viewer";
    mode.mode = ReadMode::latest;
    latest.modes = {mode};
    World world = little_world(latest);
    Pair pair{world};
    world.write(pair.writer, name(0));
    for (int i = 1; i < 10; ++i) pair.pass(name(i));
    const auto skipped = world.open(pair.reader, name(0), world.alone());
    CHECK(world.refusal(skipped) == NC_ENOENT);
    CHECK(world.answer(skipped).text.find("was skipped for viewer") != std::string::npos);
  }
}
