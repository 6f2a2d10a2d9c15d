#include "sluice/matcher/step_index.hpp"

#include <algorithm>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/request_table.hpp"

namespace sluice::matcher {

StepIndex::StepIndex(SegmentMemory& memory) : memory_(memory) {}

void StepIndex::set_header(std::span<const std::byte> encoded) {
  const auto header = formats::decode_metadata(encoded, "a header from a client");
  variables_.clear();
  for (const formats::Variable& variable : header.variables()) {
    const int dimensions = static_cast<int>(variable.dimids.size());
    variables_.push_back(
        {variable.type, dimensions, WriteIndex(dimensions, formats::size_of(variable.type))});
  }
  cursors_.clear();
}

void StepIndex::update(std::span<const std::shared_ptr<WriteLog>> logs, bool is_final) {
  if (!damage_.empty()) throw Error(NC_EIO, damage_);
  if (is_final_) return;
  cursors_.resize(logs.size());
  try {
    for (std::size_t writer = 0; writer < logs.size(); ++writer) {
      read_log(static_cast<std::uint32_t>(writer), *logs[writer]);
    }
  } catch (const Error& error) {
    damage_ = error.what();
    throw;
  }
  is_final_ = is_final;
}

void StepIndex::read_log(std::uint32_t writer, const WriteLog& log) {
  Cursor& cursor = cursors_[writer];
  if (log.tables.empty()) return;
  for (;; ++cursor.chunk, cursor.position = 0) {
    read_chunk(writer, log, log.tables[cursor.chunk]);
    if (cursor.chunk + 1 == log.tables.size()) return;
  }
}

void StepIndex::read_chunk(std::uint32_t writer, const WriteLog& log, const SegmentLease& chunk) {
  Cursor& cursor = cursors_[writer];
  TableReader reader(memory_.contents(chunk.id()), cursor.position);
  TableEntry entry;
  while (reader.next(entry)) {
    if (entry.kind == EntryKind::segment) {
      add_range(writer, log,
                {writer, entry.log_offset, entry.length_bytes, entry.segment_id, entry.segment_offset});
      continue;
    }
    Variable& written = variable(entry.varid);
    if (entry.box.dimensions() != written.dimensions) {
      throw Error(NC_EIO, "a request table has a request of " + std::to_string(entry.box.dimensions()) +
                              " dimensions for variable " + std::to_string(entry.varid) + ", which has " +
                              std::to_string(written.dimensions));
    }
    written.writes.add({writer, entry.sequence, entry.log_offset, entry.kind == EntryKind::fill, entry.box});
  }
  cursor.position = reader.position();
}

void StepIndex::add_range(std::uint32_t writer, const WriteLog& log, const LogRange& range) {
  const auto owned = std::find_if(log.data.rbegin(), log.data.rend(),
                                  [&](const SegmentLease& segment) { return segment.id() == range.segment; });
  std::vector<LogRange>& ranges = cursors_[writer].ranges;
  const bool is_inside = owned != log.data.rend() && range.segment_offset <= owned->bytes() &&
                         range.length_bytes <= owned->bytes() - range.segment_offset;
  const bool ascends = ranges.empty() || range.log_offset >= ranges.back().log_offset;
  if (!is_inside || !ascends || range.log_offset > ~std::uint64_t{0} - range.length_bytes) {
    throw Error(NC_EIO, "a request table of writer " + std::to_string(writer) +
                            " places log data where it has no memory (segment " +
                            std::to_string(range.segment) + ")");
  }
  if (!ranges.empty()) {  // the unused end of the segment before
    LogRange& last = ranges.back();
    last.length_bytes = std::min(last.length_bytes, range.log_offset - last.log_offset);
  }
  ranges.push_back(range);
}

std::size_t StepIndex::element_bytes(int varid) const {
  return formats::size_of(const_cast<StepIndex*>(this)->variable(varid).type);
}

std::span<const LogRange> StepIndex::ranges(std::uint32_t writer) const noexcept {
  if (writer >= cursors_.size()) return {};
  return cursors_[writer].ranges;
}

StepIndex::Variable& StepIndex::variable(int varid) {
  if (varid < 0 || static_cast<std::size_t>(varid) >= variables_.size()) {
    throw Error(NC_EIO, "the header has no variable " + std::to_string(varid));
  }
  return variables_[static_cast<std::size_t>(varid)];
}

}  // namespace sluice::matcher
