#pragma once
// The part of control messages that describes a step that becomes a file.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/matcher_place.hpp"
#include "sluice/matcher/request_table.hpp"

namespace sluice::runtime {

/// How a step becomes a file.
struct DrainOrder {
  std::string path;          ///< absolute
  std::uint8_t version = 1;  ///< CDF version
  matcher::Keep keep;
  /// The number of this node among the nodes that have something to write. The first one makes the file, and
  /// writes the fill values.
  std::uint32_t part = 0;
  std::uint32_t parts = 1;
  /// The contents that the file should have from an earlier drain, if no one has changed it: for each log
  /// everything before a position, and a number of records; -1: not known.
  std::vector<matcher::TablePosition> drained_logs = {};
  std::int64_t drained_records = -1;
  /// The mark in the complete file (storage::FileMark).
  std::uint64_t run = 0;
  std::int64_t run_begin_ns = 0;
  std::uint64_t origin = 0;
};

/// The used part of a request table.
struct TableCopy {
  matcher::SegmentId segment = 0;
  std::vector<std::byte> contents;
};
struct DrainTables {
  std::vector<TableCopy> tables;
  std::string partial = {};  ///< sent by the first part, then sent to all: the file being written
};

/// What follows for all matchers that drained a part; the first of them completes the file, or removes it.
struct DrainEnd {
  bool are_parts_written = false;  ///< all of them
};

struct DrainReport {
  std::int32_t status = 0;
  std::string text;
  std::uint64_t bytes = 0;   ///< written
  std::string partial = {};  ///< the new file, which the other parts write, too
};

}  // namespace sluice::runtime
