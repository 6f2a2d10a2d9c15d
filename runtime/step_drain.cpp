#include "step_drain.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kept_file.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/storage/gathered_writes.hpp"

namespace sluice::runtime {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Calls visit(start, count, elements) for boxes of at most `most_elements` that make up the box, each of
/// them contiguous in row-major order, in that order.
template <class Visit>
void for_each_chunk(Numbers start, Numbers count, std::int64_t most_elements, const Visit& visit) {
  if (std::ranges::find(count, 0) != count.end()) return;
  std::size_t whole = count.size();  // dimensions from here on are whole in each chunk
  std::int64_t inner = 1;
  while (whole > 0 && count[whole - 1] <= most_elements / inner) inner *= count[--whole];
  if (whole == 0) return visit(start, count, inner);
  const std::size_t cut = whole - 1;
  const std::int64_t rows = std::max<std::int64_t>(1, most_elements / inner);
  const Numbers first = start;
  const Numbers all = count;
  std::fill(count.begin(), count.begin() + static_cast<std::ptrdiff_t>(cut), 1);
  for (;;) {
    for (std::int64_t row = 0; row < all[cut]; row += rows) {
      start[cut] = first[cut] + row;
      count[cut] = std::min(rows, all[cut] - row);
      visit(start, count, count[cut] * inner);
    }
    std::size_t d = cut;
    while (d > 0 && ++start[d - 1] == first[d - 1] + all[d - 1]) {
      start[d - 1] = first[d - 1];
      --d;
    }
    if (d == 0) return;
  }
}

/// Writes all of a file that is not there yet.
class FileDrain {
 public:
  FileDrain(storage::File& file, const KeptFile& kept, StepSource& source, const DrainOptions& options,
            const DrainWatcher& watcher)
      : kept_(kept),
        source_(source),
        options_(options),
        watcher_(watcher),
        writes_(file, options.window_bytes),
        total_bytes_(kept.size_bytes()) {
    for (int id = 0; id < kept.header.variable_count(); ++id)
      (kept.header.is_record_variable(id) ? record_variables_ : fixed_variables_).push_back(id);
    const auto begin = [&](int id) { return kept.header.variable(id).begin; };
    std::ranges::stable_sort(fixed_variables_, {}, begin);
    std::ranges::stable_sort(record_variables_, {}, begin);
  }

  void run() {
    const auto header = formats::encode_header(kept_.header);
    for (std::size_t at = 0; at < header.size();) {
      const auto part = std::span(header).subspan(
          at, std::min(header.size() - at, static_cast<std::size_t>(options_.window_bytes)));
      std::ranges::copy(part, room(static_cast<std::int64_t>(at), std::ssize(part)).begin());
      at += part.size();
    }
    for (const int id : fixed_variables_) write_box(id, kept_.header.variable(id).begin, -1);
    write_records();
    writes_.flush();
    tell();
  }

 private:
  void write_records() {
    const std::int64_t records = kept_.header.record_count;
    if (record_variables_.empty() || records == 0) return;
    const std::int64_t record_bytes = std::max<std::int64_t>(1, kept_.layout.record_size);
    const std::int64_t at_once = options_.chunk_bytes / record_bytes;
    for (std::int64_t record = 0; record < records;) {
      if (at_once > 1) {
        const std::int64_t count = std::min(at_once, records - record);
        write_small_records(record, count);
        record += count;
        continue;
      }
      for (const int id : record_variables_)
        write_box(id, kept_.header.variable(id).begin + record * kept_.layout.record_size, record);
      ++record;
    }
  }

