#include "step_burst_log.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "mpi_handles.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/storage/burst_log_reader.hpp"

namespace sluice::api {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t space_unit_bytes = 64 * 1024;
constexpr const char* metadata_suffix = ".meta";

std::uint64_t whole(std::uint64_t bytes, std::uint64_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

std::string log_name(const StepBurstLog::Place& place) {
  std::array<char, 17> group{};
  std::snprintf(group.data(), group.size(), "%016llx", static_cast<unsigned long long>(place.group));
  return storage::name_of(place.netcdf_path) + "_" + group.data() + "_" + std::to_string(place.rank) +
         metadata_suffix;
}

/// Whether the log belongs to this user and this netCDF file, is not empty, and is not in use. The matcher
/// takes care of the logs of its run, but may not have locked those of another process yet, or may be unable
/// to.
bool is_leftover(storage::FileSystem& files, const std::string& path, const StepBurstLog::Place& place) {
  try {
    if (files.owner_of(path) != files.user()) return false;
    const storage::BurstLogReader log(files, path);
    if (log.header().path != place.netcdf_path || log.header().entry_count == 0) return false;
    const auto& identity = log.header().identity;
    if (identity && identity->run != 0 && identity->run == place.identity.run) return false;
    return !storage::is_in_use(files, path);
  } catch (const Error&) {
    return false;  // belongs to another program, or was removed meanwhile
  }
}

}  // namespace

StepBurstLog::StepBurstLog(runtime::Session& session, const BurstOptions& options, const Place& place)
    : session_(session),
      options_(options),
      place_(place),
      data_end_(page_bytes),
      reserved_end_(page_bytes),
      used_end_(page_bytes),
      step_(static_cast<std::uint64_t>(place.step.step)),
      process_(::getpid()) {
  try {
    refuse_leftovers();
    paths_ = storage::burst_log_paths_of(options_.directory + "/" + log_name(place));
    header_file_.emplace(files_, paths_.header);
    with_space(space_unit_bytes, [&] { create(); });
  } catch (const IoError& error) {
    if (error.error_number() != ENOENT && error.error_number() != ENOTDIR) throw;
    throw IoError(
        NC_EBAD_FILE, error.error_number(), options_.directory,
        "use the directory for burst-buffer logs (staging.spill, or the hint nc_burst_buf_dirname)");
  }
}

/// Data that an earlier run did not write to the file would be older than the data of this run.
void StepBurstLog::refuse_leftovers() const {
  // The first process checks all logs of its node; every other process checks the logs of its own rank.
  const std::string begin = storage::name_of(place_.netcdf_path) + "_";
  const std::string end = (place_.rank == 0 ? "" : "_" + std::to_string(place_.rank)) + metadata_suffix;
  std::vector<std::string> found;
  const auto list_logs = [&] {
    std::vector<std::string> names = files_.list(options_.directory);
    std::erase_if(names, [](const std::string& name) { return !name.ends_with(metadata_suffix); });
    return names;
  };
  for (const std::string& name : session_.first_listing(options_.directory, list_logs)) {
    const auto path = options_.directory + "/" + name;
    if (name.starts_with(begin) && name.ends_with(end) && is_leftover(files_, path, place_))
      found.push_back(path);
  }
  if (found.empty()) return;
  if (!options_.overwrites)
    throw Error(NC_EEXIST, "the burst-buffer log " + found.front() +
                               " is from a run that did not end normally. Recover its data with 'sluice "
                               "recover --delete " +
                               options_.directory +
                               "', or discard the log with the hint nc_burst_buf_overwrite=enable");
  for (const std::string& path : found) storage::remove_log(files_, path);
}

void StepBurstLog::create() {
  session_.tell_of_log({paths_.metadata});
  auto metadata = files_.open(paths_.metadata, storage::OpenMode::create_private);
  try {
    lock_ = files_.open(paths_.metadata, storage::OpenMode::read);
    (void)lock_->try_lock();
    data_ = files_.open(paths_.data, storage::OpenMode::create_private);
    data_->write(0, std::as_bytes(std::span(formats::burst_log_magic)));
    formats::BurstLogHeader header;
    header.is_external =
        false;  // the variable's type in this machine's byte order, because readers share the data
    header.process_count = place_.processes;
    header.rank = place_.rank;
    header.path = place_.netcdf_path;
    header.processor = processor_name();
    header.step = place_.step;
    header.identity = place_.identity;
    entries_ = std::make_unique<storage::BurstLogEntries>(std::move(metadata), std::move(header));
  } catch (...) {
    remove();
    throw;
  }
  former_entries_ = entries_->extent();
  former_used_end_ = used_end_;
  is_closed_ = false;
}

bool StepBurstLog::reopen(const BurstOptions& options) noexcept {
  const bool is_same =
      options.directory == options_.directory && options.deletes_on_close == options_.deletes_on_close;
  if (!is_same || process_ != ::getpid()) return false;
  // A log without entries was removed, with the space that it had.
  if (entries_ == nullptr) return data_end_ == page_bytes;
  try {
    open_again();
    return true;
  } catch (const Error&) {
    return false;
  }
}

void StepBurstLog::open_again() {
  // In a shared directory, the name may be another user's link by now.
  for (const std::string& path : {paths_.metadata, paths_.data})
    if (files_.owner_of(path) != files_.user()) throw Error(NC_ENOENT, path + " is gone");
  auto metadata = files_.open(paths_.metadata, storage::OpenMode::update);
  if (metadata->size_bytes() != former_entries_.end_bytes) throw Error(NC_EFILE, paths_.metadata);
  lock_ = files_.open(paths_.metadata, storage::OpenMode::read);
  (void)lock_->try_lock();
  data_ = files_.open(paths_.data, storage::OpenMode::update);
  expect_whole();
  entries_->reopen(std::move(metadata));
}

void StepBurstLog::go_on(std::uint64_t step) {
  step_ = step;
  is_step_marked_ = false;
  if (entries_ == nullptr) {
    header_file_.emplace(files_, paths_.header);
    header_begin_ = 0;
    with_space(space_unit_bytes, [&] { create(); });
  }
  is_closed_ = false;
}

StepBurstLog::~StepBurstLog() {
  if (!is_closed_ && process_ == ::getpid()) remove();
}

template <class Action>
void StepBurstLog::with_space(std::uint64_t bytes, const Action& action) {
  for (std::uint64_t seen = 0;;) {
    try {
      return action();
    } catch (const Error& error) {
      if (!is_log_disk_full(error)) throw;
      seen = await_disk(bytes, seen, error);
    }
  }
}

/// Returns the value of `seen` for the next call.
std::uint64_t StepBurstLog::await_disk(std::uint64_t bytes, std::uint64_t seen, const Error& full) {
  try {
    return session_.await_disk({step_, bytes, seen, full.what()});
  } catch (const Error& refusal) {
    if (refusal.status() != NC_ENO_SPACE) throw;
    throw Error(full.status(), refusal.what());
  }
}

/// Another program may have cut the data log. When it grows again, it has zeros there.
void StepBurstLog::expect_whole() const {
  const std::uint64_t least = data_end_ > page_bytes ? data_end_ : 0;
  if (static_cast<std::uint64_t>(data_->size_bytes()) < least)
    throw IoError(NC_EIO, EIO, paths_.data, "go on in (another program has cut it)");
}

/// Reserves the wanted size or at least the needed size. Returns the reserved size.
std::uint64_t StepBurstLog::reserve(const runtime::SegmentRequest& request) {
  const auto take = [&](std::uint64_t bytes) {
    try {
      data_->reserve(static_cast<std::int64_t>(data_end_ + bytes));
    } catch (const Error&) {
      // Some file systems keep space from a failed attempt: other processes need this space.
      data_->resize(static_cast<std::int64_t>(data_end_));
      throw;
    }
    return bytes;
  };
  try {
    return take(whole(std::max(request.bytes, request.wanted_bytes), space_unit_bytes));
  } catch (const Error& error) {
    if (!is_log_disk_full(error)) throw;
    return take(whole(request.bytes, page_bytes));
  }
}

runtime::WritableSegment StepBurstLog::need_segment(const runtime::SegmentRequest& request) {
  if (request.use != runtime::SegmentUse::data) return session_.need_segment(request);
  expect_whole();
  std::uint64_t bytes = 0;
  with_space(request.bytes, [&] { bytes = reserve(request); });
  reserved_end_ = data_end_ + bytes;
  auto segment = session_.need_segment(
      {request.step, request.use, bytes, bytes, {paths_.metadata, data_end_, !options_.deletes_on_close}});
  segment_begin_ = data_end_;
  data_end_ += bytes;
  return segment;
}

std::uint64_t StepBurstLog::need_room(const Room& room) {
  expect_whole();
  const std::uint64_t begin = std::max(segment_begin_, reserved_end_);
  const auto take = [&](std::uint64_t bytes) {
    const std::uint64_t end = std::min(data_end_, whole(segment_begin_ + bytes, page_bytes));
    if (end <= begin) return;
    const storage::FileRange range{static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)};
    try {
      data_->reserve_range(range);
    } catch (const Error&) {
      data_->give_back(range);  // some file systems keep space from a failed attempt
      throw;
    }
    reserved_end_ = end;
  };
  with_space(room.needed_bytes, [&] {
    try {
      take(room.wanted_bytes);
    } catch (const Error& error) {
      if (!is_log_disk_full(error) || room.wanted_bytes == room.needed_bytes) throw;
      take(room.needed_bytes);
    }
  });
  return std::max(segment_begin_, reserved_end_) - segment_begin_;
}

