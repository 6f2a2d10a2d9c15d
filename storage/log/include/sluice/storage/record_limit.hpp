#pragma once
#include <cstdint>

#include "sluice/formats/header.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/storage/burst_log_reader.hpp"

namespace sluice::storage {

/// Limits the number of records that the puts of some logs may make. An entry that makes more is damaged.
class RecordLimit {
 public:
  /// Uses the file's header, and the capacity of its file system in bytes. The references outlive this
  /// object.
  RecordLimit(const formats::Header& header, const formats::Layout& layout, std::int64_t capacity_bytes);

  /// Reads all entries, and restarts the log at its beginning.
  void look_at(BurstLogReader& log);
  /// The number of records that the file system could hold. If some entries lie beyond 2^31 records, at most
  /// 1024 times the records of the other entries or of the file.
  [[nodiscard]] std::int64_t limit() const noexcept;

 private:
  const formats::Header& header_;
  const formats::Layout& layout_;
  std::int64_t room_;         ///< limit by the file system's capacity
  std::int64_t most_of_few_;  ///< largest count below 2^31
  bool has_many_ = false;
};

}  // namespace sluice::storage
