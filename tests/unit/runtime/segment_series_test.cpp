// Requests for memory that come as a series are answered as if each had come alone.
#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "log_packing.hpp"
#include "support/seed.hpp"
#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::runtime;
using namespace sluice::matcher::test;
using matcher::Caller;
using matcher::MatcherPlace;
using matcher::ProcessId;
using matcher::PublishRequest;
using matcher::SegmentId;
using matcher::SegmentRequest;
using matcher::SegmentUse;
using matcher::StepId;

namespace {

constexpr std::uint32_t nodes = 2;
constexpr std::uint32_t writers = 12;

/// Two registries that are asked the same. One gets the requests of a node's processes as series.
class Twins {
  /// Does the same to both, which must give the same.
  template <class Act>
  auto both(const std::string& what, Act act) {
    CAPTURE(what);
    const auto of_alone = act(*alone_);
    REQUIRE(of_alone == act(*in_series_));
    return of_alone;
  }
  template <class Act>
  void to_both(Act act) {
    act(*alone_), act(*in_series_);
  }

 public:
  Twins(std::mt19937& random, bool is_packed, bool spills)
      : random_(random), alone_(make(is_packed, spills)), in_series_(make(is_packed, spills)) {
    start();
    readers_ = both("the reader", [](World& world) { return world.process("analysis"); });
  }

  /// Writes a file. A process may die, and others may ask for what they must not have.
  void write(const std::string& name, bool is_read) {
    const StepId step = begin(name);
    tables_.assign(writers, 0);
    data_.assign(writers, 0);
    const std::uint64_t table_bytes = (1 + below(3)) * 4 * kib, data_bytes = (1 + below(4)) * 64 * kib;
    if (below(8) == 0) ask({step, SegmentUse::control, 4 * kib});
    if (below(8) == 0) ask({step + 1000, SegmentUse::data, 4 * kib});
    ask({step, SegmentUse::table, table_bytes, below(2) * table_bytes});
    ask({step, SegmentUse::data, data_bytes, below(2) * 2 * data_bytes});
    if (below(6) == 0 || is_anybody_waiting()) return end();
    close(step);
    compare();
    if (is_read) to_both([&](World& world) { world.read(readers_, name); });
    compare();
  }

 private:
  static std::unique_ptr<World> make(bool is_packed, bool spills) {
    static const LogPackingOfMessages packing;
    const matcher::PackingChoice choice{is_packed ? &packing : nullptr, 1};
    auto world = std::make_unique<World>(
        std::vector<matcher::FileRule>{{"*.nc", "model", {"analysis"}, true}}, 4 * mib, 512 * kib,
        std::vector<matcher::ComponentSize>{}, nodes, spills ? "/spill" : "",
        std::vector<matcher::JobReader>{}, 10'000, 200'000, nullptr, choice);
    world->memory.disk_bytes = 8 * mib;
    return world;
  }
  std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }

  void start() {
    processes_.clear();
    // Of a node, some are of another matcher.
    for (std::uint32_t rank = 0; rank < writers; ++rank) {
      const MatcherPlace place{rank * nodes / writers, rank % 6 == 5 ? 1U : 0U};
      processes_.push_back(both("a process", [&](World& world) { return world.process("model", place); }));
    }
  }
  StepId begin(const std::string& name) {
    const std::uint64_t group = ++group_;
    std::uint32_t tag = 0;
    for (std::uint32_t rank = 0; rank < writers; ++rank) {
      tag = both("create", [&](World& world) {
        return world.create(processes_[rank], name, {2'000'000 + group, rank, writers, true});
      });
    }
    return both("the step", [&](World& world) { return world.answer(tag).step; });
  }
  void end() {
    const ProcessId dying = processes_[below(writers)];
    to_both([&](World& world) { world.registry.disconnect(dying); });
    compare();
    to_both([&](World& world) {
      for (const ProcessId process : processes_) world.registry.disconnect(process);
    });
    compare();
    start();
  }

  /// The processes of a node ask, some of them perhaps twice, or not at all.
  void ask(const SegmentRequest& request) {
    for (std::uint32_t node = 0; node < nodes; ++node) {
      std::vector<Caller> callers;
      for (std::uint32_t rank = node * writers / nodes; rank < (node + 1) * writers / nodes; ++rank) {
        if (below(12) == 0) continue;
        callers.push_back({{rank, ++tag_, node}, processes_[rank]});
        (request.use == SegmentUse::table ? tables_ : data_)[rank] = tag_;
      }
      if (below(12) == 0) callers.push_back({{writers, ++tag_, node}, readers_});
      const auto each = [&](World& world) {
        for (const auto& [ticket, process, rank] : callers) {
          try {
            world.registry.need_segment(ticket, process, request);
          } catch (const Error& error) {
            world.answers.refused(ticket, error.status(), error.what());
          }
        }
      };
      alone_->registry.in_series([&] { each(*alone_); });
      in_series_->registry.in_series([&] { in_series_->registry.need_segments(callers, request); });
      compare();
    }
  }

