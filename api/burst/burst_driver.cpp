// Puts to the log and their consequences. burst_flush.cpp contains the flush.
#include "burst_driver.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>

#include "agreement.hpp"
#include "sluice/runtime/session.hpp"
#include "sluice/storage/element_codec.hpp"
#include "sluice/storage/file_mark.hpp"

namespace sluice::api {
namespace {

std::uint64_t bit_of(int varid) noexcept {
  return std::uint64_t{1} << (static_cast<unsigned>(varid) % 64);
}

/// The absolute path without symbolic links in its directories, valid from any working directory.
std::string absolute_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> directory(
      ::realpath(storage::directory_of(path).c_str(), nullptr), &std::free);
  if (directory == nullptr)
    throw IoError(errno == ENOENT ? NC_ENOENT : NC_EACCESS, errno, storage::directory_of(path),
                  "find the directory");
  const std::string name(directory.get());
  return (name == "/" ? name : name + "/") + storage::name_of(path);
}

/// Throws the error of a failed log write, with advice to the user.
[[noreturn]] void fail_to_log(const Error& error) {
  if (!is_log_disk_full(error)) throw Error(error.status(), error.what());
  throw Error(error.status(),
              std::string(error.what()) +
                  ". The burst buffer is full: call ncmpi_flush before the next put, or set the "
                  "hint nc_burst_buf_dirname to a directory with more space");
}

/// Collective: identifies this set of processes and the time of the open; rank 0 chooses both values.
formats::BurstLogIdentity new_identity(const Communicator& comm) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::array<std::uint64_t, 2> told{
      runtime::random_number(),
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count())};
  if (comm.size() > 1)
    check_mpi(MPI_Bcast(told.data(), 2, MPI_UINT64_T, 0, comm.get()), "share the number of a group");
  return {0, static_cast<std::int64_t>(told[1]), told[0]};
}

}  // namespace

void BurstDriver::mark_file(const Log& log, const std::set<std::int64_t>& flushed) noexcept {
  try {
    storage::FileMark mark;
    mark.created_ns = log.identity.created_ns;
    mark.group = log.identity.group;
    mark.content = storage::growing_content;
    mark.ranks = flushed;
    (void)storage::set_mark(*storage::PosixFileSystem().open(log.netcdf_path, storage::OpenMode::update),
                            mark);
  } catch (const std::exception&) {
    // Recovery then has less information, and reports this.
  }
}

std::unique_ptr<BurstDriver::Log> BurstDriver::create_log(const OpenRequest& request,
                                                          const BurstOptions& options, int ncid,
                                                          const formats::BurstLogIdentity& identity) {
  auto log = std::make_unique<Log>();
  const auto path = storage::without_prefix(request.path);
  log->netcdf_path = path;
  log->identity = identity;
  formats::BurstLogHeader header;
  header.process_count = request.comm.size();
  header.rank = request.comm.rank();
  header.path = absolute_path(path);
  header.processor = processor_name();
  header.identity = identity;
  const auto existing = options.overwrites ? storage::BurstLogWriter::Existing::overwrite
                                           : storage::BurstLogWriter::Existing::refuse;
  log->writer = std::make_unique<storage::BurstLogWriter>(
      log->files, storage::burst_log_paths(options.directory, path, ncid, header.rank), header, existing);
  return log;
}

BurstDriver::BurstDriver(const Communicator& comm, std::unique_ptr<Log> log, const BurstOptions& options,
                         OpenedDriver& opened)
    : comm_(comm),
      options_(options),
      log_(std::move(log)),
      below_(std::move(opened.driver)),
      header_(opened.header),
      layout_(opened.layout),
      records_(opened.header.record_count) {
  if (header_.variable_count() > 0) log_->writer->describe(header_);
}

BurstDriver::~BurstDriver() {
  if (is_closed_) return;
  try {
    end_log(log_->writer->entry_count() > 0);
  } catch (...) {
    // The log stays in its directory.
  }
}

void BurstDriver::write_header(const formats::Header& header, const formats::Layout& layout) {
  below_->write_header(header, layout);
  header_ = header;
  layout_ = layout;
  run_collectively(comm_, [&] { log_->writer->describe(header); });
}

void BurstDriver::move_data(const formats::Header& old_header, const formats::Layout& old_layout,
                            const formats::Header& new_header, const formats::Layout& new_layout) {
  below_->move_data(old_header, old_layout, new_header, new_layout);
}

void BurstDriver::fill(const formats::Header& header, const formats::Layout& layout, int varid,
                       std::int64_t first_record, std::int64_t records) {
  below_->fill(header, layout, varid, first_record, records);
}

