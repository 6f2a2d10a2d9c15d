// Burst-buffer logs: whatever the metadata says, reading it and replaying it into a file ends, and touches
// nothing but data.
#include <algorithm>
#include <cerrno>
#include <string_view>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/storage/faulty_file_system.hpp"
#include "sluice/storage/log_replay.hpp"
#include "sluice/storage/memory_file_system.hpp"
#include "support.hpp"

using namespace sluice;
using namespace sluice::storage;
using sluice::fuzz::require;

namespace {

constexpr std::int64_t most_bytes = 1 << 20;  // of the file: records may be anywhere

/// short a(time, 3); double b(7); byte c; int d(7)
formats::Header dataset_header() {
  formats::Header header;
  header.version = formats::Version::cdf5;
  const int time = header.add_dimension({"time", 0, true});
  const int three = header.add_dimension({"three", 3, false});
  const int seven = header.add_dimension({"seven", 7, false});
  const auto add = [&](const char* name, formats::Type type, std::vector<int> dimids) {
    formats::Variable variable;
    variable.name = name;
    variable.type = type;
    variable.dimids = std::move(dimids);
    header.add_variable(variable);
  };
  add("a", formats::Type::int16, {time, three});
  add("b", formats::Type::float64, {seven});
  add("c", formats::Type::int8, {});
  add("d", formats::Type::int32, {seven});
  return header;
}

void read_all(FileSystem& files) {
  BurstLogReader log(files, "log.meta");
  std::int64_t entries = 0;
  while (const auto entry = log.next()) {
    ++entries;
    std::vector<std::byte> data(static_cast<std::size_t>(entry->data_bytes));
    log.read_data(entry->data_offset, data);
    require(entry->dimensions == 0 || std::ssize(entry->starts) == entry->slab_count() * entry->dimensions,
            "an entry has its starts");
  }
  require(entries <= log.header().entry_count, "no more entries than the header says");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  MemoryFileSystem memory;
  auto header = dataset_header();
  const auto layout = formats::compute_layout(header, {}, nullptr);
  const auto encoded = formats::encode_header(header);
  memory.open("file.nc", OpenMode::create)->write(0, encoded);
  memory.open("log.meta", OpenMode::create)->write(0, fuzz::as_bytes(data, size));
  const auto data_log = memory.open("log.data", OpenMode::create);
  data_log->resize(512);
  data_log->write(0, std::as_bytes(std::span(formats::burst_log_magic)));

  FaultyFileSystem files(memory, [&](const FileOperation& operation) {
    if (operation.kind != FileOperation::Kind::write) return Fault{};
    const bool is_record_count =
        operation.offset_bytes == formats::record_count_offset && operation.bytes == 8;
    require(is_record_count || operation.offset_bytes >= layout.header_extent,
            "the header is not written over");
    return operation.offset_bytes + operation.bytes > most_bytes ? Fault{EFBIG, 0} : Fault{};
  });
  fuzz::refuse_or([&] { read_all(files); });
  fuzz::refuse_or([&] {
    std::vector<BurstLogReader> logs;
    logs.emplace_back(files, "log.meta");
    replay_logs(files, logs, "file.nc", {200, 64});
  });
  return 0;
}
