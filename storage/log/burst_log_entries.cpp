#include "sluice/storage/burst_log_entries.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "log_file.hpp"

namespace sluice::storage {

BurstLogEntries::BurstLogEntries(std::unique_ptr<LogFile> file, formats::BurstLogHeader header)
    : header_(std::move(header)), file_(std::move(file)) {
  header_.entry_count = 0;
  file_->write(0, formats::encode_burst_log_header(header_));
  end_ = header_.entry_begin;
}

BurstLogEntries::BurstLogEntries(std::unique_ptr<File> file, formats::BurstLogHeader header)
    : BurstLogEntries(std::make_unique<LogFile>(std::move(file)), std::move(header)) {}

BurstLogEntries::~BurstLogEntries() = default;

std::int64_t BurstLogEntries::add(const formats::BurstLogPut& put) {
  const std::int64_t position = cleared_bytes_ + end_ + std::ssize(entries_);
  formats::encode_burst_log_entry(put, entries_);
  ++added_;
  return position;
}

void BurstLogEntries::begin_step(const formats::BurstLogStepMark& mark) {
  formats::encode_burst_log_step_mark(mark, entries_);
  ++added_;
}

void BurstLogEntries::commit() {
  if (added_ == 0) return;
  try {
    file_->write(end_, entries_);
    file_->write_number(formats::burst_entry_count_offset, committed_ + added_);
  } catch (...) {
    roll_back();
    throw;
  }
  committed_ += added_;
  end_ += std::ssize(entries_);
  roll_back();
}

void BurstLogEntries::roll_back() noexcept {
  entries_.clear();
  added_ = 0;
}

bool BurstLogEntries::withdraw(std::int64_t position) {
  const std::int64_t offset = position - cleared_bytes_;
  if (offset < header_.entry_begin) return false;
  file_->write_number(offset + formats::burst_data_length_offset, 0);
  return true;
}

void BurstLogEntries::clear() {
  if (committed_ > 0) cleared_bytes_ += end_ - header_.entry_begin;
  cut({0, header_.entry_begin});
}

void BurstLogEntries::cut(const Extent& extent) {
  roll_back();
  if (committed_ == extent.entries) return;
  file_->write_number(formats::burst_entry_count_offset, extent.entries);
  file_->cut(extent.end_bytes);
  end_ = extent.end_bytes;
  committed_ = extent.entries;
}

void BurstLogEntries::describe(const formats::Header& dataset) {
  const int cdf_version = static_cast<int>(dataset.version);
  std::int64_t max_dimensions = 0;
  for (const auto& variable : dataset.variables())
    max_dimensions = std::max(max_dimensions, std::ssize(variable.dimids));
  if (max_dimensions != header_.max_dimensions)
    file_->write_number(formats::burst_max_dimensions_offset, max_dimensions);
  header_.max_dimensions = max_dimensions;
  const std::array<std::byte, 1> digit{static_cast<std::byte>('0' + cdf_version)};
  if (cdf_version != header_.cdf_version) file_->write(formats::burst_cdf_version_offset, digit);
  header_.cdf_version = cdf_version;
}

void BurstLogEntries::sync() {
  file_->sync();
}

void BurstLogEntries::close() {
  roll_back();
  file_->close(end_);
}

void BurstLogEntries::reopen(std::unique_ptr<File> file) {
  file_ = std::make_unique<LogFile>(std::move(file), end_);
}

}  // namespace sluice::storage
