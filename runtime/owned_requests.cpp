#include "owned_requests.hpp"

#include <algorithm>

#include "sluice/matcher/request_table.hpp"

namespace sluice::runtime {

using matcher::TableEntry;
using matcher::TableReader;

void OwnedRequests::add(std::span<const WriterRequests> writers) {
  TableEntry entry;
  for (const WriterRequests& from : writers) {
    TableReader reader(from.requests, 0);
    while (reader.next(entry)) {
      if (has_box(entry.kind)) indexes_.add(from.writer, entry);
    }
  }
}

std::vector<std::byte> OwnedRequests::plan_part(const matcher::StepPartition& partition, std::uint32_t self,
                                                const PartAccess& access) {
  const matcher::Ownership& ownership = partition.of(access.varid);
  replay::PlanBuilder builder(indexes_.element_bytes(access.varid));
  std::vector<matcher::OwnedPart> parts;
  TableReader reader(access.reads, 0);
  TableEntry read;
  while (reader.next(read)) {
    if (!has_box(read.kind)) continue;
    read.varid = access.varid;
    parts.clear();
    partition.divide(read, parts);
    for (const matcher::OwnedPart& part : parts) {
      if (part.owner != self) continue;
      builder.add(replay::PartOfRead{read.box, ownership.dimension(), part.first, part.count,
                                     static_cast<std::int64_t>(read.log_offset)},
                  indexes_.writes(access.varid).index);
    }
  }
  std::vector<std::byte> encoded;
  replay::encode(builder.take(), encoded);
  return encoded;
}

bool OwnedRequests::is_covered(int varid, std::span<const formats::HyperslabView> reads) {
  matcher::WriteIndex& writes = indexes_.writes(varid).index;
  const matcher::PieceSink ignore = [](const matcher::Piece&) {};
  return std::ranges::all_of(
      reads, [&](const formats::HyperslabView& read) { return writes.match(read, ignore).is_covered; });
}

replay::Plan OwnedRequests::plan(int varid, std::span<const formats::HyperslabView> reads) {
  replay::PlanBuilder builder(indexes_.element_bytes(varid));
  builder.add(reads, indexes_.writes(varid).index);
  return builder.take();
}

}  // namespace sluice::runtime
