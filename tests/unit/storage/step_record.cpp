#include "sluice/storage/step_record.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <random>
#include <span>
#include <thread>

#include "sluice/formats/error.hpp"
#include "sluice/storage/faulty_file_system.hpp"
#include "sluice/storage/memory_file_system.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "sluice/storage/tab_line.hpp"
#include "support/power_cut_file_system.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::storage;

namespace {

const std::string path = "/log/steps.tsv";
const RecordedRule rule_of_two{{"a", "b"}};

/// A record in memory, and its recorder.
struct World {
  explicit World(std::vector<RecordedRule> rules = {rule_of_two}) : rules_(std::move(rules)) {
    write_step_record(files, path, {});
    recorder = std::make_unique<StepRecorder>(files, path, rules_);
  }
  void begin(std::uint64_t step, const std::string& name) {
    recorder->begin(step, {0, name, "/data/" + name});
  }
  void write(std::uint64_t step, const std::string& name) {
    begin(step, name);
    recorder->publish(step, {5, step, 1});
  }
  [[nodiscard]] StepRecord read() { return read_step_record(files, path); }

  MemoryFileSystem files;
  std::vector<RecordedRule> rules_;
  std::unique_ptr<StepRecorder> recorder;
};

}  // namespace

TEST_CASE("cells of a line may have tabs, line feeds and backslashes") {
  const std::string text = "a\tb\nc\\d\\t";
  CHECK(encode_cell(text).find_first_of("\t\n") == std::string::npos);
  CHECK(decode_cells("x\t" + encode_cell(text) + "\t") == std::vector<std::string>{"x", text, ""});
}

TEST_CASE("a record says what is begun, published, read and on disk") {
  World world;
  world.write(1, "one\t.nc");
  world.begin(2, "two.nc");
  world.recorder->read(1, "a");
  world.recorder->note_file(1, "/data/one.nc");
  world.recorder->note_log_directory("/scratch");
  const StepRecord record = world.read();
  REQUIRE(record.steps.size() == 2);
  CHECK(record.steps.at(1) ==
        RecordedStep{0, "one\t.nc", "/data/one\t.nc", 1, 5, 1, 0, "/data/one.nc", {"a"}});
  CHECK_FALSE(record.steps.at(2).is_published());
  CHECK(record.log_directories == std::set<std::string>{"/scratch"});
  CHECK(record.steps == world.recorder->record().steps);
}

TEST_CASE("a step that all have read goes, unless a file has it") {
  World world;
  world.write(1, "one.nc");
  world.write(2, "two.nc");
  world.recorder->note_file(2, "/data/two.nc");
  for (const std::uint64_t step : {1U, 2U})
    for (const char* reader : {"a", "b"}) world.recorder->read(step, reader);
  CHECK(world.read().published() == std::vector<std::uint64_t>{2});
  world.recorder->erase(2);  // its memory only
  CHECK(world.read().steps.contains(2));
  world.recorder->remove(0, "two.nc");
  CHECK(world.read().steps.empty());
}

TEST_CASE("the last reader of a step costs one line") {
  World world;
  world.write(1, "one.nc");
  const auto lines = [&] {
    const auto file = world.files.open(path, OpenMode::read);
    std::string text(static_cast<std::size_t>(file->size_bytes()), '\0');
    (void)file->read(0, std::as_writable_bytes(std::span(text)));
    return std::ranges::count(text, '\n');
  };
  const auto before = lines();
  world.recorder->read(1, "a");
  CHECK(lines() == before + 1);
  world.recorder->read(1, "b");
  CHECK(lines() == before + 2);
  CHECK(world.read().steps.empty());
}

TEST_CASE("where each step is written to its file, a step that all have read stays until it is erased") {
  World world({{{"a"}, {}, false, false, true}});
  world.write(1, "one.nc");
  world.recorder->read(1, "a");
  CHECK(world.read().published() == std::vector<std::uint64_t>{1});
  world.recorder->erase(1);
  CHECK(world.read().steps.empty());
}

