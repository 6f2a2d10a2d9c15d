#include "sluice/storage/merge.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/formats/linear_range.hpp"
#include "sluice/storage/partial_file.hpp"
#include "sluice/storage/split_dataset.hpp"
#include "sluice/storage/unflushed_logs.hpp"

namespace sluice::storage {
namespace {

/// Elements of one variable (of one record of it) that are contiguous in the result.
struct Segment {
  int varid = 0;
  std::int64_t record = 0;
  std::int64_t first_element = 0;
  std::int64_t elements = 0;
  std::int64_t offset_bytes = 0;  ///< offset in the result
};

/// Adjacent segments of the result, written at once.
struct Chunk {
  std::vector<Segment> segments;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Iterates over the result from beginning to end.
class ChunkSource {
 public:
  ChunkSource(const formats::Header& header, const formats::Layout& layout, std::int64_t chunk_bytes)
      : header_(header), layout_(layout), chunk_bytes_(chunk_bytes) {
    for (int id = 0; id < header.variable_count(); ++id)
      (header.is_record_variable(id) ? record_variables_ : fixed_variables_).push_back(id);
  }

  /// The next chunk; without segments at the end.
  [[nodiscard]] Chunk next() {
    Chunk chunk;
    while (chunk.end - chunk.begin < chunk_bytes_) {
      const auto segment = next_segment(chunk_bytes_ - (chunk.end - chunk.begin));
      if (segment.elements == 0) break;
      const auto element_bytes =
          static_cast<std::int64_t>(formats::size_of(header_.variable(segment.varid).type));
      if (chunk.segments.empty()) chunk.begin = segment.offset_bytes;
      chunk.end = segment.offset_bytes + segment.elements * element_bytes;
      chunk.segments.push_back(segment);
    }
    return chunk;
  }

 private:
  [[nodiscard]] Segment next_segment(std::int64_t room_bytes) {
    for (;;) {
      const auto& variables = is_in_records_ ? record_variables_ : fixed_variables_;
      const std::int64_t records = is_in_records_ ? header_.record_count : 1;
      if (record_ >= records || variables.empty()) {
        if (is_in_records_) return {};
        is_in_records_ = true;
        record_ = 0;
        continue;
      }
      const int id = variables[variable_];
      const auto& variable = header_.variable(id);
      const auto element_bytes = static_cast<std::int64_t>(formats::size_of(variable.type));
      const std::int64_t left = header_.elements_per_record(id) - element_;
      Segment segment{id, record_, element_,
                      std::min(left, std::max<std::int64_t>(1, room_bytes / element_bytes)), 0};
      segment.offset_bytes =
          variable.begin + (is_in_records_ ? record_ * layout_.record_size : 0) + element_ * element_bytes;
      element_ += segment.elements;
      if (segment.elements == left) advance(variables.size());
      if (segment.elements > 0) return segment;
    }
  }

  void advance(std::size_t variables) {
    element_ = 0;
    if (++variable_ < variables) return;
    variable_ = 0;
    ++record_;
  }

  const formats::Header& header_;
  const formats::Layout& layout_;
  std::int64_t chunk_bytes_;
  std::vector<int> fixed_variables_;
  std::vector<int> record_variables_;
  bool is_in_records_ = false;
  std::size_t variable_ = 0;
  std::int64_t record_ = 0;
  std::int64_t element_ = 0;
};

/// Reads ranges of a dataset's file space; opens files on demand. One thread at a time.
class SpaceReader {
 public:
  SpaceReader(FileSystem& system, const SplitDataset& dataset)
      : system_(system), dataset_(dataset), files_(dataset.paths().size()) {}

  /// Copies a range to a file that has zeros there, with the same result as read().
  void copy(std::int64_t offset_bytes, std::int64_t length_bytes, File& to, std::int64_t to_offset_bytes) {
    while (length_bytes > 0) {
      const auto place = dataset_.space().locate(offset_bytes);
      const auto part = std::min(length_bytes, place.length_bytes);
      const FileRange range{place.offset_bytes, place.offset_bytes + part};
      (void)to.copy(file(static_cast<std::size_t>(place.file)), range, to_offset_bytes);
      length_bytes -= part;
      offset_bytes += part;
      to_offset_bytes += part;
    }
  }

