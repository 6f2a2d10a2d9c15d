#include "timeline.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "flow_graph.hpp"
#include "json_writer.hpp"
#include "report_page.hpp"
#include "run_figures.hpp"
#include "sluice/formats/error.hpp"
#include "status_text.hpp"
#include "timeline_writer.hpp"

using namespace sluice;
using namespace sluice::coordinator;
using matcher::Activity;

namespace {

const std::string odd = "a\tb\\\n</script><b>&\"";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::filesystem::path directory_for(const std::string& name) {
  const auto directory =
      std::filesystem::temp_directory_path() / ("sluice_timeline_" + name + std::to_string(::getpid()));
  std::filesystem::create_directories(directory);
  return directory;
}

workflows::Workflow flow() {
  workflows::Workflow workflow;
  workflow.name = "waves";
  workflow.components.resize(2);
  workflow.components[0].name = "model";
  workflow.components[0].ranks = 2;
  workflow.components[1].name = "analysis";
  workflow.files = {{{odd, "model", {"analysis"}, {}}}};
  return workflow;
}

runtime::RunView view_at(std::uint64_t time_ms, std::uint64_t wait_us) {
  runtime::RunView view;
  view.now_ms = time_ms;
  view.rules = {{odd, "model", {"analysis"}, {1, 1, 0}}};
  view.nodes = {{50, 100, 60, 0}};
  view.uses = {{0, "analysis", {0, 0, 4, 4000, wait_us, 3}}, {0, "model", {2, 4000, 0, 0, 0, 0}}};
  return view;
}

Timeline recorded(const std::string& name, bool has_end = true) {
  const auto directory = directory_for(name);
  {
    TimelineWriter writer(directory, flow(), 1000);
    writer.component_started("model", 0);
    writer.component_started("analysis", 0);
    runtime::RunView view = view_at(900, 1000);
    view.activities = {{Activity::Kind::write, "model", 1, 0, odd, 100, 300, 2000}};
    writer.add(view, 1000);
    view = view_at(1900, 4000000);
    view.activities = {{Activity::Kind::read, "analysis", matcher::no_rank, 0, odd, 300, 700, 4000},
                       {Activity::Kind::get, "analysis", matcher::no_rank, 0, odd, 400, 600, 4000, 77000}};
    view.lost_activities = 5;
    writer.add(view, 2000);
    writer.component_ended("analysis", 5000, "exited with status 1", 1500);
    writer.warn("a warning");
    if (has_end) writer.end(5100, "failed");
  }
  Timeline timeline = read_timeline(directory);
  std::filesystem::remove_all(directory);
  return timeline;
}

}  // namespace

TEST_CASE("a timeline is read as it was written, with any name") {
  const Timeline timeline = recorded("whole");
  CHECK(timeline.name == "waves");
  CHECK(timeline.began == 1000);
  REQUIRE(timeline.rules.size() == 1);
  CHECK(timeline.rules[0].pattern == odd);
  CHECK(timeline.rules[0].readers == std::vector<std::string>{"analysis"});
  CHECK(timeline.rules[0].totals.files == 1);
  REQUIRE(timeline.activities.size() == 3);
  CHECK(timeline.activities[0].file == odd);
  CHECK(timeline.activities[0].begin_ms == 200);  // 100 ms later by the clock of `sluice run`
  CHECK(timeline.activities[0].rank == 1);
  CHECK(timeline.activities[1].rank == matcher::no_rank);
  CHECK(timeline.activities[2].kind == Activity::Kind::get);
  CHECK(timeline.activities[2].begin_ms == 500);
  CHECK(timeline.activities[2].busy_us == 77000);
  CHECK(timeline.lost_activities == 5);
  REQUIRE(timeline.memory.size() == 1);
  CHECK(timeline.memory[0].size() == 1);  // the second view said nothing new
  REQUIRE(timeline.uses.size() == 2);
  CHECK(timeline.uses[0].counters.open_wait_us == 4000000);
  REQUIRE(timeline.components.size() == 2);
  CHECK(timeline.components[1].end == "exited with status 1");
  CHECK(timeline.components[1].end_ms == 5000);
  CHECK(timeline.components[1].processor_ms == 1500);
  CHECK(timeline.components[0].end_ms == 5100);
  CHECK(timeline.verdict == "failed");
  CHECK(timeline.warnings == std::vector<std::string>{"a warning"});
}

