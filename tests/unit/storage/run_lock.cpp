// The lock that the matchers of a run share in a directory of burst-buffer logs.
#include "sluice/storage/run_lock.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "burst_log_world.hpp"
#include "sluice/storage/posix_file_system.hpp"

using namespace sluice;
using namespace sluice::storage;

namespace {

constexpr std::uint64_t run = 7;

/// A directory with the log of a run, which its writer has closed.
struct Directory {
  Directory() {
    std::filesystem::create_directory(path);
    formats::BurstLogHeader header = log_header();
    header.identity = formats::BurstLogIdentity{run, 1, 2};
    BurstLogWriter(files, burst_log_paths_of(log()), header, BurstLogWriter::Existing::refuse).close();
  }
  ~Directory() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string log() const { return path + "/wave.nc_1_1.meta"; }
  [[nodiscard]] std::string lock() const { return path + "/.sluice-0000000000000007.lock"; }

  PosixFileSystem files;
  std::string path = std::filesystem::absolute("run_lock." + std::to_string(::getpid())).string();
};

}  // namespace

TEST_CASE("a log is in use while any matcher of its run holds the lock, and the last one removes the file") {
  Directory directory;
  CHECK_FALSE(is_in_use(directory.files, directory.log()));
  std::optional<RunLock> first(std::in_place, directory.files, directory.path, run);
  std::optional<RunLock> second(std::in_place, directory.files, directory.path, run);
  CHECK(is_in_use(directory.files, directory.log()));
  first.reset();
  CHECK(is_in_use(directory.files, directory.log()));
  second.reset();
  CHECK_FALSE(is_in_use(directory.files, directory.log()));
  CHECK_FALSE(std::filesystem::exists(directory.lock()));
}

TEST_CASE("the lock of another run, and a file that nobody holds, say nothing of a log") {
  Directory directory;
  const RunLock other(directory.files, directory.path, run + 1);
  CHECK_FALSE(is_in_use(directory.files, directory.log()));
  std::ofstream(directory.lock()).put('x');
  CHECK_FALSE(is_in_use(directory.files, directory.log()));
}

TEST_CASE("the files of killed runs go with the next run in the directory; those of live ones stay") {
  Directory directory;
  const RunLock live(directory.files, directory.path, run);
  const std::string killed = directory.path + "/.sluice-00000000000000ff.lock";
  std::ofstream(killed).put('x');
  const RunLock next(directory.files, directory.path, run + 1);
  CHECK_FALSE(std::filesystem::exists(killed));
  CHECK(std::filesystem::exists(directory.lock()));
}
