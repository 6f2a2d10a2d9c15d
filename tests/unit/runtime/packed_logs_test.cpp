// Logs that are packed when they close: for everything else, the registry does as without that.
#include "sluice/matcher/packed_logs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

#include "control_protocol.hpp"
#include "log_packing.hpp"
#include "sluice/runtime/wire.hpp"
#include "support/seed.hpp"
#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::runtime;
using namespace sluice::matcher::test;
using matcher::MatcherPlace;
using matcher::ProcessId;
using matcher::Step;
using matcher::StepId;

namespace {

constexpr std::uint32_t nodes = 3;
constexpr std::uint32_t writers = 6;

/// Two registries that are asked the same. One packs the logs of all steps.
struct Twins {
  static std::vector<matcher::FileRule> rules() { return {{"*.nc", "model", {"analysis"}, true}}; }
  LogPackingOfMessages packing;
  World plain{rules(), 64 * mib, 8 * mib, {}, nodes};
  World packed{rules(), 64 * mib, 8 * mib, {}, nodes, {}, {}, 10'000, 200'000, nullptr, {&packing, 1}};

  /// Does the same to both, which must give the same.
  template <class Act>
  auto both(Act act) {
    const auto of_plain = act(plain);
    REQUIRE(of_plain == act(packed));
    return of_plain;
  }
  template <class Act>
  void to_both(Act act) {
    act(plain), act(packed);
  }

  /// Memory that is lent again may be another segment.
  std::uint64_t granted(ProcessId process, StepId step, std::uint64_t bytes, SegmentUse use) {
    return granted([&](World& world) { return world.need(process, step, bytes, use); });
  }
  /// For data, before the first put.
  std::uint64_t granted_ahead(ProcessId process, StepId step, std::uint64_t bytes) {
    return granted([&](World& world) { return world.need_ahead(process, step, bytes); });
  }
  void publish(ProcessId process, PublishRequest request) {
    plain.registry.close(process, {PublishRequest(request)});
    for (LogRange& range : request.ranges) range.segment = segments_.at(range.segment);
    packed.registry.close(process, {std::move(request)});
  }

  void compare(StepId step) {
    matcher::StepView view = plain.registry.step(step).view();
    for (matcher::LogView& log : view.logs) {
      for (auto* const list : {&log.tables, &log.data}) {
        for (matcher::LogSegment& segment : *list) segment.segment = segments_.at(segment.segment);
      }
      for (LogRange& range : log.ranges) range.segment = segments_.at(range.segment);
    }
    CHECK(as_received(std::move(view)) == as_received(packed.registry.step(step).view()));
  }
  void compare_memory() {
    for (std::uint32_t node = 0; node < nodes; ++node)
      both([&](World& world) { return world.registry.pool(node).used_bytes(); });
    both([](World& world) {
      std::uint64_t staged = 0;
      for (const auto& dataset : world.registry.status().datasets) staged += dataset.bytes_staged;
      return staged;
    });
  }

 private:
  /// What a matcher gets of the view, as bytes.
  static std::vector<std::byte> as_received(matcher::StepView view) {
    view.control = 0;
    const auto sent = encode(MessageToMatcher{1, View{1, view.step, std::move(view)}});
    return encode(decode<MessageToMatcher>(sent));
  }

  template <class Ask>
  std::uint64_t granted(const Ask& ask) {
    const std::uint64_t segment = plain.answer(ask(plain)).segment;
    segments_[segment] = packed.answer(ask(packed)).segment;
    return segment;
  }

  std::map<std::uint64_t, std::uint64_t> segments_;  ///< of `packed`, by those of `plain`
};

/// The group of writers, and what it does with files, at random.
class Writers {
 public:
  Writers(Twins& twins, std::mt19937& random) : twins_(twins), random_(random) { start(); }

  [[nodiscard]] bool are_gone() const noexcept { return processes_.empty(); }
  void start() {
    for (std::uint32_t rank = 0; rank < writers; ++rank) {
      processes_.push_back(twins_.both([&](World& world) {
        return world.process("model", {rank % nodes, 0});
      }));
    }
    last_ = 0;
  }

  /// Writes the file, or a part more. Returns the step, or 0 when a process has died before its close.
  StepId write(const std::string& name, bool again) {
    const StepId step = begin(name, again);
    if (step == 0) return 0;
    const bool is_continued = twins_.plain.registry.step(step).is_continued;
    std::vector<std::uint32_t> order(writers);
    for (std::uint32_t rank = 0; rank < writers; ++rank) order[rank] = rank;
    if (below(2) == 0) std::shuffle(order.begin(), order.end(), random_);
    std::vector<PublishRequest> closes(writers);
    for (const std::uint32_t rank : order) closes[rank] = put(step, rank, is_continued);
    const std::uint32_t dies = below(6) == 0 ? below(writers) : writers;
    for (const std::uint32_t rank : order) {
      if (rank == dies) {
        end();
        return 0;
      }
      if (below(20) == 0) twins_.compare(step);  // who reads what it writes
      if (below(10) == 0) twins_.compare_memory();
      twins_.publish(processes_[rank], closes[rank]);
    }
    last_ = step;
    return step;
  }

 private:
  std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }

  StepId begin(const std::string& name, bool again) {
    const std::uint64_t group = ++group_;
    const StepId continues = again && below(2) == 0 ? last_ : 0;
    StepId step = 0;
    for (std::uint32_t rank = 0; rank < writers; ++rank) {
      Open request{{0, name}, {group, rank, writers, true}, "/files/" + name};
      request.purpose = again ? Purpose::write : Purpose::create;
      request.version = 5;
      request.continues = continues;
      step = twins_.both([&](World& world) {
        const std::uint32_t tag = world.ask(
            [&](const matcher::Ticket& ticket) { world.registry.open(ticket, processes_[rank], request); });
        return world.answer(tag).step;
      });
    }
    return step;
  }

