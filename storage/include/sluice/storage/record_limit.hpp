#pragma once
#include <cstdint>

#include "sluice/formats/header.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/storage/burst_log_reader.hpp"

namespace sluice::storage {

/// How many records the puts of some logs may make. An entry that makes more is damaged.
class RecordLimit {
 public:
  /// Of the file: its header, and how many bytes its file system has room for. The references outlive this.
  RecordLimit(const formats::Header& header, const formats::Layout& layout, std::int64_t capacity_bytes);

  /// Reads all entries, and starts the log from its beginning again.
  void look_at(BurstLogReader& log);
  /// As many as the file system could hold at all; and where some are beyond 2^31, 1024 times as many as the
  /// others make, or the file has.
  [[nodiscard]] std::int64_t limit() const noexcept;

 private:
  const formats::Header& header_;
  const formats::Layout& layout_;
  std::int64_t room_;         ///< for so many records
  std::int64_t most_of_few_;  ///< below 2^31
  bool has_many_ = false;
};

}  // namespace sluice::storage
