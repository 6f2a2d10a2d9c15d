// Files in memory that were published, and begin the next copy.
#include "spare_files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "memory_file.hpp"

using namespace sluice::runtime;

namespace {

SharedFile file_of(std::int64_t bytes) {
  auto file = std::make_shared<const FileDescriptor>(make_memory_file(0600));
  REQUIRE(::ftruncate(file->number(), bytes) == 0);
  return file;
}

struct World {
  World() { spares.start(1000); }
  void keep(const std::string& path, SharedFile file) {
    spares.keep({path, std::move(file), newest, std::make_shared<const ByteRanges>()}, newest);
  }
  [[nodiscard]] bool has(const std::string& path) { return spares.take(path, newest).file != nullptr; }

  SharedFile newest = file_of(1);
  SpareFiles spares;
};

}  // namespace

TEST_CASE("a file that nobody has any more is spare, once, and for the newest file of its path") {
  World world;
  world.keep("a", file_of(10));
  CHECK_FALSE(world.has("b"));
  CHECK(world.spares.take("a", file_of(1)).file == nullptr);
  CHECK(world.has("a"));
  CHECK_FALSE(world.has("a"));
  world.keep("a", file_of(10));
  world.spares.clear();
  CHECK_FALSE(world.has("a"));
}

TEST_CASE(
    "while somebody has the last file, the one before it is spare, and lacks all that has changed since") {
  World world;
  const SharedFile first = file_of(10), second = file_of(1);
  world.spares.keep({"a", file_of(10), first, std::make_shared<const ByteRanges>(ByteRanges{{0, 2}, {5, 6}})},
                    nullptr);
  world.spares.keep({"a", first, second, std::make_shared<const ByteRanges>(ByteRanges{{1, 5}, {8, 9}})},
                    first);
  const SpareFile spare = world.spares.take("a", second);
  REQUIRE(spare.file != nullptr);
  REQUIRE(spare.lacks->size() == 2);
  CHECK(spare.lacks->front().end == 6);
  CHECK(size_of(*spare.lacks) == 7);
}

TEST_CASE("a file is not spare while a step, a process or a seal holds it") {
  World world;
  const SharedFile of_step = file_of(10);
  world.keep("a", of_step);
  CHECK_FALSE(world.has("a"));

  SharedFile file = file_of(10);
  const SharedFile of_process = reopened(*file, O_RDONLY);
  world.keep("a", std::move(file));
  CHECK_FALSE(world.has("a"));

  file = file_of(10);
  seal_for_others(*file);
  world.keep("a", std::move(file));
  CHECK_FALSE(world.has("a"));
}

TEST_CASE("a file that a reader has had is spare, unless somebody has changed it") {
  World world;
  SharedFile file = file_of(10);
  set_times(*file, {});  // long ago: the clock of files is coarse
  SharedFile of_reader = for_reader(file);
  CHECK(::ftruncate(of_reader->number(), 5) != 0);
  CHECK(file_size(*file) == 10);
  world.keep("a", file);
  file.reset();
  CHECK_FALSE(world.has("a"));
  SharedFile by_proc = reopened(*of_reader, O_WRONLY);
  of_reader.reset();
  CHECK_FALSE(world.has("a"));
  REQUIRE(::write(by_proc->number(), "x", 1) == 1);
  by_proc.reset();
  CHECK_FALSE(world.has("a"));

  world.keep("b", file_of(10));
  CHECK(world.has("b"));
}

TEST_CASE("spare files have no more memory than they may, and the newest ones stay") {
  World world;
  for (const char* const path : {"a", "b", "c"}) world.keep(path, file_of(400));
  CHECK_FALSE(world.has("a"));
  CHECK(world.has("b"));
  CHECK(world.has("c"));
  world.keep("d", file_of(2000));
  CHECK_FALSE(world.has("d"));
}

TEST_CASE("a spare file goes when the newest file of its path has gone") {
  World world;
  SharedFile file = file_of(10);
  const std::weak_ptr<const FileDescriptor> watched = file;
  world.keep("a", std::move(file));
  world.newest = file_of(1);
  world.keep("b", file_of(10));
  CHECK(watched.expired());
}
