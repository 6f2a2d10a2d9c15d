// bench_drain DIRECTORY MEBIBYTES REPETITIONS: times draining a step of that size to a file in DIRECTORY, and
// copying that file, in turn. Four processes have put the step in rows. Both times include the sync. Prints
// one line per repetition: milliseconds of the drain and of the copy.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/matcher/request_table.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "sluice/storage/recovery.hpp"
#include "step_drain.hpp"

namespace {

using namespace sluice;
constexpr std::int64_t columns = 4096;  // of 8 bytes
constexpr std::uint64_t processes = 4;
constexpr std::uint64_t table_bytes = 1 << 20;

double milliseconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// Every fourth row by one process; each row is a put.
void add_log(std::uint64_t process, std::int64_t rows, matcher::StepView& view, runtime::DrainTask& task) {
  const std::uint64_t data_bytes = static_cast<std::uint64_t>(rows * columns) * sizeof(double);
  const std::uint64_t id = 2 * process + 1;
  runtime::FileDescriptor table_file = runtime::create_segment(table_bytes);
  runtime::FileDescriptor data_file = runtime::create_segment(data_bytes);
  const runtime::Mapping table(table_file, {table_bytes}, runtime::Mapping::Access::read_write);
  const runtime::Mapping data(data_file, {data_bytes}, runtime::Mapping::Access::read_write);
  matcher::TableWriter writer(table.writable());
  matcher::TableEntry segment;
  segment.kind = matcher::EntryKind::segment;
  segment.length_bytes = data_bytes;
  segment.segment_id = id + 1;
  bool fits = writer.append(segment);
  std::uint64_t used = 0;
  for (auto row = static_cast<std::int64_t>(process); row < rows; row += processes) {
    const std::array<std::int64_t, 2> start{row, 0};
    const std::array<std::int64_t, 2> count{1, columns};
    matcher::TableEntry put;
    put.varid = 0;
    put.log_offset = used;
    put.box = {start, count, {}};
    fits = writer.append(put) && fits;
    std::memset(data.writable().data() + used, static_cast<int>(row % 100 + 1), columns * sizeof(double));
    used += columns * sizeof(double);
  }
  writer.commit();
  if (!fits) throw Error(NC_EINVAL, "too many rows for the request table");
  matcher::LogView log;
  log.tables = {{id, table_bytes}};
  log.data = {{id + 1, data_bytes}};
  view.logs.push_back(log);
  const auto add = [&](matcher::SegmentId segment, std::uint64_t bytes, runtime::FileDescriptor file) {
    task.segments.push_back(
        {segment, {bytes}, [file = std::make_shared<const runtime::FileDescriptor>(std::move(file))] {
           return file;
         }});
  };
  add(id, table_bytes, std::move(table_file));
  add(id + 1, data_bytes, std::move(data_file));
}

runtime::DrainTask make_task(const std::string& path, std::int64_t rows) {
  formats::Header header;
  header.version = formats::Version::cdf5;
  header.add_dimension({"y", rows, false});
  header.add_dimension({"x", columns, false});
  formats::Variable variable;
  variable.name = "v";
  variable.type = formats::Type::float64;
  variable.dimids = {0, 1};
  header.add_variable(variable);
  formats::compute_layout(header, {}, nullptr);
  matcher::StepView view;
  view.step = 1;
  view.is_final = true;
  view.header = formats::encode_header(header);
  runtime::DrainTask task;
  for (std::uint64_t process = 0; process < processes; ++process) add_log(process, rows, view, task);
  task.view = std::make_shared<const matcher::StepView>(std::move(view));
  task.order.path = path;
  task.order.version = 5;
  return task;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return std::fputs("usage: bench_drain DIRECTORY MEBIBYTES REPETITIONS\n", stderr), 2;
  try {
    const std::string path = std::string(words[1]) + "/bench_drain.nc";
    const std::string copy = std::string(words[1]) + "/bench_drain.copy";
    const auto task = make_task(path, std::atoll(words[2]) * (1 << 20) / (columns * 8));
    storage::PosixFileSystem system;
    for (int i = 0; i < std::atoi(words[3]); ++i) {
      const double drain = milliseconds_of([&] { runtime::drain_step(system, task, [](const auto&) {}); });
      const double copied = milliseconds_of([&] { storage::copy_files(system, {{path, copy}}); });
      std::printf("%.2f %.2f\n", drain, copied);
      system.remove(path);
      system.remove(copy);
    }
    return 0;
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "bench_drain: %s\n", error.what()), 1;
  }
}
