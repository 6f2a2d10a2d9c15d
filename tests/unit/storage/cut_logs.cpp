// Logs that another program cuts while their process goes on: what is put next, or the close, is an error,
// before the log has zeros where data was.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "burst_log_world.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/storage/memory_file_system.hpp"
#include "sluice/storage/posix_file_system.hpp"

using namespace sluice;
using namespace sluice::storage;

namespace {

void put(BurstLogWriter& writer, std::size_t bytes) {
  const std::vector<std::byte> data(bytes, std::byte{'x'});
  append(writer, {0, formats::Type::int8, {{{0}, {static_cast<std::int64_t>(bytes)}, {}}}, data});
  writer.commit();
}

/// Whether what follows a cut of the file to that size is an error.
template <class Files>
bool is_told(Files& files, const std::string& directory, std::size_t bytes, const std::string& suffix,
             std::int64_t size, bool is_closed) {
  const BurstLogPaths paths = burst_log_paths_of(directory + "/a.nc_0_0.meta");
  if (files.exists(paths.metadata)) remove_log(files, paths.metadata);
  BurstLogWriter writer(files, paths, log_header(), BurstLogWriter::Existing::refuse);
  put(writer, bytes);
  files.open(directory + "/a.nc_0_0" + suffix, OpenMode::update)->resize(size);
  try {
    is_closed ? writer.close() : put(writer, bytes);
  } catch (const IoError& error) {
    return error.status() == NC_EIO;
  }
  return false;
}

}  // namespace

TEST_CASE("a log that was cut is not written on, whatever it has left") {
  MemoryFileSystem files;
  for (const std::int64_t size : {0, 1, 8, 50, 99})
    for (const char* const suffix : {".data", ".meta"})
      for (const bool is_closed : {false, true}) {
        CAPTURE(size);
        CAPTURE(suffix);
        CAPTURE(is_closed);
        CHECK(is_told(files, "d", 100, suffix, size, is_closed));
      }
  CHECK_FALSE(is_told(files, "d", 100, ".data", 100'000, false));
}

TEST_CASE("a mapped log that was cut within a page is not written on, and not closed") {
  PosixFileSystem files;
  const std::string directory =
      std::filesystem::temp_directory_path() / ("sluice-cut-logs-" + std::to_string(::getpid()));
  std::filesystem::create_directory(directory);
  constexpr std::size_t bytes = 300'000;
  for (const std::int64_t size :
       {std::int64_t{0}, std::int64_t{100'001}, static_cast<std::int64_t>(bytes) - 1})
    for (const bool is_closed : {false, true}) {
      CAPTURE(size);
      CAPTURE(is_closed);
      CHECK(is_told(files, directory, bytes, ".data", size, is_closed));
    }
  std::filesystem::remove_all(directory);
}
