#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/storage/access.hpp"
#include "sluice/storage/burst_log_reader.hpp"

namespace sluice::storage {

/// When a put was made: later steps are later, whatever the clocks of other nodes say.
struct PutTime {
  std::int64_t step = 0;   ///< 0 in a program's own log
  std::int64_t clock = 0;  ///< 0 if the log has no clocks
  auto operator<=>(const PutTime&) const = default;
};

inline constexpr PutTime end_of_time{std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::int64_t>::max()};

/// Reads the entries of one log as puts, in rounds of bounded memory. Entries that do not fit the dataset
/// become problems of the reader.
class LogRounds {
 public:
  /// Each round has at most `budget_bytes` of data, but at least one entry. An entry that makes more than
  /// `most_records` records does not fit. The references outlive this object.
  LogRounds(BurstLogReader& reader, const formats::Header& header, const formats::Layout& layout,
            std::int64_t budget_bytes, std::int64_t most_records = std::numeric_limits<std::int64_t>::max())
      : reader_(reader),
        header_(header),
        layout_(layout),
        budget_bytes_(budget_bytes),
        most_records_(most_records) {}

  /// Reads the next round, which replaces the previous one. Returns false after the last round. Throws
  /// IoError.
  bool next();

  /// Reads a round in two parts, for rounds of several logs that are merged by time. take() reads the
  /// entries. Entries later than `horizon` wait for the next round; the data of the others is read.
  void take();
  bool read(const PutTime& horizon);
  /// Whether more entries follow the taken ones.
  [[nodiscard]] bool has_more() const noexcept { return !kept_.empty() || !is_at_end_; }
  /// The time of the last entry taken, if any.
  [[nodiscard]] PutTime last_time() const noexcept {
    return entries_.empty() ? PutTime{} : time_of(entries_.size() - 1);
  }

  /// The accesses of this round, in the order of the puts.
  [[nodiscard]] std::span<Access> accesses() noexcept { return accesses_; }
  /// The time of the put of that access; ascending.
  [[nodiscard]] PutTime time_of(std::size_t access) const noexcept {
    return {entries_[access].step, entries_[access].clock.value_or(0)};
  }
  [[nodiscard]] std::int64_t data_bytes() const noexcept { return data_bytes_; }

 private:
  [[nodiscard]] std::optional<formats::BurstLogEntry> next_entry();
  void read_data();
  void make_accesses();

  BurstLogReader& reader_;
  const formats::Header& header_;
  const formats::Layout& layout_;
  std::int64_t budget_bytes_;
  std::int64_t most_records_;

  std::deque<formats::BurstLogEntry>
      kept_;                ///< entries that did not fit into the last round, or were too late for it
  std::int64_t clock_ = 0;  ///< the latest clock so far
  bool is_at_end_ = false;
  std::vector<formats::BurstLogEntry> entries_;
  std::vector<formats::HyperslabView> slabs_;
  std::vector<Access> accesses_;
  std::unique_ptr<std::byte[]> data_;
  std::int64_t data_capacity_ = 0;
  std::int64_t data_bytes_ = 0;
};

/// Why an entry cannot be put into the dataset; empty if it can.
[[nodiscard]] std::string entry_mistake(const formats::Header& header, const formats::Layout& layout,
                                        const formats::BurstLogEntry& entry, bool is_external,
                                        std::int64_t most_records = std::numeric_limits<std::int64_t>::max());

/// The number of records that an entry makes, for an entry that fits the dataset; 0 for a variable without
/// records.
[[nodiscard]] std::int64_t record_end(const formats::Header& header,
                                      const formats::BurstLogEntry& entry) noexcept;

}  // namespace sluice::storage
