#include "sluice/storage/burst_log_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "log_file.hpp"
#include "sluice/storage/log_header.hpp"

namespace sluice::storage {
namespace {

/// Large enough that the bytes dominate the cost of a write, and small enough for the second-level cache.
constexpr std::size_t buffer_bytes = 256 << 10;
constexpr std::size_t longest_element = 8;

constexpr std::string_view metadata_suffix = ".meta";
constexpr std::string_view data_suffix = ".data";
constexpr std::string_view header_suffix = ".header";
constexpr std::string_view closed_prefix = "sluice1 closed";

[[noreturn]] void refuse_existing(const std::string& path, bool is_in_use) {
  const std::string advice =
      is_in_use
          ? ": a running program uses this log"
          : ": the log of a program that did not end normally exists. Recover its data with "
            "'sluice recover --delete " +
                directory_of(path) + "', or discard the log with the hint nc_burst_buf_overwrite=enable";
  throw Error(NC_EEXIST, "cannot create the burst-buffer log " + path + advice);
}

}  // namespace

std::string closed_log_mark(std::int64_t step) {
  return std::string(closed_prefix) + " " + std::to_string(step);
}

std::int64_t closed_step_of(const std::string& mark, const formats::BurstLogStep& first) {
  if (!mark.starts_with(closed_prefix)) return 0;
  const std::string number = mark.substr(closed_prefix.size());
  if (number.empty()) return first.step;  // earlier versions: a log had one step
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(number.data() + 1, number.data() + number.size(), step);
  return error == std::errc() && end == number.data() + number.size() ? step : 0;
}

BurstLogPaths burst_log_paths(const std::string& directory, const std::string& netcdf_path, int ncid,
                              std::int64_t rank) {
  const auto base =
      directory + "/" + name_of(netcdf_path) + "_" + std::to_string(ncid) + "_" + std::to_string(rank);
  return burst_log_paths_of(base + std::string(metadata_suffix));
}

BurstLogPaths burst_log_paths_of(const std::string& metadata_path) {
  if (!metadata_path.ends_with(metadata_suffix)) return {metadata_path, metadata_path};
  const auto base = metadata_path.substr(0, metadata_path.size() - metadata_suffix.size());
  return {metadata_path, base + std::string(data_suffix), base + std::string(header_suffix)};
}

std::string removal_mark_of(const std::string& metadata_path) {
  return metadata_path + ".removed";
}

void remove_log(FileSystem& files, const std::string& metadata_path) {
  const auto paths = burst_log_paths_of(metadata_path);
  const auto mark = removal_mark_of(metadata_path);
  if (files.exists(paths.metadata)) files.rename(paths.metadata, mark);
  const auto partial = paths.header.empty() ? paths.header : partial_header_of(paths.header);
  for (const auto& path : {paths.data, paths.header, partial, mark}) {
    if (!path.empty() && files.exists(path)) files.remove(path);
  }
}

void finish_removals(FileSystem& files, const std::string& directory) {
  const auto ending = removal_mark_of(std::string(metadata_suffix));
  for (const auto& name : files.list(directory)) {
    if (!name.ends_with(ending) || files.owner_of(directory + "/" + name) != files.user()) continue;
    const auto metadata =
        directory + "/" + name.substr(0, name.size() - ending.size()) + std::string(metadata_suffix);
    if (!files.exists(metadata)) remove_log(files, metadata);
  }
}

BurstLogWriter::BurstLogWriter(FileSystem& files, BurstLogPaths paths, formats::BurstLogHeader header,
                               Existing existing)
    : files_(files), paths_(std::move(paths)) {
  buffer_ = std::make_unique_for_overwrite<std::byte[]>(buffer_bytes);
  create(existing, std::move(header));
}

BurstLogWriter::~BurstLogWriter() = default;

/// Chooses names that avoid files of other users in a shared directory; those files stay unchanged.
void BurstLogWriter::avoid_files_of_others(const formats::BurstLogHeader& header) {
  const auto is_of_other = [&](const std::string& path) {
    return files_.owner_of(path).value_or(files_.user()) != files_.user();
  };
  if (!is_of_other(paths_.metadata) && !is_of_other(paths_.data)) return;
  const auto group = header.identity ? header.identity->group : static_cast<std::uint64_t>(files_.user());
  // "x.nc_0_3.meta" becomes "x.nc_77_0_3.meta".
  std::string path = paths_.metadata;
  const auto before_rank = path.find_last_of('_');
  const auto before_ncid = before_rank == 0 ? before_rank : path.find_last_of('_', before_rank - 1);
  path.insert(before_ncid == std::string::npos ? path.find_last_of('/') + 1 : before_ncid,
              "_" + std::to_string(group));
  paths_ = burst_log_paths_of(path);
}

/// Removes an existing log if allowed. Data without metadata is useless and may be removed.
void BurstLogWriter::remove_existing(Existing existing) {
  if (files_.owner_of(paths_.metadata)) {
    const bool is_in_use = !files_.open(paths_.metadata, OpenMode::update)->try_lock();
    if (is_in_use || existing == Existing::refuse) refuse_existing(paths_.metadata, is_in_use);
    remove_log(files_, paths_.metadata);
  }
  if (files_.owner_of(paths_.data)) files_.remove(paths_.data);
}

void BurstLogWriter::create(Existing existing, formats::BurstLogHeader header) {
  std::unique_ptr<LogFile> metadata;
  try {
    avoid_files_of_others(header);
    remove_existing(existing);
    metadata = std::make_unique<LogFile>(files_.open(paths_.metadata, OpenMode::create_private));
    if (!metadata->try_lock()) refuse_existing(paths_.metadata, true);
    data_ = std::make_unique<LogFile>(files_.open(paths_.data, OpenMode::create_private));
  } catch (const IoError& error) {
    if (metadata != nullptr) files_.remove(paths_.metadata);
    if (error.error_number() != ENOENT && error.error_number() != ENOTDIR) throw;
    // PnetCDF's code.
    throw IoError(NC_EBAD_FILE, error.error_number(), directory_of(paths_.metadata),
                  "use the directory for burst-buffer logs (hint nc_burst_buf_dirname)");
  }
  try {
    data_->write(0, std::as_bytes(std::span(formats::burst_log_magic)));
    entries_ = std::make_unique<BurstLogEntries>(std::move(metadata), std::move(header));
  } catch (...) {
    remove();
    throw;
  }
}

std::span<std::byte> BurstLogWriter::reserve(std::size_t wanted_bytes) {
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
  const std::int64_t end = buffer_begin_ + static_cast<std::int64_t>(buffered_);
  const std::int64_t position = entries_->add({type, varid, slabs, put_begin_, end - put_begin_});
  put_begin_ = end;
  return position;
}

void BurstLogWriter::commit() {
  if (!entries_->has_news()) return;
  try {
    write_data();
    entries_->commit();
  } catch (...) {
    roll_back();
    throw;
  }
  data_end_ = put_begin_;
}

void BurstLogWriter::roll_back() noexcept {
  entries_->roll_back();
  buffered_ = 0;
  buffer_begin_ = put_begin_ = data_end_;
}

void BurstLogWriter::clear() {
  entries_->clear();
  // The pages of the data are reused.
  data_end_ = formats::burst_data_begin;
  roll_back();
}

void BurstLogWriter::close() {
  roll_back();
  data_->close(data_end_);
  entries_->close();
}

void BurstLogWriter::remove() {
  remove_log(files_, paths_.metadata);
}

}  // namespace sluice::storage
