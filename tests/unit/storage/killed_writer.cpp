// Processes that are killed while they write a log. Every put that they were told is complete is recovered,
// byte by byte.
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "burst_log_world.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "sluice/storage/recovery.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::storage;
using formats::Type;

namespace {

constexpr std::int64_t length = 1000;
constexpr int kills = 300;

/// byte a(1000); int b(time, 10)
formats::Header dataset_header() {
  formats::Header header;
  header.version = formats::Version::cdf5;
  const int time = header.add_dimension({"time", 0, true});
  const int wide = header.add_dimension({"wide", length, false});
  const int ten = header.add_dimension({"ten", 10, false});
  formats::Variable variable;
  variable.name = "a";
  variable.type = Type::int8;
  variable.dimids = {wide};
  header.add_variable(variable);
  variable.name = "b";
  variable.type = Type::int32;
  variable.dimids = {time, ten};
  header.add_variable(variable);
  return header;
}

/// The i-th put of a process; the same in child and parent.
LoggedPut put_number(std::uint64_t seed, int i) {
  std::mt19937 random(seed + static_cast<std::uint64_t>(i));
  LoggedPut put;
  if (i % 3 == 0) {
    put = {1, Type::int32, {{{i / 3 % 7, 0}, {1, 10}, {}}}, std::vector<std::byte>(40)};
  } else {
    const auto start = static_cast<std::int64_t>(random() % length);
    const auto count = 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(length - start));
    put = {0, Type::int8, {{{start}, {count}, {}}}, std::vector<std::byte>(static_cast<std::size_t>(count))};
  }
  for (auto& byte : put.data) byte = static_cast<std::byte>(random());
  return put;
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The whole file after the first `puts` puts.
std::string expected_file(const std::string& before, std::uint64_t seed, int puts) {
  auto header = dataset_header();
  const auto layout = formats::compute_layout(header, {}, nullptr);
  std::string file = before;
  std::int64_t records = 0;
  for (int i = 0; i < puts; ++i) {
    const auto put = put_number(seed, i);
    std::vector<formats::FileRun> runs;
    const auto& slab = put.slabs.front();
    formats::append_runs(header, layout, put.varid, slab.start, slab.count, slab.stride, runs);
    std::size_t from = 0;
    for (const auto& run : runs) {
      const auto at = static_cast<std::size_t>(run.offset_bytes);
      const auto size = static_cast<std::size_t>(run.length_bytes);
      if (file.size() < at + size) file.resize(at + size);
      std::memcpy(file.data() + at, put.data.data() + from, size);
      from += size;
    }
    if (put.varid == 1) records = std::max(records, slab.start[0] + 1);
  }
  file[11] = static_cast<char>(records);  // the last byte of the number of records
  return file;
}

[[noreturn]] void write_for_ever(const BurstLogPaths& paths, const std::string& target, std::uint64_t seed,
                                 std::atomic<int>& told) {
  PosixFileSystem files;
  BurstLogWriter writer(files, paths, log_header(target, 0), BurstLogWriter::Existing::overwrite);
  for (int i = 0;;) {
    for (int n = i % 4; n >= 0; --n) append(writer, put_number(seed, i++));
    writer.commit();
    told.store(i);
  }
}

}  // namespace

TEST_CASE(
    "whenever a writer is killed, what it was told is complete reaches the file, and nothing that is torn") {
  const std::uint64_t seed = test::test_seed();
  const std::string directory = "killed." + std::to_string(::getpid());
  std::filesystem::create_directory(directory);
  const auto target = std::filesystem::absolute(directory + "/wave.nc").string();
  const BurstLogPaths paths{directory + "/wave.nc_0_0.meta", directory + "/wave.nc_0_0.data"};
  auto header = dataset_header();
  const auto layout = formats::compute_layout(header, {}, nullptr);
  const auto bytes = formats::encode_header(header);
  std::string empty(static_cast<std::size_t>(layout.record_begin), '\0');
  std::memcpy(empty.data(), bytes.data(), bytes.size());

  void* const shared = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  auto& told = *new (shared) std::atomic<int>(0);
  std::mt19937 random(seed);
  PosixFileSystem files;
  int torn = 0;
  for (int kill = 0; kill < kills; ++kill) {
    CAPTURE(kill);
    std::filesystem::remove(paths.metadata);
    std::filesystem::remove(paths.data);
    std::ofstream(target, std::ios::binary) << empty;
    told.store(0);
    const auto child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) write_for_ever(paths, target, seed, told);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 4000));  // any moment will do
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);

    const auto found = find_logs(files, directory);
    if (found.groups.empty()) {  // the log had no header yet
      CHECK(told.load() == 0);
      continue;
    }
    REQUIRE(found.groups.size() == 1);
    const auto recovery = recover_file(files, found.groups.front(), target, {100000, 512});
    CHECK_FALSE(recovery.is_in_use);
    const auto puts = static_cast<int>(recovery.replay.puts);
    CHECK(puts >= told.load());
    CHECK(puts <= told.load() + 4);
    for (const auto& problem : recovery.problems)
      CHECK(problem.what.find("a put that was not complete") != std::string::npos);
    torn += recovery.problems.empty() ? 0 : 1;
    REQUIRE(contents(target) == expected_file(empty, seed, puts));
    // Again, with the same result.
    CHECK(recover_file(files, found.groups.front(), target).replay.puts == puts);
    REQUIRE(contents(target) == expected_file(empty, seed, puts));
  }
  MESSAGE(torn << " of " << kills << " logs were torn");
  ::munmap(shared, 4096);
  std::filesystem::remove_all(directory);
}
