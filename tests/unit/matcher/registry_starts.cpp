// Components that start when others have ended: what waits for them, and they for whom.
#include <doctest/doctest.h>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

constexpr std::uint64_t no_retention = 0;

FileRule rule_of(std::vector<std::string> readers, std::uint32_t queue = 0) {
  FileRule rule;
  rule.pattern = "*.nc";
  rule.writer = "model";
  rule.readers = std::move(readers);
  rule.queue = queue;
  rule.when_full = queue > 0 ? WhenFull::wait : WhenFull::spill;
  return rule;
}

FileRule rule_between(const std::string& pattern, const std::string& writer, const std::string& reader) {
  FileRule rule;
  rule.pattern = pattern;
  rule.writer = writer;
  rule.readers = {reader};
  return rule;
}

ComponentSize later(const std::string& name, std::vector<std::string> after) {
  ComponentSize size{name, 1};
  size.after = std::move(after);
  return size;
}

ComponentSize member(const std::string& name, std::uint32_t at_most) {
  ComponentSize size{name, 1};
  size.ensemble = "post";
  size.at_most = at_most;
  return size;
}

struct StartWorld : World {
  StartWorld(std::vector<FileRule> rules, std::vector<ComponentSize> sizes)
      : World(std::move(rules), 8 * mib, no_retention, std::move(sizes)), writer(process("model")) {}

  void write(const std::string& file) {
    const StepId step = answer(create(writer, file, alone())).step;
    REQUIRE(step != 0);
    REQUIRE(is_granted(need(writer, step, 3 * mib)));
    publish(writer, step);
  }
  /// As the matcher does for what is written by the C library.
  StepId write_file(const std::string& file) {
    const StepId step = answer(create(writer, file, alone())).step;
    PublishRequest request;
    request.step = step;
    request.file_bytes = 10;
    registry.close(writer, {std::move(request)});
    return step;
  }
  [[nodiscard]] bool says(const std::string& words) const {
    return !answers.events.empty() && answers.events.back().find(words) != std::string::npos;
  }

  ProcessId writer;
};

}  // namespace

