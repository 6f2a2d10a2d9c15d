// Steps that the registry offers ahead: docs/design/offers.md.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "unit/matcher/offered_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

std::uint64_t used_bytes(World& world) {
  return world.registry.pool().used_bytes();
}

}  // namespace

TEST_SUITE("registry: offers") {
  TEST_CASE("steps are offered after two that are alike, with the memory that the last one needed") {
    Offered run(one_rule());
    const auto p = run.world.processes("model", 2);
    run.write(p, "1.nc", 64 * kib);
    CHECK(run.board.offers().empty());
    run.write(p, "2.nc", 64 * kib);
    const auto offers = run.board.offers();
    REQUIRE(offers.size() == 5);
    REQUIRE(run.board.groups.size() == 1);
    CHECK(run.board.groups[0].members == p);
    CHECK(run.board.groups[0].header_bytes == 100);
    std::set<SegmentId> segments;
    for (const auto& offer : offers) {
      segments.insert(offer.control);
      for (const auto& [table, data] : offer.logs) segments.insert(data);
      CHECK(offer.data_bytes == std::vector<std::uint64_t>{64 * kib, 64 * kib});
    }
    CHECK(segments.size() == 15);  // no two of them are the same
  }

  TEST_CASE("five steps of some MiB are offered at a time, and three larger ones") {
    const auto offers_for = [](std::uint64_t bytes) {
      Offered run(one_rule(), 1024 * mib);
      const auto p = run.world.processes("model", 2);
      run.write(p, "1.nc", bytes);
      run.write(p, "2.nc", bytes);
      return run.board.offers().size();
    };
    CHECK(offers_for(4 * mib) == 5);
    CHECK(offers_for(8 * mib) == 3);
  }

  TEST_CASE("a group that has taken all offers before the registry looks gets more of them at a time") {
    struct Case {
      std::uint64_t step_bytes = 0;
      std::size_t most = 0;
    };
    for (const auto& [bytes, most] : {Case{kib, 64}, Case{4 * mib, 16}, Case{100 * mib, 3}}) {
      CAPTURE(bytes);
      Offered run(one_rule(), 2048 * mib);
      const auto p = run.world.processes("model", 1);
      run.write(p, "1.nc", bytes);
      run.write(p, "2.nc", bytes);
      std::size_t before = 0;
      for (int i = 3; run.board.offers().size() > before; ++i) {
        before = run.board.offers().size();
        // Rank 0 has taken all, and the registry knows it of the first one alone.
        for (const auto& offer : run.board.offers()) run.board.taken.insert(offer.step);
        run.write_offered(p, std::to_string(i) + ".nc", bytes);
        for (const auto& offer : run.board.offers()) run.board.taken.erase(offer.step);
      }
      CHECK(run.board.offers().size() == most);
    }
  }

  TEST_CASE("a step that was offered is like any other for readers, and its place is offered anew") {
    Offered run(one_rule());
    const auto p = run.world.processes("model", 2);
    const auto reader = run.world.process("analysis");
    run.write(p, "1.nc", 64 * kib);
    run.write(p, "2.nc", 64 * kib);
    const auto waiting = run.world.open(reader, "3.nc", run.world.alone());
    const auto offer = run.take(p, "3.nc");
    run.header(p, offer.step);
    CHECK(run.world.is_waiting(waiting));
    run.publish(p[1], offer.step, 64 * kib, offer.logs[1].second);
    CHECK(run.world.is_waiting(waiting));
    run.publish(p[0], offer.step, 64 * kib, offer.logs[0].second);
    REQUIRE(run.world.is_opened(waiting));
    CHECK(run.world.answer(waiting).step == offer.step);
    CHECK(run.world.answer(waiting).header_bytes == 100);
    CHECK(run.world.answer(waiting).logs == 2);
    run.world.close(reader, offer.step);
    CHECK(run.board.cleared == 1);
    CHECK(run.board.offers().size() == 5);
    for (int i = 4; i < 50; ++i) {
      const std::string name = std::to_string(i) + ".nc";
      const StepId step = run.write_offered(p, name, 64 * kib);
      CHECK(run.world.read(reader, name) == step);
    }
    CHECK_FALSE(run.board.is_overwritten);
    CHECK(run.board.withdrawn.empty());
  }

  TEST_CASE("two steps that were offered are written at once, and published in any order") {
    Offered run(one_rule());
    const auto p = run.world.processes("model", 1);
    const auto reader = run.world.process("analysis");
    run.write(p, "1.nc", kib);
    run.write(p, "2.nc", kib);
    const auto a = run.take(p, "a.nc");
    const auto b = run.take(p, "b.nc");
    CHECK(a.step != b.step);
    CHECK(a.control != b.control);
    run.header(p, b.step);
    run.publish(p[0], b.step, kib, b.logs[0].second);
    CHECK(run.world.read(reader, "b.nc") == b.step);
    CHECK(run.world.is_waiting(run.world.open(reader, "a.nc", run.world.alone())));
    run.header(p, a.step);
    run.publish(p[0], a.step, kib, a.logs[0].second);
    CHECK_FALSE(run.board.is_overwritten);
  }

  TEST_CASE("more data than was offered is asked for, and data that was not put costs nothing") {
    Offered run(one_rule());
    const auto p = run.world.processes("model", 1);
    run.write(p, "1.nc", 64 * kib);
    run.write(p, "2.nc", 64 * kib);
    const auto more = run.take(p, "3.nc");
    run.header(p, more.step);
    const auto asked = run.world.need(p[0], more.step, 256 * kib);
    REQUIRE(run.world.is_granted(asked));
    const SegmentId second = run.world.answer(asked).segment;
    PublishRequest request{more.step, 0, {}};
    request.ranges = {{0, 0, 64 * kib, more.logs[0].second, 0}, {0, 64 * kib, 256 * kib, second, 0}};
    request.position = {0, 0, 0};
    run.world.registry.close(p[0], {std::move(request)});
    CHECK(run.world.answers.ended_steps.contains(more.step));
    CHECK(run.board.offers().empty());  // it was unlike the last one
    run.write(p, "4.nc", 64 * kib);
    run.write(p, "5.nc", 64 * kib);
    REQUIRE(run.board.offers().size() == 5);
    const std::uint64_t before = used_bytes(run.world);
    const auto less = run.take(p, "6.nc");
    run.header(p, less.step);
    run.publish(p[0], less.step, 0, 0);
    CHECK(used_bytes(run.world) < before);
  }

  TEST_CASE("a step of another header or another size withdraws the offers") {
    Offered run(one_rule());
    const auto p = run.world.processes("model", 1);
    for (const bool has_other_size : {false, true}) {
      run.write(p, "1.nc", 64 * kib);
      run.write(p, "2.nc", 64 * kib);
      REQUIRE(run.board.offers().size() == 5);
      const std::uint64_t before = used_bytes(run.world);
      run.write(p, "3.nc", has_other_size ? kib : 64 * kib, has_other_size ? 1 : 2);
      CHECK(run.board.offers().empty());
      CHECK(used_bytes(run.world) < before);
    }
  }

  TEST_CASE("only rank 0 of the group takes an offer, once, for a file of the rule") {
    Offered run({{"*.nc", "model", {"analysis"}}, {"*.cdf", "model", {"analysis"}}});
    const auto p = run.world.processes("model", 2);
    const auto reader = run.world.process("analysis");
    run.write(p, "1.nc", kib);
    run.write(p, "2.nc", kib);
    const StepId step = run.board.offers().front().step;
    const Open good = run.create_request(p, "3.nc");
    CHECK(run.refused_create(p[1], step, good) == NC_EINVAL);
    CHECK(run.refused_create(reader, step, good) == NC_EINVAL);
    CHECK(run.refused_create(p[0], step + 1000, good) == NC_EINVAL);
    Open bad = good;
    bad.key.rule = 1;
    CHECK(run.refused_create(p[0], step, bad) == NC_EINVAL);
    bad = good;
    bad.member.rank = 1;
    CHECK(run.refused_create(p[0], step, bad) == NC_EINVAL);
    bad = good;
    bad.member.size = 3;
    CHECK(run.refused_create(p[0], step, bad) == NC_EINVAL);
    bad = good;
    bad.no_clobber = true;
    CHECK(run.refused_create(p[0], step, bad) == NC_EINVAL);
    CHECK(run.refused_create(p[0], step, good) == NC_NOERR);
    CHECK(run.refused_create(p[0], step, good) == NC_EINVAL);
  }

  TEST_CASE("a create by messages leaves the offers, and NC_NOCLOBBER sees a step that was offered") {
    Offered run(one_rule());
    const auto p = run.world.processes("model", 1);
    run.write(p, "1.nc", kib);
    run.write(p, "2.nc", kib);
    const auto offer = run.take(p, "3.nc");
    CHECK(run.world.refusal(run.world.create(p[0], "3.nc", run.world.alone(), true)) == NC_EEXIST);
    run.header(p, offer.step);
    run.publish(p[0], offer.step, kib, offer.logs[0].second);
    run.write(p, "4.nc", kib);
    CHECK(run.board.offers().size() == 5);
    CHECK(run.board.withdrawn.empty());
  }

  TEST_CASE("a name that is read is created again by an offer: its readers keep what they have") {
    Offered run(one_rule());
    const auto p = run.world.processes("model", 1);
    const auto reader = run.world.process("analysis");
    const StepId first = run.write(p, "1.nc", kib);
    run.write(p, "2.nc", kib);
    const auto open = run.world.open(reader, "1.nc", run.world.alone());
    CHECK(run.world.answer(open).step == first);
    const StepId second = run.write_offered(p, "1.nc", kib);
    CHECK_FALSE(run.world.answers.erased_steps.contains(first));
    run.world.close(reader, first);
    CHECK(run.world.read(reader, "1.nc") == second);
  }

  TEST_CASE("groups are told apart by their processes and the order of these") {
    Offered run(one_rule());
    const auto p = run.world.processes("model", 2);
    run.write(p, "1.nc", kib);
    run.write({p[1], p[0]}, "2.nc", kib);
    run.write({p[0]}, "3.nc", kib);
    run.write({p[1]}, "4.nc", kib);
    CHECK(run.board.groups.empty());
    run.write({p[1]}, "5.nc", kib);
    REQUIRE(run.board.groups.size() == 1);
    CHECK(run.board.groups[0].members == std::vector<ProcessId>{p[1]});
    run.write(p, "6.nc", kib);
    CHECK(run.board.groups.size() == 2);
  }
}

