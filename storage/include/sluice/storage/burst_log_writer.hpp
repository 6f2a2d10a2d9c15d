#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sluice/formats/burst_log.hpp"
#include "sluice/storage/burst_log_entries.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

class LogFile;

/// The two files of a process's burst-buffer log.
struct BurstLogPaths {
  std::string metadata;
  std::string data;
  std::string header = {};  ///< of a workflow's log: a netCDF file of which there is only the header
};

/// Where PnetCDF puts them: <directory>/<name of the netCDF file>_<ncid>_<rank>.meta and .data.
[[nodiscard]] BurstLogPaths burst_log_paths(const std::string& directory, const std::string& netcdf_path,
                                            int ncid, std::int64_t rank);

/// The data log that belongs to a metadata log (.meta is .data); both are of the given name where it does not
/// end in ".meta".
[[nodiscard]] BurstLogPaths burst_log_paths_of(const std::string& metadata_path);

/// Removes a log's files. The metadata is renamed first, in one step: whoever is killed in the middle leaves
/// no part of a log that looks like damage. Throws IoError where one of them cannot be removed that is there.
void remove_log(FileSystem& files, const std::string& metadata_path);

/// The name that the metadata has while a log is being removed.
[[nodiscard]] std::string removal_mark_of(const std::string& metadata_path);

/// Removes what is left of logs whose removal was cut off. Throws IoError.
void finish_removals(FileSystem& files, const std::string& directory);

/// Writes one process's log (docs/formats/burst-buffer-log.md). Data first, then entries, then their number:
/// whenever the process dies, the puts that were committed are complete, and the others are not counted. One
/// thread at a time. What fails throws IoError (NC_ENO_SPACE, NC_EWRITE, …); the puts since the last commit
/// are lost then, and those before are not.
class BurstLogWriter {
 public:
  enum class Existing { refuse, overwrite };

  /// Creates both files, for their owner alone, and holds a lock on the first. `files` outlives this. Where
  /// another user has files of these names, they have other ones. Throws IoError: NC_EEXIST where there is a
  /// log and it is to be kept, or is in use; NC_EBAD_FILE where there is no such directory; ….
  BurstLogWriter(FileSystem& files, BurstLogPaths paths, formats::BurstLogHeader header, Existing existing);
  ~BurstLogWriter();
  BurstLogWriter(const BurstLogWriter&) = delete;
  BurstLogWriter& operator=(const BurstLogWriter&) = delete;

  /// Room for the next bytes of the data of a put: as many as wanted or fewer, but never less than 8. What
  /// was filled is added by add().
  [[nodiscard]] std::span<std::byte> room(std::size_t wanted_bytes);
  void add(std::size_t bytes) noexcept { buffered_ += bytes; }
  /// Ends a put: the data added since the last one is that of the hyperslabs. Returns its position, by which
  /// it can be withdrawn.
  std::int64_t finish(int varid, formats::Type type, std::span<const formats::HyperslabView> slabs);
  /// Completes all finished puts. What fails takes back all of them.
  void commit();
  /// Drops what has been added since the last commit.
  void roll_back() noexcept;

  /// Makes a committed put one of no data. False when the log has been emptied since: it is too late.
  [[nodiscard]] bool withdraw(std::int64_t position) { return entries_->withdraw(position); }

  /// All puts have reached their place: the log has no entries any more.
  void clear();
  /// What the header says of the netCDF file, when that is known.
  void describe(const formats::Header& dataset) { entries_->describe(dataset); }

  [[nodiscard]] const BurstLogPaths& paths() const noexcept { return paths_; }
  [[nodiscard]] std::int64_t entry_count() const noexcept { return entries_->count(); }
  /// Of the committed puts.
  [[nodiscard]] std::int64_t data_bytes() const noexcept { return data_end_ - formats::burst_data_begin; }

  /// Cuts the files to what is in use and closes them; or removes them.
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
  std::int64_t data_end_ = formats::burst_data_begin;  ///< of the committed puts

  std::unique_ptr<std::byte[]> buffer_;  ///< data that is not in the file yet
  std::size_t buffered_ = 0;
  std::int64_t buffer_begin_ = formats::burst_data_begin;  ///< where it goes
  std::int64_t put_begin_ = formats::burst_data_begin;     ///< where the current put's data begins
};

}  // namespace sluice::storage