TEST_CASE("lines that are damaged are skipped, and another file is no timeline") {
  const auto directory = directory_for("damaged");
  const auto read = [&](const std::string& text) {
    std::ofstream(directory / timeline_file) << text;
    return read_timeline(directory);
  };
  const std::string head = "sluice-timeline\t1\n";
  CHECK(read(head + "do\tread\ta\t0\t1\t2\t3\t0\tf\ndo\tread\ta\t0\t1\t2\t3\t0\tg").activities.size() == 1);
  CHECK(read(head + "do\tread\ta\tx\t1\t2\t3\t0\tf\n").activities.empty());
  CHECK(read(head + "do\tread\ta\t0\t9\t2\t3\t0\tf\n").activities.empty());
  CHECK(read(head + "do\tdance\ta\t0\t1\t2\t3\t0\tf\ndo\n\nrule\nrule\t7\ta\tb\tc\nreader\t0\tx\n")
            .rules.empty());
  CHECK(read(head + "memory\t1\t4000000000\t1\t1\t1\nmemory\t1\t-1\t1\t1\t1\n").memory.empty());
  CHECK(read(head + "use\t1\tx y\t1\t1\t1\t1\t1\t1\nuse\t1\t3\t1\t1\t1\t1\t1\t1\n").uses.empty());
  const std::string component = head + "component\ta\t1\nexit\t1\ta\tended\n";
  CHECK(read(component).components[0].end == "ended");
  CHECK(read(component + "exit\t2\ta\tended\t30\nexit\t3\ta\tended\t4\n").components[0].processor_ms == 34);
  CHECK(read(component + "exit\t2\ta\tfailed\tx\n").components[0].end == "ended");
  CHECK_THROWS_AS((void)read("sluice-timeline\t2\n"), FormatError);
  CHECK_THROWS_AS((void)read(""), FormatError);
  std::filesystem::remove_all(directory);
  CHECK_THROWS_AS((void)read_timeline(directory), IoError);
}

TEST_CASE("the findings name the writer that others wait for") {
  const RunFigures figures = figures_of(recorded("figures"));
  REQUIRE_FALSE(figures.advice.empty());
  CHECK(figures.advice.front() == "analysis waited 4.0 s of its 5.0 s for " + odd +
                                      ": the writer model is the bottleneck. Give it more ranks");
  CHECK(figures.rules.at(0).put_bytes == 4000);
  CHECK(figures.rules.at(0).get_ms == 400);
  CHECK(figures.peak_bytes == 50);
  const RunFigures killed = figures_of(recorded("killed", false));
  CHECK(contains(killed.advice.back(), "was killed"));
}

TEST_CASE("a rule without files is a finding where its writer has run") {
  Timeline timeline = recorded("nothing");
  timeline.rules[0].totals = {};
  timeline.uses.clear();
  timeline.activities.clear();
  CHECK(figures_of(timeline).advice ==
        std::vector<std::string>{"the timeline lacks 5 periods, because there were too many; totals by rule "
                                 "and component have all"});
  timeline.components[0].end = "exited with status 0";
  CHECK(contains(figures_of(timeline).advice.at(0), "was published: look at the paths"));
}

TEST_CASE("the findings name the rank that begins last") {
  Timeline timeline = recorded("imbalance");
  timeline.activities.clear();
  timeline.components[0].end_ms = 10000;
  const auto put = [&](std::int32_t rank, const std::string& file, std::uint64_t begin_ms) {
    timeline.activities.push_back({Activity::Kind::put, "model", rank, 0, file, begin_ms, begin_ms + 10, 5});
  };
  for (const std::uint64_t time_ms : {0, 4000, 8000}) {
    put(1, "a", time_ms + 1000);
    put(0, "a", time_ms);
    put(0, "b", time_ms);
    put(1, "b", time_ms);
  }
  CHECK(
      contains(figures_of(timeline).advice.at(1),
               "together 3.0 s lie between the first and the last of each step, and rank 1 is the last in"));
}

