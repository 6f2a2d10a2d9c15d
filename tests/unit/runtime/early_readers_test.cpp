// Gets of steps in progress, by publish: sync and publish: write, with a live matcher.
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
  while (matcher.view().waits.empty()) std::this_thread::yield();
}

}  // namespace

TEST_SUITE("readers of what is being written") {
  TEST_CASE("readers see the puts before the last sync, the writer sees all puts") {
    LiveMatcher matcher(rule(PublishAt::sync));
    const auto model = matcher.session("model");
    const auto analysis = matcher.session("analysis");
    Writer step(*model, "a.nc", alone());
    CHECK(step.created.publish_at == PublishAt::sync);
    step.header({3, 2});
    step.put(0, 0, 1, 2, {1, 2});
    step.sync();
    const Opened opened = analysis->open({{0, "a.nc"}, alone()});
    const auto logs = analysis->step_logs(opened.step);  // kept while the step is open
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
    std::shared_ptr<LogRangeMap> logs;  // kept while the step is open
    for (std::int64_t row = 0; row < rows; ++row) {
      step.put(row, 0, 1, 1, {static_cast<std::int32_t>(row)});
      if (row % 777 != 0) continue;
      step.sync();
      if (row + 1 < rows)
        step.put(row + 1, 0, 1, 1, {-1});  // readers must not see it: the next put overwrites it
      if (opened == 0) {
        opened = analysis->open({{0, "a.nc"}, alone()}).step;
        logs = analysis->step_logs(opened);
      }
      const Values seen = get(*analysis, opened, 0, 0, rows, 1);
      CHECK(seen[static_cast<std::size_t>(row)] == row);
      CHECK(std::ranges::count(seen, fill_value) == rows - row - 1);
    }
  }

  TEST_CASE("an empty get tells the number of records at the last sync") {
    LiveMatcher matcher(rule(PublishAt::sync));
    const auto model = matcher.session("model");
    const auto analysis = matcher.session("analysis");
    Writer step(*model, "a.nc", alone());
    step.header({3, 2});
    step.sync(4);
    const Opened opened = analysis->open({{0, "a.nc"}, alone()});
    const auto logs = analysis->step_logs(opened.step);  // kept while the step is open
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
    const Opened opened = analysis->open({{0, "a.nc"}, alone()});
    const auto logs = analysis->step_logs(opened.step);  // kept while the step is open
    step.put(0, 0, 1, 2, {1, 2});
    CHECK_FALSE(control.take_awaited());  // no get waits
    CHECK(get(*analysis, opened.step, 0, 0, 1, 2) == Values{1, 2});
    CHECK_FALSE(control.take_awaited());
    std::atomic<bool> has_come = false;
    std::thread reader([&] {
      CHECK(get(*analysis, opened.step, 1, 0, 2, 2) == Values{3, 4, 5, 6});
      has_come = true;
    });
    wait_for_a_wait(matcher);
    CHECK(matcher.view().waits[0].waits_for == "data of 'a.nc' (variable v), which model has not put yet");
    step.put(1, 0, 1, 2, {3, 4});
    REQUIRE(control.take_awaited());
    CHECK_FALSE(control.take_awaited());
    model->announce_put({step.step});
    while (!control.take_awaited()) std::this_thread::yield();  // until the get waits again
    CHECK_FALSE(has_come);
    step.put(2, 0, 1, 2, {5, 6});
    model->announce_put({step.step});
    reader.join();
    CHECK(matcher.view().waits.empty());
    step.publish();
  }

  TEST_CASE("a waiting get gives fill values when the step ends, by a close or by a death") {
    for (const bool is_killed : {false, true}) {
      CAPTURE(is_killed);
      LiveMatcher matcher(rule(PublishAt::write));
      auto model = matcher.session("model");
      const auto analysis = matcher.session("analysis");
      std::thread reader;
      std::shared_ptr<LogRangeMap> logs;  // kept while the step is open
      {
        Writer step(*model, "a.nc", alone());
        step.header({2, 2});
        step.put(0, 0, 1, 2, {1, 2});
        const Opened opened = analysis->open({{0, "a.nc"}, alone()});
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

  TEST_CASE("readers keep exactly the synced data of a killed writer") {
    LiveMatcher matcher(rule(PublishAt::sync));
    auto model = matcher.session("model");
    const auto analysis = matcher.session("analysis");
    Opened opened;
    std::shared_ptr<LogRangeMap> logs;  // kept while the step is open
    {
      Writer step(*model, "a.nc", alone());
      step.header({2, 2});
      step.put(0, 0, 1, 2, {1, 2});
      step.sync(5);
      step.put(1, 0, 1, 2, {3, 4});
      opened = analysis->open({{0, "a.nc"}, alone()});
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