  /// Reads a range. Bytes beyond the end of a file are zeros, because they were never written.
  void read(std::int64_t offset_bytes, std::span<std::byte> bytes) {
    while (!bytes.empty()) {
      const auto place = dataset_.space().locate(offset_bytes);
      const auto part = bytes.first(std::min(bytes.size(), static_cast<std::size_t>(place.length_bytes)));
      const std::size_t got = file(static_cast<std::size_t>(place.file)).read(place.offset_bytes, part);
      std::fill(part.begin() + static_cast<std::ptrdiff_t>(got), part.end(), std::byte{0});
      bytes = bytes.subspan(part.size());
      offset_bytes += static_cast<std::int64_t>(part.size());
    }
  }

 private:
  const File& file(std::size_t i) {
    if (!files_[i]) {
      constexpr int most_open = 64;
      if (open_ == most_open) {
        for (auto& each : files_) each.reset();
        open_ = 0;
      }
      files_[i] = system_.open(dataset_.paths()[i], OpenMode::read);
      ++open_;
    }
    return *files_[i];
  }

  FileSystem& system_;
  const SplitDataset& dataset_;
  std::vector<std::unique_ptr<File>> files_;
  int open_ = 0;
};

/// A run in the space and its destination.
struct Move {
  std::int64_t from = 0;
  std::int64_t length = 0;
  std::size_t to = 0;  ///< position in the chunk's buffer
};

/// The work of one thread: fills chunks.
class ChunkReader {
 public:
  ChunkReader(FileSystem& system, const SplitDataset& dataset, const MergeOptions& options)
      : dataset_(dataset),
        options_(options),
        reader_(system, dataset),
        places_(static_cast<std::size_t>(dataset.header().variable_count())) {}

  /// Writes the chunk to the result, which has zeros there.
  void transfer(const Chunk& chunk, File& result) {
    moves_.clear();
    for (const Segment& segment : chunk.segments)
      append_moves(segment, static_cast<std::size_t>(segment.offset_bytes - chunk.begin));
    if (is_copied(chunk)) {
      for (const Move& move : moves_)
        reader_.copy(move.from, move.length, result, chunk.begin + static_cast<std::int64_t>(move.to));
    } else {
      result.write(chunk.begin, fill(chunk));
    }
  }

 private:
  /// Whether the system copies the chunk: it does if the chunk has few pieces that need no conversion.
  [[nodiscard]] bool is_copied(const Chunk& chunk) const noexcept {
    return dataset_.placement().byte_order() == formats::ByteOrder::big && !moves_.empty() &&
           (chunk.end - chunk.begin) / std::ssize(moves_) >= options_.copied_bytes;
  }

  /// The bytes of the result from the chunk's begin to its end.
  [[nodiscard]] std::span<const std::byte> fill(const Chunk& chunk) {
    const auto size = static_cast<std::size_t>(chunk.end - chunk.begin);
    std::int64_t filled = 0;
    for (const Move& move : moves_) filled += move.length;
    if (buffer_.size() < size) buffer_.resize(size);
    // Bytes that no move fills are padding between variables, or have no position.
    if (filled < chunk.end - chunk.begin) std::fill_n(buffer_.begin(), size, std::byte{0});
    std::sort(moves_.begin(), moves_.end(), [](const Move& a, const Move& b) { return a.from < b.from; });
    for (std::size_t first = 0; first < moves_.size();) first = read_group(first);
    if (dataset_.placement().byte_order() != formats::ByteOrder::big) swap_elements(chunk);
    return std::span(buffer_).first(size);
  }

