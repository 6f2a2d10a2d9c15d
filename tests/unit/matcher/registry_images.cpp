// Images: steps as files, for programs that read files by the C library.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sluice/formats/cdf.hpp"
#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

constexpr std::uint64_t no_retention = 0;
constexpr std::int64_t begin_bytes = 512;

/// A header with one variable of so many bytes.
std::vector<std::byte> header_of(std::uint64_t bytes) {
  formats::Header header;
  header.version = formats::Version::cdf5;
  formats::Variable variable{"v", formats::Type::int8, {}, {}, begin_bytes};
  variable.dimids = {header.add_dimension({"x", static_cast<std::int64_t>(bytes)})};
  header.add_variable(std::move(variable));
  return formats::encode_header(header);
}

std::vector<FileRule> rules(PublishAt publish_at) {
  auto all = one_rule(publish_at);
  all.push_back({"*.dat", "model", {"viewer"}, true});
  return all;
}

/// A model and two readers; on one node, or the readers on the second one.
struct ImageWorld : World {
  explicit ImageWorld(std::uint64_t memory_bytes, PublishAt publish_at = PublishAt::close,
                      const std::string& spill = {}, std::uint32_t nodes = 1)
      : World(rules(publish_at), memory_bytes, no_retention, {{"model", 1}, {"analysis", 2}, {"viewer", 1}},
              nodes, spill) {
    memory.disk_bytes = 64 * mib;
  }
  /// A published step with so many bytes of data.
  StepId write_file(const std::string& name, std::uint64_t bytes) {
    const StepId step = answer(create(writer, name, alone())).step;
    set_header(step, bytes);
    const std::uint32_t data = need(writer, step, bytes);
    REQUIRE(is_granted(data));
    publish(writer, step);
    return step;
  }
  void set_header(StepId step, std::uint64_t bytes) {
    (void)ask([&](const Ticket& t) { registry.set_header(t, writer, {step, header_of(bytes), {}}); });
  }
  std::uint32_t ask_for(ProcessId reader, const std::string& name) {
    return image(reader, answer(open(reader, name, alone())).step);
  }
  /// As who opens it by the C library, in the writer's component.
  std::uint32_t ask_for_own(ProcessId process, const std::string& name) {
    const Open growing{{rule, name}, alone(), {}, Purpose::read, Open::Which::growing};
    return image(process, answer(ask([&](const Ticket& t) { registry.open(t, process, growing); })).step);
  }

  ProcessId writer = process("model");
  ProcessId reader = process("analysis");
  ProcessId other = process("analysis");
};

}  // namespace

