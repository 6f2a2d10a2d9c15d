// The flush of a burst buffer: reads the log in rounds, and the driver below puts each round into the file.
#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <utility>

#include "agreement.hpp"
#include "burst_driver.hpp"
#include "last_error.hpp"
#include "sluice/storage/burst_log_reader.hpp"
#include "sluice/storage/log_round.hpp"

namespace sluice::api {
namespace {

/// Data of one round if the user sets no limit: enough for large sorted writes, and little memory.
constexpr std::int64_t default_round_bytes = std::int64_t{128} << 20;

/// The first failure of several attempts.
class FirstFailure {
 public:
  /// False if the attempt failed.
  template <class Work>
  bool attempt(const Work& work) {
    try {
      work();
      return true;
    } catch (const Error& error) {
      remember(error.status(), error.what());
    } catch (const std::bad_alloc&) {
      remember(NC_ENOMEM, "out of memory");
    }
    return false;
  }

  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] const std::string& what() const noexcept { return what_; }

 private:
  void remember(int status, const std::string& what) {
    if (status_ != NC_NOERR) return;
    status_ = status;
    what_ = what;
  }

  int status_ = NC_NOERR;
  std::string what_;
};

/// This process's log during a flush. A missing entry is an error.
class OwnLog {
 public:
  OwnLog(storage::PosixFileSystem& files, const std::string& path, const formats::Header& header,
         const formats::Layout& layout, std::int64_t round_bytes)
      : reader_(files, path), rounds_(reader_, header, layout, round_bytes) {}

  bool next() {
    const bool has_more = rounds_.next();
    if (!reader_.problems().empty())
      throw FormatError(NC_EIO, reader_.paths().metadata,
                        static_cast<std::uint64_t>(reader_.problems().front().offset_bytes),
                        "the burst-buffer log was damaged: " + reader_.problems().front().what);
    return has_more;
  }
  [[nodiscard]] std::span<Access> accesses() noexcept { return rounds_.accesses(); }

 private:
  storage::BurstLogReader reader_;
  storage::LogRounds rounds_;
};

}  // namespace

std::int64_t BurstDriver::round_bytes() const noexcept {
  return options_.flush_buffer_bytes > 0 ? options_.flush_buffer_bytes : default_round_bytes;
}

void BurstDriver::replay_alone() {
  if (log_->writer->entry_count() == 0) return;
  OwnLog log(log_->files, log_->writer->paths().metadata, header_, layout_, round_bytes());
  while (log.next()) below_->put(header_, layout_, log.accesses(), Mode::independent);
}

void BurstDriver::replay_together() {
  FirstFailure failure;
  std::unique_ptr<OwnLog> log;
  if (log_->writer->entry_count() > 0) {
    failure.attempt([&] {
      log = std::make_unique<OwnLog>(log_->files, log_->writer->paths().metadata, header_, layout_,
                                     round_bytes());
    });
  }
  for (;;) {
    bool has_more = false;
    if (log != nullptr) failure.attempt([&] { has_more = log->next(); });
    // The maximum of both: whether any process has more data, and the worst error.
    std::array<int, 2> all{has_more ? 1 : 0, -failure.status()};
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, all.data(), 2, MPI_INT, MPI_MAX, comm_.get()),
              "agree on a round of the flush");
    if (all[1] != 0) {
      const bool is_mine = failure.status() != NC_NOERR;
      throw Error(static_cast<Status>(is_mine ? failure.status() : -all[1]),
                  is_mine ? failure.what() : "another process failed to flush its burst buffer");
    }
    if (all[0] == 0) return;
    failure.attempt([&] {
      below_->put(header_, layout_, has_more ? log->accesses() : std::span<Access>(), Mode::collective);
    });
  }
}

void BurstDriver::replay(Mode mode) {
  if (mode == Mode::independent) return replay_alone();
  replay_together();
  if (header_.record_dimension() >= 0)
    records_ = std::max(records_, below_->agree_record_count(records_, mode));
}

void BurstDriver::forget() {
  log_->writer->clear();
  pending_ = 0;
  tell_out_of_range();
}

void BurstDriver::tell_out_of_range() noexcept {
  if (!out_of_range_.empty()) flush_status_ = NC_ERANGE;
  out_of_range_.clear();
}

int BurstDriver::take_flush_status() noexcept {
  return std::exchange(flush_status_, NC_NOERR);
}

void BurstDriver::flush(Mode mode) {
  replay(mode);
  forget();
}

void BurstDriver::sync() {
  replay(Mode::collective);
  below_->sync();
  // Not earlier: the log must exist until the file is on storage.
  forget();
}

/// The logs stay although the file has their data: who opens it needs to know that.
void BurstDriver::mark_flushed() noexcept {
  if (!comm_.is_root()) return;
  try {
    std::set<std::int64_t> ranks;
    for (int rank = 0; rank < comm_.size(); ++rank) ranks.insert(ranks.end(), rank);
    mark_file(*log_, ranks);
  } catch (const std::bad_alloc&) {
    // Then the file is said to need its logs, which is safe.
  }
}

void BurstDriver::close(const formats::Header& header) {
  std::exception_ptr failure;
  const auto directory = storage::directory_of(log_->writer->paths().metadata);
  try {
    replay(Mode::collective);
  } catch (const Error& error) {
    failure = std::make_exception_ptr(
        Error(error.status(), std::string(error.what()) +
                                  ". The burst-buffer logs keep the data: 'sluice recover " + directory +
                                  "' writes the data to the file"));
  }
  try {
    below_->close(header);
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
  // All processes make the same decision: replay and close fail on all or on none.
  if (!failure && !options_.deletes_on_close) mark_flushed();
  end_log(failure != nullptr || !options_.deletes_on_close);
  if (failure) std::rethrow_exception(failure);
  tell_out_of_range();
}

}  // namespace sluice::api
