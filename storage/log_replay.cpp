#include "sluice/storage/log_replay.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <vector>

#include "sluice/formats/layout.hpp"
#include "sluice/storage/file_request.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/log_round.hpp"

namespace sluice::storage {
namespace {

constexpr std::size_t batch_extents = std::size_t{1} << 20;
constexpr std::int64_t overhang_bytes = 8;  // an element that begins in a window may end behind it

/// Writes what is put in large runs, in ascending order of the file's offsets.
class ReplayTarget {
 public:
  ReplayTarget(File& file, std::int64_t window_bytes)
      : file_(file),
        window_bytes_(window_bytes),
        window_(std::make_unique_for_overwrite<std::byte[]>(
            static_cast<std::size_t>(window_bytes + overhang_bytes))) {}

  void write(FileRequest& request) {
    while (request.has_more()) {
      request.next_batch(batch_extents);
      const FileRange hull = request.hull();
      for (std::int64_t begin = hull.begin; begin < hull.end;) {
        const FileRange range{begin, begin + std::min(hull.end - begin, window_bytes_)};
        write_window(request, range);
        // Holes are passed over.
        const auto rest = request.extents_in({range.end, hull.end});
        begin = rest.empty() ? hull.end : std::max(range.end, rest.front().offset_bytes);
      }
    }
  }

 private:
  void write_window(FileRequest& request, const FileRange& range) {
    Coverage coverage;
    coverage.begin_list();
    for_each_clipped(request.extents_in(range), range, [&](const Extent& part) {
      std::byte* const to = window_.get() + (part.offset_bytes - range.begin);
      request.codec(part).encode(part.first_element, part.elements, to);
      coverage.add({part.offset_bytes, part.end()});
    });
    for (const FileRange& run : coverage.join())
      file_.write(run.begin,
                  {window_.get() + (run.begin - range.begin), static_cast<std::size_t>(run.size())});
  }

  File& file_;
  std::int64_t window_bytes_;
  std::unique_ptr<std::byte[]> window_;
};

/// The number of records, where the file's format can say it.
std::int64_t checked_records(const File& file, const formats::Header& header, const ReplayResult& result) {
  const bool is_narrow = header.version != formats::Version::cdf5;
  if (is_narrow && result.record_count >= std::numeric_limits<std::uint32_t>::max())
    throw Error(NC_EINTOVERFLOW, file.path() + ": " + std::to_string(result.record_count) +
                                     " records are more than the format of this file can hold");
  return result.record_count;
}

}  // namespace

ReplayResult replay_logs(FileSystem& files, std::span<BurstLogReader> logs, const std::string& netcdf_path,
                         const ReplayOptions& options) {
  const auto file = files.open(netcdf_path, OpenMode::update);
  const auto decoded = read_header(*file).decoded;
  const auto& header = decoded.header;
  const auto layout = formats::layout_of(header, decoded.size_bytes);

  ReplayResult result;
  result.record_count = header.record_count;
  const std::int64_t budget = options.memory_bytes / std::max<std::int64_t>(1, std::ssize(logs));
  std::deque<LogRounds> rounds;
  for (auto& log : logs) rounds.emplace_back(log, header, layout, budget);

  const formats::FilePlacement placement(header, layout);
  ReplayTarget target(*file, options.window_bytes);
  // A round of all logs at once: processes that wrote interleaved parts make contiguous ones.
  std::vector<Access> accesses;
  do {
    accesses.clear();
    for (auto& round : rounds) {
      if (!round.next()) continue;
      accesses.insert(accesses.end(), round.accesses().begin(), round.accesses().end());
      result.data_bytes += round.data_bytes();
    }
    FileRequest request(header, placement, accesses, FileRequest::Kind::put);
    result.record_count = std::max(result.record_count, request.record_end());
    target.write(request);
    result.puts += std::ssize(accesses);
    result.out_of_range += std::ranges::count(accesses, static_cast<int>(NC_ERANGE), &Access::status);
  } while (!accesses.empty());

  // The records are counted when they are on storage, not before.
  file->sync();
  if (result.record_count > header.record_count) {
    file->write(formats::record_count_offset,
                formats::encode_record_count(header.version, checked_records(*file, header, result)));
    result.raised_record_count = true;
    file->sync();
  }
  file->close();
  return result;
}

}  // namespace sluice::storage
