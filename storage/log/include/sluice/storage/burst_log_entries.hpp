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

/// Writes the metadata log of a process (docs/formats/burst-buffer-log.md): entries, then their number.
/// Before commit(), the data log must have the data that the entries name. One thread at a time. Failures
/// throw IoError; they lose the entries since the last commit, and keep the earlier ones.
class BurstLogEntries {
 public:
  /// Writes the header, without entries, to a new file.
  BurstLogEntries(std::unique_ptr<LogFile> file, formats::BurstLogHeader header);
  BurstLogEntries(std::unique_ptr<File> file, formats::BurstLogHeader header);
  ~BurstLogEntries();
  BurstLogEntries(const BurstLogEntries&) = delete;
  BurstLogEntries& operator=(const BurstLogEntries&) = delete;

  /// Adds an entry and returns its position, which withdraw() takes.
  std::int64_t add(const formats::BurstLogPut& put);
  /// Commits all added entries.
  void commit();
  /// Drops the entries added since the last commit.
  void roll_back() noexcept;
  /// Whether entries wait for a commit.
  [[nodiscard]] bool has_news() const noexcept { return added_ > 0; }

  /// Turns a committed entry into one without data. Returns false if the log has been emptied since: it is
  /// too late.
  [[nodiscard]] bool withdraw(std::int64_t position);
  /// Removes all entries.
  void clear();
  /// Records the netCDF file's header in the log's header, once it is known.
  void describe(const formats::Header& dataset);

  [[nodiscard]] std::int64_t count() const noexcept { return committed_; }
  /// Ensures that written data is on storage.
  void sync();
  /// Truncates the file to the used part and closes it.
  void close();
  /// After close(): continues the same file.
  void reopen(std::unique_ptr<File> file);

  /// Adds a step mark: the next entries are of that step.
  void begin_step(const formats::BurstLogStepMark& mark);
  /// The committed entries.
  struct Extent {
    std::int64_t entries = 0;
    std::int64_t end_bytes = 0;
  };
  [[nodiscard]] Extent extent() const noexcept { return {committed_, end_}; }
  /// Removes the entries after an earlier extent().
  void cut(const Extent& extent);

 private:
  formats::BurstLogHeader header_;
  std::unique_ptr<LogFile> file_;
  std::int64_t end_ = 0;  ///< end of the committed entries in the file
  std::int64_t committed_ = 0;
  std::int64_t cleared_bytes_ = 0;  ///< bytes of entries before the log was emptied: positions continue
  std::vector<std::byte> entries_;  ///< added entries, not committed
  std::int64_t added_ = 0;          ///< their number
};

}  // namespace sluice::storage
