#include "step_drain.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kept_file.hpp"
#include "memory_file.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/netcdf4.hpp"
#include "sluice/storage/cut_guard.hpp"
#include "sluice/storage/file_mark.hpp"
#include "sluice/storage/gathered_writes.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/netcdf4_file.hpp"
#include "sluice/storage/partial_file.hpp"

namespace sluice::runtime {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Divides a box into boxes of at most `most_elements`, each contiguous in row-major order. Calls
/// visit(start, count, elements) for them in that order.
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

/// Writes a new file.
class FileDrain {
 public:
  enum class Extent { whole, part };
  struct Environment {
    const DrainOptions& options;
    const DrainWatcher& watcher;
    Extent extent = Extent::whole;
    bool has_header = true;         ///< this node writes the header
    std::int64_t first_record = 0;  ///< records before it are in the file
  };

  FileDrain(storage::File& file, const KeptFile& kept, StepSource& source, const Environment& environment)
      : kept_(kept),
        source_(source),
        options_(environment.options),
        watcher_(environment.watcher),
        extent_(environment.extent),
        has_header_(environment.has_header),
        first_record_(environment.first_record),
        writes_(file, options_.window_bytes,
                extent_ == Extent::whole ? storage::GatheredWrites::Gaps::zeros
                                         : storage::GatheredWrites::Gaps::kept),
        total_bytes_(kept.size_bytes()) {
    for (int id = 0; id < kept.header.variable_count(); ++id)
      (kept.header.is_record_variable(id) ? record_variables_ : fixed_variables_).push_back(id);
    const auto begin = [&](int id) { return kept.header.variable(id).begin; };
    std::ranges::stable_sort(fixed_variables_, {}, begin);
    std::ranges::stable_sort(record_variables_, {}, begin);
  }

  /// Returns the bytes written.
  std::int64_t run() {
    if (has_header_) write_header();
    if (first_record_ == 0) {
      for (const int id : fixed_variables_) write_box(id, kept_.header.variable(id).begin, -1);
    }
    write_records();
    writes_.flush();
    tell();
    return writes_.written_bytes();
  }

 private:
  void write_header() {
    const auto header = formats::encode_header(kept_.header);
    for (std::size_t at = 0; at < header.size();) {
      const auto part = std::span(header).subspan(
          at, std::min(header.size() - at, static_cast<std::size_t>(options_.window_bytes)));
      std::ranges::copy(part, reserve(static_cast<std::int64_t>(at), std::ssize(part)).begin());
      at += part.size();
    }
  }

  void write_records() {
    const std::int64_t records = kept_.header.record_count;
    if (record_variables_.empty() || records == 0) return;
    const std::int64_t record_bytes = std::max<std::int64_t>(1, kept_.layout.record_size);
    const std::int64_t at_once = options_.chunk_bytes / record_bytes;
    for (std::int64_t record = first_record_; record < records;) {
      if (at_once > 1) {
        const std::int64_t count = std::min(at_once, records - record);
        extent_ == Extent::whole ? write_small_records(record, count) : write_parts_of_records(record, count);
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
                     const std::int64_t bytes = elements * element_bytes;
                     if (extent_ == Extent::whole) {
                       read(id, first, counts, reserve(offset, bytes).data());
                     } else {
                       read_part(id, first, counts);
                       write_runs(offset, 0, bytes);
                     }
                     offset += bytes;
                   });
  }

  /// Reads into scratch_, and sets mask_ for the elements to write.
  void read_part(int id, const Numbers& start, const Numbers& count) {
    std::int64_t elements = 1;
    for (const std::int64_t n : count) elements *= n;
    const std::size_t element_bytes = formats::size_of(kept_.header.variable(id).type);
    const std::size_t bytes = static_cast<std::size_t>(elements) * element_bytes;
    scratch_.resize(std::max(scratch_.size(), bytes));
    mask_.resize(std::max(mask_.size(), bytes));
    share_ = source_.read_part({kept_.header, id, kept_.sources[static_cast<std::size_t>(id)], start, count},
                               scratch_.data(), mask_.data());
    if (share_ != StepSource::Share::nothing) to_file_order(scratch_.data(), element_bytes, elements);
  }

  /// Writes the selected bytes among `bytes` bytes from `first` on of the data that was read. Their position
  /// in the file is `offset`.
  void write_runs(std::int64_t offset, std::int64_t first, std::int64_t bytes) {
    if (share_ == StepSource::Share::nothing) return;
    const std::int64_t end = first + bytes;
    for (std::int64_t begin = first; begin < end;) {
      std::int64_t run_end = end;
      if (share_ == StepSource::Share::some) {
        const auto at = [&](std::int64_t i) { return mask_.begin() + i; };
        begin =
            std::find_if(at(begin), at(end), [](std::byte b) { return b != std::byte{}; }) - mask_.begin();
        run_end = std::find(at(begin), at(end), std::byte{}) - mask_.begin();
      }
      const auto run = std::span(scratch_).subspan(static_cast<std::size_t>(begin),
                                                   static_cast<std::size_t>(run_end - begin));
      if (!run.empty()) std::ranges::copy(run, reserve(offset + begin - first, std::ssize(run)).begin());
      begin = run_end;
    }
  }