TEST_SUITE("registry: memory of offers") {
  TEST_CASE("a put gets the memory of offers that nobody has taken, and does not wait") {
    Offered run(one_rule(), 4 * mib);
    const auto p = run.world.processes("model", 1);
    run.write(p, "1.nc", 256 * kib);
    run.write(p, "2.nc", 256 * kib);
    REQUIRE(!run.board.offers().empty());
    const StepId step = run.world.answer(run.world.create(p[0], "3.nc", run.world.alone())).step;
    const std::uint64_t free = run.world.registry.pool().limit_bytes() - used_bytes(run.world);
    CHECK(run.world.is_granted(run.world.need(p[0], step, free + 256 * kib)));
    CHECK(run.board.offers().empty());
    CHECK_FALSE(run.board.withdrawn.empty());
  }

  TEST_CASE("no offers are made while memory is short") {
    Offered run(one_rule(), mib);
    const auto p = run.world.processes("model", 1);
    run.write(p, "1.nc", 300 * kib);
    run.write(p, "2.nc", 300 * kib);
    CHECK(run.board.offers().empty());
  }

  TEST_CASE("an offer that was taken keeps its memory before the registry hears of it") {
    Offered run(one_rule(), 4 * mib);
    const auto p = run.world.processes("model", 1);
    run.write(p, "1.nc", 256 * kib);
    run.write(p, "2.nc", 256 * kib);
    const auto offer = run.board.offers().front();
    run.board.taken.insert(offer.step);
    const StepId step = run.world.answer(run.world.create(p[0], "3.nc", run.world.alone())).step;
    (void)run.world.need(p[0], step, 4 * mib);
    CHECK_FALSE(run.board.withdrawn.contains(offer.step));
    open_offered(run.world.registry, p[0], 0, offer.step, run.create_request(p, "4.nc"));
    run.header(p, offer.step);
    run.publish(p[0], offer.step, 256 * kib, offer.logs[0].second);
    CHECK(run.world.answers.ended_steps.contains(offer.step));
  }

  TEST_CASE("where processes cannot be told, nothing is kept for offers") {
    Offered run(one_rule());
    run.board.is_deaf = true;
    const auto p = run.world.processes("model", 1);
    run.write(p, "1.nc", 64 * kib);
    const std::uint64_t one = used_bytes(run.world);
    run.write(p, "2.nc", 64 * kib);
    CHECK(used_bytes(run.world) == 2 * one);
  }
}

