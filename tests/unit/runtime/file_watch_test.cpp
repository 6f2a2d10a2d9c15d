#include "file_watch.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "memory_file.hpp"

using sluice::runtime::FileDescriptor;
using sluice::runtime::FileWatch;
using sluice::runtime::is_open_for_writing;
using sluice::runtime::link_to;
using sluice::runtime::tells_who_writes;

namespace {

/// A memory file for reading, and its watch.
struct World {
  World() {
    const FileDescriptor made(::memfd_create("test", MFD_CLOEXEC));
    file = FileDescriptor(::open(link_to(made).c_str(), O_RDONLY | O_CLOEXEC));
    number = watch.add(file);
  }
  [[nodiscard]] FileDescriptor writer() const {
    return FileDescriptor(::open(link_to(file).c_str(), O_RDWR | O_CLOEXEC));
  }
  [[nodiscard]] bool has_news() {
    seen.clear();
    watch.take_news();
    return seen == std::vector<int>{number};
  }
  boost::asio::io_context loop;
  std::vector<int> seen;
  FileWatch watch{loop, [this](int closed) { seen.push_back(closed); }};
  FileDescriptor file;
  int number = -1;
};

}  // namespace

TEST_CASE("the last close is told, and not those before it") {
  World world;
  CHECK_FALSE(is_open_for_writing(world.file));
  FileDescriptor writer = world.writer();
  FileDescriptor twin(::dup(writer.number()));
  CHECK(is_open_for_writing(world.file));
  writer.reset();
  CHECK_FALSE(world.has_news());
  CHECK(is_open_for_writing(world.file));
  twin.reset();
  CHECK(world.has_news());
  CHECK_FALSE(is_open_for_writing(world.file));
}

TEST_CASE("memory tells who writes; what is no file does not") {
  const World world;
  CHECK(tells_who_writes(world.file));
  CHECK_FALSE(tells_who_writes(FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC))));
}

TEST_CASE("a mapping keeps a file open for writing") {
  World world;
  FileDescriptor writer = world.writer();
  REQUIRE(::ftruncate(writer.number(), 4096) == 0);
  void* const memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, writer.number(), 0);
  REQUIRE(memory != MAP_FAILED);
  writer.reset();
  CHECK(is_open_for_writing(world.file));
  CHECK_FALSE(world.has_news());
  ::munmap(memory, 4096);
  CHECK(world.has_news());
  CHECK_FALSE(is_open_for_writing(world.file));
}

TEST_CASE("so does a child, until it is killed") {
  World world;
  FileDescriptor writer = world.writer();
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  writer.reset();
  CHECK(is_open_for_writing(world.file));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(world.has_news());
  CHECK_FALSE(is_open_for_writing(world.file));
}

TEST_CASE("the close of a young file is told at a look, and else when the kernel is asked to watch it") {
  for (const bool looks : {true, false}) {
    CAPTURE(looks);
    World world;
    const FileDescriptor file = sluice::runtime::make_memory_file(0600);
    FileDescriptor writer(::open(link_to(file).c_str(), O_WRONLY | O_CLOEXEC));
    const int number = world.watch.add_later(file);
    world.watch.take_news();
    CHECK(world.seen.empty());
    writer.reset();
    if (looks) world.watch.take_news();
    while (world.seen.empty()) world.loop.run_one();  // ends by the limit of the test's time, or at once
    CHECK(world.seen.front() == number);
    world.watch.remove(number);
  }
}

TEST_CASE("a file that has grown up is watched by the kernel, and none that was removed before") {
  World world;
  const FileDescriptor file = sluice::runtime::make_memory_file(0600);
  const FileDescriptor removed = sluice::runtime::make_memory_file(0600);
  FileDescriptor writer(::open(link_to(file).c_str(), O_WRONLY | O_CLOEXEC));
  const int number = world.watch.add_later(file);
  world.watch.remove(world.watch.add_later(removed));
  constexpr std::chrono::milliseconds longer_than_youth{50};
  world.loop.run_for(longer_than_youth);
  CHECK(world.seen.empty());
  writer.reset();
  world.loop.run_one();  // the kernel's news
  CHECK(world.seen == std::vector<int>{number});
}