  void append_moves(const Segment& segment, std::size_t to) {
    const auto& header = dataset_.header();
    auto& place = places_[static_cast<std::size_t>(segment.varid)];
    if (!place) place = dataset_.placement().place_of(segment.varid);
    if (!place) return;
    auto shape = header.shape(segment.varid);
    const bool is_record = header.is_record_variable(segment.varid);
    if (is_record) shape.front() = 1;
    formats::for_each_box(shape, segment.first_element, segment.elements,
                          [&](const formats::HyperslabView& box) {
                            start_.assign(box.start.begin(), box.start.end());
                            if (is_record) start_.front() = segment.record;
                            runs_.clear();
                            place->append({start_, box.count, {}}, runs_);
                            for (const auto& run : runs_) {
                              append_move({run.offset_bytes, run.length_bytes, to});
                              to += static_cast<std::size_t>(run.length_bytes);
                            }
                          });
  }

  void append_move(const Move& move) {
    if (!moves_.empty()) {
      Move& last = moves_.back();
      const auto length = static_cast<std::size_t>(last.length);
      if (last.from + last.length == move.from && last.to + length == move.to) {
        last.length += move.length;
        return;
      }
    }
    moves_.push_back(move);
  }

  void swap_elements(const Chunk& chunk) {
    for (const Segment& segment : chunk.segments) {
      auto* const bytes = buffer_.data() + (segment.offset_bytes - chunk.begin);
      const auto element_bytes = formats::size_of(dataset_.header().variable(segment.varid).type);
      formats::copy_swapped(bytes, bytes, element_bytes, segment.elements);
    }
  }

  /// Reads adjacent runs with small gaps at once; returns the first run that is left.
  std::size_t read_group(std::size_t first) {
    const std::int64_t begin = moves_[first].from;
    std::int64_t end = begin + moves_[first].length;
    std::size_t last = first + 1;
    while (last < moves_.size() && moves_[last].from - end <= options_.gap_bytes &&
           moves_[last].from + moves_[last].length - begin <= 2 * options_.chunk_bytes) {
      end = std::max(end, moves_[last].from + moves_[last].length);
      ++last;
    }
    if (last - first == 1) {
      reader_.read(begin,
                   std::span(buffer_).subspan(moves_[first].to, static_cast<std::size_t>(end - begin)));
      return last;
    }
    const auto size = static_cast<std::size_t>(end - begin);
    if (group_.size() < size) group_.resize(size);
    reader_.read(begin, std::span(group_).first(size));
    for (std::size_t i = first; i < last; ++i) {
      std::memcpy(buffer_.data() + moves_[i].to, group_.data() + (moves_[i].from - begin),
                  static_cast<std::size_t>(moves_[i].length));
    }
    return last;
  }

  const SplitDataset& dataset_;
  const MergeOptions& options_;
  SpaceReader reader_;
  std::vector<std::unique_ptr<formats::VariablePlace>> places_;  ///< by variable, made on demand
  std::vector<std::int64_t> start_;
  std::vector<formats::FileRun> runs_;
  std::vector<Move> moves_;
  std::vector<std::byte> buffer_;
  std::vector<std::byte> group_;
};

/// The threads and their shared state.
class Merge {
 public:
  Merge(FileSystem& system, const SplitDataset& dataset, const MergeOptions& options)
      : system_(system), dataset_(dataset), options_(options), header_(dataset.header()) {
    if (options.version) header_.version = *options.version;
    for (int id = 0; id < header_.variable_count(); ++id) header_.variable(id).begin = 0;
    layout_ = formats::compute_layout(header_, {}, nullptr);
    for (int id = 0; id < header_.variable_count(); ++id) {
      const auto bytes = header_.elements_per_record(id) *
                         static_cast<std::int64_t>(formats::size_of(header_.variable(id).type));
      data_bytes_ += header_.is_record_variable(id) ? bytes * header_.record_count : bytes;
    }
  }

