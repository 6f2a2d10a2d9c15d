#pragma once
#include <cstddef>
#include <cstdint>
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
  /// `budget_bytes` of data at a time, but never less than one entry's. All references outlive this.
  LogRounds(BurstLogReader& reader, const formats::Header& header, const formats::Layout& layout,
            std::int64_t budget_bytes)
      : reader_(reader), header_(header), layout_(layout), budget_bytes_(budget_bytes) {}

  /// Reads the next round; false when nothing is left. What was read before is gone. Throws IoError.
  bool next();

  /// Of this round, in the order in which they were put.
  [[nodiscard]] std::span<Access> accesses() noexcept { return accesses_; }
  [[nodiscard]] std::int64_t data_bytes() const noexcept { return data_bytes_; }

 private:
  void take_entries();
  void read_data();
  void make_accesses();

  BurstLogReader& reader_;
  const formats::Header& header_;
  const formats::Layout& layout_;
  std::int64_t budget_bytes_;

  std::optional<formats::BurstLogEntry> kept_;  ///< did not fit into the last round
  std::vector<formats::BurstLogEntry> entries_;
  std::vector<formats::HyperslabView> slabs_;
  std::vector<Access> accesses_;
  std::unique_ptr<std::byte[]> data_;
  std::int64_t data_capacity_ = 0;
  std::int64_t data_bytes_ = 0;
};

/// Why an entry cannot be put into the dataset; empty when it can.
[[nodiscard]] std::string entry_mistake(const formats::Header& header, const formats::Layout& layout,
                                        const formats::BurstLogEntry& entry, bool is_external);

}  // namespace sluice::storage
