#pragma once
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

/// The entries of one log in rounds of bounded memory, as puts. Entries that do not fit the dataset become
/// problems of the reader.
class LogRounds {
 public:
  /// `budget_bytes` of data at a time, but never less than one entry's; an entry that makes more records than
  /// `most_records` does not fit. All references outlive this.
  LogRounds(BurstLogReader& reader, const formats::Header& header, const formats::Layout& layout,
            std::int64_t budget_bytes, std::int64_t most_records = std::numeric_limits<std::int64_t>::max())
      : reader_(reader),
        header_(header),
        layout_(layout),
        budget_bytes_(budget_bytes),
        most_records_(most_records) {}

  /// Reads the next round; false when nothing is left. What was read before is gone. Throws IoError.
  bool next();

  /// The same in two parts, where rounds of several logs are to be brought into the order of time: the
  /// entries first. What is later than `horizon` waits for the next round; then the data of the others.
  void take();
  bool read(std::int64_t horizon);
  /// Whether there are entries behind those that were taken.
  [[nodiscard]] bool has_more() const noexcept { return !kept_.empty() || !is_at_end_; }
  /// Of the last entry taken, if there is any; 0 where the log has no clocks.
  [[nodiscard]] std::int64_t last_clock() const noexcept {
    return entries_.empty() ? 0 : entries_.back().clock.value_or(0);
  }

  /// Of this round, in the order in which they were put.
  [[nodiscard]] std::span<Access> accesses() noexcept { return accesses_; }
  /// When the access of that number was put; ascending, and 0 where the log has no clocks.
  [[nodiscard]] std::int64_t clock_of(std::size_t access) const noexcept {
    return entries_[access].clock.value_or(0);
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

  std::deque<formats::BurstLogEntry> kept_;  ///< did not fit into the last round, or were too late for it
  std::int64_t clock_ = 0;                   ///< the latest so far
  bool is_at_end_ = false;
  std::vector<formats::BurstLogEntry> entries_;
  std::vector<formats::HyperslabView> slabs_;
  std::vector<Access> accesses_;
  std::unique_ptr<std::byte[]> data_;
  std::int64_t data_capacity_ = 0;
  std::int64_t data_bytes_ = 0;
};

/// Why an entry cannot be put into the dataset; empty when it can.
[[nodiscard]] std::string entry_mistake(const formats::Header& header, const formats::Layout& layout,
                                        const formats::BurstLogEntry& entry, bool is_external,
                                        std::int64_t most_records = std::numeric_limits<std::int64_t>::max());

/// How many records an entry that fits the dataset makes; 0 where its variable has none.
[[nodiscard]] std::int64_t record_end(const formats::Header& header,
                                      const formats::BurstLogEntry& entry) noexcept;

}  // namespace sluice::storage
