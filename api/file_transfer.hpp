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
#include "other_writers.hpp"
#include "sluice/formats/placement.hpp"
#include "staging_window.hpp"

namespace sluice::api {

/// Moves the accesses of calls between the users' buffers and bytes in one file or several: what all drivers
/// of files have in common. A placement says where the elements are.
class FileTransfer {
 public:
  /// `comm` and `bytes` outlive this object.
  FileTransfer(const Communicator& comm, const FileBytes& bytes, const FileOptions& options)
      : comm_(comm), bytes_(bytes), options_(options), exchange_(comm_, bytes_, options_) {}
  /// On rank 0: who else writes to the file. Without that there may always be others.
  void watch_others(OtherWriters others) noexcept { others_ = std::move(others); }
  FileTransfer(const FileTransfer&) = delete;
  FileTransfer& operator=(const FileTransfer&) = delete;

  /// As Driver::put and Driver::get.
  void put(const formats::Header& header, const formats::Placement& placement, std::span<Access> accesses,
           Mode mode);
  void get(const formats::Header& header, const formats::Placement& placement, std::span<Access> accesses,
           Mode mode);
  /// As Driver::fill.
  void fill(const formats::Header& header, const formats::Placement& placement, int varid,
            std::int64_t first_record, std::int64_t records);
  /// As Driver::agree_record_count, without writing it: the largest of `local`, which is at least what the
  /// file says, and what was put. Right after a collective put all know it without asking.
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
  /// Between the file and the user's memory without staging, where the range holds one extent that allows it.
  bool access_in_place(FileRequest& request, const FileRange& range, FileRequest::Kind kind);
  /// Fills elements [first, last) of the records.
  void fill_elements(const formats::Header& header, const formats::VariablePlace& place, int varid,
                     std::int64_t first_record, const FileRange& elements);

  /// Fills the first of these runs, and with them those that follow closely; how many that is.
  std::size_t fill_window(std::span<const formats::FileRun> runs, const ByteBuffer& pattern);

  const Communicator& comm_;
  const FileBytes& bytes_;
  FileOptions options_;
  std::int64_t agreed_records_ = 0;  ///< from a collective put, for the agreement that follows it
  CollectiveExchange exchange_;
  OtherWriters others_;
  StagingWindow window_;
  Coverage coverage_;
};

/// Writes the number of records into the header of a file of that version.
void write_record_count(const FileBytes& file, formats::Version version, std::int64_t records);

}  // namespace sluice::api
