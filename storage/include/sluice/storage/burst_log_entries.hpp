#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sluice/formats/burst_log.hpp"
#include "sluice/formats/header.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

class LogFile;

/// Writes the metadata log of a process (docs/formats/burst-buffer-log.md): entries, then their number. Whose
/// data they name is to be in the data log before commit(). One thread at a time. What fails throws IoError;
/// the entries since the last commit are lost then, and those before are not.
class BurstLogEntries {
 public:
  /// Writes the header, without entries, to a new file.
  BurstLogEntries(std::unique_ptr<LogFile> file, formats::BurstLogHeader header);
  BurstLogEntries(std::unique_ptr<File> file, formats::BurstLogHeader header);
  ~BurstLogEntries();
  BurstLogEntries(const BurstLogEntries&) = delete;
  BurstLogEntries& operator=(const BurstLogEntries&) = delete;

  /// Returns the entry's position, by which it can be withdrawn.
  std::int64_t add(const formats::BurstLogPut& put);
  /// Completes all that were added.
  void commit();
  /// Drops what has been added since the last commit.
  void roll_back() noexcept;
  /// Whether there is something to commit.
  [[nodiscard]] bool has_news() const noexcept { return added_ > 0; }

  /// Makes a committed entry one of no data. False when the log has been emptied since: it is too late.
  [[nodiscard]] bool withdraw(std::int64_t position);
  /// Takes out all entries.
  void clear();
  /// What the log's header says of the netCDF file, when its header is known.
  void describe(const formats::Header& dataset);

  [[nodiscard]] std::int64_t count() const noexcept { return committed_; }
  /// What was written is on storage.
  void sync();
  /// Cuts the file to what is in use and closes it.
  void close();

 private:
  formats::BurstLogHeader header_;
  std::unique_ptr<LogFile> file_;
  std::int64_t end_ = 0;  ///< of the committed entries in the file
  std::int64_t committed_ = 0;
  std::int64_t cleared_bytes_ = 0;  ///< of entries before the log was emptied: positions go on
  std::vector<std::byte> entries_;  ///< that were added
  std::int64_t added_ = 0;          ///< how many
};

}  // namespace sluice::storage