TEST_SUITE("registry: ends of processes with offers") {
  TEST_CASE("the end of a process withdraws the offers of its groups; the page goes with the last process") {
    Offered run(one_rule());
    const auto p = run.world.processes("model", 2);
    run.write(p, "1.nc", kib);
    run.write(p, "2.nc", kib);
    REQUIRE(run.board.offers().size() == 5);
    run.world.registry.disconnect(p[1]);
    CHECK(run.board.offers().empty());
    CHECK(run.board.ended.empty());
    run.world.registry.disconnect(p[0]);
    CHECK(run.board.ended.size() == 1);
  }

  TEST_CASE("a step that was offered is discarded when one of its processes ends before its close") {
    for (const bool is_root : {false, true}) {
      for (const bool has_header : {false, true}) {
        Offered run(one_rule());
        const auto p = run.world.processes("model", 2);
        run.write(p, "1.nc", kib);
        run.write(p, "2.nc", kib);
        const auto offer = run.take(p, "3.nc");
        if (has_header) run.header(p, offer.step);
        const ProcessId other = is_root ? p[1] : p[0];
        run.world.registry.disconnect(is_root ? p[0] : p[1]);
        CHECK_FALSE(run.world.answers.ended_steps.contains(offer.step));
        REQUIRE(!run.world.memory.gone.empty());
        CHECK(run.world.memory.gone.back().control == offer.control);
        run.publish(other, offer.step, kib, offer.logs[is_root ? 1 : 0].second);
        CHECK(run.world.answers.erased_steps.contains(offer.step));
        CHECK_FALSE(run.world.answers.ended_steps.contains(offer.step));
        CHECK(run.board.cleared == 1);
        CHECK(run.board.offers().empty());
      }
    }
  }

  TEST_CASE("rank 0 takes an offer when another process has just ended: the step is discarded") {
    Offered run(one_rule());
    const auto p = run.world.processes("model", 2);
    run.write(p, "1.nc", kib);
    run.write(p, "2.nc", kib);
    const auto offer = run.board.offers().front();
    run.board.taken.insert(offer.step);
    run.board.used.insert(offer.step);
    run.world.registry.disconnect(p[1]);
    CHECK_FALSE(run.board.withdrawn.contains(offer.step));
    open_offered(run.world.registry, p[0], 0, offer.step, run.create_request(p, "3.nc"));
    run.publish(p[0], offer.step, 0, 0);
    CHECK(run.world.answers.erased_steps.contains(offer.step));
    CHECK_FALSE(run.world.answers.ended_steps.contains(offer.step));
    CHECK(run.board.cleared == 1);
    run.world.registry.disconnect(p[0]);
    CHECK(run.board.ended.size() == 1);
  }

  TEST_CASE("a component that is started again gets offers of its own") {
    Offered run(one_rule());
    auto p = run.world.processes("model", 1);
    run.write(p, "1.nc", kib);
    run.write(p, "2.nc", kib);
    run.world.registry.component_restarts("model", "exited with status 1");
    CHECK(run.board.ended.size() == 1);
    p = run.world.processes("model", 1);
    run.write(p, "3.nc", kib);
    CHECK(run.board.offers().empty());
    run.write(p, "4.nc", kib);
    CHECK(run.board.offers().size() == 5);
  }

  TEST_CASE("writers that wait do not go on because of offers: the wait is hopeless as without them") {
    Offered run({{"*.nc", "model", {"analysis"}}, {"*.cdf", "analysis", {"model"}}});
    run.world.registry.component_exited("nobody", "");
    const auto p = run.world.processes("model", 1);
    const auto reader = run.world.process("analysis");
    run.write(p, "1.nc", kib);
    run.write(p, "2.nc", kib);
    const auto waiting = run.world.open(reader, "3.nc", run.world.alone());
    run.world.rule = 1;
    run.world.are_components_idle = true;
    const auto other = run.world.open(p[0], "3.cdf", run.world.alone());
    CHECK((run.world.refusal(waiting) != 0 || run.world.refusal(other) != 0));
  }
}