  /// A fixed-size variable, or one record of a record variable.
  void write_box(int id, std::int64_t offset, std::int64_t record) {
    const formats::Header& header = kept_.header;
    Numbers count = header.shape(id);
    Numbers start(count.size(), 0);
    if (record >= 0) start[0] = record, count[0] = 1;
    const auto element_bytes = static_cast<std::int64_t>(formats::size_of(header.variable(id).type));
    for_each_chunk(start, count, options_.chunk_bytes / element_bytes,
                   [&](const Numbers& first, const Numbers& counts, std::int64_t elements) {
                     read(id, first, counts, room(offset, elements * element_bytes).data());
                     offset += elements * element_bytes;
                   });
  }

  /// Records that are so small that several are read and written at once.
  void write_small_records(std::int64_t first, std::int64_t records) {
    const formats::Header& header = kept_.header;
    const std::int64_t pitch = kept_.layout.record_size;
    const std::int64_t begin = header.variable(record_variables_.front()).begin;
    const int last = record_variables_.back();
    const std::int64_t span =
        (records - 1) * pitch + header.variable(last).begin - begin + bytes_per_record(header, last);
    const auto image = room(begin + first * pitch, span);
    std::ranges::fill(image, std::byte{});  // between the variables
    for (const int id : record_variables_) {
      const std::int64_t bytes = bytes_per_record(header, id);
      Numbers count = header.shape(id);
      Numbers start(count.size(), 0);
      start[0] = first, count[0] = records;
      std::byte* const to = image.data() + (header.variable(id).begin - begin);
      if (bytes == pitch) {
        read(id, start, count, to);
        continue;
      }
      scratch_.resize(static_cast<std::size_t>(bytes * records));
      read(id, start, count, scratch_.data());
      for (std::int64_t i = 0; i < records; ++i)
        std::memcpy(to + i * pitch, scratch_.data() + i * bytes, static_cast<std::size_t>(bytes));
    }
  }

  /// The elements as the file has them.
  void read(int id, const Numbers& start, const Numbers& count, std::byte* destination) {
    source_.read({kept_.header, id, kept_.sources[static_cast<std::size_t>(id)], start, count}, destination);
    if constexpr (std::endian::native == std::endian::big) return;
    std::int64_t elements = 1;
    for (const std::int64_t n : count) elements *= n;
    const std::size_t element_bytes = formats::size_of(kept_.header.variable(id).type);
    if (element_bytes > 1) formats::copy_swapped(destination, destination, element_bytes, elements);
  }

  std::span<std::byte> room(std::int64_t offset, std::int64_t bytes) {
    const std::int64_t before = writes_.written_bytes();
    const auto given = writes_.room(offset, bytes);
    if (writes_.written_bytes() != before) tell();
    return given;
  }

  void tell() const {
    watcher_({static_cast<std::uint64_t>(writes_.written_bytes()), static_cast<std::uint64_t>(total_bytes_)});
  }

  const KeptFile& kept_;
  StepSource& source_;
  const DrainOptions& options_;
  const DrainWatcher& watcher_;
  storage::GatheredWrites writes_;
  std::int64_t total_bytes_;
  std::vector<int> fixed_variables_;  ///< by their place in the file
  std::vector<int> record_variables_;
  std::vector<std::byte> scratch_;
};

}  // namespace

std::uint64_t drain_step(storage::FileSystem& system, const DrainTask& task, const DrainWatcher& watcher,
                         const DrainOptions& options) {
  StepSource source(*task.view, task.segments);
  const KeptFile kept = kept_file(*task.view, static_cast<formats::Version>(task.order.version),
                                  source.record_count(), task.order.keep.variables);
  const std::string& path = task.order.path;
  const std::string partial = path + ".partial";
  const auto file = system.open(partial, storage::OpenMode::create);
  try {
    FileDrain(*file, kept, source, options, watcher).run();
    file->sync();
    file->close();
    system.rename(partial, path);
  } catch (...) {
    try {
      system.remove(partial);
    } catch (const Error&) {
      // What went wrong before matters more.
    }
    throw;
  }
  system.sync_directory(storage::directory_of(path));
  return static_cast<std::uint64_t>(kept.size_bytes());
}

}  // namespace sluice::runtime
