#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver.hpp"
#include "header_probe.hpp"
#include "open_driver.hpp"
#include "pending_puts.hpp"
#include "process_blob_reader.hpp"

namespace sluice::api {

/// A master and its HDF5 files with one blob for each process: docs/formats/blobs-hdf5.md. Puts stay in
/// memory until the files are written: at close, at sync, and before another process reads them. Each write
/// replaces all files.
class ProcessBlobDriver final : public Driver {
 public:
  struct OpenInfo {
    std::vector<std::string> paths;  ///< of the master and the other files
    FileOptions options;
    bool is_writable = false;
  };

  /// `comm` outlives the driver. `reader` is given for an existing dataset.
  ProcessBlobDriver(const Communicator& comm, OpenInfo open_info, MPI_Info info,
                    std::unique_ptr<ProcessBlobReader> reader);

  [[nodiscard]] std::string_view kind() const noexcept override { return "blobs of processes"; }
  /// The files are written as a whole.
  [[nodiscard]] bool keeps_definitions() const noexcept override { return false; }

  void write_header(const formats::Header& header, const formats::Layout& layout) override;
  /// The files contain no data yet.
  void move_data(const formats::Header&, const formats::Layout&, const formats::Header&,
                 const formats::Layout&) override {}
  void fill(const formats::Header& header, const formats::Layout& layout, int varid,
            std::int64_t first_record, std::int64_t records) override;
  void put(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
           Mode mode) override;
  void get(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
           Mode mode) override;
  std::int64_t agree_record_count(std::int64_t local, Mode mode) override;
  void end_independent() override { ++call_; }
  void sync() override;
  /// All data is written at once, so no part can be flushed early.
  void flush(Mode) override {}
  void close(const formats::Header& header) override;
  void discard(bool is_new) override;

 private:
  /// Collective: writes all files if data has changed since the last write.
  void write_files(bool is_last, bool is_synced);
  /// A get of this process alone.
  void get_own(const formats::Header& header, Access& access);
  /// Removes files from number `files` on, because the dataset now has fewer.
  void remove_files_behind(int files);
  /// Reads this process's share of the writers' data from the files into the pending puts.
  void take_written();
  /// Collective: opens the written files for gets.
  void open_written();

  const Communicator& comm_;
  OpenInfo open_info_;
  InfoHandle info_;
  formats::Header header_;  ///< the user's header
  std::int64_t records_ = 0;
  PendingPuts pending_;
  std::int64_t call_ = 1;  ///< number of collective calls; data of a later call wins; 0: data from the files
  bool is_taken_ = true;   ///< pending puts include the data that the files had at the open
  std::int64_t written_call_ = 0;  ///< the first call that the files do not contain
  bool is_changed_ = false;        ///< on this process, since the files were written
  std::unique_ptr<ProcessBlobReader> reader_;
};

/// Whether the hints request process-centric blobs: sluice_layout is "blob-process".
[[nodiscard]] bool are_process_blobs_asked(const std::map<std::string, std::string>& hints);

/// See create_file and open_file. `master` contains the data of the master's header.
[[nodiscard]] OpenedDriver create_process_blobs(const OpenRequest& request);
[[nodiscard]] OpenedDriver open_process_blobs(const OpenRequest& request, const HeaderProbe& master);

/// Removes the existing blob files of a master. Does nothing for a file that is not a master.
void delete_process_blobs(const std::string& master);

}  // namespace sluice::api
