// Gets of steps that are still written: publish: sync and publish: write, with a live matcher.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "sluice/runtime/group_control.hpp"
#include "unit/runtime/live_matcher.hpp"

using namespace sluice;
using namespace sluice::runtime;
using namespace sluice::runtime::test;

namespace {

using Values = std::vector<std::int32_t>;

std::vector<FileRule> rule(PublishAt publish_at) {
  return {{"*.nc", "model", {"analysis"}, true, publish_at}};
}

GroupControl control_of(Session& session, const Writer& writer) {
  return {session.segments().mapping(writer.created.control, Mapping::Access::read_write), 0, 1,
          [] { return true; }};
}

void wait_for_a_wait(LiveMatcher& matcher) {
  while (matcher.status().waits.empty()) std::this_thread::yield();
}

}  // namespace

TEST_SUITE("readers of what is being written") {
  TEST_CASE("readers see what was put before the last sync, the writer sees all") {
    LiveMatcher matcher(rule(PublishAt::sync));
    const auto model = matcher.session("model");
    const auto analysis = matcher.session("analysis");
    Writer step(*model, "a.nc", alone());
    CHECK(step.created.publish_at == PublishAt::sync);
    step.header({3, 2});
    step.put(0, 0, 1, 2, {1, 2});
    step.sync();
    const Opened opened = analysis->open({{0, "a.nc"}, alone()}, false);
    const auto logs = analysis->step_logs(opened.step);  // as long as it is open
    CHECK(opened.publish_at == PublishAt::sync);
    CHECK(opened.control == 0);
    step.put(1, 0, 1, 2, {3, 4});
    CHECK(get(*analysis, opened.step, 0, 0, 3, 2) == Values{1, 2, -7, -7, -7, -7});
    const Plans own = model->get(sluice::test::get_request(step.step, 0, {{{1, 0}, {1, 2}, {}}}, true));
    std::size_t position = 0;
    CHECK_FALSE(replay::decode_plan(own.plans, position).needs_fill);
    CHECK(get(*analysis, opened.step, 0, 0, 3, 2) == Values{1, 2, -7, -7, -7, -7});
    step.sync();
    step.put(2, 0, 1, 2, {5, 6});
    CHECK(get(*analysis, opened.step, 0, 0, 3, 2) == Values{1, 2, 3, 4, -7, -7});
    step.publish();
    matcher.settle();
    CHECK(get(*analysis, opened.step, 0, 0, 3, 2) == Values{1, 2, 3, 4, 5, 6});
    CHECK(read_file(*analysis, "a.nc", {3, 2}) == Values{1, 2, 3, 4, 5, 6});
  }

  TEST_CASE("syncs end anywhere in the request tables, of which there are many") {
    LiveMatcher matcher(rule(PublishAt::sync));
    const auto model = matcher.session("model");
    const auto analysis = matcher.session("analysis");
    const std::int64_t rows = 20000;
    Writer step(*model, "a.nc", alone());
    step.header({rows, 1});
    std::uint64_t opened = 0;
    std::shared_ptr<StepLogs> logs;  // kept as long as the step is open
    for (std::int64_t row = 0; row < rows; ++row) {
      step.put(row, 0, 1, 1, {static_cast<std::int32_t>(row)});
      if (row % 777 != 0) continue;
      step.sync();
      if (row + 1 < rows) step.put(row + 1, 0, 1, 1, {-1});  // not to be seen; the next put hides it
      if (opened == 0) {
        opened = analysis->open({{0, "a.nc"}, alone()}, false).step;
        logs = analysis->step_logs(opened);
      }
      const Values seen = get(*analysis, opened, 0, 0, rows, 1);
      CHECK(seen[static_cast<std::size_t>(row)] == row);
      CHECK(std::ranges::count(seen, fill_value) == rows - row - 1);
    }
  }

  TEST_CASE("the number of records of the last sync is told by a get of nothing") {
    LiveMatcher matcher(rule(PublishAt::sync));
    const auto model = matcher.session("model");
    const auto analysis = matcher.session("analysis");
    Writer step(*model, "a.nc", alone());
    step.header({3, 2});
    step.sync(4);
    const Opened opened = analysis->open({{0, "a.nc"}, alone()}, false);
    const auto logs = analysis->step_logs(opened.step);  // as long as it is open
    CHECK(opened.record_count == 4);
    CHECK(analysis->get({opened.step, {}}).record_count == 4);
    step.sync(6);
    CHECK(analysis->get({opened.step, {}}).record_count == 6);
  }

  TEST_CASE("a get waits until all that it asks for is put, and the writer is asked to tell once") {
    LiveMatcher matcher(rule(PublishAt::write));
    const auto model = matcher.session("model");
    const auto analysis = matcher.session("analysis");
    Writer step(*model, "a.nc", alone());
    step.header({3, 2});
    GroupControl control = control_of(*model, step);
    const Opened opened = analysis->open({{0, "a.nc"}, alone()}, false);
    const auto logs = analysis->step_logs(opened.step);  // as long as it is open
    step.put(0, 0, 1, 2, {1, 2});
    CHECK_FALSE(control.take_awaited());  // nobody waits
    CHECK(get(*analysis, opened.step, 0, 0, 1, 2) == Values{1, 2});
    CHECK_FALSE(control.take_awaited());
    std::atomic<bool> has_come = false;
    std::thread reader([&] {
      CHECK(get(*analysis, opened.step, 1, 0, 2, 2) == Values{3, 4, 5, 6});
      has_come = true;
    });
    wait_for_a_wait(matcher);
    CHECK(matcher.status().waits[0].waits_for == "data of 'a.nc' (variable v), which model has not put yet");
    step.put(1, 0, 1, 2, {3, 4});
    REQUIRE(control.take_awaited());
    CHECK_FALSE(control.take_awaited());
    model->announce_put({step.step});
    while (!control.take_awaited()) std::this_thread::yield();  // it waits again
    CHECK_FALSE(has_come);
    step.put(2, 0, 1, 2, {5, 6});
    model->announce_put({step.step});
    reader.join();
    CHECK(matcher.status().waits.empty());
    step.publish();
  }

  TEST_CASE("what a get waits for reads as fill values when the step ends, by a close or by a death") {
    for (const bool is_killed : {false, true}) {
      CAPTURE(is_killed);
      LiveMatcher matcher(rule(PublishAt::write));
      auto model = matcher.session("model");
      const auto analysis = matcher.session("analysis");
      std::thread reader;
      std::shared_ptr<StepLogs> logs;  // kept as long as the step is open
      {
        Writer step(*model, "a.nc", alone());
        step.header({2, 2});
        step.put(0, 0, 1, 2, {1, 2});
        const Opened opened = analysis->open({{0, "a.nc"}, alone()}, false);
        logs = analysis->step_logs(opened.step);
        reader = std::thread([&, opened] {
          CHECK(get(*analysis, opened.step, 0, 0, 2, 2) == Values{1, 2, -7, -7});
        });
        wait_for_a_wait(matcher);
        if (!is_killed) step.publish();
      }
      if (is_killed) model.reset();
      reader.join();
      CHECK(matcher.has_event("ends with what was put so far") == is_killed);
      CHECK(read_file(*analysis, "a.nc", {2, 2}) == Values{1, 2, -7, -7});
    }
  }

  TEST_CASE("of a writer that was killed readers have what it had synced, and no more") {
    LiveMatcher matcher(rule(PublishAt::sync));
    auto model = matcher.session("model");
    const auto analysis = matcher.session("analysis");
    Opened opened;
    std::shared_ptr<StepLogs> logs;  // kept as long as the step is open
    {
      Writer step(*model, "a.nc", alone());
      step.header({2, 2});
      step.put(0, 0, 1, 2, {1, 2});
      step.sync(5);
      step.put(1, 0, 1, 2, {3, 4});
      opened = analysis->open({{0, "a.nc"}, alone()}, false);
      logs = analysis->step_logs(opened.step);
      CHECK(get(*analysis, opened.step, 0, 0, 2, 2) == Values{1, 2, -7, -7});
    }
    model.reset();
    CHECK(matcher.has_event("ends with what was put before the last ncmpi_sync"));
    CHECK(get(*analysis, opened.step, 0, 0, 2, 2) == Values{1, 2, -7, -7});
    CHECK(analysis->get({opened.step, {}}).record_count == 5);
    CHECK(read_file(*analysis, "a.nc", {2, 2}) == Values{1, 2, -7, -7});
  }
}