TEST_CASE("more files than may be young are watched at once") {
  World world;
  constexpr std::size_t many = 40;
  std::vector<FileDescriptor> files, writers;
  files.reserve(many);  // the watch keeps pointers
  for (std::size_t i = 0; i < many; ++i) {
    files.push_back(sluice::runtime::make_memory_file(0600));
    writers.emplace_back(::open(link_to(files.back()).c_str(), O_WRONLY | O_CLOEXEC));
    (void)world.watch.add_later(files.back());
  }
  writers.clear();
  world.watch.take_news();
  std::ranges::sort(world.seen);
  world.seen.erase(std::unique(world.seen.begin(), world.seen.end()), world.seen.end());
  CHECK(world.seen.size() == many);
}

TEST_CASE("where the system has no watch, many files that are opened at once are looked at") {
  // Without a descriptor there is no inotify at all.
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  World world;  // has what the loop needs
  std::vector<int> seen;
  const rlimit none{0, limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  FileWatch watch(world.loop, [&](int closed) { seen.push_back(closed); });
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  constexpr std::size_t many = 40;
  std::vector<FileDescriptor> files, writers;
  files.reserve(many);  // the watch keeps pointers
  for (std::size_t i = 0; i < many; ++i) {
    files.push_back(sluice::runtime::make_memory_file(0600));
    writers.emplace_back(::open(link_to(files.back()).c_str(), O_WRONLY | O_CLOEXEC));
    (void)watch.add_later(files.back());
  }
  watch.take_news();
  CHECK(seen.empty());
  writers.clear();
  watch.take_news();
  CHECK(seen.size() == many);
}

TEST_CASE("two watches of one file are both told, also when one of them has ended") {
  for (const bool is_one_removed : {false, true}) {
    CAPTURE(is_one_removed);
    World world;
    const FileDescriptor again(::open(link_to(world.file).c_str(), O_RDONLY | O_CLOEXEC));
    const int second = world.watch.add(again);
    if (is_one_removed) world.watch.remove(second);
    world.writer().reset();
    world.watch.take_news();
    std::ranges::sort(world.seen);
    CHECK(world.seen ==
          (is_one_removed ? std::vector<int>{world.number} : std::vector<int>{world.number, second}));
  }
}

TEST_CASE("closes are told, also when the kernel has dropped some of its news") {
  World world;
  const FileDescriptor other = sluice::runtime::make_memory_file(0600);
  const int number = world.watch.add(other);
  FileDescriptor last(::open(link_to(world.file).c_str(), O_WRONLY | O_CLOEXEC));
  // Equal news in a row are one, so two files take turns.
  constexpr int more_than_the_kernel_keeps = 20000;
  const FileDescriptor third = sluice::runtime::make_memory_file(0600);
  (void)world.watch.add(third);
  for (int i = 0; i < more_than_the_kernel_keeps; ++i)
    FileDescriptor(::open(link_to(i % 2 == 0 ? other : third).c_str(), O_WRONLY | O_CLOEXEC)).reset();
  last.reset();
  world.watch.take_news();
  CHECK(std::ranges::find(world.seen, number) != world.seen.end());
  CHECK(std::ranges::find(world.seen, world.number) != world.seen.end());
}

TEST_CASE("who is told of one file, and asks for news, hears of all that were closed before") {
  boost::asio::io_context loop;
  std::vector<int> seen;
  std::vector<std::size_t> known_after_asking;
  FileWatch* asked = nullptr;
  FileWatch watch(loop, [&](int closed) {
    seen.push_back(closed);
    asked->take_news();
    known_after_asking.push_back(seen.size());
  });
  asked = &watch;
  std::vector<FileDescriptor> files;
  for (int i = 0; i < 3; ++i) {
    const FileDescriptor made(::memfd_create("test", MFD_CLOEXEC));
    files.emplace_back(::open(link_to(made).c_str(), O_RDONLY | O_CLOEXEC));
    (void)watch.add(files.back());
  }
  for (const FileDescriptor& file : files)
    FileDescriptor(::open(link_to(file).c_str(), O_RDWR | O_CLOEXEC)).reset();
  watch.take_news();
  CHECK(seen.size() == files.size());
  CHECK(known_after_asking.back() == files.size());
  CHECK(std::ranges::count(known_after_asking, files.size()) == 3);
}
