#include "sluice/storage/burst_log_writer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "log_file.hpp"

namespace sluice::storage {
namespace {

/// Large enough that a write costs its bytes, small enough for the second level cache.
constexpr std::size_t buffer_bytes = 256 << 10;
constexpr std::size_t longest_element = 8;

constexpr std::string_view metadata_suffix = ".meta";
constexpr std::string_view data_suffix = ".data";

[[noreturn]] void refuse_existing(const std::string& path, bool is_in_use) {
  const std::string advice =
      is_in_use ? ": a running program writes it"
                : ": it is there already, left by a program that did not end well. Complete its file by "
                  "'sluice recover --delete " +
                      directory_of(path) + "', or give it up with the hint nc_burst_buf_overwrite=enable";
  throw Error(NC_EEXIST, "cannot create the burst-buffer log " + path + advice);
}

}  // namespace

BurstLogPaths burst_log_paths(const std::string& directory, const std::string& netcdf_path, int ncid,
                              std::int64_t rank) {
  const auto base =
      directory + "/" + name_of(netcdf_path) + "_" + std::to_string(ncid) + "_" + std::to_string(rank);
  return {base + std::string(metadata_suffix), base + std::string(data_suffix)};
}

BurstLogPaths burst_log_paths_of(const std::string& metadata_path) {
  if (!metadata_path.ends_with(metadata_suffix)) return {metadata_path, metadata_path};
  const auto base = metadata_path.substr(0, metadata_path.size() - metadata_suffix.size());
  return {metadata_path, base + std::string(data_suffix)};
}

BurstLogWriter::BurstLogWriter(FileSystem& files, BurstLogPaths paths, formats::BurstLogHeader header,
                               Existing existing)
    : files_(files), paths_(std::move(paths)), header_(std::move(header)) {
  header_.entry_count = 0;
  buffer_ = std::make_unique_for_overwrite<std::byte[]>(buffer_bytes);
  const auto bytes = formats::encode_burst_log_header(header_);
  committed_.metadata_end = header_.entry_begin;
  create(existing);
  try {
    data_->write(0, std::as_bytes(std::span(formats::burst_log_magic)));
    metadata_->write(0, bytes);
  } catch (...) {
    remove();
    throw;
  }
}

BurstLogWriter::~BurstLogWriter() = default;

void BurstLogWriter::create(Existing existing) {
  if (files_.exists(paths_.metadata)) {
    const bool is_in_use = !files_.open(paths_.metadata, OpenMode::update)->try_lock();
    if (is_in_use || existing == Existing::refuse) refuse_existing(paths_.metadata, is_in_use);
  }
  const auto mode = existing == Existing::refuse ? OpenMode::create_new : OpenMode::create;
  try {
    metadata_ = std::make_unique<LogFile>(files_.open(paths_.metadata, mode));
    if (!metadata_->try_lock()) refuse_existing(paths_.metadata, true);
    // Data without metadata tells nothing: it may go.
    data_ = std::make_unique<LogFile>(files_.open(paths_.data, OpenMode::create));
  } catch (const IoError& error) {
    if (metadata_ != nullptr) files_.remove(paths_.metadata);
    if (error.error_number() != ENOENT && error.error_number() != ENOTDIR) throw;
    // PnetCDF's code.
    throw IoError(NC_EBAD_FILE, error.error_number(), directory_of(paths_.metadata),
                  "use the directory for burst-buffer logs (hint nc_burst_buf_dirname)");
  }
}

std::span<std::byte> BurstLogWriter::room(std::size_t wanted_bytes) {
  if (buffer_bytes - buffered_ < std::max(longest_element, std::min(wanted_bytes, buffer_bytes)))
    write_data();
  return {buffer_.get() + buffered_,
          std::min(std::max(wanted_bytes, longest_element), buffer_bytes - buffered_)};
}

void BurstLogWriter::write_data() {
  if (buffered_ == 0) return;
  data_->write(buffer_begin_, {buffer_.get(), buffered_});
  buffer_begin_ += static_cast<std::int64_t>(buffered_);
  buffered_ = 0;
}

std::int64_t BurstLogWriter::finish(int varid, formats::Type type,
                                    std::span<const formats::HyperslabView> slabs) {
  const std::int64_t position =
      cleared_bytes_ + committed_.metadata_end + static_cast<std::int64_t>(entries_.size());
  const std::int64_t end = buffer_begin_ + static_cast<std::int64_t>(buffered_);
  formats::encode_burst_log_entry({type, varid, slabs, put_begin_, end - put_begin_}, entries_);
  put_begin_ = end;
  ++finished_;
  return position;
}

void BurstLogWriter::commit() {
  if (finished_ == 0) return;
  try {
    write_data();
    metadata_->write(committed_.metadata_end, entries_);
    metadata_->write_number(formats::burst_entry_count_offset, committed_.entries + finished_);
  } catch (...) {
    roll_back();
    throw;
  }
  committed_.entries += finished_;
  committed_.metadata_end += static_cast<std::int64_t>(entries_.size());
  committed_.data_end = put_begin_;
  entries_.clear();
  finished_ = 0;
}

void BurstLogWriter::roll_back() noexcept {
  entries_.clear();
  finished_ = 0;
  buffered_ = 0;
  buffer_begin_ = put_begin_ = committed_.data_end;
}

bool BurstLogWriter::withdraw(std::int64_t position) {
  const std::int64_t offset = position - cleared_bytes_;
  if (offset < header_.entry_begin) return false;
  metadata_->write_number(offset + formats::burst_data_length_offset, 0);
  return true;
}

void BurstLogWriter::clear() {
  roll_back();
  if (committed_.entries == 0) return;
  metadata_->write_number(formats::burst_entry_count_offset, 0);
  metadata_->cut(header_.entry_begin);
  // The data's pages are used again.
  cleared_bytes_ += committed_.metadata_end - header_.entry_begin;
  committed_ = {header_.entry_begin, formats::burst_data_begin, 0};
  roll_back();
}

void BurstLogWriter::describe(int cdf_version, std::int64_t max_dimensions) {
  if (max_dimensions != header_.max_dimensions)
    metadata_->write_number(formats::burst_max_dimensions_offset, max_dimensions);
  header_.max_dimensions = max_dimensions;
  const std::array<std::byte, 1> digit{static_cast<std::byte>('0' + cdf_version)};
  if (cdf_version != header_.cdf_version) metadata_->write(formats::burst_cdf_version_offset, digit);
  header_.cdf_version = cdf_version;
}

void BurstLogWriter::close() {
  roll_back();
  data_->close(committed_.data_end);
  metadata_->close(committed_.metadata_end);
}

void BurstLogWriter::remove() {
  // Metadata without data would be damage; data without metadata is nothing.
  files_.remove(paths_.metadata);
  files_.remove(paths_.data);
}

}  // namespace sluice::storage