std::int64_t BurstDriver::append(const formats::Header& header, Access& access) {
  auto& writer = *log_->writer;
  storage::ElementCodec codec(header, access);
  const std::int64_t element_bytes = codec.element_bytes();
  for (std::int64_t done = 0; done < access.elements;) {
    const auto place = writer.reserve(static_cast<std::size_t>((access.elements - done) * element_bytes));
    const std::int64_t part =
        std::min(access.elements - done, static_cast<std::int64_t>(place.size()) / element_bytes);
    codec.encode(done, part, place.data());
    writer.add(static_cast<std::size_t>(part * element_bytes));
    done += part;
  }
  return writer.finish(access.varid, header.variable(access.varid).type, access.slabs);
}

void BurstDriver::put(const formats::Header& header, const formats::Layout&, std::span<Access> accesses,
                      Mode) {
  auto& writer = *log_->writer;
  std::vector<std::int64_t> out_of_range;
  try {
    for (Access& access : accesses) {
      if (access.is_taken) continue;
      access.status = NC_NOERR;
      if (access.elements == 0) continue;
      const std::int64_t position = append(header, access);
      if (access.status == NC_ERANGE) out_of_range.push_back(position);
      access.status = NC_NOERR;
    }
    writer.commit();
  } catch (const Error& error) {
    writer.roll_back();
    fail_to_log(error);
  } catch (...) {
    writer.roll_back();
    throw;
  }
  out_of_range_.insert(out_of_range_.end(), out_of_range.begin(), out_of_range.end());
  for (const Access& access : accesses) pending_ |= bit_of(access.varid);
}

std::optional<std::int64_t> BurstDriver::post_put(const formats::Header& header, Access& access) {
  auto& writer = *log_->writer;
  try {
    const std::int64_t position = append(header, access);
    writer.commit();
    if (access.status == NC_ERANGE) out_of_range_.push_back(position);
    pending_ |= bit_of(access.varid);
    return position;
  } catch (const Error& error) {
    writer.roll_back();
    fail_to_log(error);
  } catch (...) {
    writer.roll_back();
    throw;
  }
}

bool BurstDriver::withdraw_put(std::int64_t ticket) {
  const bool is_withdrawn = log_->writer->withdraw(ticket);
  if (is_withdrawn) std::erase(out_of_range_, ticket);
  return is_withdrawn;
}

bool BurstDriver::needs_flush(std::span<const Access> accesses, Mode mode) const {
  // Variables that any process has put, and variables that any process reads.
  std::array<std::uint64_t, 2> masks{pending_, 0};
  for (const Access& access : accesses) masks[1] |= bit_of(access.varid);
  if (mode == Mode::collective && comm_.size() > 1) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, masks.data(), 2, MPI_UINT64_T, MPI_BOR, comm_.get()),
              "agree on a flush of the burst buffer");
  }
  return (masks[0] & masks[1]) != 0;
}

void BurstDriver::get(const formats::Header& header, const formats::Layout& layout,
                      std::span<Access> accesses, Mode mode) {
  if (needs_flush(accesses, mode)) flush(mode);
  below_->get(header, layout, accesses, mode);
}

std::int64_t BurstDriver::agree_record_count(std::int64_t local, Mode mode) {
  records_ = std::max(records_, local);
  if (mode == Mode::collective && comm_.size() > 1) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &records_, 1, MPI_INT64_T, MPI_MAX, comm_.get()),
              "agree on the number of records");
  }
  return records_;
}

void BurstDriver::end_log(bool keeps) {
  is_closed_ = true;
  if (keeps)
    log_->writer->close();
  else
    log_->writer->remove();
}

void BurstDriver::discard(bool is_new) {
  below_->discard(is_new);
  end_log(false);
}

OpenedDriver open_with_burst_buffer(const OpenRequest& request, int ncid, bool can_write,
                                    OpenedDriver (*open)(const OpenRequest&)) {
  const auto options = burst_options(request.hints, storage::without_prefix(request.path));
  if (!options.is_enabled || !can_write) {
    OpenedDriver opened = open(request);
    if (request.hints.count("nc_burst_buf") != 0) opened.hints.insert_or_assign("nc_burst_buf", "disable");
    return opened;
  }

  // The logs come first: if they cannot be created, the file stays unchanged.
  std::unique_ptr<BurstDriver::Log> log;
  const auto give_up = [&] {
    if (log != nullptr) log->writer->remove();
  };
  try {
    const auto identity = new_identity(request.comm);
    run_collectively(request.comm, [&] { log = BurstDriver::create_log(request, options, ncid, identity); });
    OpenedDriver opened = open(request);
    if (!opened.driver->keeps_definitions()) {
      give_up();
      opened.hints.insert_or_assign("nc_burst_buf", "disable");
      return opened;
    }
    if (request.comm.is_root()) BurstDriver::mark_file(*log);
    opened.driver = std::make_unique<BurstDriver>(request.comm, std::move(log), options, opened);
    for (const auto& [key, value] : as_hints(options)) opened.hints.insert_or_assign(key, value);
    return opened;
  } catch (...) {
    give_up();
    throw;
  }
}

}  // namespace sluice::api
