// A recovery that a signal ends at any moment, and logs whose puts the file lacks.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "burst_log_world.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/storage/file_mark.hpp"
#include "sluice/storage/interruptible_file_system.hpp"
#include "sluice/storage/memory_file_system.hpp"
#include "sluice/storage/recovery.hpp"
#include "sluice/storage/unflushed_logs.hpp"

using namespace sluice;
using namespace sluice::storage;

namespace {

constexpr const char* target = "d/a.nc";
constexpr formats::BurstLogIdentity program{0, 1000, 7};

struct Stop {};
int checks_left = 0;

/// Throws at the n-th check.
void count_down() {
  if (--checks_left == 0) throw Stop();
}

std::string path_of_log(std::int64_t rank) {
  return "d/a.nc_0_" + std::to_string(rank) + ".meta";
}

/// byte row(3)
void write_file(FileSystem& files) {
  formats::Header header;
  header.add_dimension({"three", 3, false});
  formats::Variable row;
  row.name = "row";
  row.type = formats::Type::int8;
  row.dimids = {0};
  header.add_variable(row);
  formats::compute_layout(header, {}, nullptr);
  auto bytes = formats::encode_header(header);
  bytes.resize(static_cast<std::size_t>(header.variable(0).begin) + 3);
  files.open(target, OpenMode::create)->write(0, bytes);
}

void write_log(FileSystem& files, std::int64_t rank, const formats::BurstLogIdentity& identity = program,
               const std::string& netcdf_path = target) {
  auto header = log_header(netcdf_path, rank);
  header.identity = identity;
  BurstLogWriter writer(files, burst_log_paths_of(path_of_log(rank)), header,
                        BurstLogWriter::Existing::refuse);
  append(writer, {0, formats::Type::int8, {{{rank}, {1}, {}}}, bytes_of({7})});
  writer.commit();
  writer.close();
}

void recover(FileSystem& files) {
  const auto found = find_logs(files, "d");
  REQUIRE(found.groups.size() == 1);
  (void)recover_file(files, found.groups.front(), target);
}

}  // namespace

TEST_CASE(
    "a recovery that is interrupted at any moment leaves the old file or the new one, and no partial file") {
  MemoryFileSystem whole;
  write_file(whole);
  const auto before = whole.bytes(target);
  for (const std::int64_t rank : {0, 1, 2}) write_log(whole, rank);
  recover(whole);
  const auto after = whole.bytes(target);
  REQUIRE(after != before);
  bool is_interrupted = true;
  for (int moment = 1; is_interrupted; ++moment) {
    CAPTURE(moment);
    MemoryFileSystem files;
    write_file(files);
    for (const std::int64_t rank : {0, 1, 2}) write_log(files, rank);
    checks_left = moment;
    try {
      InterruptibleFileSystem interruptible(files, count_down);
      recover(interruptible);
      is_interrupted = false;
    } catch (const Stop&) {
    }
    CHECK((files.bytes(target) == before || files.bytes(target) == after));
    for (const auto& name : files.list("d")) CHECK_FALSE(name.ends_with(".partial"));
    recover(files);
    CHECK(files.bytes(target) == after);
  }
}

TEST_CASE("logs whose puts did not reach their file are found, until recovery has put them there") {
  MemoryFileSystem files;
  write_file(files);
  CHECK(unflushed_logs(files, "d", target).empty());
  for (const std::int64_t rank : {0, 1}) write_log(files, rank);
  const auto logs = unflushed_logs(files, "d", target);
  REQUIRE(logs.size() == 2);
  CHECK(logs.front().metadata_path == path_of_log(0));
  CHECK(describe_unflushed(logs, target) == "2 logs of d/a.nc still hold data (d/a.nc_0_0.meta, …)");
  CHECK_THROWS_WITH_AS(expect_no_unflushed_logs(files, "d", target), doctest::Contains("Recover first"),
                       Error);
  recover(files);
  CHECK(unflushed_logs(files, "d", target).empty());
  CHECK_NOTHROW(expect_no_unflushed_logs(files, "d", target));
}

TEST_CASE("logs of other files, of earlier programs, of steps, and without puts do not count") {
  MemoryFileSystem files;
  write_file(files);
  write_log(files, 0, program, "d/b/a.nc");
  CHECK(unflushed_logs(files, "d", target).empty());
  write_log(files, 1, {0, 500, 6});
  CHECK(unflushed_logs(files, "d", target).size() == 1);
  FileMark later;
  later.created_ns = 1000;
  later.group = 7;
  later.content = growing_content;
  REQUIRE(set_mark(*files.open(target, OpenMode::update), later));
  CHECK(unflushed_logs(files, "d", target).empty());
  auto header = log_header(target, 2);
  header.identity = program;
  BurstLogWriter empty(files, burst_log_paths_of(path_of_log(2)), header, BurstLogWriter::Existing::refuse);
  CHECK(unflushed_logs(files, "d", target).empty());
  header.rank = 3;
  header.step = formats::BurstLogStep{5, 5};
  BurstLogWriter of_step(files, burst_log_paths_of(path_of_log(3)), header, BurstLogWriter::Existing::refuse);
  append(of_step, {0, formats::Type::int8, {{{0}, {1}, {}}}, bytes_of({7})});
  of_step.commit();
  of_step.close();
  CHECK(unflushed_logs(files, "d", target).empty());
}
