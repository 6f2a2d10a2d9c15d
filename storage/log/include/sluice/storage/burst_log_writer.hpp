#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/formats/burst_log.hpp"
#include "sluice/storage/burst_log_entries.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// The mark (File::mark) of the data log of a workflow whose process has closed this step and all earlier
/// ones.
[[nodiscard]] std::string closed_log_mark(std::int64_t step);
/// The last step that the process has closed, by the mark; 0: none.
[[nodiscard]] std::int64_t closed_step_of(const std::string& mark, const formats::BurstLogStep& first);

class LogFile;

/// The two files of a process's burst-buffer log.
struct BurstLogPaths {
  std::string metadata;
  std::string data;
  std::string header = {};  ///< for a workflow's log: a netCDF file with only the header
};

/// The paths that PnetCDF uses: <directory>/<name of the netCDF file>_<ncid>_<rank>.meta and .data.
[[nodiscard]] BurstLogPaths burst_log_paths(const std::string& directory, const std::string& netcdf_path,
                                            int ncid, std::int64_t rank);

/// The paths for a metadata log: .meta becomes .data. Both paths equal the given name if it does not end in
/// ".meta".
[[nodiscard]] BurstLogPaths burst_log_paths_of(const std::string& metadata_path);

/// Removes a log's files. Renames the metadata first, in one step, so that an interrupted removal never looks
/// like a damaged log. Throws IoError if an existing file cannot be removed.
void remove_log(FileSystem& files, const std::string& metadata_path);

/// The name of the metadata while a log is being removed.
[[nodiscard]] std::string removal_mark_of(const std::string& metadata_path);

/// Removes the rest of logs whose removal was interrupted. Throws IoError.
void finish_removals(FileSystem& files, const std::string& directory);

/// Writes one process's log (docs/formats/burst-buffer-log.md): first data, then entries, then their number.
/// Whenever the process dies, committed puts are complete, and other puts are not counted. One thread at a
/// time. Failures throw IoError (NC_ENO_SPACE, NC_EWRITE, …); they lose the puts since the last commit, and
/// keep the earlier ones.
class BurstLogWriter {
 public:
  enum class Existing { refuse, overwrite };

  /// Creates both files with access for the owner only, and locks the metadata. If another user has files of
  /// these names, uses other names. `files` outlives this object. Throws IoError: NC_EEXIST if a log exists
  /// that must be kept or is in use; NC_EBAD_FILE if the directory does not exist; ….
  BurstLogWriter(FileSystem& files, BurstLogPaths paths, formats::BurstLogHeader header, Existing existing);
  ~BurstLogWriter();
  BurstLogWriter(const BurstLogWriter&) = delete;
  BurstLogWriter& operator=(const BurstLogWriter&) = delete;

  /// Memory for the next bytes of a put's data: at most `wanted_bytes`, and at least 8. add() adds the filled
  /// bytes.
  [[nodiscard]] std::span<std::byte> reserve(std::size_t wanted_bytes);
  void add(std::size_t bytes) noexcept { buffered_ += bytes; }
  /// Ends a put: the data added since the previous put belongs to the hyperslabs. Returns the put's position,
  /// which withdraw() takes.
  std::int64_t finish(int varid, formats::Type type, std::span<const formats::HyperslabView> slabs);
  /// Commits all finished puts. A failure drops all of them.
  void commit();
  /// Drops the data and puts added since the last commit.
  void roll_back() noexcept;

  /// Turns a committed put into one without data. Returns false if the log has been emptied since: it is too
  /// late.
  [[nodiscard]] bool withdraw(std::int64_t position) { return entries_->withdraw(position); }

  /// Empties the log after all puts have reached their file.
  void clear();
  /// Records the netCDF file's header in the log's header, once it is known.
  void describe(const formats::Header& dataset) { entries_->describe(dataset); }

  [[nodiscard]] const BurstLogPaths& paths() const noexcept { return paths_; }
  [[nodiscard]] std::int64_t entry_count() const noexcept { return entries_->count(); }
  /// The size of the committed puts' data.
  [[nodiscard]] std::int64_t data_bytes() const noexcept { return data_end_ - formats::burst_data_begin; }

  /// Truncates the files to the used part and closes them, or removes them.
  void close();
  void remove();

 private:
  void create(Existing existing, formats::BurstLogHeader header);
  void avoid_files_of_others(const formats::BurstLogHeader& header);
  void remove_existing(Existing existing);
  void write_data();

  FileSystem& files_;
  BurstLogPaths paths_;
  std::unique_ptr<BurstLogEntries> entries_;
  std::unique_ptr<LogFile> data_;
  std::int64_t data_end_ = formats::burst_data_begin;  ///< end of the committed puts

  std::unique_ptr<std::byte[]> buffer_;  ///< data that is not in the file yet
  std::size_t buffered_ = 0;
  std::int64_t buffer_begin_ = formats::burst_data_begin;  ///< position of the buffer in the file
  std::int64_t put_begin_ = formats::burst_data_begin;     ///< position where the current put's data begins
};

}  // namespace sluice::storage
