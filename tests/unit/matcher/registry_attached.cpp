// Processes that only look at a run, and the list of what it has published.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "registry_world.hpp"

namespace sluice::matcher::test {
namespace {

std::vector<FileRule> rules() {
  return {{"*.nc", "model", {"analysis"}}};
}

std::vector<std::string> names_in(const Listing& listing) {
  std::vector<std::string> names;
  for (const PublishedFile& file : listing.files) names.push_back(file.name);
  return names;
}

}  // namespace

TEST_CASE("a process that is attached gets the newest step, and no wait and no event") {
  World world(rules());
  const ProcessId looker = world.process(std::string(attached_name));
  const std::uint32_t early = world.open(looker, "a.nc", world.alone());
  CHECK(world.refusal(early) == NC_ENOENT);
  const ProcessId model = world.process("model");
  (void)world.write(model, "a.nc");
  const StepId newer = world.write(model, "a.nc");
  CHECK(world.answer(world.open(looker, "a.nc", world.alone())).step == newer);
  CHECK(world.refusal(world.create(looker, "b.nc", world.alone())) == NC_EPERM);
  CHECK(world.answers.events.empty());
  CHECK(world.registry.status().connected == std::vector<std::string>{"model"});
}

TEST_CASE("a step counts as read only by its declared readers, whoever is attached") {
  World world(rules(), 4 * mib, 0, {{"model", 1}, {"analysis", 1}});
  const ProcessId model = world.process("model");
  const ProcessId reader = world.process("analysis");
  const ProcessId looker = world.process(std::string(attached_name));
  const StepId first = world.write(model, "a.nc", 3 * mib);
  CHECK(world.read(looker, "a.nc") == first);
  const StepId second = world.answer(world.create(model, "b.nc", world.alone())).step;
  const std::uint32_t memory = world.need(model, second, 3 * mib);
  CHECK(world.is_waiting(memory));  // the reader has not read the first
  CHECK(world.read(reader, "a.nc") == first);
  CHECK(world.is_granted(memory));  // though the looker is still there
  CHECK(world.refusal(world.open(looker, "a.nc", world.alone())) == NC_ENOENT);
}

TEST_CASE("the end of a process that is attached releases what it was being given") {
  World world(rules(), 4 * mib, 0, {{"model", 1}, {"analysis", 1}});
  const ProcessId model = world.process("model");
  const ProcessId reader = world.process("analysis");
  const ProcessId looker = world.process(std::string(attached_name));
  (void)world.write(model, "a.nc", 3 * mib);
  CHECK(world.is_opened(world.open(looker, "a.nc", world.alone())));
  (void)world.read(reader, "a.nc");
  const StepId second = world.answer(world.create(model, "b.nc", world.alone())).step;
  const std::uint32_t memory = world.need(model, second, 3 * mib);
  CHECK(world.is_waiting(memory));
  world.registry.disconnect(looker);
  CHECK(world.is_granted(memory));
}

TEST_CASE("a list has what can be had, by directory or all, with the time since its publication") {
  World world(rules(), 4 * mib, 0, {{"model", 1}, {"analysis", 1}});
  const ProcessId model = world.process("model");
  const ProcessId reader = world.process("analysis");
  CHECK(world.registry.list({}).files.empty());
  world.now_ms = 100;
  const StepId first = world.write(model, "a.nc", 3 * mib);
  (void)world.write(model, "out/b.nc");
  (void)world.create(model, "c.nc", world.alone());  // not published
  world.now_ms = 350;
  CHECK(names_in(world.registry.list({})) == std::vector<std::string>{"a.nc", "out/b.nc"});
  CHECK(names_in(world.registry.list({"/files", false, {}, {}})) == std::vector<std::string>{"a.nc"});
  CHECK(names_in(world.registry.list({"/files/out", false, {}, {}})) == std::vector<std::string>{"out/b.nc"});
  CHECK(world.registry.list({"/file", false, {}, {}}).files.empty());
  const PublishedFile file = world.registry.list({"/files", false, {}, {}}).files.front();
  CHECK(file.path == "/files/a.nc");
  CHECK(file.step == first);
  CHECK(file.age_ms == 250);
  (void)world.read(reader, "a.nc");
  (void)world.write(model, "d.nc", 3 * mib);  // needs the memory of a.nc
  CHECK(names_in(world.registry.list({"/files", false, {}, {}})) == std::vector<std::string>{"d.nc"});
  const Listing all = world.registry.list({});
  CHECK(names_in(all) == std::vector<std::string>{"d.nc", "out/b.nc"});
  CHECK(all.gone == 1);
}

TEST_CASE("a long list comes in parts") {
  World world(rules());
  const ProcessId model = world.process("model");
  constexpr int count = 2500;
  for (int i = 0; i < count; ++i) (void)world.write(model, "a" + std::to_string(i) + ".nc");
  for (const std::string directory : {"", "/files"}) {
    std::vector<std::string> names;
    ListRequest request{directory, false, {}, {}};
    int parts = 0;
    do {
      const Listing part = world.registry.list(request);
      const auto more = names_in(part);
      names.insert(names.end(), more.begin(), more.end());
      request.after = part.last;
      ++parts;
    } while (request.after);
    CHECK(names.size() == count);
    CHECK(parts == 3);
    std::sort(names.begin(), names.end());
    CHECK(std::unique(names.begin(), names.end()) == names.end());
  }
}

TEST_CASE("a list of what is newer has each file once, by its last publication") {
  World world(rules());
  const ProcessId model = world.process("model");
  (void)world.write(model, "a.nc");
  (void)world.write(model, "b.nc");
  (void)world.write(model, "a.nc");
  CHECK(names_in(world.registry.list({"", false, {}, 0})) == std::vector<std::string>{"b.nc", "a.nc"});
  CHECK(names_in(world.registry.list({"", false, {}, 2})) == std::vector<std::string>{"a.nc"});
  CHECK(world.registry.list({"", false, {}, 3}).files.empty());
}

}  // namespace sluice::matcher::test
