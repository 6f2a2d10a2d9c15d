// Merges the golden files of tests/golden/subfiles, which PnetCDF wrote, in memory and with faults.
#include "sluice/storage/merge.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstring>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/storage/faulty_file_system.hpp"
#include "sluice/storage/memory_file_system.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::storage {
namespace {

const std::string master = "ok_cdf5.nc";

/// The golden files.
void load(MemoryFileSystem& memory) {
  PosixFileSystem disk;
  for (const auto* name : {"ok_cdf5.nc", "ok_cdf5.nc.subfile_0.nc", "ok_cdf5.nc.subfile_1.nc",
                           "ok_cdf5.nc.subfile_2.nc", "ok_cdf1.nc"}) {
    const auto from = disk.open(std::string(GOLDEN_FOLDER "/") + name, OpenMode::read);
    std::vector<std::byte> bytes(static_cast<std::size_t>(from->size_bytes()));
    read_exactly(*from, 0, bytes);
    memory.open(name, OpenMode::create)->write(0, bytes);
  }
}

MergeOptions single_thread() {
  MergeOptions options;
  options.threads = 1;
  return options;
}

Status status_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.status();
  }
  return NC_NOERR;
}

}  // namespace

TEST_CASE("the result has the user's header and every element, in chunks of any size") {
  const std::int64_t never = 1 << 30;
  for (const auto& bytes_of : std::vector<std::array<std::int64_t, 2>>{{1, never},
                                                                       {7, never},
                                                                       {64, never},
                                                                       {1000, never},
                                                                       {1 << 20, never},
                                                                       {1, 1},
                                                                       {64, 1},
                                                                       {1000, 20},
                                                                       {1 << 20, 1}}) {
    const auto [chunk, copied] = bytes_of;
    const std::int64_t chunk_bytes = chunk, copied_bytes = copied;  // clang 14 captures no bindings
    CAPTURE(chunk_bytes);
    CAPTURE(copied_bytes);
    MemoryFileSystem memory;
    load(memory);
    auto options = single_thread();
    options.chunk_bytes = chunk_bytes;
    options.gap_bytes = chunk_bytes / 2;
    options.copied_bytes = copied_bytes;
    std::int64_t told = 0;
    options.progress = [&](std::int64_t done, std::int64_t all) {
      CHECK(done > told);
      CHECK(all == 70 * 4 + 2 * 2 + 8 + 7 * 8 + 70);
      told = done;
    };
    CHECK(merge_files(memory, master, "out.nc", options) == told);
    CHECK_FALSE(memory.exists(".out.nc.sluice-partial"));
    const auto& bytes = memory.bytes("out.nc");
    const auto decoded =
        formats::decode_header(bytes, true, static_cast<std::int64_t>(bytes.size()), "out.nc");
    const auto& header = decoded->header;
    CHECK(header.version == formats::Version::cdf5);
    CHECK(header.attributes.size() == 1);
    REQUIRE(header.variable_count() == 5);
    CHECK(header.variable(0).dimids == std::vector<int>{0, 1});
    CHECK(header.variable(0).attributes.size() == 1);
    std::vector<std::int32_t> grid(70);
    formats::copy_swapped(grid.data(), bytes.data() + header.variable(0).begin, 4, 70);
    for (int i = 0; i < 70; ++i) CHECK(grid[static_cast<std::size_t>(i)] == i);
    std::vector<double> line(7);
    formats::copy_swapped(line.data(), bytes.data() + header.variable(3).begin, 8, 7);
    for (int i = 0; i < 7; ++i) CHECK(line[static_cast<std::size_t>(i)] == i);
  }
}

TEST_CASE("the result is in another format where that is asked for") {
  MemoryFileSystem memory;
  load(memory);
  auto options = single_thread();
  options.version = formats::Version::cdf2;
  merge_files(memory, master, "out.nc", options);
  CHECK(memory.bytes("out.nc")[3] == std::byte{2});
}

TEST_CASE("existing files are kept unless they may be replaced, and sources always") {
  MemoryFileSystem memory;
  load(memory);
  memory.open("out.nc", OpenMode::create)->write(0, std::vector<std::byte>(3));
  auto options = single_thread();
  CHECK(status_of([&] { merge_files(memory, master, "out.nc", options); }) == NC_EEXIST);
  CHECK(memory.bytes("out.nc").size() == 3);
  options.replaces = true;
  CHECK(status_of([&] { merge_files(memory, master, "out.nc", options); }) == NC_NOERR);
  CHECK(memory.bytes("out.nc").size() > 3);
  CHECK(status_of([&] { merge_files(memory, master, master, options); }) == NC_EINVAL);
  CHECK(status_of([&] { merge_files(memory, master, "ok_cdf5.nc.subfile_1.nc", options); }) == NC_EINVAL);
  CHECK(status_of([&] { merge_files(memory, "out.nc", "again.nc", options); }) == NC_EINVAL);
}

TEST_CASE("a subfile that is missing is named") {
  MemoryFileSystem memory;
  load(memory);
  try {
    merge_files(memory, "ok_cdf1.nc", "out.nc", single_thread());
    FAIL("merged what is not there");
  } catch (const Error& error) {
    CHECK(error.status() == NC_ENOENT);
    CHECK(std::string(error.what()).find("ok_cdf1.nc.subfile_0.nc") != std::string::npos);
  }
}

TEST_CASE("whatever fails, nothing is left of the result, and existing files stay") {
  // By reading and writing, and by copying.
  for (const std::int64_t copied_bytes : {1000, 1}) {
    CAPTURE(copied_bytes);
    int failing = 0;
    for (bool has_failed = true; has_failed; ++failing) {
      CAPTURE(failing);
      MemoryFileSystem memory;
      load(memory);
      memory.open("out.nc", OpenMode::create)->write(0, std::vector<std::byte>(3));
      int operations = 0;
      FaultyFileSystem faulty(memory, [&](const FileOperation& operation) {
        // The test lets neither the clean-up fail nor the work after the renaming.
        const bool counts = operation.kind != FileOperation::Kind::remove &&
                            operation.kind != FileOperation::Kind::sync_directory;
        return counts && operations++ == failing ? Fault{ENOSPC, 2} : Fault{};
      });
      auto options = single_thread();
      options.replaces = true;
      options.chunk_bytes = 100;
      options.copied_bytes = copied_bytes;
      const auto status = status_of([&] { merge_files(faulty, master, "out.nc", options); });
      CHECK_FALSE(memory.exists(".out.nc.sluice-partial"));
      has_failed = operations > failing;
      CHECK((status != NC_NOERR) == has_failed);
      CHECK((memory.bytes("out.nc").size() == 3) == has_failed);
    }
    CHECK(failing > 15);
  }
}

TEST_CASE("progress can end it") {
  MemoryFileSystem memory;
  load(memory);
  auto options = single_thread();
  options.chunk_bytes = 10;
  options.progress = [](std::int64_t, std::int64_t) { throw Error(NC_EIO, "enough"); };
  CHECK(status_of([&] { merge_files(memory, master, "out.nc", options); }) == NC_EIO);
  CHECK_FALSE(memory.exists("out.nc"));
  CHECK_FALSE(memory.exists(".out.nc.sluice-partial"));
}

}  // namespace sluice::storage