TEST_CASE("opens by the C library are neither rates nor gets that were matched") {
  Timeline timeline;
  timeline.rules = {{"*.nc", "model", "memory", {"script", "analysis"}, {}}};
  timeline.rules[0].totals.files = 1;
  matcher::RuleUse script{0, "script", {}};
  script.counters.opens = 500;
  script.counters.opened_bytes = 1 << 30;
  timeline.uses = {script};
  runtime::Activity open;
  open.kind = runtime::Activity::Kind::open;
  open.bytes = 1 << 30;
  open.component = "script";
  open.file = "a.nc";
  open.end_ms = 1;
  timeline.activities = {open};
  timeline.verdict = "finished";
  RunFigures figures = figures_of(timeline);
  CHECK(figures.advice.empty());
  CHECK(figures.rules.at(0).matched_gets() == 0);
  CHECK(figures.files.at(0).opened_bytes == 1 << 30);
  CHECK(figures.files.at(0).get_bytes == 0);
  CHECK_FALSE(contains(as_page(timeline, figures), "/s<"));

  matcher::RuleUse analysis{0, "analysis", {}};
  analysis.counters.gets = 500;
  analysis.counters.get_bytes = 4000;
  timeline.uses.push_back(analysis);
  runtime::Activity get = open;
  get.kind = runtime::Activity::Kind::read;
  get.bytes = 4000;
  get.component = "analysis";
  timeline.activities.push_back(get);
  figures = figures_of(timeline);
  CHECK(figures.rules.at(0).matched_gets() == 500);
  CHECK(figures.rules.at(0).get_bytes == 4000);
  CHECK(contains(as_text(graph_of(timeline)), "500 opens of files of 1.00 GiB"));
  CHECK(contains(as_page(timeline, figures), "3.91 KiB"));
  REQUIRE(figures.advice.size() == 1);
  CHECK(contains(figures.advice[0], "100 % of the gets of *.nc were matched anew"));
}

TEST_CASE("no name gets out of its place in the page, the drawing or the figures") {
  const Timeline timeline = recorded("page");
  const RunFigures figures = figures_of(timeline);
  const std::string page = as_page(timeline, figures);
  CHECK_FALSE(contains(page, "</script><b>"));
  CHECK_FALSE(contains(as_svg(graph_of(timeline)), "<b>"));
  CHECK_FALSE(contains(figures_as_json(timeline, figures), "\n"));
  CHECK(json_string("\xff<\x01\u00e9") == "\"?\\u003c\\u0001\u00e9\"");
  CHECK(contains(as_perfetto_trace(timeline, figures_of(timeline)), "\"ts\":200000"));
}

TEST_CASE("components that write for each other are drawn with different places") {
  workflows::Workflow workflow = flow();
  workflow.files.push_back({{"back.nc", "analysis", {"model"}, {}}});
  const std::string drawing = as_svg(graph_of(workflow));
  CHECK(contains(drawing, ">model</text>"));
  CHECK(contains(as_text(graph_of(workflow)), "  writes back.nc (memory)\n    for model"));
}

TEST_CASE("a screen has no line that is too long, and not too many") {
  CHECK(fit_to_screen("12345\nab\nthird\n", 3, 2) == "123\nab\n");
  CHECK(fit_to_screen("\u00e9\u00e9\u00e9\n", 2, 5) == "\u00e9\u00e9\n");
}

TEST_CASE("rates are those since the view before") {
  const Traffic average = traffic_of(view_at(2000, 0));
  CHECK(average.put_rate == doctest::Approx(2000));
  runtime::RunView later = view_at(3000, 0);
  later.uses[1].counters.put_bytes += 500;
  CHECK(traffic_of(later, view_at(2000, 0)).put_rate == doctest::Approx(500));
}