  /// Nobody closes while it waits for memory.
  [[nodiscard]] bool is_anybody_waiting() {
    return both("waits", [](World& world) { return world.registry.is_anybody_waiting(); });
  }
  void close(StepId step) {
    for (std::uint32_t rank = 0; rank < writers; ++rank) {
      PublishRequest request{step, 0, {}};
      request.position = {0, 0};
      const bool puts = below(4) != 0;
      const Answer table = granted(tables_[rank]);
      const Answer data = granted(data_[rank]);
      if (puts && table.segment != 0) request.position = {1, 100};
      if (puts && data.segment != 0) request.ranges = {{0, 0, data.bytes / 4, data.segment, 0}};
      to_both([&](World& world) { world.registry.close(processes_[rank], {PublishRequest(request)}); });
      compare_memory();
    }
  }
  [[nodiscard]] Answer granted(std::uint32_t tag) const {
    const auto found = alone_->answers.by_tag.find(tag);
    return found == alone_->answers.by_tag.end() ? Answer{} : found->second;
  }

  void compare_memory() {
    for (std::uint32_t node = 0; node < nodes; ++node) {
      both("memory", [&](World& world) {
        const matcher::SegmentPool& pool = world.registry.pool(node);
        return std::vector{pool.used_bytes(), pool.free_bytes(), pool.used_peak_bytes(),
                           pool.spilled_bytes()};
      });
    }
  }
  /// Both have answered alike, with the same segments.
  void compare() {
    compare_memory();
    both("events", [](World& world) {
      world.answer_looks();
      return world.answers.events;
    });
    both("erased steps", [](World& world) { return world.answers.erased_steps; });
    both("segments", [](World& world) { return world.memory.sizes; });
    both("cleared segments", [](World& world) {
      std::vector<std::pair<SegmentId, SegmentUse>> cleared;
      for (const auto& [segment, use] : world.memory.cleared) cleared.emplace_back(segment, use);
      return cleared;
    });
    both("answers", [](World& world) {
      std::vector<std::tuple<std::uint32_t, Answer::Kind, int, SegmentId, std::string>> answers;
      for (const auto& [tag, answer] : world.answers.by_tag)
        answers.emplace_back(tag, answer.kind, answer.status, answer.segment, answer.text);
      return answers;
    });
  }

  std::mt19937& random_;
  std::unique_ptr<World> alone_;
  std::unique_ptr<World> in_series_;
  std::vector<ProcessId> processes_;
  std::vector<std::uint32_t> tables_, data_;  ///< by rank: the tags of its last requests
  ProcessId readers_{};
  std::uint64_t group_ = 0;
  std::uint32_t tag_ = 1'000'000;
};

}  // namespace

TEST_SUITE("runtime.segment_series") {
  TEST_CASE("a series of requests for memory is answered as each of them alone") {
    for (const std::uint64_t seed : test::test_seeds(60)) {
      CAPTURE(seed);
      std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
      Twins twins(random, seed % 2 == 0, seed % 3 == 0);
      for (int i = 0; i < 20; ++i) {
        const std::string name = (random() % 3 == 0 ? "same" : "file_" + std::to_string(i)) + ".nc";
        twins.write(name, random() % 4 != 0);
      }
    }
  }

  /// Memory that was granted to several processes at once is returned for each of them alone.
  TEST_CASE("who puts nothing returns its table at its close, while the others keep theirs") {
    World world({{"*.nc", "model", {"analysis"}, true}}, 4 * mib, 0, {}, 2);
    const std::vector<ProcessId> model = world.processes("model", 3);
    const ProcessId reader = world.process("analysis");
    for (std::uint32_t round = 0; round < 4; ++round) {
      const std::string name = std::to_string(round) + ".nc";
      StepId step = 0;
      for (std::uint32_t rank = 0; rank < 3; ++rank)
        step = world.answer(world.create(model[rank], name, {5000 + round, rank, 3, true})).step;
      std::vector<Caller> callers;
      for (std::uint32_t rank = 0; rank < 3; ++rank) callers.push_back({{0, ++world.last_tag}, model[rank]});
      world.registry.need_segments(callers, {step, SegmentUse::table, 4 * kib, 4 * kib});
      CHECK(world.registry.pool().used_bytes() >= 12 * kib);
      const std::uint64_t before = world.registry.pool().used_bytes();
      for (const ProcessId process : model) {
        PublishRequest request{step, 0, {}};
        request.position = {0, 0};
        if (process != model[1]) request.position = {1, 100};
        world.registry.close(process, {PublishRequest(request)});
        if (process == model[1]) CHECK(world.registry.pool().used_bytes() == before - 4 * kib);
      }
      world.read(reader, name);
    }
  }
}
