// The header of a workflow's log, which ncmpi_sync writes beside the puts.
#include "sluice/storage/log_header.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "sluice/storage/faulty_file_system.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/memory_file_system.hpp"

using namespace sluice;
using namespace sluice::storage;

namespace {

/// The operations that change files and names, or sync them, in order.
struct Recorder {
  MemoryFileSystem memory;
  std::vector<std::string> operations;
  FaultyFileSystem files{memory, [this](const FileOperation& operation) {
                           using Kind = FileOperation::Kind;
                           if (operation.kind == Kind::write) operations.push_back("write " + operation.path);
                           if (operation.kind == Kind::rename)
                             operations.push_back("rename " + operation.path);
                           if (operation.kind == Kind::sync) operations.push_back("sync " + operation.path);
                           if (operation.kind == Kind::sync_directory)
                             operations.push_back("sync directory " + operation.path);
                           return Fault{};
                         }};

  std::vector<std::string> take() { return std::exchange(operations, {}); }
};

using Operations = std::vector<std::string>;

}  // namespace

TEST_CASE("a header that finds the disk full leaves nothing behind") {
  using Kind = FileOperation::Kind;
  for (const Kind failing : {Kind::write, Kind::close, Kind::rename}) {
    CAPTURE(static_cast<int>(failing));
    MemoryFileSystem memory;
    FaultyFileSystem full(memory, [&](const FileOperation& operation) {
      return operation.kind == failing ? Fault{ENOSPC, 0} : Fault{};
    });
    LogHeader header(full, "logs/a.nc_1_0.header");
    formats::Header dataset;
    dataset.add_dimension({"record", 0, true});
    CHECK_THROWS_AS(header.write(dataset), IoError);
    CHECK(memory.list("logs").empty());
  }
}

TEST_CASE("header and names are brought to storage once, and again when they have changed") {
  Recorder recorder;
  LogHeader header(recorder.files, "logs/a.nc_1_0.header");
  header.sync();
  CHECK(recorder.take() == Operations{"sync directory logs"});
  header.sync();
  CHECK(recorder.take().empty());

  formats::Header dataset;
  dataset.add_dimension({"record", 0, true});
  dataset.record_count = 7;
  for (int i = 0; i < 2; ++i) {
    header.write(dataset);
    CHECK(recorder.take() ==
          Operations{"write logs/a.nc_1_0.header.partial", "rename logs/a.nc_1_0.header.partial"});
    header.sync();
    CHECK(recorder.take() == Operations{"sync logs/a.nc_1_0.header", "sync directory logs"});
    header.sync();
    CHECK(recorder.take().empty());
  }
  CHECK(read_header(*recorder.memory.open("logs/a.nc_1_0.header", OpenMode::read))
            .decoded.header.record_count == 0);
}
