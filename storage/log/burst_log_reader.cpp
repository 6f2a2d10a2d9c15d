#include "sluice/storage/burst_log_reader.hpp"

#include <algorithm>

#include "sluice/storage/run_lock.hpp"

namespace sluice::storage {
namespace {

constexpr std::size_t chunk_bytes = 256 << 10;
/// The number of problems that are kept in memory and reported one by one.
constexpr std::size_t most_problems = 1000;
constexpr std::int64_t data_alignment = 8;

}  // namespace

using Kind = BurstLogProblem::Kind;

bool is_being_written(FileSystem& files, const std::string& metadata_path) {
  try {
    return !files.open(metadata_path, OpenMode::update)->try_lock();
  } catch (const IoError&) {
    return !files.open(metadata_path, OpenMode::read)->try_lock();
  }
}

bool is_in_use(FileSystem& files, const std::string& metadata_path) {
  if (is_being_written(files, metadata_path)) return true;
  const auto identity = BurstLogReader(files, metadata_path).header().identity;
  return identity && is_run_alive(files, metadata_path, identity->run);
}

BurstLogReader::BurstLogReader(FileSystem& files, const std::string& metadata_path)
    : paths_(burst_log_paths_of(metadata_path)), metadata_(files.open(metadata_path, OpenMode::read)) {
  metadata_bytes_ = metadata_->size_bytes();
  read_header();
  offset_ = entry_offset_ = header_.entry_begin;
  begin_steps();
  open_data(files);
  early_problems_ = problems_.size();
}

void BurstLogReader::restart() {
  offset_ = entry_offset_ = header_.entry_begin;
  index_ = withdrawn_ = 0;
  is_at_end_ = false;
  places_ = {};
  problems_.resize(early_problems_);
  begin_steps();
}

void BurstLogReader::take_steps(std::int64_t after, std::int64_t last) noexcept {
  after_step_ = after;
  last_step_ = last;
}

void BurstLogReader::begin_steps() {
  mark_ = {header_.step.value_or(formats::BurstLogStep{}).step, 0};
  headers_.assign(1, mark_);
}

/// Steps ascend; a step has several marks if its header changes again.
void BurstLogReader::take_mark(const formats::BurstLogStepMark& mark) {
  if (mark.step < mark_.step || mark.header_begin < mark_.header_begin || mark == mark_)
    return report(Kind::damaged, "an entry that begins step " + std::to_string(mark.step) +
                                     ", behind puts of step " + std::to_string(mark_.step));
  if (mark.header_begin != mark_.header_begin) headers_.push_back(mark);
  mark_ = mark;
}

std::int64_t BurstLogReader::closed_step() const {
  return data_ == nullptr || !header_.step ? 0 : closed_step_of(data_->mark(), *header_.step);
}

void BurstLogReader::read_header() {
  for (std::size_t wanted = 4096;; wanted *= 2) {
    std::vector<std::byte> prefix(std::min(wanted, static_cast<std::size_t>(metadata_bytes_)));
    prefix.resize(metadata_->read(0, prefix));
    if (auto header = formats::decode_burst_log_header(prefix, metadata_bytes_, paths_.metadata)) {
      header_ = std::move(*header);
      return;
    }
    // The file became shorter meanwhile.
    if (prefix.size() < wanted)
      metadata_bytes_ = std::min(metadata_bytes_, static_cast<std::int64_t>(prefix.size()));
  }
}

void BurstLogReader::open_data(FileSystem& files) {
  try {
    data_ = files.open(paths_.data, OpenMode::read);
    data_bytes_ = data_->size_bytes();
  } catch (const Error& error) {
    report_damage(0, 0, std::string("its data log: ") + error.what());
    return;
  }
  std::array<std::byte, formats::burst_log_magic.size()> magic{};
  const auto got = data_->read(0, magic);
  const auto expected = std::as_bytes(std::span(formats::burst_log_magic));
  const bool is_log = got == magic.size() && std::equal(magic.begin(), magic.end() - 1, expected.begin());
  if (!is_log) report_damage(0, 0, paths_.data + " does not begin with \"PnetCDF0\" as a data log does");
}

void BurstLogReader::report_damage(std::int64_t entry, std::int64_t offset_bytes, const std::string& what) {
  if (problems_.size() < most_problems) problems_.push_back({Kind::damaged, entry, offset_bytes, what});
}

void BurstLogReader::report(Kind kind, const std::string& what) {
  if (problems_.size() < most_problems) problems_.push_back({kind, index_, offset_, what});
}

void BurstLogReader::end_with(Kind kind, const std::string& what) {
  const auto missing = header_.entry_count - index_;
  report(kind, what + "; " + std::to_string(missing) + " of " + std::to_string(header_.entry_count) +
                   " entries cannot be read");
  is_at_end_ = true;
}

std::span<const std::byte> BurstLogReader::bytes_at(std::int64_t offset_bytes, std::size_t n) {
  const auto skipped = static_cast<std::size_t>(offset_bytes - chunk_begin_);
  if (offset_bytes < chunk_begin_ || skipped + n > chunk_.size()) {
    const auto left = static_cast<std::size_t>(metadata_bytes_ - offset_bytes);
    chunk_.resize(std::min(left, std::max(n, chunk_bytes)));
    read_exactly(*metadata_, offset_bytes, chunk_);
    chunk_begin_ = offset_bytes;
    return std::span(chunk_).first(n);
  }
  return std::span(chunk_).subspan(skipped, n);
}

void BurstLogReader::look_behind_the_last() {
  is_at_end_ = true;
  // Zeros are space that was reserved ahead, because an entry begins with its size.
  std::array<std::byte, 8> next{};
  static_cast<void>(metadata_->read(offset_, next));
  if (next != std::array<std::byte, 8>{})
    report(Kind::torn, "a put that was not complete when the program ended");
}

bool BurstLogReader::has_data(const formats::BurstLogEntry& entry) {
  if (data_ == nullptr) return false;  // already reported
  if (entry.data_offset <= data_bytes_ && entry.data_bytes <= data_bytes_ - entry.data_offset) return true;
  report(Kind::torn, "the data log ends too early for a put to variable " + std::to_string(entry.varid) +
                         ": the put needs " + std::to_string(entry.data_bytes) + " bytes from byte " +
                         std::to_string(entry.data_offset) + ", and the log has " +
                         std::to_string(data_bytes_) + " bytes");
  return false;
}

/// Data is in the order of the entries. A program's own log has no gaps, except to the next multiple of 8.
/// After a misplaced entry, the data may continue from there, or from the expected position.
bool BurstLogReader::is_in_its_place(std::int64_t place) const noexcept {
  const auto continues = [&](std::int64_t end) {
    if (header_.step || !places_.is_known) return place >= end;
    return place == end || (place % data_alignment == 0 && place > end && place - end < data_alignment);
  };
  return continues(places_.end) || (places_.end_of_misplaced && continues(*places_.end_of_misplaced));
}

/// Returns false if the entry's data cannot be at its position.
bool BurstLogReader::take_place(const formats::BurstLogEntry& entry) {
  const auto bytes = std::max<std::int64_t>(0, entry.selected_bytes());
  // Another put may have reused the space of a failed put.
  if (header_.step && entry.is_withdrawn()) return true;
  if (is_in_its_place(entry.data_offset)) {
    places_ = {entry.data_offset + bytes, true, std::nullopt};
    return true;
  }
  const bool is_behind = entry.data_offset > places_.end;
  places_ = {places_.end + (header_.step ? 0 : bytes), true, entry.data_offset + bytes};
  if (entry.is_withdrawn()) return true;
  report(Kind::damaged,
         "the data of a put to variable " + std::to_string(entry.varid) + " begins at byte " +
             std::to_string(entry.data_offset) +
             (is_behind ? ", after a gap that belongs to no put" : ", inside the data of another put"));
  return false;
}

std::int64_t BurstLogReader::next_entry_size() {
  if (index_ == header_.entry_count) {
    look_behind_the_last();
    return 0;
  }
  const std::int64_t left = metadata_bytes_ - offset_;
  if (left < formats::burst_entry_fixed_bytes) {
    end_with(Kind::torn, "the file ends inside an entry");
    return 0;
  }
  const auto first = bytes_at(offset_, 8).first<8>();
  const auto size = formats::decode_burst_log_entry_size(first, header_.is_big_endian);
  if (size < formats::burst_entry_fixed_bytes) {
    end_with(Kind::damaged, "an entry of " + std::to_string(size) + " bytes");
    return 0;
  }
  if (size > left) {
    end_with(Kind::torn, "an entry of " + std::to_string(size) + " bytes, and the file ends after " +
                             std::to_string(left));
    return 0;
  }
  return size;
}

std::optional<formats::BurstLogEntry> BurstLogReader::next() {
  while (!is_at_end_) {
    const std::int64_t size = next_entry_size();
    if (size == 0) break;
    std::optional<formats::BurstLogEntry> entry;
    try {
      entry = formats::decode_burst_log_entry(bytes_at(offset_, static_cast<std::size_t>(size)), header_,
                                              offset_, paths_.metadata);
    } catch (const FormatError& error) {
      report(Kind::damaged, error.what());
    }
    const bool is_mark = entry && entry->mark;
    if (is_mark) take_mark(*entry->mark);
    const bool is_withdrawn = entry && entry->is_withdrawn() && !is_mark;
    if (!entry) places_.is_known = false;
    const bool is_placed = entry && !is_mark && take_place(*entry);
    const bool is_whole = is_placed && !is_withdrawn && has_data(*entry);
    if (is_withdrawn) ++withdrawn_;
    entry_offset_ = offset_;
    offset_ += size;
    ++index_;
    if (!is_whole || mark_.step <= after_step_ || mark_.step > last_step_) continue;
    entry->step = mark_.step;
    return entry;
  }
  return std::nullopt;
}

void BurstLogReader::read_data(std::int64_t offset_bytes, std::span<std::byte> bytes) const {
  read_exactly(*data_, offset_bytes, bytes);
}

}  // namespace sluice::storage
