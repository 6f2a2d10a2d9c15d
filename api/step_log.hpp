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

/// This process's burst-buffer log of a step of the workflow (through: burst-buffer): the data segments of
/// its write log are ranges of the data log, and each put has an entry in the metadata log, so that
/// `sluice recover` finds it whatever dies. Beside them is the dataset's header, as a file of its own.
class StepLog final : public runtime::SegmentSource {
 public:
  struct Place {
    std::string netcdf_path;  ///< absolute
    std::uint64_t group = 0;  ///< the number of the group that writes the step: no other log's name has it
    std::int64_t rank = 0;
    std::int64_t processes = 1;
    formats::BurstLogStep step;
    formats::BurstLogIdentity identity;
  };

  /// Creates the files. `session`, which grants everything else, outlives this. Throws IoError: NC_EBAD_FILE
  /// where there is no such directory, NC_EEXIST where logs of the same netCDF file were left behind by an
  /// earlier run and are to be kept, …. What finds the disk full, here and below, waits until others have
  /// given room back, and is NC_ENO_SPACE or NC_EQUOTA only when nobody can.
  StepLog(runtime::Session& session, const BurstOptions& options, const Place& place);
  /// Removes them, unless close() has been called.
  ~StepLog() override;

  /// Data is given room in the data log.
  [[nodiscard]] runtime::WritableSegment need_segment(const runtime::NeedSegment& request) override;

  /// The dataset has this header from now on.
  void write_header(const formats::Header& header);

  /// When a put was, and where its data is in the segment that was granted last.
  struct Put {
    std::uint64_t sequence = 0;
    std::uint64_t offset_bytes = 0;
  };
  /// Makes a put complete. Returns its position.
  std::int64_t commit(const formats::Header& header, const Access& access, const Put& put);
  /// The put has not succeeded after all.
  void withdraw(std::int64_t position) noexcept;

  /// What was put is on storage.
  void sync();
  /// Nothing more will be put. A log without entries is removed.
  void close();
  void remove() noexcept;

 private:
  void create(const Place& place);
  void refuse_leftovers(const Place& place) const;
  [[nodiscard]] std::uint64_t reserve(const runtime::NeedSegment& request);
  /// Does what takes so much room on the disk; where there is none, again whenever others have given some
  /// back.
  template <class Action>
  void with_room(std::uint64_t bytes, const Action& action);
  [[nodiscard]] std::uint64_t await_room(std::uint64_t bytes, std::uint64_t seen, const Error& full);

  runtime::Session& session_;
  const BurstOptions options_;
  mutable storage::PosixFileSystem files_;
  storage::BurstLogPaths paths_;
  std::unique_ptr<storage::File> lock_;  ///< tells others that somebody writes the log
  std::unique_ptr<storage::File> data_;
  std::unique_ptr<storage::BurstLogEntries> entries_;
  std::optional<storage::LogHeader> header_file_;
  std::uint64_t segment_begin_ = 0;  ///< of the last segment, in the data log
  std::uint64_t data_end_;           ///< of the room that was taken
  std::uint64_t used_end_;           ///< of what was put
  const std::uint64_t step_;
  const pid_t process_;  ///< a forked child leaves the files alone
  bool is_closed_ = false;
};

}  // namespace sluice::api
