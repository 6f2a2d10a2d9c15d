#include "file_watch.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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
