#pragma once
#include <cstdint>
#include <span>
#include <utility>

#include "collective_exchange.hpp"
#include "driver.hpp"
#include "file_access.hpp"
#include "file_bytes.hpp"
#include "file_options.hpp"
#include "mpi_handles.hpp"
#include "sluice/formats/placement.hpp"
#include "staging_window.hpp"
#include "writer_lock.hpp"

namespace sluice::api {

/// Moves the data of accesses between the users' buffers and bytes in one or several files. All drivers of
/// files share it. A placement gives the positions of the elements.
class FileTransfer {
 public:
  /// `comm` and `bytes` outlive this object.
  FileTransfer(const Communicator& comm, const FileBytes& bytes, const FileOptions& options)
      : comm_(comm), bytes_(bytes), options_(options), exchange_(comm_, bytes_, options_) {}
  /// On rank 0: sets the detector of other writers. Without it, other writers are always assumed.
  void watch_others(WriterLock others) noexcept { others_ = std::move(others); }
  FileTransfer(const FileTransfer&) = delete;
  FileTransfer& operator=(const FileTransfer&) = delete;

  /// See Driver::put and Driver::get.
  void put(const formats::Header& header, const formats::Placement& placement, std::span<Access> accesses,
           Mode mode);
  void get(const formats::Header& header, const formats::Placement& placement, std::span<Access> accesses,
           Mode mode);
  /// See Driver::fill.
  void fill(const formats::Header& header, const formats::Placement& placement, int varid,
            std::int64_t first_record, std::int64_t records);
  /// Same as Driver::agree_record_count, but does not write the count. Returns the largest `local`, which is
  /// at least the count in the file and in the puts. Right after a collective put, all ranks know the result
  /// without communication.
  [[nodiscard]] std::int64_t agree_record_count(std::int64_t local, Mode mode);

  [[nodiscard]] const FileOptions& options() const noexcept { return options_; }

 private:
  void access(FileRequest& request, FileRequest::Kind kind, Mode mode);
  void access_directly(FileRequest& request, FileRequest::Kind kind);
  void access_together(FileRequest& request, FileRequest::Kind kind);
  /// Collective.
  void put_by_exchange(FileRequest& request, std::span<const RequestSummary> summaries);
  void put_window(FileRequest& request, const FileRange& range);
  void get_window(FileRequest& request, const FileRange& range);
  /// Transfers directly between the file and the user's memory, if the range holds one extent that allows it.
  bool access_in_place(FileRequest& request, const FileRange& range, FileRequest::Kind kind);
  /// Fills elements [first, last) of the records.
  void fill_elements(const formats::Header& header, const formats::VariablePlace& place, int varid,
                     std::int64_t first_record, const FileRange& elements);

  /// Fills the first of these runs and the runs close behind it; returns the number of filled runs.
  std::size_t fill_window(std::span<const formats::FileRun> runs, const ByteBuffer& pattern);

  const Communicator& comm_;
  const FileBytes& bytes_;
  FileOptions options_;
  std::int64_t agreed_records_ = 0;  ///< set by a collective put, for the agreement that follows it
  CollectiveExchange exchange_;
  WriterLock others_;
  StagingWindow window_;
  Coverage coverage_;
};

/// Writes the record count into the header of a file with this version.
void write_record_count(const FileBytes& file, formats::Version version, std::int64_t records);

}  // namespace sluice::api
