#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/formats/burst_log.hpp"
#include "sluice/storage/burst_log_writer.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// What is wrong with a log.
struct BurstLogProblem {
  enum class Kind {
    torn,     ///< a put that was being written when its process died; nobody was told that it is complete
    damaged,  ///< what cannot have been written so
  };
  Kind kind = Kind::torn;
  std::int64_t entry = 0;         ///< counted from 0
  std::int64_t offset_bytes = 0;  ///< in the metadata log
  std::string what;
};

/// Whether somebody needs the log: the process that writes it, or a run that brings it to its file. Of one
/// that cannot be written to here, only the former is seen.
[[nodiscard]] bool is_in_use(FileSystem& files, const std::string& metadata_path);

/// Reads one process's log, entry by entry, in bounded memory. Damage is told by problems(), not thrown: what
/// can be read is read.
class BurstLogReader {
 public:
  /// Throws IoError, and FormatError where the header cannot be understood. `files` is used here only.
  BurstLogReader(FileSystem& files, const std::string& metadata_path);

  [[nodiscard]] const formats::BurstLogHeader& header() const noexcept { return header_; }
  [[nodiscard]] const BurstLogPaths& paths() const noexcept { return paths_; }

  /// The next complete entry whose data is there; nothing after the last one.
  [[nodiscard]] std::optional<formats::BurstLogEntry> next();
  /// From the first entry again, with the problems that were found before it.
  void restart();
  /// Of the entry that next() gave last.
  [[nodiscard]] std::int64_t entry_index() const noexcept { return index_ - 1; }
  [[nodiscard]] std::int64_t entry_offset() const noexcept { return entry_offset_; }

  /// Reads data; the bytes have to be there, as they are for entries that next() gave. Throws IoError,
  /// FormatError.
  void read_data(std::int64_t offset_bytes, std::span<std::byte> bytes) const;

  /// Up to the last call of next().
  [[nodiscard]] const std::vector<BurstLogProblem>& problems() const noexcept { return problems_; }
  [[nodiscard]] std::int64_t withdrawn_count() const noexcept { return withdrawn_; }
  /// Says of the entry that next() gave last, or of `entry` at `offset_bytes`, that it is damaged.
  void report_damage(std::int64_t entry, std::int64_t offset_bytes, const std::string& what);

 private:
  void read_header();
  void open_data(FileSystem& files);
  void report(BurstLogProblem::Kind kind, const std::string& what);
  void end_with(BurstLogProblem::Kind kind, const std::string& what);
  void look_behind_the_last();
  /// 0 after the last one, and where the log cannot be followed any further.
  std::int64_t next_entry_size();
  std::span<const std::byte> bytes_at(std::int64_t offset_bytes, std::size_t n);
  bool has_data(const formats::BurstLogEntry& entry);
  [[nodiscard]] bool is_in_its_place(std::int64_t place) const noexcept;
  bool take_place(const formats::BurstLogEntry& entry);

  BurstLogPaths paths_;
  formats::BurstLogHeader header_;
  std::unique_ptr<File> metadata_;
  std::unique_ptr<File> data_;  ///< null where it cannot be opened
  std::int64_t metadata_bytes_ = 0;
  std::int64_t data_bytes_ = 0;
  std::int64_t index_ = 0;  ///< of the next entry
  std::int64_t offset_ = 0;
  std::int64_t entry_offset_ = 0;
  bool is_at_end_ = false;
  std::int64_t withdrawn_ = 0;
  /// Where the next data is.
  struct Places {
    std::int64_t end = formats::burst_data_begin;  ///< of the data before
    bool is_known = true;                          ///< not behind an entry that cannot be understood
    std::optional<std::int64_t> end_of_misplaced;  ///< of the entry before, where it is not in its place
  };
  Places places_;
  std::vector<BurstLogProblem> problems_;
  std::size_t early_problems_ = 0;  ///< those that were found before the first entry

  std::vector<std::byte> chunk_;  ///< of the metadata log
  std::int64_t chunk_begin_ = 0;
};

}  // namespace sluice::storage