  /// The puts of a process. Some put nothing, and most are alike.
  PublishRequest put(StepId step, std::uint32_t rank, bool is_continued) {
    PublishRequest close{step, 1, {}};
    close.position = {0, 0, 0};
    close.pattern.requests = {rank + 1, 7};
    close.extent.is_known = true;
    close.extent.dimensions = {{0, rank, rank + 1}};
    if (is_continued) return close;
    // What is granted ahead and not used goes back at the close.
    const std::uint64_t ahead = below(4) == 0 ? twins_.granted_ahead(processes_[rank], step, 64 * kib) : 0;
    if (below(8) == 0) return close;
    // Whole segments: what was touched of one before counts as well.
    const std::uint64_t bytes = ahead == 0 && below(6) == 0 ? 208 * kib : 64 * kib;
    const auto granted = [&](SegmentUse use, std::uint64_t wanted) {
      return twins_.granted(processes_[rank], step, wanted, use);
    };
    (void)granted(SegmentUse::table, 4 * kib);
    const bool uses_ahead = ahead != 0 && below(2) == 0;
    const std::uint64_t segment = uses_ahead ? ahead : granted(SegmentUse::data, bytes);
    close.ranges = {{0, 0, bytes, segment, 0}};
    if (below(6) == 0) close.ranges.push_back({0, bytes, 4 * kib, granted(SegmentUse::data, 4 * kib), 0});
    close.position = {1, 96, 0};
    return close;
  }

  void end() {
    for (const ProcessId process : processes_)
      twins_.to_both([&](World& world) { world.registry.disconnect(process); });
    processes_.clear();
  }

  Twins& twins_;
  std::mt19937& random_;
  std::vector<ProcessId> processes_;
  std::uint64_t group_ = 0;
  StepId last_ = 0;
};

}  // namespace

TEST_SUITE("packed logs") {
  TEST_CASE("views, memory and patterns are as without packing, whatever writers and readers do") {
    std::mt19937 random(sluice::test::test_seed());
    for (int run = 0; run < 20; ++run) {
      Twins twins;
      Writers model(twins, random);
      const ProcessId reader = twins.both([](World& world) { return world.process("analysis", {1, 0}); });
      std::vector<std::string> written;
      for (int round = 0; round < 25; ++round) {
        if (model.are_gone()) model.start();
        const bool again = !written.empty() && random() % 3 == 0;
        const std::string name =
            again ? written[random() % written.size()] : "f" + std::to_string(random() % 4) + ".nc";
        const StepId step = model.write(name, again);
        if (step == 0) continue;
        twins.compare(step);
        twins.compare_memory();
        if (std::ranges::find(written, name) == written.end()) written.push_back(name);
        if (random() % 2 == 0) twins.both([&](World& world) { return world.read(reader, name); });
      }
      CHECK(twins.plain.answers.events == twins.packed.answers.events);
      CHECK(twins.plain.answers.erased_steps == twins.packed.answers.erased_steps);
    }
  }

  TEST_CASE("logs of many processes that are alike take a few bytes each, in whatever order they close") {
    for (const bool in_order : {true, false}) {
      LogPackingOfMessages packing;
      constexpr std::uint32_t many = 1000;
      World world({{"*.nc", "model", {"analysis"}, true}}, std::uint64_t{1} << 40, 0, {}, 1, {}, {}, 10'000,
                  200'000, nullptr, {&packing, 1});
      const auto model = world.processes("model", many);
      StepId step = 0;
      for (std::uint32_t rank = 0; rank < many; ++rank)
        step = world.answer(world.create(model[rank], "a.nc", world.member(1, rank, many))).step;
      std::vector<std::uint32_t> order(many);
      for (std::uint32_t rank = 0; rank < many; ++rank) order[rank] = rank;
      std::vector<std::uint64_t> segments;
      for (const std::uint32_t rank : order)
        segments.push_back(world.answer(world.need(model[rank], step, 64 * kib)).segment);
      std::mt19937 random(sluice::test::test_seed());
      if (!in_order) std::shuffle(order.begin(), order.end(), random);
      for (const std::uint32_t rank : order)
        world.registry.close(
            model[rank], {PublishRequest{step, 0, {}, {}, {{0, 0, 64 * kib, segments[rank], 0}}, {0, 0, 0}}});
      const matcher::StepView view = world.registry.step(step).view();
      CHECK(view.logs.empty());
      REQUIRE(view.packed_logs != nullptr);
      CHECK(view.packed_logs->size() < 4 * many);
      const std::vector<matcher::LogView> logs = packing.views(*view.packed_logs);
      REQUIRE(logs.size() == many);
      for (std::uint32_t rank = 0; rank < many; ++rank) {
        REQUIRE(logs[rank].data.size() == 1);
        CHECK(logs[rank].data[0].segment == segments[rank]);
        CHECK(logs[rank].ranges[0].writer == rank);
      }
    }
  }

  TEST_CASE("damaged bytes are an error") {
    const LogPackingOfMessages packing;
    CHECK_THROWS_AS((void)packing.views(std::vector<std::byte>(3)), Error);
    CHECK_THROWS_AS((void)packing.views(std::vector<std::byte>(8, std::byte{0xff})), Error);
  }
}
