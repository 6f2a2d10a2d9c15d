#include <doctest/doctest.h>

#include <random>

#include "support/seed.hpp"
#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

TEST_SUITE("segment pool") {
  TEST_CASE("sizes are the next of eight steps per power of two, and waste at most an eighth") {
    CHECK(SegmentPool::size_class(0) == 4 * kib);
    CHECK(SegmentPool::size_class(1) == 4 * kib);
    CHECK(SegmentPool::size_class(4 * kib + 1) == 8 * kib);
    CHECK(SegmentPool::size_class(64 * kib + 1) == 72 * kib);
    CHECK(SegmentPool::size_class(mib) == mib);
    CHECK(SegmentPool::size_class(mib + 1) == mib + mib / 8);
    CHECK(SegmentPool::size_class(100 * mib) == 104 * mib);
    for (std::uint64_t bytes = mib; bytes < 1000 * mib; bytes = bytes * 13 / 12 + 7) {
      CAPTURE(bytes);
      CHECK(SegmentPool::size_class(bytes) >= bytes);
      CHECK(SegmentPool::size_class(bytes) <= bytes + bytes / 8);
      CHECK(SegmentPool::size_class(bytes) % segment_unit_bytes == 0);
    }
  }

  TEST_CASE("memory for no process is the smallest that fits, whoever has had it") {
    PlainMemory memory;
    SegmentPool pool(memory, 100 * mib);
    auto small = pool.make({mib});
    auto large = pool.make({mib + mib / 4});
    const SegmentId id = small->id();
    pool.note_mapped(id, ProcessId{1});
    small.reset(), large.reset();
    CHECK(pool.recycle({mib})->id() == id);
  }

  TEST_CASE("a freed segment goes first to a process that has it mapped, else to any process") {
    PlainMemory memory;
    SegmentPool pool(memory, 100 * mib);
    auto a = pool.make({mib, SegmentUse::data, ProcessId{1}});
    auto b = pool.make({mib, SegmentUse::data, ProcessId{2}});
    const SegmentId id_a = a->id();
    const SegmentId id_b = b->id();
    pool.note_mapped(id_a, ProcessId{1});
    pool.note_mapped(id_b, ProcessId{2});
    a.reset(), b.reset();
    CHECK(pool.used_bytes() == 0);
    CHECK(pool.free_bytes() == 2 * mib);
    auto again = pool.recycle({mib - 5, SegmentUse::data, ProcessId{1}});
    CHECK(again->id() == id_a);
    CHECK(pool.recycle({mib, SegmentUse::table, ProcessId{3}})->id() == id_b);
    CHECK_FALSE(pool.recycle({16 * mib, SegmentUse::data, ProcessId{1}}));
    CHECK_FALSE(pool.recycle({64 * kib, SegmentUse::data, ProcessId{1}}));
  }

  TEST_CASE("a segment of inbound data becomes no control block before a process has used it for data") {
    PlainMemory memory;
    SegmentPool pool(memory, 256 * kib);
    auto inbound = pool.make({64 * kib, SegmentUse::data, {}});
    const SegmentId id = inbound->id();
    pool.note_inbound(id);
    inbound.reset();
    CHECK_FALSE(pool.recycle({64 * kib, SegmentUse::control, {}}));
    CHECK(pool.squeeze({64 * kib, SegmentUse::control, {}})->id() != id);
    auto other = pool.make({64 * kib, SegmentUse::data, ProcessId{1}});
    const SegmentId plain = other->id();
    other.reset();
    CHECK(pool.recycle({64 * kib, SegmentUse::control, {}})->id() == plain);
    std::vector<SegmentLease> data;
    while (auto segment = pool.recycle({64 * kib, SegmentUse::data, {}})) data.push_back(std::move(*segment));
    REQUIRE(data.size() == 3);
    std::erase_if(data, [&](const SegmentLease& segment) { return segment.id() == id; });
    CHECK(pool.recycle({64 * kib, SegmentUse::control, {}})->id() == id);
  }

  TEST_CASE("recycled memory is prepared for its use, fresh memory needs none") {
    PlainMemory memory;
    SegmentPool pool(memory, mib);
    pool.make({64 * kib, SegmentUse::table, {}}).reset();
    CHECK(memory.cleared.empty());
    pool.recycle({64 * kib, SegmentUse::control, {}}).reset();
    REQUIRE(memory.cleared.size() == 1);
    CHECK(memory.cleared[0].use == SegmentUse::control);
  }

  TEST_CASE("memory made ahead is taken first, and counts once") {
    PlainMemory memory;
    const auto warm = warm_shares(5 * mib, 2);  // for each of two matchers
    CHECK(warm.bytes == 2 * mib + 512 * kib);
    SegmentPool pool(memory, 8 * mib, 0, warm);
    CHECK(pool.used_bytes() == 0);
    CHECK(pool.free_bytes() == 5 * mib);
    auto first = pool.make({2 * mib, SegmentUse::data, {}, 0});
    CHECK(pool.used_bytes() == 2 * mib);
    CHECK(pool.free_bytes() == 3 * mib);
    auto other = pool.make({mib, SegmentUse::data, {}, 0});  // matcher 0 has half of that left
    CHECK(pool.used_bytes() == 3 * mib);
    CHECK(pool.free_bytes() == 3 * mib);
    auto of_other_matcher = pool.make({2 * mib + 512 * kib, SegmentUse::data, {}, 1});
    CHECK(pool.used_bytes() == 5 * mib + 512 * kib);
    CHECK(pool.free_bytes() == 512 * kib);
    CHECK(memory.dropped.empty());
  }

  TEST_CASE("at the limit the rest of the memory made ahead is released, too") {
    PlainMemory memory;
    SegmentPool pool(memory, 4 * mib, 0, warm_shares(2 * mib, 1));
    auto small = pool.make({512 * kib, SegmentUse::data, {}});
    CHECK(pool.free_bytes() == 2 * mib);  // the warm memory is too small for it
    CHECK_FALSE(pool.make({3 * mib, SegmentUse::data, {}}));
    auto large = pool.squeeze({3 * mib, SegmentUse::data, {}});
    REQUIRE(large);
    CHECK(memory.dropped == std::vector<MatcherPlace>{{0, 0}});
    CHECK(pool.used_bytes() == 3 * mib + 512 * kib);
    CHECK(pool.free_bytes() == 0);
    CHECK(pool.make({512 * kib, SegmentUse::data, {}}));
    large.reset();
    CHECK(pool.used_bytes() + pool.free_bytes() <= 4 * mib);
  }

  TEST_CASE("at the limit free segments of another size make room, those in use never do") {
    PlainMemory memory;
    SegmentPool pool(memory, 4 * mib);
    auto kept = pool.make({mib, SegmentUse::data, {}});
    std::vector<SegmentId> freed;
    {
      std::vector<SegmentLease> small;
      for (int i = 0; i < 12; ++i) small.push_back(*pool.make({256 * kib, SegmentUse::data, {}}));
      for (const auto& segment : small) freed.push_back(segment.id());
    }
    CHECK_FALSE(pool.make({2 * mib, SegmentUse::data, {}}));
    auto big = pool.squeeze({2 * mib, SegmentUse::data, {}});
    REQUIRE(big);
    CHECK(pool.used_bytes() == 3 * mib);
    CHECK(pool.used_bytes() + pool.free_bytes() <= 4 * mib);
    CHECK(memory.destroyed.size() == 8);
    CHECK_FALSE(memory.destroyed.contains(kept->id()));
    CHECK_FALSE(pool.squeeze({2 * mib, SegmentUse::data, {}}));
    CHECK(pool.squeeze({mib - 100 * kib, SegmentUse::data, {}})->bytes() <= mib);
  }

  TEST_CASE("where the generous size does not fit beneath the limit, the tight one does") {
    PlainMemory memory;
    SegmentPool pool(memory, 100 * mib);
    CHECK_FALSE(pool.make({99 * mib, SegmentUse::data, {}}));
    CHECK(pool.squeeze({99 * mib, SegmentUse::data, {}})->bytes() == 99 * mib);
    CHECK_FALSE(pool.squeeze({101 * mib, SegmentUse::data, {}}));
    CHECK_FALSE(pool.make({~std::uint64_t{0}, SegmentUse::data, {}}));
    CHECK_FALSE(pool.recycle({~std::uint64_t{0}, SegmentUse::data, {}}));
    CHECK_FALSE(pool.squeeze({~std::uint64_t{0}, SegmentUse::data, {}}));
  }

  TEST_CASE("the untouched end of a segment does not count once it is trimmed") {
    PlainMemory memory;
    SegmentPool pool(memory, 4 * mib);
    auto segment = pool.make({4 * mib, SegmentUse::data, {}});
    REQUIRE(segment);
    segment->trim(mib - 1);
    segment->trim(4 * mib);  // the first limit holds
    CHECK(segment->charged_bytes() == huge_page_bytes);
    CHECK(segment->bytes() == 4 * mib);
    CHECK(pool.used_bytes() == huge_page_bytes);
    auto other = pool.make({2 * mib, SegmentUse::data, {}});
    REQUIRE(other);
    CHECK_FALSE(pool.make({2 * mib, SegmentUse::data, {}}));
    const SegmentId first = segment->id();
    segment->release();  // the whole segment does not fit
    CHECK(memory.destroyed.contains(first));
    CHECK(pool.used_bytes() + pool.free_bytes() == 2 * mib);
  }

  TEST_CASE("a segment counts by pages: first huge ones, then small ones") {
    PlainMemory memory;
    SegmentPool pool(memory, 64 * mib);
    constexpr std::uint64_t kib = 1024;
    struct Case {
      std::uint64_t bytes, used_bytes, charged_bytes;
    };
    for (const auto& [bytes, used, charged] :
         {Case{mib, 3 * kib, 4 * kib}, Case{2 * mib, 1, 2 * mib}, Case{5 * mib, 1, 2 * mib},
          Case{5 * mib, 2 * mib, 2 * mib}, Case{5 * mib, 2 * mib + 1, 4 * mib},
          Case{5 * mib, 4 * mib, 4 * mib}, Case{5 * mib, 4 * mib + 1, 4 * mib + 4 * kib},
          Case{5 * mib, 5 * mib, 5 * mib}}) {
      auto segment = pool.make({bytes, SegmentUse::data, {}});
      REQUIRE(segment);
      REQUIRE(segment->bytes() == bytes);
      segment->trim(used);
      CHECK(segment->charged_bytes() == charged);
    }
  }

  TEST_CASE("a trimmed segment is used again, and all pages that any of its users touched count") {
    PlainMemory memory;
    SegmentPool pool(memory, 8 * mib);
    auto segment = pool.make({4 * mib, SegmentUse::data, {}});
    REQUIRE(segment);
    const SegmentId first = segment->id();
    segment->trim(mib);
    for (const bool is_trimmed : {true, false, true}) {
      segment->release();
      CHECK(pool.free_bytes() == 4 * mib);
      segment = pool.recycle({3 * mib, SegmentUse::data, {}});
      REQUIRE(segment);
      CHECK(segment->id() == first);
      CHECK(pool.used_bytes() == 4 * mib);
      if (is_trimmed) segment->trim(10);
    }
    CHECK(pool.used_bytes() == 4 * mib);  // one user did not trim the segment, and may have touched all of it
  }

  TEST_CASE("whatever is taken and given back, the sums stay right and the limit is kept") {
    std::mt19937 random(sluice::test::test_seed());
    PlainMemory memory;
    const std::uint64_t limit = 64 * mib;
    SegmentPool pool(memory, limit);
    std::vector<SegmentLease> leases;
    std::map<SegmentId, std::uint64_t> touched;  // the bytes that all users of a segment have touched
    for (int i = 0; i < 5000; ++i) {
      const SegmentPool::Request request{1ULL << (random() % 25), SegmentUse::data, ProcessId{random() % 4}};
      if (random() % 3 != 0) {
        auto lease = pool.recycle(request);
        if (!lease) lease = pool.make(request);
        if (!lease) lease = pool.squeeze(request);
        if (lease) {
          CHECK(lease->bytes() >= request.bytes);
          pool.note_mapped(lease->id(), request.process);
          std::uint64_t& most = touched[lease->id()];
          if (random() % 2 == 0) {
            lease->trim(request.bytes);
            most = std::max(most, request.bytes);
            CHECK(lease->charged_bytes() >= most);
          } else {
            most = lease->bytes();
          }
          leases.push_back(std::move(*lease));
        }
      } else if (!leases.empty()) {
        leases.erase(leases.begin() + static_cast<std::ptrdiff_t>(random() % leases.size()));
      }
      if (random() % 100 == 0) pool.forget(ProcessId{random() % 4}, random() % 2 == 0);
      std::uint64_t used = 0, all = 0, spared = 0, resident = 0;
      for (const auto& lease : leases) {
        used += lease.charged_bytes();
        spared += lease.bytes() - lease.charged_bytes();
      }
      for (const auto& [id, bytes] : memory.sizes) {
        all += bytes;
        resident += touched.at(id);
      }
      REQUIRE(pool.used_bytes() == used);
      REQUIRE(pool.used_bytes() + pool.free_bytes() == all - spared);
      REQUIRE(pool.used_bytes() + pool.free_bytes() <= limit);
      REQUIRE(resident <= limit);
    }
  }
}