void StepBurstLog::write_header(const formats::Header& header) {
  with_space(static_cast<std::uint64_t>(formats::encoded_size(header)),
             [&] { former_entries_.entries == 0 ? header_file_->write(header) : append_header(header); });
  entries_->describe(header);
}

/// The header of the step before stays, because the step may never be complete.
void StepBurstLog::append_header(const formats::Header& header) {
  header_begin_ = header_file_->append(header);
  entries_->begin_step({static_cast<std::int64_t>(step_), header_begin_});
  entries_->commit();
  is_step_marked_ = true;
}

std::int64_t StepBurstLog::commit(const formats::Header& header, const Access& access, const Put& put) {
  const formats::Type type = header.variable(access.varid).type;
  const std::uint64_t data_begin = segment_begin_ + put.offset_bytes;
  const std::int64_t data_bytes = access.elements * static_cast<std::int64_t>(formats::size_of(type));
  std::int64_t position = 0;
  with_space(page_bytes, [&] {
    if (!is_step_marked_) entries_->begin_step({static_cast<std::int64_t>(step_), header_begin_});
    position = entries_->add({type, access.varid, access.slabs, static_cast<std::int64_t>(data_begin),
                              data_bytes, static_cast<std::int64_t>(put.sequence)});
    entries_->commit();
  });
  is_step_marked_ = true;
  used_end_ = std::max(used_end_, data_begin + static_cast<std::uint64_t>(data_bytes));
  return position;
}