namespace {

/// A run of one rule, whose writer is "model" and whose reader "plot".
Timeline run_of(bool is_stream, std::vector<Activity> activities) {
  Timeline timeline;
  timeline.rules = {{"w", "model", "memory", {"plot"}, {1, 1, 0}, is_stream}};
  timeline.components = {{"model", 2, 0, 10'000, "ended"}, {"plot", 1, 0, 60'000, "ended"}};
  timeline.activities = std::move(activities);
  timeline.end_ms = 60'000;
  timeline.verdict = "finished";
  return timeline;
}

Activity written(const std::string& file, std::int32_t rank, std::uint64_t begin_ms, std::uint64_t end_ms) {
  return {Activity::Kind::write, "model", rank, 0, file, begin_ms, end_ms, 100};
}
Activity read(const std::string& file, std::uint64_t begin_ms, std::uint64_t bytes = 100) {
  return {Activity::Kind::open, "plot", 0, 0, file, begin_ms, begin_ms + 10, bytes};
}

}  // namespace

TEST_CASE("a step is published when the last rank has closed it, and unread until its first open") {
  const Timeline timeline =
      run_of(false, {written("a", 0, 0, 100), written("a", 1, 0, 150), written("b", 1, 200, 250),
                     written("b", 0, 200, 300), read("a", 400), read("a", 500, 0), read("b", 1000)});
  const std::vector<Following> followings = followings_of(timeline);
  REQUIRE(followings.size() == 1);
  const Following& plot = followings.front();
  CHECK(plot.reader == "plot");
  CHECK(plot.steps == 2);
  REQUIRE(plot.uses.size() == 2);
  CHECK(plot.uses[0].written->rank == 1);
  CHECK(plot.uses[0].opened->begin_ms == 400);
  CHECK(plot.most_unread == 2);
  CHECK(plot.longest_delay_ms == 700);
  REQUIRE(plot.unread.size() == 4);
  CHECK(plot.unread[0].time_ms == 150);
  CHECK(plot.unread[3].unread == 0);
}

TEST_CASE("of a file that is written again a reader opens the newest step, in a stream the next one") {
  const std::vector<Activity> activities{written("a", 0, 0, 100),   written("a", 0, 150, 200),
                                         written("a", 0, 250, 300), read("a", 320),
                                         read("a", 330, 0),         read("a", 400)};
  const Timeline files = run_of(false, activities);
  const Following newest = followings_of(files).front();
  CHECK(newest.uses.size() == 1);
  CHECK(newest.uses[0].written->end_ms == 300);
  CHECK(newest.unread.back().unread == 0);  // the older ones are passed
  const Timeline stream = run_of(true, activities);
  const Following next = followings_of(stream).front();
  REQUIRE(next.uses.size() == 2);
  CHECK(next.uses[0].written->end_ms == 100);
  CHECK(next.uses[1].opened->begin_ms == 400);
  CHECK(next.unread.back().unread == 1);
}

TEST_CASE("the findings name the reader that comes late, and only where it is behind") {
  std::vector<Activity> activities;
  for (std::uint64_t i = 0; i < 5; ++i) activities.push_back(written("w" + std::to_string(i), 0, i, i + 1));
  for (std::uint64_t i = 0; i < 5; ++i) activities.push_back(read("w" + std::to_string(i), 10'000 * (i + 1)));
  const Timeline slow = run_of(false, activities);
  const RunFigures figures = figures_of(slow);
  REQUIRE(figures.advice.size() == 1);
  CHECK(contains(figures.advice[0],
                 "plot read the last of w 50.0 s after model had written it, and was up to 5 steps"));
  const Timeline one = run_of(false, {written("w", 0, 0, 1), read("w", 50'000)});
  CHECK(figures_of(one).advice.empty());  // it may have had other things to do
}

TEST_CASE("the findings name the rank that begins its puts last") {
  std::vector<Activity> activities;
  for (std::uint64_t i = 0; i < 5; ++i)
    for (const std::int32_t rank : {0, 1}) {
      const std::uint64_t begin = i * 2000 + (rank == 1 ? 1000 : 0);
      activities.push_back({Activity::Kind::put, "model", rank, 0, "w", begin, begin + 1, 100});
    }
  const Timeline timeline = run_of(false, activities);
  const RunFigures figures = figures_of(timeline);
  REQUIRE(figures.advice.size() == 1);
  CHECK(contains(figures.advice[0], "together 5.0 s lie between"));
  CHECK(contains(figures.advice[0], "rank 1 is the last in 5 of 5 steps"));
}
