#include "step_log.hpp"

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
constexpr std::uint64_t room_unit_bytes = 64 * 1024;
constexpr const char* metadata_suffix = ".meta";

std::uint64_t whole(std::uint64_t bytes, std::uint64_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

std::string log_name(const StepLog::Place& place) {
  std::array<char, 17> group{};
  std::snprintf(group.data(), group.size(), "%016llx", static_cast<unsigned long long>(place.group));
  return storage::name_of(place.netcdf_path) + "_" + group.data() + "_" + std::to_string(place.rank) +
         metadata_suffix;
}

/// Of this user and this netCDF file, with something in it, and nobody needs it.
bool is_leftover(storage::FileSystem& files, const std::string& path, const std::string& netcdf_path) {
  try {
    if (files.owner_of(path) != files.user()) return false;
    const storage::BurstLogReader log(files, path);
    if (log.header().path != netcdf_path || log.header().entry_count == 0) return false;
    return !storage::is_in_use(files, path);
  } catch (const Error&) {
    return false;  // another program's, or gone since
  }
}

}  // namespace

StepLog::StepLog(runtime::Session& session, const BurstOptions& options, const Place& place)
    : session_(session),
      options_(options),
      data_end_(page_bytes),
      used_end_(page_bytes),
      step_(static_cast<std::uint64_t>(place.step.step)),
      process_(::getpid()) {
  try {
    refuse_leftovers(place);
    paths_ = storage::burst_log_paths_of(options_.directory + "/" + log_name(place));
    header_file_.emplace(files_, paths_.header);
    with_room(room_unit_bytes, [&] { create(place); });
  } catch (const IoError& error) {
    if (error.error_number() != ENOENT && error.error_number() != ENOTDIR) throw;
    throw IoError(
        NC_EBAD_FILE, error.error_number(), options_.directory,
        "use the directory for burst-buffer logs (staging.spill, or the hint nc_burst_buf_dirname)");
  }
}

/// What an earlier run could not bring to the file would be out of date as soon as this one has written it.
void StepLog::refuse_leftovers(const Place& place) const {
  // The first process sees all logs of its node, and the others' first those that are their own.
  const std::string begin = storage::name_of(place.netcdf_path) + "_";
  const std::string end = (place.rank == 0 ? "" : "_" + std::to_string(place.rank)) + metadata_suffix;
  std::vector<std::string> found;
  const auto list_logs = [&] {
    std::vector<std::string> names = files_.list(options_.directory);
    std::erase_if(names, [](const std::string& name) { return !name.ends_with(metadata_suffix); });
    return names;
  };
  for (const std::string& name : session_.first_listing(options_.directory, list_logs)) {
    const auto path = options_.directory + "/" + name;
    if (name.starts_with(begin) && name.ends_with(end) && is_leftover(files_, path, place.netcdf_path))
      found.push_back(path);
  }
  if (found.empty()) return;
  if (!options_.overwrites)
    throw Error(NC_EEXIST,
                "the burst-buffer log " + found.front() +
                    " was left by a run that did not end well. Bring what it holds to its file by 'sluice "
                    "recover --delete " +
                    options_.directory + "', or give it up with the hint nc_burst_buf_overwrite=enable");
  for (const std::string& path : found) storage::remove_log(files_, path);
}

void StepLog::create(const Place& place) {
  auto metadata = files_.open(paths_.metadata, storage::OpenMode::create_private);
  try {
    lock_ = files_.open(paths_.metadata, storage::OpenMode::read);
    (void)lock_->try_lock();
    data_ = files_.open(paths_.data, storage::OpenMode::create_private);
    data_->write(0, std::as_bytes(std::span(formats::burst_log_magic)));
    formats::BurstLogHeader header;
    header.is_external = false;  // the variable's type, but in this machine's byte order: readers share it
    header.process_count = place.processes;
    header.rank = place.rank;
    header.path = place.netcdf_path;
    header.processor = processor_name();
    header.step = place.step;
    header.identity = place.identity;
    entries_ = std::make_unique<storage::BurstLogEntries>(std::move(metadata), std::move(header));
  } catch (...) {
    remove();
    throw;
  }
  is_closed_ = false;
}

