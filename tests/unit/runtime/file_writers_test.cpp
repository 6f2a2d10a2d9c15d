#include "file_writers.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "memory_file.hpp"

using sluice::runtime::FileBytes;
using sluice::runtime::FileDescriptor;
using sluice::runtime::FileHolder;
using sluice::runtime::FileId;
using sluice::runtime::FileIdentity;
using sluice::runtime::FileWriters;
using sluice::runtime::link_to;
using sluice::runtime::make_memory_file;
using sluice::runtime::status_of;
using Verdict = sluice::runtime::FileWriters::Verdict;

namespace {

constexpr FileId number = 7;

FileDescriptor writer_of(const FileBytes& bytes) {
  return FileDescriptor(::open(link_to(*bytes.file).c_str(), O_WRONLY | O_CLOEXEC));
}

/// A memory file that is watched, and what is told of it.
struct World {
  World() { bytes.file = std::make_shared<const FileDescriptor>(make_memory_file(0600)); }

  void add() { writers.add(number, bytes); }
  [[nodiscard]] FileIdentity identity() const {
    const auto facts = status_of(*bytes.file);
    return {facts.st_dev, facts.st_ino};
  }
  [[nodiscard]] FileHolder leaving() const { return {false, {identity()}, false}; }
  /// Ends by the limit of the test's time, or when something has been told.
  void await_news() {
    while (news.empty()) loop.run_one();
  }

