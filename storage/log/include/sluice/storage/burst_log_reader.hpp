#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/formats/burst_log.hpp"
#include "sluice/storage/burst_log_writer.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// A problem of a log.
struct BurstLogProblem {
  enum class Kind {
    torn,     ///< a put was being written when its process died; it was never reported as complete
    damaged,  ///< an intact writer cannot have written this
  };
  Kind kind = Kind::torn;
  std::int64_t entry = 0;         ///< index of the entry, from 0
  std::int64_t offset_bytes = 0;  ///< offset in the metadata log
  std::string what;
};

/// Whether the process that writes the log still has it open.
[[nodiscard]] bool is_being_written(FileSystem& files, const std::string& metadata_path);

/// Whether a process needs the log: the process that writes it, or a run that writes its data to the netCDF
/// file. If this process cannot write to the log, only the writing process is detected.
[[nodiscard]] bool is_in_use(FileSystem& files, const std::string& metadata_path);

/// Reads one process's log, entry by entry, in bounded memory. problems() reports damage instead of throwing:
/// the reader reads all that is readable.
class BurstLogReader {
 public:
  /// Throws IoError, and FormatError if the header cannot be parsed. Only the constructor uses `files`.
  BurstLogReader(FileSystem& files, const std::string& metadata_path);

  [[nodiscard]] const formats::BurstLogHeader& header() const noexcept { return header_; }
  [[nodiscard]] const BurstLogPaths& paths() const noexcept { return paths_; }

  /// Of a workflow's log, next() returns only the puts of steps after `after`, up to `last`.
  void take_steps(std::int64_t after, std::int64_t last) noexcept;
  /// The next complete entry with its data present; nothing after the last one.
  [[nodiscard]] std::optional<formats::BurstLogEntry> next();
  /// Restarts at the first entry. Keeps the problems that were found before it.
  void restart();
  /// The index of the entry that next() returned last.
  [[nodiscard]] std::int64_t entry_index() const noexcept { return index_ - 1; }
  [[nodiscard]] std::int64_t entry_offset() const noexcept { return entry_offset_; }

  /// The step of the entries up to the last call of next(), taken or not; 0 if the log is not of a workflow.
  [[nodiscard]] std::int64_t step() const noexcept { return mark_.step; }
  /// Where the headers of the dataset are in the header file, by the step in which they were written; as far
  /// as next() has read.
  [[nodiscard]] const std::vector<formats::BurstLogStepMark>& headers() const noexcept { return headers_; }
  /// The last step that the log's process has closed; 0: none.
  [[nodiscard]] std::int64_t closed_step() const;

  /// Reads data; the bytes must exist, which is true for entries from next(). Throws IoError, FormatError.
  void read_data(std::int64_t offset_bytes, std::span<std::byte> bytes) const;

  /// The problems found up to the last call of next().
  [[nodiscard]] const std::vector<BurstLogProblem>& problems() const noexcept { return problems_; }
  [[nodiscard]] std::int64_t withdrawn_count() const noexcept { return withdrawn_; }
  /// Reports as damaged the entry that next() returned last, or `entry` at `offset_bytes`.
  void report_damage(std::int64_t entry, std::int64_t offset_bytes, const std::string& what);

 private:
  void read_header();
  void open_data(FileSystem& files);
  void report(BurstLogProblem::Kind kind, const std::string& what);
  void end_with(BurstLogProblem::Kind kind, const std::string& what);
  void look_behind_the_last();
  /// 0 after the last entry, and if the rest of the log cannot be parsed.
  std::int64_t next_entry_size();
  std::span<const std::byte> bytes_at(std::int64_t offset_bytes, std::size_t n);
  bool has_data(const formats::BurstLogEntry& entry);
  [[nodiscard]] bool is_in_its_place(std::int64_t place) const noexcept;
  bool take_place(const formats::BurstLogEntry& entry);
  void take_mark(const formats::BurstLogStepMark& mark);
  void begin_steps();

  BurstLogPaths paths_;
  formats::BurstLogHeader header_;
  std::unique_ptr<File> metadata_;
  std::unique_ptr<File> data_;  ///< null if it cannot be opened
  std::int64_t metadata_bytes_ = 0;
  std::int64_t data_bytes_ = 0;
  std::int64_t index_ = 0;  ///< index of the next entry
  std::int64_t offset_ = 0;
  std::int64_t entry_offset_ = 0;
  bool is_at_end_ = false;
  std::int64_t withdrawn_ = 0;
  formats::BurstLogStepMark mark_;  ///< of the next entry
  std::vector<formats::BurstLogStepMark> headers_;
  std::int64_t after_step_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t last_step_ = std::numeric_limits<std::int64_t>::max();
  /// The expected position of the next data.
  struct Places {
    std::int64_t end = formats::burst_data_begin;  ///< end of the previous data
    bool is_known = true;                          ///< false after an entry that cannot be parsed
    std::optional<std::int64_t>
        end_of_misplaced;  ///< end of the previous entry's data, if that data is out of place
  };
  Places places_;
  std::vector<BurstLogProblem> problems_;
  std::size_t early_problems_ = 0;  ///< number of problems found before the first entry

  std::vector<std::byte> chunk_;  ///< part of the metadata log
  std::int64_t chunk_begin_ = 0;
};

}  // namespace sluice::storage