TEST_SUITE("registry: images") {
  TEST_CASE("an image is made once for all who ask, counts as memory, and goes with its step") {
    ImageWorld world(8 * mib);
    const StepId step = world.write_file("a.nc", mib);
    const std::uint64_t before = world.registry.pool().used_bytes();
    const std::uint32_t first = world.ask_for(world.reader, "a.nc");
    const std::uint32_t second = world.ask_for(world.other, "a.nc");
    REQUIRE(world.answers.images.size() == 1);
    CHECK(world.answers.images.front().bytes == mib + 512);
    CHECK(world.registry.pool().used_bytes() == before + mib + 4 * kib);
    CHECK(world.is_waiting(first));
    const SegmentId file = world.make_image({0, {}, mib + 512});
    CHECK(world.has_image(first));
    CHECK(world.answer(first).segment == file);
    CHECK(world.answer(second).segment == file);
    CHECK(world.answer(second).bytes == mib + 512);
    const std::uint32_t again = world.image(world.reader, step);
    CHECK(world.answer(again).segment == file);
    world.close(world.other, step);
    world.close(world.reader, step);
    CHECK_FALSE(world.memory.destroyed.contains(file));
    (void)world.write_file("b.nc", 5 * mib);
    CHECK(world.memory.destroyed.contains(file));
  }

  TEST_CASE("an image needs an open step") {
    ImageWorld world(8 * mib);
    const StepId step = world.write_file("a.nc", mib);
    CHECK(world.refusal(world.image(world.reader, step)) == NC_EBADID);
    CHECK(world.refusal(world.image(world.reader, 4711)) == NC_EBADID);
  }

  TEST_CASE("a step is not given up while its image is made, although its reader has ended") {
    ImageWorld world(8 * mib);
    const StepId step = world.write_file("a.nc", mib);
    (void)world.ask_for(world.reader, "a.nc");
    world.registry.disconnect(world.reader);
    world.registry.disconnect(world.other);
    const StepId next = world.answer(world.create(world.writer, "b.nc", world.alone())).step;
    const std::uint32_t more = world.need(world.writer, next, 5 * mib + 512 * kib);
    CHECK_FALSE(world.answers.erased_steps.contains(step));
    CHECK(world.is_waiting(more));
    world.make_image({0, {}, mib + 512});
    CHECK(world.answers.erased_steps.contains(step));
    CHECK(world.is_granted(more));
  }

  TEST_CASE("an image that can be made again gives its memory up first") {
    ImageWorld world(8 * mib);
    const StepId step = world.write_file("a.nc", 2 * mib);
    const std::uint32_t first = world.ask_for(world.reader, "a.nc");
    const SegmentId file = world.make_image({0, {}, 2 * mib + 512});
    CHECK(world.has_image(first));
    world.close(world.reader, step);  // the other one is still to read it
    const StepId next = world.answer(world.create(world.writer, "b.nc", world.alone())).step;
    CHECK(world.is_granted(world.need(world.writer, next, 3 * mib)));
    CHECK(world.memory.destroyed.contains(file));
    CHECK_FALSE(world.answers.erased_steps.contains(step));
    const std::uint32_t later = world.ask_for(world.other, "a.nc");
    world.make_image({0, {}, 2 * mib + 512});
    CHECK(world.has_image(later));
  }

  TEST_CASE("a node has a limited number of images, because each is a file: the oldest ones go") {
    ImageWorld world(64 * mib);
    std::vector<SegmentId> files;
    for (int i = 0; i < 300; ++i) {
      const std::string name = std::to_string(i) + ".nc";
      const StepId step = world.write_file(name, kib);
      (void)world.ask_for(world.reader, name);
      files.push_back(world.make_image({0, {}, kib + 512}));
      world.close(world.reader, step);
      if (i % 2 == 0) {  // consumed: both have read it
        (void)world.open(world.other, name, world.alone());
        world.close(world.other, step);
      }
    }
    const auto is_there = [&](SegmentId file) { return !world.memory.destroyed.contains(file); };
    const auto live = std::ranges::count_if(files, is_there);
    CHECK(live > 0);
    CHECK(live <= 128);
    CHECK(is_there(files.back()));
    const std::uint32_t again = world.ask_for(world.other, "1.nc");
    REQUIRE(world.answers.images.size() == 1);
    world.make_image({0, {}, kib + 512});
    CHECK(world.has_image(again));
  }

  TEST_CASE("without memory an image goes to the disk") {
    ImageWorld world(4 * mib, PublishAt::close, "/scratch");
    (void)world.write_file("a.nc", 3 * mib);
    const std::uint32_t first = world.ask_for(world.reader, "a.nc");
    const SegmentId file = world.make_image({0, {}, 3 * mib + 512});
    CHECK(is_spilled(file));
    CHECK(world.has_image(first));
  }

  TEST_CASE("an image waits for memory that others free") {
    ImageWorld world(8 * mib);
    const ProcessId viewer = world.process("viewer");
    world.rule = 1;
    const StepId held = world.write_file("v.dat", 4 * mib);
    CHECK(world.is_opened(world.open(viewer, "v.dat", world.alone())));
    world.rule = 0;
    (void)world.write_file("b.nc", 3 * mib);
    const std::uint32_t tag = world.ask_for(world.reader, "b.nc");
    CHECK(world.is_waiting(tag));
    REQUIRE(world.registry.view({}).waits.size() == 1);
    CHECK(world.registry.view({}).waits.front().waits_for.find("memory to read 'b.nc' as a file") == 0);
    world.close(viewer, held);
    REQUIRE(world.answers.images.size() == 1);
    world.make_image({0, {}, 3 * mib + 512});
    CHECK(world.has_image(tag));
  }

  TEST_CASE("where nobody can free memory an image goes beyond the limit, and the event log says so") {
    ImageWorld world(4 * mib);
    (void)world.write_file("a.nc", 2 * mib + 512 * kib);
    const StepId next = world.answer(world.create(world.writer, "b.nc", world.alone())).step;
    const std::uint32_t put = world.need(world.writer, next, 2 * mib);
    CHECK(world.is_waiting(put));
    const std::uint32_t tag = world.ask_for(world.reader, "a.nc");
    world.answer_looks();
    world.registry.disconnect(world.other);
    world.answer_looks();
    REQUIRE(world.answers.images.size() == 1);
    world.make_image({0, {}, 2 * mib + 512 * kib + 512});
    CHECK(world.has_image(tag));
    bool is_told = false;
    for (const std::string& event : world.answers.events)
      is_told = is_told || event.find("beyond the limit for 'a.nc'") != std::string::npos;
    CHECK(is_told);
    world.close(world.reader, 1);
    CHECK(world.is_granted(put));
  }

  TEST_CASE("an image that cannot be made is refused to all, and tried again for the next") {
    ImageWorld world(8 * mib);
    const StepId step = world.write_file("a.nc", mib);
    const std::uint32_t first = world.ask_for(world.reader, "a.nc");
    const std::uint32_t second = world.ask_for(world.other, "a.nc");
    const SegmentId file = world.make_image({NC_EIO, "why", 0});
    CHECK(world.refusal(first) == NC_EIO);
    CHECK(world.refusal(second) == NC_EIO);
    CHECK(world.memory.destroyed.contains(file));
    const std::uint32_t third = world.image(world.reader, step);
    world.make_image({0, {}, mib + 512});
    CHECK(world.has_image(third));
  }

  TEST_CASE("each node has an image of its own, of its matcher") {
    ImageWorld world(8 * mib, PublishAt::close, {}, 2);
    const ProcessId there = world.process("analysis", {1, 3});
    (void)world.write_file("a.nc", mib);
    (void)world.ask_for(world.reader, "a.nc");
    (void)world.ask_for(there, "a.nc");
    REQUIRE(world.answers.images.size() == 2);
    CHECK(owner_of(world.answers.images[0].file) == MatcherPlace{0, 0});
    CHECK(owner_of(world.answers.images[1].file) == MatcherPlace{1, 3});
    CHECK(world.registry.pool(1).used_bytes() == mib + 4 * kib);
  }

  TEST_CASE("the next step's image is made when it is published, and again only after it was asked for") {
    ImageWorld world(16 * mib);
    const StepId first = world.write_file("a.nc", mib);
    (void)world.ask_for(world.reader, "a.nc");
    world.make_image({0, {}, mib + 512});
    world.close(world.reader, first);
    const StepId second = world.write_file("b.nc", mib);
    world.registry.make_images_ahead(second);
    REQUIRE(world.answers.images.size() == 1);
    CHECK(world.answers.images.front().step == second);
    const std::uint32_t tag = world.ask_for(world.reader, "b.nc");
    CHECK(world.answers.images.size() == 1);
    world.make_image({0, {}, mib + 512});
    CHECK(world.has_image(tag));
    const StepId third = world.write_file("c.nc", mib);
    world.registry.make_images_ahead(third);
    world.make_image({0, {}, mib + 512});
    const StepId fourth = world.write_file("d.nc", mib);  // nobody has asked for the third one
    world.registry.make_images_ahead(fourth);
    CHECK(world.answers.images.empty());
  }

  TEST_CASE("a step that grows has a new image after each sync") {
    ImageWorld world(8 * mib, PublishAt::sync);
    const StepId step = world.answer(world.create(world.writer, "a.nc", world.alone())).step;
    world.set_header(step, mib);
    (void)world.sync(world.writer, step, 0);
    const std::uint32_t first = world.ask_for(world.reader, "a.nc");
    const SegmentId old = world.make_image({0, {}, mib + 512});
    CHECK(world.has_image(first));
    const std::uint32_t same = world.image(world.reader, step);
    CHECK(world.answer(same).segment == old);
    (void)world.sync(world.writer, step, 0, 2);
    const std::uint32_t newer = world.image(world.reader, step);
    CHECK(world.is_waiting(newer));
    (void)world.sync(world.writer, step, 0, 3);
    const std::uint32_t newest = world.ask_for(world.other, "a.nc");
    const SegmentId second = world.make_image({0, {}, mib + 512});
    CHECK(second != old);
    CHECK(world.answer(newer).segment == second);
    CHECK(world.is_waiting(newest));  // it may have known of the last sync
    const SegmentId third = world.make_image({0, {}, mib + 512});
    CHECK(world.answer(newest).segment == third);
  }

  TEST_CASE("the writer's component has images of all that was put so far, and nobody else has them") {
    for (const PublishAt publish_at : {PublishAt::close, PublishAt::sync, PublishAt::write}) {
      ImageWorld world(8 * mib, publish_at);
      const StepId step = world.answer(world.create(world.writer, "a.nc", world.alone())).step;
      const ProcessId beside = world.process("model");
      const std::uint32_t undefined = world.ask_for_own(beside, "a.nc");
      const SegmentId empty = world.make_image({0, {}, 0});
      CHECK(world.answer(undefined).segment == empty);
      world.set_header(step, mib);
      const std::uint32_t first = world.ask_for_own(beside, "a.nc");
      const std::uint32_t second = world.ask_for_own(world.writer, "a.nc");
      const SegmentId all = world.make_image({0, {}, mib + 512});
      CHECK(world.answer(first).segment == all);
      CHECK(world.is_waiting(second));  // something may have been put since the first one was begun
      const SegmentId later = world.make_image({0, {}, mib + 512});
      CHECK(world.answer(second).segment == later);
      if (publish_at == PublishAt::sync) (void)world.sync(world.writer, step, 0);
      world.publish(world.writer, step);
      const std::uint32_t read = world.ask_for(world.reader, "a.nc");
      REQUIRE(world.answers.images.size() == 1);
      CHECK(world.make_image({0, {}, mib + 512}) != later);
      CHECK(world.has_image(read));
    }
  }

  TEST_CASE("a reader's image of what is synced and the writer's of all are made one after the other") {
    ImageWorld world(8 * mib, PublishAt::sync);
    const StepId step = world.answer(world.create(world.writer, "a.nc", world.alone())).step;
    world.set_header(step, mib);
    (void)world.sync(world.writer, step, 0);
    const std::uint32_t all = world.ask_for_own(world.process("model"), "a.nc");
    const std::uint32_t synced = world.ask_for(world.reader, "a.nc");
    const SegmentId of_all = world.make_image({0, {}, mib + 512});
    CHECK(world.answer(all).segment == of_all);
    CHECK(world.is_waiting(synced));
    const SegmentId of_synced = world.make_image({0, {}, mib + 512});
    CHECK(world.answer(synced).segment == of_synced);
  }

  TEST_CASE("with publish: write an image waits until the step is published, or cannot be") {
    ImageWorld world(8 * mib, PublishAt::write);
    const StepId step = world.answer(world.create(world.writer, "a.nc", world.alone())).step;
    world.set_header(step, mib);
    const std::uint32_t tag = world.ask_for(world.reader, "a.nc");
    CHECK(world.is_waiting(tag));
    CHECK(world.answers.images.empty());
    world.publish(world.writer, step);
    world.registry.make_images_ahead(step);
    REQUIRE(world.answers.images.size() == 1);
    world.make_image({0, {}, mib + 512});
    CHECK(world.has_image(tag));
  }

  TEST_CASE("a script's files give their memory up when all its processes wait for others") {
    World world(one_rule(), 4 * mib, no_retention, {{"model", 1}, {"analysis", 0}});
    const ProcessId writer = world.process("model");
    const StepId first = world.write(writer, "a.nc", 3 * mib);
    const ProcessId copy = world.process("analysis");
    const ProcessId next = world.process("analysis");
    world.read(copy, "a.nc");
    world.registry.disconnect(copy);
    const StepId step = world.answer(world.create(writer, "b.nc", world.alone())).step;
    const std::uint32_t put = world.need(writer, step, 3 * mib);
    CHECK(world.is_waiting(put));  // the second one may read the first file, too
    const std::uint32_t open = world.open(next, "b.nc", world.alone());
    CHECK(world.is_granted(put));
    CHECK(world.answers.erased_steps.contains(first));
    CHECK(world.is_waiting(open));
  }
}