  void write_parts_of_records(std::int64_t first, std::int64_t records) {
    for (const int id : record_variables_) {
      const std::int64_t bytes = bytes_per_record(kept_.header, id);
      Numbers count = kept_.header.shape(id);
      Numbers start(count.size(), 0);
      start[0] = first, count[0] = records;
      read_part(id, start, count);
      const std::int64_t begin = kept_.header.variable(id).begin + first * kept_.layout.record_size;
      for (std::int64_t i = 0; i < records; ++i)
        write_runs(begin + i * kept_.layout.record_size, i * bytes, bytes);
    }
  }

  /// Reads and writes several small records at once.
  void write_small_records(std::int64_t first, std::int64_t records) {
    const formats::Header& header = kept_.header;
    const std::int64_t pitch = kept_.layout.record_size;
    const std::int64_t begin = header.variable(record_variables_.front()).begin;
    const int last = record_variables_.back();
    const std::int64_t span =
        (records - 1) * pitch + header.variable(last).begin - begin + bytes_per_record(header, last);
    const auto image = reserve(begin + first * pitch, span);
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

  /// Reads the elements in the file's representation.
  void read(int id, const Numbers& start, const Numbers& count, std::byte* destination) {
    source_.read({kept_.header, id, kept_.sources[static_cast<std::size_t>(id)], start, count}, destination);
    std::int64_t elements = 1;
    for (const std::int64_t n : count) elements *= n;
    to_file_order(destination, formats::size_of(kept_.header.variable(id).type), elements);
  }

  static void to_file_order(std::byte* bytes, std::size_t element_bytes, std::int64_t elements) noexcept {
    if constexpr (std::endian::native == std::endian::big) return;
    if (element_bytes > 1) formats::copy_swapped(bytes, bytes, element_bytes, elements);
  }

  std::span<std::byte> reserve(std::int64_t offset, std::int64_t bytes) {
    const std::int64_t before = writes_.written_bytes();
    const auto given = writes_.reserve(offset, bytes);
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
  Extent extent_;
  bool has_header_;
  std::int64_t first_record_;
  storage::GatheredWrites writes_;
  std::int64_t total_bytes_;
  std::vector<int> fixed_variables_;  ///< in file order
  std::vector<int> record_variables_;
  std::vector<std::byte> scratch_;
  std::vector<std::byte> mask_;
  StepSource::Share share_ = StepSource::Share::nothing;
};

storage::FileMark mark_of(const DrainTask& task) {
  storage::FileMark mark;
  mark.run = task.order.run;
  mark.created_ns = task.order.run_begin_ns;
  mark.origin = static_cast<std::int64_t>(task.order.origin);
  mark.step = static_cast<std::int64_t>(task.view->step);
  mark.complete = mark.step;
  return mark;
}

/// A netCDF-4 file always has all variables, as one that was written by its bytes.
KeptFile file_of(const DrainTask& task, const StepSource& source) {
  const bool is_whole = formats::is_netcdf4(task.view->header);
  return kept_file(*task.view, static_cast<formats::Version>(task.order.version), source.record_count(),
                   is_whole ? std::vector<std::string>() : task.order.keep.variables);
}

/// Writes the task's data to the partial file, and syncs it.
std::int64_t write_partial(storage::File& file, const DrainTask& task, StepSource& source,
                           const DrainWatcher& watcher, const DrainOptions& options) {
  const KeptFile kept = file_of(task, source);
  const auto extent = task.order.parts == 1 ? FileDrain::Extent::whole : FileDrain::Extent::part;
  const std::int64_t bytes =
      FileDrain(file, kept, source, {options, watcher, extent, task.order.part == 0}).run();
  file.sync();
  return bytes;
}

/// Whether the path has the result of an earlier drain, and the step only adds records to it.
bool can_append(storage::FileSystem& system, const DrainTask& task, StepSource& source, KeptFile kept) {
  const std::int64_t records = task.order.drained_records;
  if (kept.header.record_dimension() < 0 || kept.header.record_count <= records) return false;
  kept.header.record_count = records;
  try {
    const auto file = system.open(task.order.path, storage::OpenMode::read);
    return storage::read_header(*file).bytes == formats::encode_header(kept.header) &&
           file->size_bytes() == kept.size_bytes() &&
           source.only_adds_records(task.order.drained_logs, records);
  } catch (const IoError&) {
    return false;
  } catch (const FormatError&) {
    return false;
  }
}

void mark_drained(storage::File& file, const DrainTask& task) {
  storage::FileMark mark = mark_of(task);
  mark.content = storage::content_of(file);
  (void)storage::set_mark(file, mark);
}

/// Writes the data, syncs it, and then writes the number of records: so the file always has either the old or
/// the new contents.
std::int64_t append_records(storage::FileSystem& system, const DrainTask& task, StepSource& source,
                            const DrainWatcher& watcher, const DrainOptions& options) {
  const auto file = system.open(task.order.path, storage::OpenMode::update);
  // A process that finds the file during the write knows from the mark how far the last drain has come.
  if (auto mark = storage::mark_of(*file); mark && mark->is_of_same(mark_of(task))) {
    mark->content = storage::growing_content;
    (void)storage::set_mark(*file, *mark);
  } else {
    (void)file->set_mark({});
  }
  const KeptFile kept = file_of(task, source);
  const std::uint64_t before = storage::cuts();
  const std::int64_t bytes =
      FileDrain(*file, kept, source,
                {options, watcher, FileDrain::Extent::whole, false, task.order.drained_records})
          .run();
  storage::expect_no_cut(before);
  file->sync();
  file->write(formats::record_count_offset,
              formats::encode_record_count(kept.header.version, kept.header.record_count));
  file->sync();
  mark_drained(*file, task);
  file->close();
  system.sync_directory(storage::directory_of(task.order.path));  // brings the mark to storage
  return bytes;
}

/// The step was written as a file: the same bytes.
std::uint64_t copy_file(storage::FileSystem& system, const DrainTask& task, const DrainWatcher& watcher,
                        const DrainOptions& options) {
  const std::string link = link_to(*task.file);
  std::unique_ptr<storage::File> from;
  as_owner(*task.file, R_OK, [&] { from = system.open(link, storage::OpenMode::read); });
  const std::int64_t bytes = from->size_bytes();
  storage::PartialFile partial(system, task.order.path);
  for (std::int64_t done = 0; done < bytes;) {
    const std::int64_t piece = std::min(options.window_bytes, bytes - done);
    if (partial.file().copy(*from, {done, done + piece}, done) != piece)
      throw Error(NC_EIO, task.order.path + ": the file in memory is shorter than before");
    done += piece;
    watcher({static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(bytes)});
  }
  partial.file().sync();
  mark_drained(partial.file(), task);
  partial.publish_like(link);
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace

void publish_drained(storage::FileSystem& system, storage::PartialFile& partial, const DrainTask& task,
                     const DrainWatcher& watcher) {
  std::unique_ptr<storage::PartialFile> made;
  if (!task.file && formats::is_netcdf4(task.view->header))
    made = storage::make_netcdf4_file(system, partial, [&] { watcher({}); });
  storage::PartialFile& whole = made ? *made : partial;
  mark_drained(whole.file(), task);
  whole.publish();
}

std::uint64_t make_image(storage::FileSystem& system, const DrainTask& task, const DrainWatcher& watcher,
                         const DrainOptions& options) {
  if (task.shows_all && task.view->header.empty()) return 0;  // definitions have not ended: as on disk
  StepSource source(*task.view, {task.segments, task.tables, true, {}, task.remote.get(), task.shows_all});
  const bool is_netcdf4 = formats::is_netcdf4(task.view->header);
  const auto dataset = is_netcdf4 ? storage::make_scratch_file(*task.image) : storage::FileDescriptor();
  const int number = (is_netcdf4 ? dataset : *task.image).number();
  const auto file = system.open("/proc/self/fd/" + std::to_string(number), storage::OpenMode::update);
  const KeptFile kept = file_of(task, source);
  const std::uint64_t before = storage::cuts();
  if (is_netcdf4) file->resize(kept.size_bytes());
  (void)FileDrain(*file, kept, source, {options, watcher}).run();  // gaps are not written
  storage::expect_no_cut(before);
  file->close();
  if (is_netcdf4) return storage::make_netcdf4_file(dataset, *task.image, [&] { watcher({}); });
  return static_cast<std::uint64_t>(kept.size_bytes());
}

std::uint64_t drain_part(storage::FileSystem& system, const DrainTask& task, const DrainWatcher& watcher,
                         const DrainOptions& options) {
  StepSource source(*task.view, {task.segments, task.tables, task.order.part == 0});
  const auto file = system.open(task.partial, storage::OpenMode::update);
  const std::uint64_t before = storage::cuts();
  const auto bytes = write_partial(*file, task, source, watcher, options);
  storage::expect_no_cut(before);
  file->close();
  return static_cast<std::uint64_t>(bytes);
}

std::uint64_t drain_step(storage::FileSystem& system, const DrainTask& task, const DrainWatcher& watcher,
                         const DrainOptions& options) {
  if (task.file) return copy_file(system, task, watcher, options);
  if (task.order.drained_records > 0 && task.view->is_told_whole()) {
    // Data that is already in the file need not be read again.
    StepSource added(*task.view, {task.segments, task.tables, true, task.order.drained_logs});
    if (can_append(system, task, added, file_of(task, added)))
      return static_cast<std::uint64_t>(append_records(system, task, added, watcher, options));
  }
  const std::uint64_t before = storage::cuts();
  StepSource source(*task.view, {task.segments, task.tables});
  storage::PartialFile partial(system, task.order.path);
  const std::int64_t bytes = write_partial(partial.file(), task, source, watcher, options);
  storage::expect_no_cut(before);
  publish_drained(system, partial, task, watcher);
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace sluice::runtime