TEST_SUITE("registry: what is never offered") {
  TEST_CASE(
      "steps that readers see while they are written, that are named by name, or whose create may wait") {
    std::vector<FileRule> rules(6, {"*.nc", "model", {"analysis"}});
    rules[0].publish_at = PublishAt::sync;
    rules[1].publish_at = PublishAt::write;
    rules[2].identity = Identity::name;
    rules[3].queue = 2;
    rules[3].when_full = WhenFull::wait;
    rules[4].queue = 2;
    rules[4].when_full = WhenFull::spill;
    rules[5].through = Through::burst_buffer;
    for (const FileRule& rule : rules) {
      Offered run({rule});
      const auto p = run.world.processes("model", 1);
      for (int i = 0; i < 2; ++i) {
        const StepId step =
            run.world.answer(run.world.create(p[0], std::to_string(i) + ".nc", run.world.alone())).step;
        run.header(p, step);
        run.world.publish(p[0], step);
      }
      CHECK(run.board.groups.empty());
    }
  }

  TEST_CASE("files that were imported, and steps that were opened again") {
    Offered run(one_rule());
    const auto p = run.world.processes("model", 1);
    run.write(p, "1.nc", kib);
    for (int i = 0; i < 2; ++i) {
      const StepId again = run.world.answer(run.world.reopen(p[0], "1.nc", run.world.alone())).step;
      run.world.publish(p[0], again);
      const StepId imported = run.world.answer(run.world.import(p[0], std::to_string(i) + "i.nc")).step;
      run.world.publish(p[0], imported);
    }
    CHECK(run.board.groups.empty());
  }
}