TEST_CASE("what is lost stays: steps that a reader has not read, and steps that were not published") {
  World world;
  for (const char* name : {"read", "unread"}) world.write(name[0] == 'r' ? 1 : 2, name);
  world.begin(3, "unfinished");
  world.recorder->read(1, "a");
  world.recorder->read(1, "b");
  world.recorder->read(2, "a");
  for (const std::uint64_t step : {1U, 2U, 3U}) world.recorder->erase(step);
  CHECK(world.read().published() == std::vector<std::uint64_t>{2});
  CHECK(world.read().steps.at(2).readers == std::set<std::string>{"a"});
  CHECK(world.read().steps.contains(3));
  SUBCASE("until the writer begins and publishes them again") {
    world.begin(4, "unfinished");
    CHECK_FALSE(world.read().steps.contains(3));
    world.write(5, "unread");
    CHECK(world.read().published() == std::vector<std::uint64_t>{5});
  }
  SUBCASE("until the writer has given them up") {
    world.recorder->give_up(2);
    world.recorder->give_up(3);
    CHECK(world.read().steps.size() == 1);
  }
  SUBCASE("until the writer has ended well") {
    world.begin(4, "in progress");
    world.recorder->writer_done(1);
    CHECK(world.read().steps.contains(3));
    world.recorder->writer_done(0);
    CHECK_FALSE(world.read().steps.contains(3));
    CHECK(world.read().steps.size() == 2);
  }
}

TEST_CASE("of what is lost, the record names the last ones, and counts the others") {
  World world({{{"a"}}});
  constexpr std::uint64_t steps = 30000;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    world.write(step, std::to_string(step));
    world.recorder->erase(step);
  }
  CHECK(world.read().steps.size() == StepRecorder::most_left);
  CHECK(world.read().steps.contains(steps));
  CHECK(world.read().unnamed == steps - StepRecorder::most_left);
  CHECK(world.files.open(path, OpenMode::read)->size_bytes() < 3 << 20);
}

TEST_CASE("in a stream, unread steps stay when the name is removed, and the file has none of them") {
  World world({{{"a"}, {}, true}});
  for (const std::uint64_t step : {1U, 2U}) world.write(step, "s.nc");
  world.recorder->note_file(1, "/log/steps/1-s.nc");
  world.recorder->note_file(2, "/data/s.nc");
  world.recorder->remove(0, "s.nc");
  CHECK(world.read().published() == std::vector<std::uint64_t>{1, 2});
  CHECK(world.read().steps.at(1).file == "/log/steps/1-s.nc");
  CHECK(world.read().steps.at(2).file.empty());
}

TEST_CASE("a name that is published again takes the place of the earlier one") {
  World world;
  world.write(1, "one.nc");
  world.begin(2, "one.nc");
  CHECK(world.read().published() == std::vector<std::uint64_t>{1});
  world.recorder->publish(2, {5, 2, 2});
  CHECK(world.read().published() == std::vector<std::uint64_t>{2});
}

TEST_CASE("in a stream each step stays until it is read, and the file is of the newest drained one") {
  World world({{{"a"}, {}, true}});
  for (const std::uint64_t step : {1U, 2U, 3U}) world.write(step, "s.nc");
  world.recorder->note_file(1, "/data/s.nc");
  world.recorder->note_file(2, "/data/s.nc");
  CHECK(world.read().steps.at(1).file.empty());
  CHECK(world.read().steps.at(2).file == "/data/s.nc");
  world.recorder->read(2, "a");
  CHECK(world.read().published() == std::vector<std::uint64_t>{1, 3});
}

TEST_CASE("who takes the newest step alone has read the earlier ones") {
  World world({{{"a", "b"}, {"b"}}});
  for (const std::uint64_t step : {1U, 2U}) world.write(step, std::to_string(step));
  CHECK(world.read().steps.at(1).readers == std::set<std::string>{"b"});
  world.recorder->read(1, "a");
  CHECK(world.read().published() == std::vector<std::uint64_t>{2});
}

TEST_CASE(
    "a step that the newest one drops is followed by the others, and in a stream only the same name counts") {
  World latest({{{"b"}, {"b"}}});
  for (const std::uint64_t step : {1U, 2U, 3U, 4U})
    latest.recorder->begin(step, {0, std::to_string(step), "/data/" + std::to_string(step)});
  for (const std::uint64_t step : {2U, 4U, 3U}) latest.recorder->publish(step, {5, step, 0});
  CHECK(latest.read().published() == std::vector<std::uint64_t>{3});
  World stream({{{"b"}, {"b"}, true}});
  stream.write(1, "s.nc");
  stream.write(2, "t.nc");
  stream.write(3, "s.nc");
  CHECK(stream.read().published() == std::vector<std::uint64_t>{2, 3});
}

TEST_CASE("in files, a name that is begun again is gone, and a published one is its own file") {
  World world({{{"a"}, {}, false, true}});
  world.write(1, "one.nc");
  CHECK(world.read().steps.at(1).file == "/data/one.nc");
  world.begin(2, "one.nc");
  CHECK(world.read().published().empty());
}