StepLog::~StepLog() {
  if (!is_closed_ && process_ == ::getpid()) remove();
}

template <class Action>
void StepLog::with_room(std::uint64_t bytes, const Action& action) {
  for (std::uint64_t seen = 0;;) {
    try {
      return action();
    } catch (const Error& error) {
      if (!is_log_disk_full(error)) throw;
      seen = await_room(bytes, seen, error);
    }
  }
}

/// Returns what to say as `seen` the next time.
std::uint64_t StepLog::await_room(std::uint64_t bytes, std::uint64_t seen, const Error& full) {
  try {
    return session_.await_room({step_, bytes, seen, full.what()}).given_back;
  } catch (const Error& refusal) {
    if (refusal.status() != NC_ENO_SPACE) throw;
    throw Error(full.status(), refusal.what());
  }
}

/// As much as is wanted, or what is needed. Returns how much it is.
std::uint64_t StepLog::reserve(const runtime::NeedSegment& request) {
  const auto take = [&](std::uint64_t bytes) {
    try {
      data_->reserve(static_cast<std::int64_t>(data_end_ + bytes));
    } catch (const Error&) {
      // Some file systems keep what they found until they had to give up: it is for others now.
      data_->resize(static_cast<std::int64_t>(data_end_));
      throw;
    }
    return bytes;
  };
  try {
    return take(whole(std::max(request.bytes, request.wanted_bytes), room_unit_bytes));
  } catch (const Error& error) {
    if (!is_log_disk_full(error)) throw;
    return take(whole(request.bytes, page_bytes));
  }
}

runtime::WritableSegment StepLog::need_segment(const runtime::NeedSegment& request) {
  if (request.use != runtime::SegmentUse::data) return session_.need_segment(request);
  std::uint64_t bytes = 0;
  with_room(request.bytes, [&] { bytes = reserve(request); });
  auto segment = session_.need_segment(
      {request.step, request.use, bytes, bytes, {paths_.metadata, data_end_, !options_.deletes_on_close}});
  segment_begin_ = data_end_;
  data_end_ += bytes;
  return segment;
}

void StepLog::write_header(const formats::Header& header) {
  with_room(static_cast<std::uint64_t>(formats::encoded_size(header)), [&] { header_file_->write(header); });
  entries_->describe(header);
}

std::int64_t StepLog::commit(const formats::Header& header, const Access& access, const Put& put) {
  const formats::Type type = header.variable(access.varid).type;
  const std::uint64_t data_begin = segment_begin_ + put.offset_bytes;
  const std::int64_t data_bytes = access.elements * static_cast<std::int64_t>(formats::size_of(type));
  std::int64_t position = 0;
  with_room(page_bytes, [&] {
    position = entries_->add({type, access.varid, access.slabs, static_cast<std::int64_t>(data_begin),
                              data_bytes, static_cast<std::int64_t>(put.sequence)});
    entries_->commit();
  });
  used_end_ = std::max(used_end_, data_begin + static_cast<std::uint64_t>(data_bytes));
  return position;
}

void StepLog::withdraw(std::int64_t position) noexcept {
  try {
    (void)entries_->withdraw(position);
  } catch (const Error&) {
    // Then it is complete in the log, and the program has heard that it is not: recovery knows more.
  }
}

void StepLog::sync() {
  data_->sync();
  entries_->sync();
  header_file_->sync();
}

void StepLog::close() {
  if (entries_->count() == 0) return remove();
  is_closed_ = true;
  data_->give_back(
      {static_cast<std::int64_t>(whole(used_end_, page_bytes)), static_cast<std::int64_t>(data_end_)});
  data_->close();
  entries_->close();
  lock_.reset();
}

void StepLog::remove() noexcept {
  is_closed_ = true;
  try {
    storage::remove_log(files_, paths_.metadata);
  } catch (const Error&) {
    // Somebody else has done so.
  }
}

}  // namespace sluice::api
