#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver.hpp"
#include "first_look.hpp"
#include "open_driver.hpp"
#include "pending_puts.hpp"
#include "process_blob_reader.hpp"

namespace sluice::api {

/// A master and its HDF5 files with one blob for each process: docs/formats/blobs-hdf5.md. What is put is
/// kept in memory until the files are written: at close, at sync, and before others read it. They are written
/// anew each time.
class ProcessBlobDriver final : public Driver {
 public:
  struct Facts {
    std::vector<std::string> paths;  ///< the master's and the files'
    FileOptions options;
    bool is_writable = false;
  };

  /// `comm` outlives the driver. `reader` for a dataset that is there already.
  ProcessBlobDriver(const Communicator& comm, Facts facts, MPI_Info info,
                    std::unique_ptr<ProcessBlobReader> reader);

  [[nodiscard]] std::string_view kind() const noexcept override { return "blobs of processes"; }

  void write_header(const formats::Header& header, const formats::Layout& layout) override;
  /// Nothing is anywhere yet.
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
  /// There is no part that could go ahead: all goes out at once.
  void flush(Mode) override {}
  void close(const formats::Header& header) override;
  void discard(bool is_new) override;

 private:
  /// Collective: writes all files where something has changed since they were written.
  void write_files(bool is_last, bool is_synced);
  /// A get of this process alone.
  void get_own(const formats::Header& header, Access& access);
  /// There are so many now.
  void remove_files_behind(int files);
  /// Takes what the files have of this process's share of their writers.
  void take_written();
  /// Collective: opens what has been written, for gets.
  void open_written();

  const Communicator& comm_;
  Facts facts_;
  InfoHandle info_;
  formats::Header header_;  ///< the user's
  std::int64_t records_ = 0;
  PendingPuts pending_;
  std::int64_t call_ = 1;  ///< collective calls so far: what was put in a later one wins; 0: the files'
  bool is_taken_ = true;   ///< what the files had when they were opened is among what is pending
  std::int64_t written_call_ = 0;  ///< the first that the files do not have
  bool is_changed_ = false;        ///< here, since the files were written
  std::unique_ptr<ProcessBlobReader> reader_;
};

/// Whether the hints ask for blobs of processes: sluice_layout is "blob-process".
[[nodiscard]] bool are_process_blobs_asked(const std::map<std::string, std::string>& hints);

/// As create_file and open_file. `master` is what the master's header says.
[[nodiscard]] OpenedDriver create_process_blobs(const OpenRequest& request);
[[nodiscard]] OpenedDriver open_process_blobs(const OpenRequest& request, const FirstLook& master);

/// Removes the blob files of a master, those that are there. Nothing for what is no master.
void delete_process_blobs(const std::string& master);

}  // namespace sluice::api