TEST_SUITE("registry: starts") {
  TEST_CASE("a writer does not wait for a queue whose reader starts when the writer has ended") {
    StartWorld world({rule_of({"post"}, 1)}, {{"model", 1}, later("post", {"model"})});
    world.write("a.nc");
    CHECK(world.is_created(world.create(world.writer, "b.nc", world.alone())));
    CHECK(world.says("model goes on beyond the queue of '*.nc'"));
    CHECK(world.says("post has not read 'a.nc'; it starts when model has ended"));
  }

  TEST_CASE("a put fails that waits for memory which such a reader holds") {
    StartWorld world({rule_of({"post"})}, {{"model", 1}, later("post", {"model"})});
    world.write("a.nc");
    world.write("b.nc");
    const StepId step = world.answer(world.create(world.writer, "c.nc", world.alone())).step;
    const auto put = world.need(world.writer, step, 3 * mib);
    CHECK(world.refusal(put) == NC_ENO_SPACE);
    CHECK(world.answer(put).text.find("it starts when model has ended") != std::string::npos);
  }

  TEST_CASE("a wait for a file of a component that starts when the waiting one has ended fails") {
    StartWorld world({rule_of({"post"}), rule_between("back", "post", "model")},
                     {{"model", 1}, later("post", {"model"})});
    world.rule = 1;
    CHECK(world.refusal(world.open(world.writer, "back", world.alone())) == NC_ENOENT);
  }

  TEST_CASE("a writer waits for a queue whose reader starts when somebody else has ended, who can") {
    StartWorld world({rule_of({"post"}, 1), rule_between("other", "other", "post")},
                     {{"model", 1}, {"other", 1}, later("post", {"other"})});
    const ProcessId other = world.process("other");
    world.write("a.nc");
    const auto second = world.create(world.writer, "b.nc", world.alone());
    CHECK(world.is_waiting(second));
    world.registry.disconnect(other);
    world.registry.component_exited("other", "exited with status 0");
    CHECK(world.is_waiting(second));  // now it starts
    const ProcessId post = world.process("post");
    world.read(post, "a.nc");
    CHECK(world.is_created(second));
  }

  TEST_CASE("a writer goes on where the members that run wait for it, and the next ones for their ends") {
    StartWorld world({rule_of({"post.0", "post.1", "post.2"}, 1)},
                     {{"model", 1}, member("post.0", 2), member("post.1", 2), member("post.2", 2)});
    const ProcessId first = world.process("post.0");
    const ProcessId second = world.process("post.1");
    world.write("a.nc");
    CHECK(world.read(first, "a.nc") != 0);
    CHECK(world.read(second, "a.nc") != 0);
    const auto next = world.create(world.writer, "b.nc", world.alone());
    CHECK(world.is_waiting(next));
    world.open(first, "b.nc", world.alone());
    CHECK(world.is_waiting(next));  // the second one may end
    world.open(second, "b.nc", world.alone());
    CHECK(world.is_created(next));
    CHECK(world.says("post.2 has not read 'a.nc'; it starts when post.0 has ended"));
  }

  TEST_CASE("a member whose turn has come counts as started") {
    StartWorld world({rule_of({"post.0", "post.1"}, 1)},
                     {{"model", 1}, member("post.0", 1), member("post.1", 1)});
    const ProcessId first = world.process("post.0");
    world.write("a.nc");
    CHECK(world.read(first, "a.nc") != 0);
    const auto next = world.create(world.writer, "b.nc", world.alone());
    CHECK(world.is_waiting(next));
    world.registry.disconnect(first);
    world.registry.component_exited("post.0", "exited with status 0");
    CHECK(world.is_waiting(next));
    CHECK(world.read(world.process("post.1"), "a.nc") != 0);
    CHECK(world.is_created(next));
  }

  TEST_CASE(
      "files that wait for memory fail when their processes have ended, and their reader waits for one") {
    StartWorld world({rule_of({"analysis"})}, {{"model", 0}, {"analysis", 1}});
    world.are_components_idle = true;
    const ProcessId reader = world.process("analysis");
    world.write("a.nc");
    world.write("b.nc");
    const StepId step = world.answer(world.create(world.writer, "c.nc", world.alone())).step;
    world.registry.begin_file(world.writer, {0, 1});
    const auto put = world.need(world.writer, step, 3 * mib);
    CHECK(world.is_waiting(put));
    world.open(reader, "c.nc", world.alone());
    CHECK(world.refusal(put) == NC_ENO_SPACE);
  }

  TEST_CASE("who opens a file behind its publication waits, so what it has not read may make room") {
    StartWorld world({rule_of({"analysis"})}, {{"model", 0}, {"analysis", 0}});
    const ProcessId reader = world.process("analysis"), command = world.process("analysis");
    for (const std::string file : {"a.nc", "b.nc"}) {
      world.write(file);
      REQUIRE(world.read(command, file) != 0);
    }
    world.registry.disconnect(command);
    const WrittenFile file{0, 7};
    const ProcessId writer = world.process("model");
    world.registry.begin_file(writer, file);
    const StepId older = world.answer(world.create(writer, "c.nc", world.alone())).step;
    world.publish(writer, older);
    const StepId step = world.answer(world.create(writer, "c.nc", world.alone())).step;
    const auto put = world.ask([&](Ticket ticket) {
      ticket.connection = file.connection;
      world.registry.need_segment(ticket, writer, {step, SegmentUse::data, 3 * mib});
    });
    CHECK(world.is_waiting(put));
    const auto open = world.ask([&](const Ticket& ticket) {
      world.registry.open(ticket, reader, {{0, "c.nc"}, world.alone()}, file);
    });
    CHECK(world.is_granted(put));
    CHECK(world.is_waiting(open));
    world.publish(writer, step);
    CHECK(world.is_waiting(open));
    world.registry.end_file(writer, file);
    CHECK(world.answer(open).step == step);
  }

  TEST_CASE("a file that can be published is waited for, whatever its writer waits for") {
    StartWorld world({rule_of({"analysis"}), rule_between("back", "analysis", "model")},
                     {{"model", 1}, {"analysis", 1}});
    const WrittenFile file{0, 7};
    world.registry.connect("model", 1, 1001);
    world.registry.begin_file(world.writer, file);
    world.rule = 1;
    const auto back = world.open(world.writer, "back", world.alone());
    const auto read = world.ask([&, reader = world.process("analysis")](const Ticket& ticket) {
      world.registry.open(ticket, reader, {{0, "c.nc"}, world.alone()}, file);
    });
    world.registry.look_again();
    CHECK(world.is_waiting(back));
    CHECK(world.is_waiting(read));
    world.registry.end_file(world.writer, file);  // unchanged: nobody can end these waits now
    CHECK(world.refusal(back) == NC_ENOENT);
    CHECK(world.refusal(read) == NC_ENOENT);
  }

  TEST_CASE("a collective open of a written file is decided when all have come: one may follow a file") {
    for (const bool is_series : {false, true}) {
      StartWorld world({rule_of({"analysis"})}, {{"model", 2}, {"analysis", 1}});
      const ProcessId other = world.process("model");
      REQUIRE(world.write_file("c.nc") != 0);
      const WrittenFile file{0, 7};
      world.registry.connect("model", 2, 1002);
      world.registry.begin_file(other, file);
      const Open open{{0, "c.nc"}, {1, 0, 2}};
      const auto first =
          world.ask([&](const Ticket& ticket) { world.registry.open(ticket, world.writer, open); });
      CHECK(world.is_waiting(first));
      const auto last = world.ask([&](const Ticket& ticket) {
        const Registry::Caller caller{ticket, other, 1};
        Open own = open;
        own.member.rank = 1;
        is_series ? world.registry.open(std::span(&caller, 1), own, file)
                  : world.registry.open(ticket, other, own, file);
      });
      CHECK(world.is_waiting(first));
      const StepId newest = world.write_file("c.nc");
      CHECK(world.is_waiting(last));
      world.registry.end_file(other, file);
      CHECK(world.answer(first).step == newest);
      CHECK(world.answer(last).step == newest);
    }
  }

  TEST_CASE("a collective open that nobody follows is answered with its last member") {
    for (const bool is_series : {false, true}) {
      StartWorld world({rule_of({"analysis"})}, {{"model", 2}, {"analysis", 1}});
      const ProcessId other = world.process("model");
      const StepId step = world.write_file("c.nc");
      std::vector<std::uint32_t> tags;
      for (const std::uint32_t rank : {0U, 1U}) {
        tags.push_back(world.ask([&](const Ticket& ticket) {
          const ProcessId process = rank == 0 ? world.writer : other;
          const Registry::Caller caller{ticket, process, rank};
          const Open open{{0, "c.nc"}, {1, rank, 2}};
          is_series ? world.registry.open(std::span(&caller, 1), open)
                    : world.registry.open(ticket, process, open);
        }));
        CHECK(world.is_waiting(tags.front()) == (rank == 0));
      }
      for (const std::uint32_t tag : tags) CHECK(world.answer(tag).step == step);
    }
  }

  TEST_CASE("a look tells that a shell only waits for its command") {
    for (const bool is_idle : {true, false}) {
      StartWorld world({rule_of({"analysis"}), rule_between("back", "analysis", "model")},
                       {{"model", 0}, {"analysis", 1}});
      world.are_components_idle = is_idle;
      const ProcessId command = world.process("model");  // of the writer, which is its shell
      const ProcessId reader = world.process("analysis");
      world.rule = 1;
      const auto back = world.open(command, "back", world.alone());
      world.rule = 0;
      const auto file = world.open(reader, "a.nc", world.alone());
      CHECK(world.is_waiting(back));
      CHECK(world.is_waiting(file));
      world.registry.look_again();
      CHECK(world.is_waiting(back) == !is_idle);
      CHECK(world.is_waiting(file) == !is_idle);
    }
  }
}