TEST_SUITE("registry: memory") {
  TEST_CASE("the memory of a superseded step is freed when no process has it open") {
    World world(one_rule());
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    const StepId old = world.write(writer, "a.nc", mib);
    world.open(reader, "a.nc", world.alone());
    world.write(writer, "a.nc", mib);
    world.write(writer, "a.nc", mib);
    CHECK(world.registry.pool().used_bytes() == 2 * mib);
    world.close(reader, old);
    CHECK(world.registry.pool().used_bytes() == mib);
  }

  TEST_CASE("after publication the memory of the puts counts, not the requested memory") {
    World world(one_rule(), 4 * mib, 0, {});
    const auto writer = world.process("model");
    const auto other = world.process("model");
    const StepId step = world.answer(world.create(writer, "a.nc", world.alone())).step;
    const SegmentId segment = world.answer(world.need(writer, step, 3 * mib)).segment;
    const StepId next = world.answer(world.create(other, "b.nc", world.alone())).step;
    const auto need = world.need(other, next, mib + 512 * kib);
    CHECK(world.is_waiting(need));
    world.registry.close(writer, {PublishRequest{step, 0, {}, {}, {{0, 0, mib, segment, 512 * kib}}}});
    CHECK(world.is_granted(need));
    CHECK(world.registry.status().bytes_staged == world.registry.pool().used_bytes());
    CHECK(world.registry.pool().used_bytes() < 4 * mib);
  }

  TEST_CASE("the same segments serve step after step") {
    World world(one_rule());
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    for (int i = 0; i < 50; ++i) {
      world.write(writer, "a.nc", 4 * mib);
      world.read(reader, "a.nc");
    }
    CHECK(world.memory.sizes.size() <= 4);
  }

  TEST_CASE(
      "consumed files stay readable up to an eighth of memory; beyond it the oldest are recycled first") {
    World world(one_rule(), 64 * mib, {{"model", 1}, {"analysis", 1}});
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    for (int i = 0; i < 20; ++i) {
      const std::string name = "wave_" + std::to_string(i) + ".nc";
      world.write(writer, name, mib);
      world.read(reader, name);
    }
    CHECK(world.registry.pool().used_bytes() == 9 * mib);
    CHECK(world.is_opened(world.open(reader, "wave_19.nc", world.alone())));
    CHECK(world.is_opened(world.open(reader, "wave_12.nc", world.alone())));
    const auto gone = world.open(reader, "wave_3.nc", world.alone());
    CHECK(world.refusal(gone) == NC_ENOENT);
    CHECK(world.answer(gone).text.find("staging.retain") != std::string::npos);
    CHECK(world.refusal(world.create(writer, "wave_3.nc", world.alone(), true)) == NC_EEXIST);
  }

  TEST_CASE("memory is given ahead of a put while there is plenty, without a wait, and goes back unused") {
    World world(one_rule(), 16 * mib);
    const auto writer = world.process("model");
    const auto first = world.answer(world.create(writer, "a.nc", world.alone())).step;
    CHECK(world.is_granted(world.need_ahead(writer, first, 6 * mib)));
    const std::uint64_t with_segment = world.registry.pool().used_bytes();
    const auto second = world.answer(world.create(writer, "b.nc", world.alone())).step;
    CHECK(world.refusal(world.need_ahead(writer, second, 6 * mib)) == NC_ENO_SPACE);
    CHECK(world.is_granted(world.need(writer, second, 6 * mib)));
    world.publish(writer, first);  // nothing was put
    CHECK(world.registry.pool().used_bytes() <= with_segment);
    CHECK(world.registry.step(first).logs[0]->data.empty());
    // Memory that others have to free is not waited for, either.
    CHECK(world.is_granted(world.need(writer, second, 9 * mib)));
    const auto third = world.answer(world.create(writer, "c.nc", world.alone())).step;
    CHECK(world.refusal(world.need_ahead(writer, third, mib)) == NC_ENO_SPACE);
  }

  TEST_CASE("very many files without data stay readable, and take no memory") {
    World world(one_rule(), 16 * mib, {{"model", 1}, {"analysis", 1}});
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    for (int i = 0; i < 20000; ++i) {
      const std::string name = "go_" + std::to_string(i) + ".nc";
      world.write(writer, name);
      world.read(reader, name);
      world.open(reader, "go_" + std::to_string(i + 1) + ".nc", world.alone());  // the open waits
      world.close(reader, world.write(writer, "go_" + std::to_string(++i) + ".nc", 64 * kib));
    }
    CHECK(world.is_opened(world.open(reader, "go_0.nc", world.alone())));
    CHECK(world.registry.pool().used_bytes() <= 3 * mib);
  }

  TEST_CASE("files that are opened for writing again and again are not recycled for one another") {
    World world(one_rule(), 1024 * mib, 2 * mib, {});
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    for (int i = 0; i < 10; ++i) {
      for (const char* name : {"a.nc", "b.nc", "c.nc"}) {
        if (i == 0) {
          world.write(writer, name, 512 * kib);
        } else {
          const auto reopened = world.reopen(writer, name, world.alone());
          REQUIRE(world.is_opened(reopened));
          const StepId step = world.answer(reopened).step;
          world.need(writer, step, 3 * mib);
          world.publish(writer, step);
        }
        world.read(reader, name);
      }
    }
    for (const char* name : {"a.nc", "b.nc", "c.nc"})
      CHECK(world.is_opened(world.open(reader, name, world.alone())));
  }

  TEST_CASE("with much memory only few consumed steps are kept, and the last file of each rule") {
    World world({{"a*", "model", {"analysis"}}, {"b*", "model", {"analysis"}}}, 8192 * mib,
                {{"model", 1}, {"analysis", 1}});
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    world.write(writer, "a0", 64 * mib);
    world.read(reader, "a0");
    world.rule = 1;
    for (int i = 0; i < 10; ++i) {
      world.write(writer, "b" + std::to_string(i), 64 * mib);
      world.read(reader, "b" + std::to_string(i));
    }
    CHECK(world.registry.pool().used_bytes() == 3 * 64 * mib);
    CHECK(world.registry.pool().free_bytes() < mib);
    CHECK(world.is_opened(world.open(reader, "b9", world.alone())));
    CHECK(world.refusal(world.open(reader, "b0", world.alone())) == NC_ENOENT);
    world.rule = 0;
    CHECK(world.is_opened(world.open(reader, "a0", world.alone())));
  }

  TEST_CASE("as many consumed steps stay readable as the user asks for") {
    World world({{"*", "model", {"analysis"}}}, 1024 * mib, 512 * mib, {});
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    for (int i = 0; i < 20; ++i) {
      world.write(writer, "f" + std::to_string(i), 64 * mib);
      world.read(reader, "f" + std::to_string(i));
    }
    CHECK(world.is_opened(world.open(reader, "f13", world.alone())));
    CHECK(world.refusal(world.open(reader, "f3", world.alone())) == NC_ENOENT);
  }

  TEST_CASE("a step that a declared reader has not consumed is never dropped; the writer waits") {
    World world({{"*.nc", "model", {"analysis", "picture"}}}, 8 * mib);
    const auto writer = world.process("model");
    const auto analysis = world.process("analysis");
    const auto picture = world.process("picture");
    world.write(writer, "a.nc", 4 * mib);
    world.read(analysis, "a.nc");
    const StepId step = world.answer(world.create(writer, "b.nc", world.alone())).step;
    CHECK(world.is_granted(world.need(writer, step, 3 * mib)));
    world.now_ms = 10;
    const auto waits = world.need(writer, step, 2 * mib);
    CHECK(world.is_waiting(waits));
    world.now_ms = 30;
    REQUIRE(world.registry.view({}).waits.size() == 1);
    CHECK(world.registry.view({}).waits[0].waits_for ==
          "memory to write 'b.nc' (picture has not read 'a.nc')");
    CHECK(world.registry.view({}).waits[0].since_ms == 20);
    const StepId unread = world.answer(world.open(analysis, "a.nc", world.alone())).step;
    world.open(picture, "a.nc", world.alone());
    world.close(analysis, unread);
    CHECK(world.is_waiting(waits));
    world.close(picture, unread);
    CHECK(world.is_granted(waits));
    CHECK(world.registry.view({}).waits.empty());
  }

  TEST_CASE("a step counts as consumed only when every process of the reading group has closed it") {
    World world(one_rule(), 4 * mib);
    const auto writer = world.process("model");
    const auto readers = world.processes("analysis", 2);
    const StepId step = world.write(writer, "a.nc", 3 * mib);
    world.open(readers[0], "a.nc", world.member(1, 0, 2));
    world.close(readers[0], step);
    const StepId next = world.answer(world.create(writer, "b.nc", world.alone())).step;
    const auto waits = world.need(writer, next, 3 * mib);
    CHECK(world.is_waiting(waits));
    world.open(readers[1], "a.nc", world.member(1, 1, 2));
    CHECK(world.is_waiting(waits));
    world.close(readers[1], step);
    CHECK(world.is_granted(waits));
  }

  TEST_CASE("if each process of a reader opens for itself, steps that only some have read go last") {
    World world(one_rule(), 16 * mib);
    const auto writer = world.process("model");
    const auto readers = world.processes("analysis", 2);
    world.write(writer, "a.nc", 4 * mib);
    for (const auto reader : readers) world.read(reader, "a.nc");
    world.write(writer, "b.nc", 4 * mib);
    world.read(readers[0], "b.nc");
    world.write(writer, "c.nc", 4 * mib);
    for (const auto reader : readers) world.read(reader, "c.nc");
    const StepId step = world.answer(world.create(writer, "d.nc", world.alone())).step;
    CHECK(world.is_granted(world.need(writer, step, 4 * mib)));
    CHECK(world.is_granted(world.need(writer, step, 4 * mib)));
    CHECK(world.refusal(world.open(readers[1], "a.nc", world.alone())) == NC_ENOENT);
    CHECK(world.refusal(world.open(readers[1], "c.nc", world.alone())) == NC_ENOENT);
    CHECK(world.is_opened(world.open(readers[1], "b.nc", world.alone())));
  }

  TEST_CASE("steps that only an exited reader has not read are dropped") {
    World world(one_rule(), 4 * mib);
    const auto writer = world.process("model");
    world.write(writer, "a.nc", 3 * mib);
    const StepId next = world.answer(world.create(writer, "b.nc", world.alone())).step;
    const auto waits = world.need(writer, next, 3 * mib);
    CHECK(world.is_waiting(waits));
    world.registry.component_exited("analysis", "exited with status 0");
    CHECK(world.is_granted(waits));
  }

  TEST_CASE("a put that no reader can ever make room for fails: all memory is its own step's") {
    World world(one_rule(), 4 * mib);
    const auto writer = world.process("model");
    const StepId step = world.answer(world.create(writer, "a.nc", world.alone())).step;
    CHECK(world.is_granted(world.need(writer, step, 3 * mib)));
    const auto hopeless = world.need(writer, step, 2 * mib);
    CHECK(world.refusal(hopeless) == NC_ENO_SPACE);
    CHECK(world.answer(hopeless).text.find("staging.memory") != std::string::npos);
    CHECK(world.refusal(world.need(writer, step, 5 * mib)) == NC_ENO_SPACE);
    world.publish(writer, step);
    CHECK(world.is_opened(world.open(world.process("analysis"), "a.nc", world.alone())));
  }

  TEST_CASE("it fails in a process with several threads, too: none of them can close the step meanwhile") {
    World world(one_rule(), 4 * mib, {{"model", 1}, {"analysis", 1}});
    const ProcessId writer = world.registry.connect("model", 5, 50);
    world.registry.connect("model", 5, 50);
    const StepId step = world.answer(world.create(writer, "a.nc", world.alone())).step;
    world.need(writer, step, 3 * mib);
    CHECK(world.refusal(world.need(writer, step, 2 * mib)) == NC_ENO_SPACE);
  }

  TEST_CASE("of two steps that hinder each other the younger one fails, and the other gets its memory") {
    World world(one_rule(), 4 * mib);
    const auto p = world.processes("model", 2);
    const StepId a = world.answer(world.create(p[0], "a.nc", world.alone())).step;
    const StepId b = world.answer(world.create(p[1], "b.nc", world.alone())).step;
    world.need(p[0], a, mib);
    world.need(p[1], b, mib);
    const auto for_b = world.need(p[1], b, 2 * mib);
    CHECK(world.is_waiting(for_b));  // until a is published and read
    const auto for_a = world.need(p[0], a, 2 * mib);
    CHECK(world.refusal(for_b) == NC_ENO_SPACE);
    CHECK(world.is_waiting(for_a));
    world.registry.close(p[1], {Discard{b}});
    CHECK(world.is_granted(for_a));
  }

  TEST_CASE("a put fails when the only reader that could make room waits for its writer") {
    World world(one_rule(), 4 * mib, {{"model", 1}, {"analysis", 1}});
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    world.write(writer, "a.nc", 3 * mib);
    const auto late = world.open(reader, "b.nc", world.alone());
    const StepId step = world.answer(world.create(writer, "b.nc", world.alone())).step;
    CHECK(world.refusal(world.need(writer, step, 3 * mib)) == NC_ENO_SPACE);
    CHECK(world.is_waiting(late));
    world.registry.close(writer, {Discard{step}});
    world.registry.disconnect(writer);
    world.registry.component_exited("model", "exited with status 1");
    CHECK(world.refusal(late) == NC_ENOENT);
  }

  TEST_CASE(
      "who wants more than is there gets what it needs, without a wait and without harm to what is "
      "consumed") {
    World world(one_rule(), 16 * mib);
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    world.write(writer, "a.nc", 2 * mib);
    world.read(reader, "a.nc");
    const StepId step = world.answer(world.create(writer, "b.nc", world.alone())).step;
    CHECK(world.answer(world.need(writer, step, mib, SegmentUse::data, 8 * mib)).bytes == 8 * mib);
    CHECK(world.answer(world.need(writer, step, mib, SegmentUse::data, 64 * mib)).bytes == mib);
    CHECK(world.answer(world.need(writer, step, mib, SegmentUse::data, 16 * mib)).bytes == mib);
    CHECK(world.is_opened(world.open(reader, "a.nc", world.alone())));
  }

  TEST_CASE("a put waits for another step in progress that may yet be published and read") {
    World world(one_rule(), 4 * mib);
    const auto p = world.processes("model", 2);
    const auto reader = world.process("analysis");
    const StepId a = world.answer(world.create(p[0], "a.nc", world.alone())).step;
    const StepId b = world.answer(world.create(p[1], "b.nc", world.alone())).step;
    world.need(p[0], a, 3 * mib);
    const auto waits = world.need(p[1], b, 3 * mib);
    CHECK(world.is_waiting(waits));
    world.publish(p[0], a);
    CHECK(world.is_waiting(waits));
    world.read(reader, "a.nc");
    CHECK(world.is_granted(waits));
  }

  TEST_CASE("a create waits for memory too, and the whole group gets it") {
    World world(one_rule(), 192 * kib);
    const auto p = world.processes("model", 2);
    const auto reader = world.process("analysis");
    const StepId other = world.answer(world.create(p[0], "c.nc", world.alone())).step;
    world.write(p[0], "a.nc", 64 * kib);
    world.need(p[0], other, 120 * kib, SegmentUse::table);
    CHECK(world.is_waiting(world.create(p[0], "b.nc", world.member(1, 0, 2))));
    const auto second = world.create(p[1], "b.nc", world.member(1, 1, 2));
    CHECK(world.is_waiting(second));
    world.read(reader, "a.nc");
    CHECK(world.is_created(second));
  }

  TEST_CASE(
      "a writer that dies while it waits for memory, or its step with it, answers the others and frees its "
      "part") {
    World world(one_rule(), 4 * mib);
    const auto p = world.processes("model", 2);
    world.write(p[0], "a.nc", 2 * mib);
    const StepId step = world.answer(world.create(p[0], "b.nc", world.member(1, 0, 2))).step;
    world.create(p[1], "b.nc", world.member(1, 1, 2));
    const auto of_gone = world.need(p[0], step, 3 * mib);
    const auto of_other = world.need(p[1], step, 3 * mib);
    world.registry.disconnect(p[0]);
    CHECK(world.is_waiting(of_gone));
    CHECK(world.refusal(of_other) == NC_EIO);
    CHECK(world.registry.view({}).waits.empty());
  }

  TEST_CASE("memory that the system does not have is an error of the call that asked, and of nothing else") {
    World world(one_rule());
    const auto writer = world.process("model");
    const StepId step = world.answer(world.create(writer, "a.nc", world.alone())).step;
    world.memory.is_exhausted = true;
    CHECK(world.refusal(world.need(writer, step, mib)) == NC_ENO_SPACE);
    CHECK(world.refusal(world.create(writer, "b.nc", world.alone())) == NC_ENO_SPACE);
    world.memory.is_exhausted = false;
    CHECK(world.is_granted(world.need(writer, step, mib)));
    CHECK(world.is_created(world.create(writer, "b.nc", world.alone())));
  }

  TEST_CASE("a reopened step takes no memory for the continued data, and keeps it when the old step goes") {
    World world(one_rule(), 16 * mib);
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    world.write(writer, "a.nc", mib);
    for (int i = 0; i < 5; ++i) {
      const StepId step = world.answer(world.reopen(writer, "a.nc", world.alone())).step;
      world.need(writer, step, mib);
      world.publish(writer, step);
    }
    CHECK(world.registry.pool().used_bytes() == 6 * mib);
    CHECK(world.registry.status().datasets.at(0).bytes_staged == 6 * mib);
    const StepId last = world.answer(world.open(reader, "a.nc", world.alone())).step;
    CHECK(world.registry.step_for_get(reader, last).logs.size() == 6);
  }

  TEST_CASE(
      "under any order of calls every request is answered once, and at the end no memory is left in use") {
    std::mt19937 random(sluice::test::test_seed());
    for (int round = 0; round < 40; ++round) {
      World world({{"a*", "m", {"r", "s"}}, {"b*", "r", {"m"}}}, 4 * mib, {{"m", 2}, {"r", 2}, {"s", 1}});
      struct Actor {
        ProcessId id;
        std::string component;
        std::vector<StepId> writing, reading;
        std::uint32_t pending = 0;
        int kind = 0;
        bool is_alive = true;
      };
      std::vector<Actor> actors;
      for (const char* name : {"m", "m", "r", "r", "s"})
        actors.push_back({world.process(name), name, {}, {}, 0, 0, true});
      for (int i = 0; i < 300; ++i) {
        Actor& actor = actors[random() % actors.size()];
        if (!actor.is_alive) continue;
        if (actor.pending != 0) {
          const Answer& answer = world.answer(actor.pending);
          if (answer.kind == Answer::Kind::none) continue;
          if (answer.kind == Answer::Kind::created) actor.writing.push_back(answer.step);
          if (answer.kind == Answer::Kind::opened)
            (actor.kind == 2 ? actor.writing : actor.reading).push_back(answer.step);
          actor.pending = 0;
        }
        world.rule = random() % 2;
        const std::string name = (world.rule == 0 ? "a" : "b") + std::to_string(random() % 3);
        actor.kind = static_cast<int>(random() % 8);
        switch (actor.kind) {
          case 0:
            actor.pending = world.open(actor.id, name, world.alone());
            break;
          case 1:
            actor.pending = world.create(actor.id, name, world.alone(), random() % 4 == 0);
            break;
          case 2:
            actor.pending = world.reopen(actor.id, name, world.alone());
            break;
          case 3:
            if (!actor.writing.empty())
              actor.pending = world.need(actor.id, actor.writing.back(), 1 + random() % (2 * mib));
            break;
          case 4:
            if (!actor.writing.empty())
              world.publish(actor.id, actor.writing.back()), actor.writing.pop_back();
            break;
          case 5:
            if (!actor.reading.empty()) world.close(actor.id, actor.reading.back()), actor.reading.pop_back();
            break;
          case 6:
            if (random() % 10 == 0) world.remove(actor.id, name);
            break;
          case 7:
            if (random() % 60 == 0) world.registry.disconnect(actor.id), actor.is_alive = false;
            break;
        }
        REQUIRE_FALSE(world.answers.has_answered_twice);
        REQUIRE(world.registry.pool().used_bytes() <= 4 * mib);
      }
      for (const char* name : {"r", "m", "s"}) world.registry.component_exited(name, "exited with status 0");
      for (const Actor& actor : actors) {
        if (actor.is_alive && actor.pending != 0) CHECK(world.registry.view({}).waits.empty());
      }
      const StatusReport report = world.registry.status();
      std::uint64_t staged = 0;
      for (const DatasetStatus& dataset : report.datasets) staged += dataset.bytes_staged;
      CHECK(staged == report.bytes_staged);
      CHECK(world.registry.view({}).waits.empty());
    }
  }
}
