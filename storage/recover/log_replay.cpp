#include "sluice/storage/log_replay.hpp"

#include <algorithm>
#include <deque>
#include <vector>

#include "replay_files.hpp"
#include "sluice/storage/file_request.hpp"
#include "sluice/storage/log_round.hpp"
#include "sluice/storage/record_limit.hpp"

namespace sluice::storage {
namespace {

constexpr std::size_t batch_extents = std::size_t{1} << 20;
constexpr std::int64_t overhang_bytes = 8;  // an element that begins in a window may end after it

/// Writes the data of puts in large runs, in ascending order of the file's offsets.
class ReplayTarget {
 public:
  ReplayTarget(ReplayFiles& files, std::int64_t window_bytes)
      : files_(files),
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
        // Skips holes.
        const auto rest = request.extents_in({range.end, hull.end});
        begin = rest.empty() ? hull.end : std::max(range.end, rest.front().offset_bytes);
      }
    }
  }

 private:
  void write_window(FileRequest& request, const FileRange& range) {
    const auto extents = request.extents_in(range);
    for_each_clipped(extents, range, [&](const Extent& part) {
      std::byte* const to = window_.get() + (part.offset_bytes - range.begin);
      request.codec(part).encode(part.first_element, part.elements, to);
    });
    for_each_covered(extents, range, 0, [&](const FileRange& run) {
      files_.write(run.begin,
                   {window_.get() + (run.begin - range.begin), static_cast<std::size_t>(run.size())});
    });
  }

  ReplayFiles& files_;
  std::int64_t window_bytes_;
  std::unique_ptr<std::byte[]> window_;
};

/// Reads a round from all logs at once: interleaved parts of several processes then form contiguous runs.
/// With clocks, accesses are in the order of time. No access is later than an entry that another log has left
/// for the next round.
std::vector<Access> next_round(std::deque<LogRounds>& rounds) {
  PutTime horizon = end_of_time;
  for (LogRounds& round : rounds) {
    round.take();
    if (round.has_more()) horizon = std::min(horizon, round.last_time());
  }
  struct TimedAccess {
    PutTime time;
    Access access;
  };
  std::vector<TimedAccess> timed;
  for (LogRounds& round : rounds) {
    if (!round.read(horizon)) continue;
    for (std::size_t i = 0; i < round.accesses().size(); ++i)
      timed.push_back({round.time_of(i), round.accesses()[i]});
  }
  std::ranges::stable_sort(timed, {}, &TimedAccess::time);  // ties: the higher rank wins
  std::vector<Access> accesses;
  accesses.reserve(timed.size());
  for (const TimedAccess& each : timed) accesses.push_back(each.access);
  return accesses;
}

}  // namespace

ReplayResult replay_logs(FileSystem& system, std::span<BurstLogReader> logs, const std::string& netcdf_path,
                         const ReplayOptions& options) {
  ReplayFiles files(system, netcdf_path);
  const auto& header = files.header();
  ReplayResult result;
  result.record_count = header.record_count;
  const std::int64_t budget = options.memory_bytes / std::max<std::int64_t>(1, std::ssize(logs));
  RecordLimit records(header, files.layout(), system.capacity_bytes(directory_of(netcdf_path)));
  for (auto& log : logs) records.look_at(log);
  const auto most_records = std::min(options.most_records, records.limit());
  std::deque<LogRounds> rounds;
  for (auto& log : logs) rounds.emplace_back(log, header, files.layout(), budget, most_records);

  ReplayTarget target(files, options.window_bytes);
  for (;;) {
    std::vector<Access> accesses = next_round(rounds);
    if (accesses.empty()) break;
    for (const auto& round : rounds) result.data_bytes += round.data_bytes();
    FileRequest request(header, files.placement(), accesses, FileRequest::Kind::put);
    result.record_count = std::max(result.record_count, request.record_end());
    target.write(request);
    result.puts += std::ssize(accesses);
    result.out_of_range += std::ranges::count(accesses, static_cast<int>(NC_ERANGE), &Access::status);
  }

  files.lengthen(result.record_count);
  // The record count is raised only after the records are on storage.
  files.sync();
  if (result.record_count > header.record_count) {
    files.raise_record_count(result.record_count);
    result.raised_record_count = true;
    files.sync();
  }
  files.close();
  return result;
}

}  // namespace sluice::storage