void StepBurstLog::withdraw(std::int64_t position) noexcept {
  try {
    (void)entries_->withdraw(position);
  } catch (const Error&) {
    // The entry is then complete in the log although the program got an error: recovery finds more data.
  }
}

void StepBurstLog::sync() {
  expect_whole();
  data_->sync();
  entries_->sync();
  header_file_->sync();
}

void StepBurstLog::close() {
  if (entries_->count() == 0) return remove();
  expect_whole();
  is_closed_ = true;
  reserved_end_ = whole(used_end_, page_bytes);
  data_->give_back({static_cast<std::int64_t>(reserved_end_), static_cast<std::int64_t>(data_end_)});
  (void)data_->set_mark(storage::closed_log_mark(static_cast<std::int64_t>(step_)));
  data_->close();
  entries_->close();
  former_entries_ = entries_->extent();
  former_used_end_ = used_end_;
  lock_.reset();
}

void StepBurstLog::remove() noexcept {
  is_closed_ = true;
  try {
    if (former_entries_.entries > 0) {
      entries_->cut(former_entries_);
      entries_->close();
      data_->give_back({static_cast<std::int64_t>(whole(former_used_end_, page_bytes)),
                        static_cast<std::int64_t>(data_end_)});
      data_->close();
      lock_.reset();
      return;
    }
    entries_.reset();
    storage::remove_log(files_, paths_.metadata);
    session_.tell_of_log({paths_.metadata, true});
  } catch (const Error&) {
    // Another process has already removed the log, or the matcher removes it when this process ends.
  }
}

}  // namespace sluice::api
