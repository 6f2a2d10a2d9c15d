#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "burst_options.hpp"
#include "sluice/formats/burst_log.hpp"
#include "sluice/formats/header.hpp"
#include "sluice/runtime/session.hpp"
#include "sluice/runtime/write_log.hpp"
#include "sluice/storage/access.hpp"
#include "sluice/storage/burst_log_entries.hpp"
#include "sluice/storage/burst_log_writer.hpp"
#include "sluice/storage/log_header.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {

using storage::Access;

/// This process's burst-buffer log of a workflow step (through: burst-buffer). The data segments of its write
/// log are ranges of the data log. Each put has an entry in the metadata log, so `sluice recover` finds the
/// put after any failure. The dataset's header is a separate file beside the logs. After close(), a later
/// step may continue the log.
class StepBurstLog final : public runtime::SegmentSource {
 public:
  struct Place {
    std::string netcdf_path;  ///< absolute
    std::uint64_t group = 0;  ///< number of the group that writes the step; makes the log's name unique
    std::int64_t rank = 0;
    std::int64_t processes = 1;
    formats::BurstLogStep step;
    formats::BurstLogIdentity identity;
  };

  /// Creates the files. `session` grants all other resources and outlives this object. Throws IoError:
  /// - NC_EBAD_FILE if the directory does not exist
  /// - NC_EEXIST if an earlier run left logs of the same netCDF file, and they must be kept
  /// - other errors of the file system
  ///
  /// If the disk is full, here and below, the call waits until other processes free space. It throws
  /// NC_ENO_SPACE or NC_EQUOTA only if no process can free space.
  StepBurstLog(runtime::Session& session, const BurstOptions& options, const Place& place);
  /// Removes the files, or the puts of a step that continued the log, unless close() was called.
  ~StepBurstLog() override;

  /// Reserves space for data in the data log.
  [[nodiscard]] runtime::WritableSegment need_segment(const runtime::SegmentRequest& request) override;
  [[nodiscard]] std::uint64_t need_room(const Room& room) override;

  /// Writes the dataset's current header.
  void write_header(const formats::Header& header);

  /// The time of a put, and the position of its data in the last granted segment.
  struct Put {
    std::uint64_t sequence = 0;
    std::uint64_t offset_bytes = 0;
  };
  /// Completes a put. Returns its position.
  std::int64_t commit(const formats::Header& header, const Access& access, const Put& put);
  /// Marks a put as failed after commit.
  void withdraw(std::int64_t position) noexcept;

  /// Moves all puts to storage.
  void sync();
  /// Ends the step: no put of it follows. Removes a log without entries.
  void close();
  /// After close(): opens the files again, for a step with these options. Returns false if the log cannot be
  /// continued, for example because other options apply or its files are gone.
  [[nodiscard]] bool reopen(const BurstOptions& options) noexcept;
  /// After reopen(): the next puts are of this step. Throws as the constructor does.
  void go_on(std::uint64_t step);
  /// Takes back the step: its puts, and a log that has no others.
  void remove() noexcept;

 private:
  void create();
  void open_again();
  void append_header(const formats::Header& header);
  void refuse_leftovers() const;
  void expect_whole() const;
  [[nodiscard]] std::uint64_t reserve(const runtime::SegmentRequest& request);
  /// Runs an action that needs disk space. If the disk is full, tries again whenever other processes have
  /// freed space.
  template <class Action>
  void with_space(std::uint64_t bytes, const Action& action);
  [[nodiscard]] std::uint64_t await_disk(std::uint64_t bytes, std::uint64_t seen, const Error& full);

  runtime::Session& session_;
  const BurstOptions options_;
  const Place place_;
  mutable storage::PosixFileSystem files_;
  storage::BurstLogPaths paths_;
  std::unique_ptr<storage::File> lock_;  ///< tells other processes that a process writes the log
  std::unique_ptr<storage::File> data_;
  std::unique_ptr<storage::BurstLogEntries> entries_;
  std::optional<storage::LogHeader> header_file_;
  std::uint64_t segment_begin_ = 0;  ///< begin of the last segment in the data log
  std::uint64_t data_end_;           ///< end of the granted space
  std::uint64_t reserved_end_;       ///< end of the space that is reserved on disk
  std::uint64_t used_end_;           ///< end of the put data
  std::uint64_t step_;
  /// The log before the step that continues it.
  storage::BurstLogEntries::Extent former_entries_;
  std::uint64_t former_used_end_ = 0;
  bool is_step_marked_ = true;     ///< the entries say that they are of this step
  std::int64_t header_begin_ = 0;  ///< offset of the newest header in the header file
  const pid_t process_;            ///< a forked child must not touch the files
  bool is_closed_ = false;
};

}  // namespace sluice::api