  boost::asio::io_context loop;
  FileBytes bytes;
  std::vector<FileWriters::News> news;
  std::function<void(std::uint32_t process)> on_take_sent = [](std::uint32_t) {};
  FileWriters writers{loop,
                      [this](std::span<const std::uint32_t> processes) {
                        for (const std::uint32_t process : processes) on_take_sent(process);
                      },
                      [this](const FileWriters::News& told) { news.push_back(told); }};
};

/// A process that has the file open for writing, until it ends, or that has closed it.
struct Holder {
  enum class Keeps { open, closed };
  explicit Holder(const FileBytes& bytes, Keeps keeps = Keeps::open) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    process = ::fork();
    if (process == 0) {
      FileDescriptor writer = writer_of(bytes);
      if (keeps == Keeps::closed) writer.reset();
      (void)!::write(ends[1], "x", 1);
      ::pause();
      ::_exit(0);
    }
    char is_open = 0;
    REQUIRE(::read(ends[0], &is_open, 1) == 1);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Holder() { end(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  void end() {
    if (process <= 0) return;
    ::kill(process, SIGKILL);
    ::waitpid(std::exchange(process, 0), nullptr, 0);
  }
  [[nodiscard]] std::uint32_t id() const { return static_cast<std::uint32_t>(process); }
  pid_t process = 0;
};

}  // namespace

TEST_CASE("a file that its process has closed, and says so, is closed at once") {
  World world;
  world.add();
  const auto self = static_cast<std::uint32_t>(::getpid());
  FileDescriptor writer = writer_of(world.bytes);
  world.writers.note_given(number, self);
  world.writers.take_news();
  CHECK(world.news.empty());
  CHECK(world.writers.is_open(number));
  writer.reset();
  world.writers.note(self, world.leaving());
  REQUIRE(world.news.size() == 1);
  CHECK(world.news.front().verdict == Verdict::closed);
  world.writers.take_news();
  world.writers.look(number);
  CHECK(world.news.size() == 1);  // a close is told once
  world.writers.remove(number);
}

namespace {

/// Takes what inotify has for this process, as if the kernel had told nothing.
void lose_news_of_kernel() {
  for (int descriptor = 3; descriptor < 100; ++descriptor) {
    std::array<char, 64> link{};
    const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
    if (::readlink(path.c_str(), link.data(), link.size() - 1) < 0) continue;
    std::array<char, 4096> bytes{};
    while (std::string(link.data()) == "anon_inode:inotify" &&
           ::read(descriptor, bytes.data(), bytes.size()) > 0) {
    }
  }
}

}  // namespace

TEST_CASE("a close that a process tells of just before it is made, and the kernel does not, is found") {
  for (const bool has_ended : {false, true}) {
    World world;
    world.add();
    const auto self = static_cast<std::uint32_t>(::getpid());
    FileDescriptor writer = writer_of(world.bytes);
    world.writers.note_given(number, self);
    world.loop.run_for(std::chrono::milliseconds(5));  // the kernel watches from now on
    world.loop.restart();
    has_ended ? world.writers.note_left(self) : world.writers.note(self, world.leaving());
    CHECK(world.news.empty());
    writer.reset();
    lose_news_of_kernel();
    world.await_news();
    CHECK(world.news.front().verdict == Verdict::closed);
    world.writers.remove(number);
  }
}

TEST_CASE("a close that no process tells of is told when the kernel does") {
  World world;
  world.add();
  FileDescriptor writer = writer_of(world.bytes);
  world.writers.note_given(number, static_cast<std::uint32_t>(::getpid()));
  writer.reset();
  world.await_news();
  CHECK(world.news.front().verdict == Verdict::closed);
}

TEST_CASE("a process that was killed with the file open is told") {
  World world;
  world.add();
  Holder holder(world.bytes);
  const std::uint32_t process = holder.id();
  world.writers.note_given(number, process);
  holder.end();
  world.await_news();
  CHECK(world.news.front().verdict == Verdict::killed);
  CHECK(world.news.front().process == process);
}

TEST_CASE("what a process has sent before it ended counts") {
  World world;
  world.add();
  Holder holder(world.bytes);
  const std::uint32_t process = holder.id();
  world.writers.note_given(number, process);
  world.on_take_sent = [&](std::uint32_t sender) {
    CHECK(world.writers.are_asked(number));
    world.writers.note(sender, world.leaving());
  };
  holder.end();
  world.await_news();
  CHECK(world.news.front().verdict == Verdict::closed);
  CHECK_FALSE(world.writers.are_asked(number));
}

TEST_CASE("a file that is removed while its processes are asked is not told of") {
  for (const int at : {1, 2}) {  // when they are asked for the first time, and when one has ended
    CAPTURE(at);
    World world;
    world.add();
    Holder holder(world.bytes);
    world.writers.note_given(number, holder.id());
    int asked = 0;
    world.on_take_sent = [&](std::uint32_t) {
      if (++asked == at) world.writers.remove(number);
    };
    holder.end();
    world.writers.look(number);
    CHECK(asked == at);
    CHECK(world.news.empty());
  }
}

TEST_CASE("a file that is opened again while its processes are asked goes on, and its next close is told") {
  World world;
  world.add();
  FileDescriptor writer = writer_of(world.bytes);
  world.writers.note_given(number, static_cast<std::uint32_t>(::getpid()));
  writer.reset();
  world.on_take_sent = [&](std::uint32_t) { writer = writer_of(world.bytes); };
  world.writers.look(number);
  REQUIRE(world.news.size() == 1);
  CHECK(world.news.front().verdict == Verdict::goes_on);
  world.news.clear();
  world.on_take_sent = [](std::uint32_t) {};
  writer.reset();
  world.await_news();
  CHECK(world.news.front().verdict == Verdict::closed);
}

TEST_CASE("where the kernel does not tell, a file is open as long as a holder goes on") {
  World world;
  world.bytes.is_told = false;
  world.add();
  Holder holder(world.bytes);
  world.writers.note_given(number, holder.id());
  CHECK(world.writers.is_open(number));
  world.writers.look(number);
  CHECK(world.news.empty());
  world.writers.note(holder.id(), world.leaving());
  CHECK_FALSE(world.writers.is_open(number));
  world.writers.look(number);
  REQUIRE(world.news.size() == 1);
  CHECK(world.news.front().verdict == Verdict::closed);
}

TEST_CASE("a file of the same number on another file system is another file") {
  World world;
  world.bytes.is_told = false;
  world.add();
  Holder holder(world.bytes);
  world.writers.note_given(number, holder.id());
  const FileIdentity here = world.identity();
  world.writers.note(holder.id(), {false, {{here.device + 1, here.file}}, false});
  CHECK(world.writers.is_open(number));
  world.writers.look(number);
  CHECK(world.news.empty());
  world.writers.note(holder.id(), {false, {{here.device + 1, here.file}, here}, false});
  REQUIRE_FALSE(world.writers.is_open(number));
}

TEST_CASE(
    "where the kernel does not tell, a holder that has closed the file silently is looked at until it ends") {
  World world;
  world.bytes.is_told = false;
  world.add();
  Holder holder(world.bytes, Holder::Keeps::closed);
  world.writers.note_given(number, holder.id());
  constexpr std::chrono::seconds longer_than_a_usual_doubt{7};
  world.loop.run_for(longer_than_a_usual_doubt);
  CHECK(world.news.empty());
  holder.end();
  constexpr std::chrono::seconds patience{10};
  const auto end = std::chrono::steady_clock::now() + patience;
  while (world.news.empty() && std::chrono::steady_clock::now() < end)
    world.loop.run_for(std::chrono::milliseconds(50));
  REQUIRE(world.news.size() == 1);
  CHECK(world.news.front().verdict == Verdict::killed);
}

TEST_CASE("where a file was changed is told with its close, if all its processes have said it") {
  enum class Says { all, nothing, half, of_two_files, holds };
  for (const Says says : {Says::all, Says::nothing, Says::half, Says::of_two_files, Says::holds}) {
    World world;
    world.add();
    FileDescriptor writer = writer_of(world.bytes);
    for (const std::uint32_t process : {1U, 2U}) world.writers.note_given(number, process);
    FileHolder first = world.leaving(), second = world.leaving();
    first.changed = {{10, 20, 40, 50}};
    second.changed = {{0, 15, 30, 30, 7, 3}};
    if (says == Says::nothing) second.changed.reset();
    if (says == Says::half) second.changed->push_back(1);
    if (says == Says::of_two_files) second.files.push_back({});
    world.writers.note(1, first);
    if (says == Says::holds) world.writers.note(3, {true, {world.identity()}, false});
    world.writers.note(2, second);
    CHECK(world.news.empty());  // said before the close
    writer.reset();
    world.writers.look(number);
    REQUIRE(world.news.size() == 1);
    const auto changed = world.news.front().touched;
    REQUIRE((changed != nullptr) == (says == Says::all));
    if (!changed) continue;
    REQUIRE(changed->size() == 2);
    CHECK(changed->front().begin == 0);
    CHECK(changed->front().end == 20);
    CHECK(changed->back().begin == 40);
  }
}