  /// Writes the whole file; rethrows a failure of any thread.
  void run(PartialFile& partial) {
    const std::string& path = partial.path();
    File& file = partial.file();
    file.reserve(end_bytes());
    file.write(0, formats::encode_header(header_));
    ChunkSource source(header_, layout_, options_.chunk_bytes);
    source_ = &source;
    std::vector<std::thread> threads;
    try {
      for (int i = 1; i < options_.threads; ++i) threads.emplace_back([&] { work(path); });
    } catch (const std::system_error&) {
      // Fewer threads are enough.
    }
    work(path);
    for (auto& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    file.sync();
  }

  [[nodiscard]] std::int64_t data_bytes() const noexcept { return data_bytes_; }

 private:
  /// The end of the data.
  [[nodiscard]] std::int64_t end_bytes() const {
    std::int64_t end = layout_.header_size;
    for (int id = 0; id < header_.variable_count(); ++id) {
      const auto& variable = header_.variable(id);
      const bool is_record = header_.is_record_variable(id);
      if (is_record && header_.record_count == 0) continue;
      const auto bytes =
          header_.elements_per_record(id) * static_cast<std::int64_t>(formats::size_of(variable.type));
      end = std::max(
          end, variable.begin + bytes + (is_record ? (header_.record_count - 1) * layout_.record_size : 0));
    }
    return end;
  }

  void work(const std::string& path) noexcept {
    try {
      ChunkReader reader(system_, dataset_, options_);
      const auto file = system_.open(path, OpenMode::update);
      for (;;) {
        const Chunk chunk = next();
        if (chunk.segments.empty()) break;
        reader.transfer(chunk, *file);
        file->begin_sync({chunk.begin, chunk.end});
        finished(chunk);
      }
      file->close();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  [[nodiscard]] Chunk next() {
    const std::lock_guard lock(mutex_);
    return failure_ ? Chunk{} : source_->next();
  }

  void finished(const Chunk& chunk) {
    const std::lock_guard lock(mutex_);
    for (const Segment& segment : chunk.segments) {
      done_bytes_ += segment.elements *
                     static_cast<std::int64_t>(formats::size_of(header_.variable(segment.varid).type));
    }
    if (options_.progress && !failure_) options_.progress(done_bytes_, data_bytes_);
  }

  FileSystem& system_;
  const SplitDataset& dataset_;
  const MergeOptions& options_;
  formats::Header header_;
  formats::Layout layout_;
  std::int64_t data_bytes_ = 0;
  ChunkSource* source_ = nullptr;
  std::mutex mutex_;  ///< protects all members below, and *source_
  std::int64_t done_bytes_ = 0;
  std::exception_ptr failure_;
};

/// Throws if programs, running or not, have puts in logs that the files lack.
void expect_all_flushed(FileSystem& system, const std::string& master) {
  const auto logs = unflushed_logs(system, directory_of(master), master);
  if (logs.empty()) return;
  const bool is_in_use = std::ranges::any_of(logs, &UnflushedLog::is_in_use);
  throw Error(NC_EFILE, describe_unflushed(logs, master) +
                            (is_in_use ? ": a running program writes them. Wait until it has ended"
                                       : ". Recover first, with 'sluice recover --delete " +
                                             directory_of(master) + "'") +
                            ", or merge without this data by --without-logs");
}

}  // namespace

std::int64_t merge_files(FileSystem& system, const std::string& master, const std::string& out,
                         const MergeOptions& options) {
  const auto dataset = open_split_dataset(system, master);
  if (!options.takes_short_files) dataset->check_complete();
  if (!options.ignores_logs) expect_all_flushed(system, master);
  for (const auto& path : dataset->paths()) {
    if (path == out || path == partial_path(out, 1))
      throw Error(NC_EINVAL, out + " is one of the files to merge: choose another name for the result");
  }
  if (!options.replaces && system.exists(out))
    throw Error(NC_EEXIST, out + " exists: remove it, or use --force");
  Merge merge(system, *dataset, options);
  if (options.begin) options.begin();
  PartialFile partial(system, out);
  merge.run(partial);
  partial.publish();
  return merge.data_bytes();
}

}  // namespace sluice::storage
