// A disk on which reserving space, returning it, and removing files take as long as the test wants
// (slow_disk.c). Only processes that need the disk may wait for it.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "live_matcher.hpp"
#include "sluice/storage/posix_file_system.hpp"

using namespace sluice;
using namespace sluice::runtime;
using namespace sluice::runtime::test;

namespace {

class SlowDisk {
 public:
  enum class Slow { all, cuts };
  explicit SlowDisk(Slow slow = Slow::all) {
    if (slow == Slow::cuts) ::setenv("SLUICE_TEST_SLOW_CUT", "1", 1);
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    ::setenv("LD_PRELOAD", SLUICE_SLOW_DISK, 1);
    ::setenv("SLUICE_TEST_SLOW_DISK", directory.c_str(), 1);
  }
  ~SlowDisk() {
    ::unsetenv("LD_PRELOAD");
    ::unsetenv("SLUICE_TEST_SLOW_CUT");
    open();
  }
  SlowDisk(const SlowDisk&) = delete;
  SlowDisk& operator=(const SlowDisk&) = delete;

  void close() const {
    std::filesystem::remove(directory + "/waiting");
    std::ofstream(directory + "/closed").put('x');
  }
  void open() const { std::filesystem::remove(directory + "/closed"); }
  [[nodiscard]] bool is_waited_for() const { return std::filesystem::exists(directory + "/waiting"); }
  void await_somebody() const {
    while (!is_waited_for()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  /// The test opened the disk; no operation gave up.
  [[nodiscard]] bool has_held() const { return !std::filesystem::exists(directory + "/gave_up"); }

  const std::string directory = std::filesystem::absolute("slow_disk." + std::to_string(::getpid())).string();
};

constexpr Shape small{2, 2};
constexpr Shape row{1, 4};
const std::vector<std::int32_t> values_of_row{1, 2, 3, 4};

std::vector<FileRule> rules_with_logs() {
  auto rules = one_rule();
  rules.push_back({"*.log", "model", {"analysis"}});
  rules.back().through = matcher::Through::burst_buffer;
  return rules;
}

/// The two files of a burst-buffer log.
struct LogFile {
  static constexpr std::uint64_t bytes = mib;
  explicit LogFile(const std::string& directory)
      : metadata(directory + "/a_1_0.meta"), data(directory + "/a_1_0.data") {
    storage::PosixFileSystem system;
    for (const std::string& file : {metadata, data})
      system.open(file, storage::OpenMode::create)->write(0, std::vector<std::byte>(bytes, std::byte{1}));
  }
  std::string metadata;
  std::string data;
};

/// Data segments are parts of the log.
class LoggedSegments final : public SegmentSource {
 public:
  LoggedSegments(Session& session, const LogFile& log) : session_(session), log_(log) {}
  WritableSegment need_segment(const SegmentRequest& request) override {
    SegmentRequest logged = request;
    if (request.use == SegmentUse::data) {
      logged.log = {log_.metadata, 0};
      logged.bytes = logged.wanted_bytes = LogFile::bytes;
    }
    return session_.need_segment(logged);
  }

 private:
  Session& session_;
  const LogFile& log_;
};

void put_row(Session& session, std::uint64_t step, WriteLog& log) {
  const HeaderRequest header{step, header_of(row)};
  (void)session.prepare(&header, {});
  const std::uint64_t bytes = values_of_row.size() * sizeof(std::int32_t);
  const auto room = log.reserve(bytes);
  std::memcpy(room.data, values_of_row.data(), bytes);
  const std::array<std::int64_t, 2> start{0, 0};
  const std::array<std::int64_t, 2> count{row.rows, row.columns};
  log.append_request(0, log.next_sequence(), room.log_offset, {start, count, {}});
  log.commit();
  log.finish();
}

/// The matcher answers others.
void write_and_read_another(const LiveMatcher& matcher, std::int32_t value) {
  const auto model = matcher.session("model");
  write_file(*model, "small.nc", small, value);
  const auto reader = matcher.session("analysis");
  CHECK(read_file(*reader, "small.nc", small) == std::vector<std::int32_t>(4, value));
}

}  // namespace

TEST_SUITE("a matcher with a slow disk") {
  TEST_CASE("others are answered while room on disk is reserved, and while it is given back") {
    const SlowDisk disk;
    LiveMatcher matcher(one_rule(), mib, {}, {disk.directory});
    const auto large = matcher.session("model");
    Writer writer(*large, "large.nc", alone());
    disk.close();
    std::atomic<bool> has_put = false;
    std::thread putting([&] {
      writer.put(0, 0, 1024, 1024, std::vector<std::int32_t>(1024 * 1024, 5));  // larger than memory
      has_put = true;
    });
    disk.await_somebody();
    const auto other = matcher.session("model");
    write_file(*other, "small.nc", small, 1);
    CHECK(matcher.view().waits.size() == 1);
    CHECK_FALSE(has_put);
    disk.open();
    putting.join();
    CHECK(has_put);
    CHECK(matcher.view().nodes.at(0).spilled_bytes >= 4 * mib);

    disk.close();
    large->close({Discard{writer.step}});
    disk.await_somebody();
    const auto reader = matcher.session("analysis");
    CHECK(read_file(*reader, "small.nc", small) == std::vector<std::int32_t>(4, 1));
    write_file(*other, "next.nc", small, 2);
    disk.open();
    CHECK(disk.has_held());
  }

  TEST_CASE("a process that ends while its segment is made leaves nothing behind") {
    const SlowDisk disk;
    LiveMatcher matcher(one_rule(), mib, {}, {disk.directory});
    disk.close();
    {
      const auto connection = matcher.connection("model", 77);
      connection.send(
          {MessageType::open, 2, encode(Open{{0, "large.nc"}, alone(), {}, Purpose::create, {}, 5})});
      std::optional<ReceivedMessage> created;
      do {
        created = connection.receive();
      } while (created && created->type != MessageType::opened);
      REQUIRE(created);
      const auto step = decode<Opened>(created->fields).step;
      connection.send(
          {MessageType::need_segment, 3, encode(SegmentRequest{step, SegmentUse::data, 4 * mib, 0})});
      disk.await_somebody();
    }
    matcher.settle();
    disk.open();
    while (matcher.view().nodes.at(0).spilled_bytes > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto model = matcher.session("model");
    Writer writer(*model, "next.nc", alone());
    writer.put(0, 0, 1024, 1024, std::vector<std::int32_t>(1024 * 1024, 5));
    CHECK(disk.has_held());
  }

  TEST_CASE("others are answered while a burst-buffer log is opened for its drain, and for its reader") {
    const SlowDisk disk;
    LiveMatcher matcher(rules_with_logs(), 8 * mib);
    const auto model = matcher.session("model");
    const LogFile log(disk.directory);
    const std::string file = disk.directory + "/a.log";
    const auto created = model->open({{1, "a.log"}, alone(), file, Purpose::create, {}, 5});
    LoggedSegments segments(*model, log);
    WriteLog writer(segments, created.step, {});
    put_row(*model, created.step, writer);

    disk.close();
    model->close({PublishRequest{created.step, 0, {}, {}, writer.ranges(), writer.position()}});
    disk.await_somebody();
    write_and_read_another(matcher, 1);
    CHECK_FALSE(std::filesystem::exists(file));
    disk.open();
    while (!matcher.view().drains.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(std::filesystem::exists(file));

    disk.close();
    std::vector<std::int32_t> values;
    std::thread reading([&] {
      const auto reader = matcher.session("analysis");
      const Opened opened = reader->open({{1, "a.log"}, alone()});
      values = get(*reader, opened.step, 0, 0, row.rows, row.columns);
      reader->close({ReadEnd{opened.step, {}}});
    });
    disk.await_somebody();
    write_and_read_another(matcher, 2);
    disk.open();
    reading.join();
    CHECK(values == values_of_row);
    CHECK(disk.has_held());
  }

  TEST_CASE("others are answered while a file on disk is opened that a program goes on in by the C library") {
    const SlowDisk disk;
    LiveMatcher matcher(one_rule(), mib);
    const std::string path = disk.directory + "/old.nc";
    std::ofstream(path) << "former contents";
    std::filesystem::permissions(path, std::filesystem::perms{0640});
    const PacketSocket program = matcher.connection("model", 77);
    disk.close();
    program.send({MessageType::open_file, 2, encode(OpenFile{{0, "old.nc"}, path, true, O_RDWR, 0666, 1})});
    disk.await_somebody();
    write_and_read_another(matcher, 1);
    disk.open();
    const auto opened = program.receive();
    REQUIRE(opened);
    REQUIRE(opened->type == MessageType::file_opened);
    REQUIRE(opened->descriptors.size() == 1);
    std::string contents(100, ' ');
    contents.resize(static_cast<std::size_t>(
        std::max<ssize_t>(0, ::pread(opened->descriptors[0].number(), contents.data(), contents.size(), 0))));
    CHECK(contents == "former contents");
    struct stat facts {};
    CHECK(::fstat(opened->descriptors[0].number(), &facts) == 0);
    CHECK((facts.st_mode & 0777) == 0640);
    CHECK(disk.has_held());
  }

  TEST_CASE("a file on disk that cannot be opened is the error of its open") {
    const SlowDisk disk;
    LiveMatcher matcher(one_rule(), mib);
    const PacketSocket program = matcher.connection("model", 77);
    const std::string path = disk.directory + "/gone.nc";
    program.send({MessageType::open_file, 2, encode(OpenFile{{0, "gone.nc"}, path, true, O_RDWR, 0666, 1})});
    const auto answer = program.receive();
    REQUIRE(answer);
    REQUIRE(answer->type == MessageType::error);
    CHECK(decode<ErrorReply>(answer->fields).status == NC_EPERM);
    CHECK_FALSE(matcher.has_event("is not published"));
    std::ofstream(path) << "now";
    program.send({MessageType::open_file, 3, encode(OpenFile{{0, "gone.nc"}, path, true, O_RDWR, 0666, 1})});
    const auto again = program.receive();
    REQUIRE(again);
    CHECK(again->type == MessageType::file_opened);
  }

  TEST_CASE("others are answered while the image of a file is cut to its length on disk") {
    const SlowDisk disk(SlowDisk::Slow::cuts);
    LiveMatcher matcher(one_rule(), mib, {}, {disk.directory});
    const auto model = matcher.session("model");
    constexpr Shape large{1024, 1024};  // more than memory, as is its image
    write_file(*model, "large.nc", large, 3);
    disk.close();
    std::uint64_t bytes = 0;
    std::thread reading([&] {
      const auto reader = matcher.session("analysis");
      const FileImage image = reader->image({{0, "large.nc"}, alone()});
      struct stat facts {};
      if (::fstat(image.file.number(), &facts) == 0) bytes = static_cast<std::uint64_t>(facts.st_size);
      CHECK(image.made.bytes == bytes);
    });
    disk.await_somebody();
    write_and_read_another(matcher, 2);
    disk.open();
    reading.join();
    CHECK(bytes > 4 * mib);
    CHECK(bytes < 4 * mib + 1024);
    CHECK(disk.has_held());
  }

  TEST_CASE("others are answered while a burst-buffer log is removed, which has gone when the run ends") {
    const SlowDisk disk;
    LiveMatcher matcher(rules_with_logs(), mib);
    const LogFile log(disk.directory);
    const auto model = matcher.session("model");
    const auto created = model->open({{1, "a.log"}, alone(), {}, Purpose::create, {}, 5});
    LoggedSegments segments(*model, log);
    (void)segments.need_segment({created.step, SegmentUse::data, LogFile::bytes, LogFile::bytes});
    disk.close();
    model->close({Discard{created.step}});
    disk.await_somebody();
    write_and_read_another(matcher, 1);
    CHECK(disk.has_held());
    disk.open();
    (void)matcher.shut_down();
    CHECK_FALSE(std::filesystem::exists(log.metadata));
    CHECK_FALSE(std::filesystem::exists(log.data));
  }
}