TEST_CASE("a last line that is torn is skipped, and a recovered step is added behind it") {
  World world;
  world.write(1, "one.nc");
  world.begin(2, "two.nc");
  const auto file = world.files.open(path, OpenMode::update);
  const std::string torn = "published\t2";
  file->write(file->size_bytes(), std::as_bytes(std::span(torn)));
  CHECK(world.read().published() == std::vector<std::uint64_t>{1});
  RecordedStep step = world.read().steps.at(2);
  step.file = "/data/two.nc";
  note_recovered(world.files, path, 2, step);
  CHECK(world.read().steps.at(2).file == "/data/two.nc");
  CHECK(world.read().published() == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("the record of many steps that are read is bounded, and none is missing") {
  World world({{{"a"}}});
  std::int64_t largest = 0;
  constexpr std::uint64_t steps = 30000;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    world.write(step, "wave_" + std::to_string(step) + ".nc");
    if (step % 1000 != 0) world.recorder->read(step, "a");
    if (step % 100 == 0) largest = std::max(largest, world.files.open(path, OpenMode::read)->size_bytes());
  }
  CHECK(largest < 3 << 20);
  CHECK(world.read().published().size() == steps / 1000);
  CHECK(world.recorder->failure().empty());
}

TEST_CASE("a recorder goes on with a record, and another file is refused") {
  World world;
  world.write(1, "one.nc");
  const StepRecord before = world.read();
  StepRecorder next(world.files, path, {rule_of_two});
  CHECK(next.record().steps == before.steps);
  const auto file = world.files.open("/log/other", OpenMode::create);
  const std::string text = "something\n";
  file->write(0, std::as_bytes(std::span(text)));
  CHECK_THROWS_AS((void)read_step_record(world.files, "/log/other"), FormatError);
}

TEST_CASE("a recorder that finds the disk full has what was there, and says why nothing is added") {
  World world;
  world.write(1, "x");
  world.recorder.reset();
  FaultyFileSystem full(world.files, [](const FileOperation& operation) {
    return operation.kind == FileOperation::Kind::write ? Fault{.error_number = ENOSPC} : Fault{};
  });
  StepRecorder recorder(full, path, {rule_of_two});
  CHECK(recorder.record().published() == std::vector<std::uint64_t>{1});
  CHECK(recorder.failure() != "");
  recorder.begin(2, {0, "y", "/data/y"});
  CHECK(world.read().steps.size() == 1);
  CHECK_FALSE(world.files.exists(path + ".part"));
}

TEST_CASE("after a power failure, a record that was being written anew is the old one or the new one") {
  StepRecord before;
  before.steps[1] = {0, "one.nc", "/data/one.nc"};
  StepRecord after = before;
  after.steps[2] = {0, "two.nc", "/data/two.nc"};
  test::PowerCutFileSystem files;
  write_step_record(files, path, before);
  const auto steps_left = [&](MemoryFileSystem& left) { return read_step_record(left, path).steps; };
  std::size_t changes = 0;
  files.on_change = [&] {
    ++changes;
    test::after_power_failure(files, [&](MemoryFileSystem& left) {
      const auto found = steps_left(left);
      CHECK((found == before.steps || found == after.steps));
    });
  };
  write_step_record(files, path, after);
  CHECK(changes >= 4);
  test::after_power_failure(files, [&](MemoryFileSystem& left) { CHECK(steps_left(left) == after.steps); });
}

TEST_CASE("after a power failure, the record has what it was told before it was written anew or recovered") {
  test::PowerCutFileSystem files;
  write_step_record(files, path, {});
  StepRecorder recorder(files, path, {rule_of_two});
  std::uint64_t step = 0;
  const auto size = [&] { return files.open(path, OpenMode::read)->size_bytes(); };
  for (std::int64_t last = size(); size() >= last;) {  // until it is written anew
    last = size();
    ++step;
    recorder.begin(step, {0, std::to_string(step), "/data/" + std::to_string(step)});
    recorder.publish(step, {5, step, 1});
    recorder.read(step, "a");
    recorder.read(step, "b");
  }
  test::after_power_failure(files, [&](MemoryFileSystem& left) {
    CHECK(read_step_record(left, path).counts ==
          std::map<StepRecord::Sequence, std::uint64_t>{{{0, {}}, step}});
  });
  recorder.begin(step + 1, {0, "x", "/data/x"});
  note_recovered(files, path, step + 1, {0, "x", "/data/x", 0, 5, step + 1, 0, "/recovered"});
  test::after_power_failure(files, [&](MemoryFileSystem& left) {
    CHECK(read_step_record(left, path).steps.at(step + 1).file == "/recovered");
  });
}

TEST_CASE("steps that are gone count, also in a record that was written anew") {
  World world({{{"a"}}});
  for (const std::uint64_t step : {1U, 2U, 3U}) world.write(step, std::to_string(step) + ".nc");
  for (const std::uint64_t step : {1U, 2U, 3U}) world.recorder->read(step, "a");
  const StepRecorder next(world.files, path, {rule_of_two});
  CHECK(world.read().steps.empty());
  CHECK(world.read().counts == std::map<StepRecord::Sequence, std::uint64_t>{{{0, {}}, 3}});
}

TEST_CASE("in streams the steps of each name are counted, and all together") {
  World world({{{"a"}, {}, true}});
  world.write(1, "s.nc");
  world.begin(2, "t.nc");
  world.recorder->publish(2, {5, 2, 1});
  StepRecord record = world.read();
  CHECK(record.counts ==
        std::map<StepRecord::Sequence, std::uint64_t>{{{0, {}}, 2}, {{0, "s.nc"}, 1}, {{0, "t.nc"}, 1}});
  record.publish_next(record.steps[3] = {0, "t.nc", "/data/t.nc"}, true);
  CHECK(record.steps.at(3).number == 3);
  CHECK(record.steps.at(3).stream_number == 2);
}

TEST_CASE(
    "a record that is closed ends with its last line, and one that is open may have zero bytes behind it") {
  const auto directory = std::filesystem::temp_directory_path() / ("record-" + std::to_string(::getpid()));
  std::filesystem::create_directory(directory);
  const std::string file = directory / "steps.tsv";
  PosixFileSystem files;
  write_step_record(files, file, {});
  const std::string line = "begin\t1\t0\ta.nc\t/a.nc\n";
  {
    StepRecorder recorder(files, file, {rule_of_two});
    const auto empty = static_cast<std::int64_t>(std::string_view("sluice-steps\t2\n").size());
    recorder.begin(1, {0, "a.nc", "/a.nc"});
    CHECK(read_step_record(files, file).steps.size() == 1);
    CHECK(files.open(file, OpenMode::read)->size_bytes() >= empty + std::ssize(line));
  }
  CHECK(files.open(file, OpenMode::read)->size_bytes() ==
        std::ssize(std::string("sluice-steps\t2\n") + line));
  std::filesystem::remove_all(directory);
}

TEST_CASE(
    "a recorder that is killed leaves every line that it has told, and a step can be added behind them") {
  const auto directory = std::filesystem::temp_directory_path() / ("killed-" + std::to_string(::getpid()));
  std::filesystem::create_directory(directory);
  const std::string file = directory / "steps.tsv";
  PosixFileSystem files;
  std::mt19937_64 random(test::test_seed(7));
  for (int kill = 0; kill < 20; ++kill) {
    write_step_record(files, file, {});
    int told[2];
    REQUIRE(::pipe(told) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      RecordedRule rule{{"a", "b"}};
      rule.is_stream = true;
      StepRecorder recorder(files, file, {rule});
      for (std::uint64_t step = 1;; ++step) {
        const std::string name = "name-of-" + std::to_string(step);
        recorder.begin(step, {0, name, "/data/" + name});
        recorder.publish(step, {5, step, 1});
        if (::write(told[1], &step, sizeof step) != sizeof step) ::_exit(1);
        if (step > 100) recorder.read(step - 100, "a"), recorder.read(step - 100, "b");
      }
    }
    ::close(told[1]);
    std::uint64_t last = 0;
    const std::uint64_t enough = 1 + random() % 20000;
    while (last < enough && ::read(told[0], &last, sizeof last) == sizeof last) {
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    while (::read(told[0], &last, sizeof last) == sizeof last) {
    }
    ::close(told[0]);
    REQUIRE(last >= enough);
    note_recovered(files, file, last, {0, "x", "/x", 0, 5, last, 1, "/recovered"});
    const StepRecord record = read_step_record(files, file);
    CHECK(record.steps.at(last).file == "/recovered");
    for (const auto& [step, facts] : record.steps) {
      CHECK(facts.name == "name-of-" + std::to_string(step));
      CHECK(facts.path == "/data/" + facts.name);
      CHECK((step > last || facts.is_published()));
    }
    for (std::uint64_t step = last > 99 ? last - 99 : 1; step <= last; ++step)
      CHECK(record.steps.contains(step));
  }
  std::filesystem::remove_all(directory);
}
