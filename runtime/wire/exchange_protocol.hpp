#pragma once
// The packets between matchers that match together (distributed_matcher.hpp) and move data
// (remote_fetcher.hpp): docs/protocol.md.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/matcher/fingerprint.hpp"
#include "sluice/matcher/log_range.hpp"
#include "sluice/matcher/log_shift.hpp"
#include "sluice/matcher/request_list.hpp"
#include "sluice/matcher/table_scan.hpp"

namespace sluice::runtime {

/// A packet is one byte with this value and the fields of the named struct.
enum class ExchangePacket : std::uint8_t {
  collect = 1,        ///< Collect: owner → the matchers that have tables
  collected = 2,      ///< Collected
  match_parts = 3,    ///< MatchParts: asker → owner
  matched_parts = 4,  ///< MatchedParts
  fetch = 5,          ///< Fetch: matcher of the reader → matcher of the writer
  fetch_failed = 7,   ///< FetchFailed: data that is not yet sent does not come
  bring = 8,          ///< Bring: matcher of the reader → the matcher of its node that fetches this for all
  brought = 9,        ///< Brought
  read_memory = 10,   ///< ReadMemory: matcher that makes an image → matcher of the segments
  memory_read = 11,   ///< MemoryRead
};

/// Whether a packet is for remote_fetcher.hpp; otherwise it is for distributed_matcher.hpp.
[[nodiscard]] constexpr bool moves_data(ExchangePacket kind) noexcept {
  return kind >= ExchangePacket::fetch && kind <= ExchangePacket::brought;
}

/// Whether a packet is for memory_reads.hpp.
[[nodiscard]] constexpr bool reads_memory(ExchangePacket kind) noexcept {
  return kind == ExchangePacket::read_memory || kind == ExchangePacket::memory_read;
}

/// The result of a request between matchers, before the contents of its answer.
struct Outcome {
  std::int32_t status = 0;  ///< NC_NOERR, or the reason for no answer
  std::string text;
  [[nodiscard]] bool is_failure() const noexcept { return status != 0; }
};

using matcher::WriterRequests;

/// Asks for the requests of a step. For a published step: the requests that overlap the asker's part, once.
/// For a growing step: all visible requests that are new since the asker asked last.
struct Collect {
  std::uint64_t step = 0;
  std::uint64_t round = 0;  ///< returned in the answer
  bool is_growing = false;
  bool is_from_start = false;  ///< growing: all requests from the first one on
  matcher::Visibility reach = matcher::Visibility::published;  ///< growing; returned in the answer
};
struct Collected {
  std::uint64_t step = 0;
  std::uint64_t round = 0;
  matcher::Visibility reach = matcher::Visibility::published;
  Outcome outcome;
  std::vector<WriterRequests> writers;  ///< in ascending order
};

/// A read access that overlaps the receiver's part.
struct PartAccess {
  std::uint32_t access = 0;  ///< returned in the answer
  std::int32_t varid = 0;
  std::uint32_t list = 0;  ///< index in MatchParts::lists; accesses that read the same boxes share a list
};
struct MatchParts {
  std::uint64_t ticket = 0;  ///< returned in the answer
  std::uint64_t step = 0;
  /// The whole hyperslabs that have elements in the receiver's part (matcher::DividedList::Part). log_offset
  /// is the position of the hyperslab in the destination of the access.
  std::vector<std::vector<std::byte>> lists;
  std::vector<PartAccess> accesses;
};
/// The plan for a part of an access, with writers' log offsets moved (ascending writers).
struct PartUse {
  std::uint32_t access = 0;
  std::uint32_t plan = 0;
  std::vector<matcher::LogShift> shifts;
};
struct MatchedParts {
  std::uint64_t ticket = 0;
  Outcome outcome;
  /// encoded replay::Plans; their elements are the elements of the part
  std::vector<std::vector<std::byte>> plans;
  std::vector<PartUse> uses;
};

/// Requested data: a FetchSpec. Only the copies of the encoded replay::Plan count. Writers are counted from
/// the step's first own log.
struct FetchItem {
  bool is_mirrored = false;
  std::uint32_t element_bytes = 1;
  matcher::Fingerprint fingerprint;  ///< names the part for a receiver that has its copies already
  std::vector<std::byte> copies;     ///< empty: the part is only named
};
/// Bytes that arrive side by side. Each part is packed (replay::Packer), and begins at the next multiple of
/// inbound_alignment.
struct FetchRun {
  std::uint64_t bytes = 0;  ///< of the whole run
  std::vector<FetchItem> parts;
};
/// Asks for data on a channel (PeerLink). Each run is cut into pieces of PeerLink::max_data_piece_bytes. Each
/// piece of each run is answered in its turn by exactly one piece of data, which may be empty.
struct Fetch {
  std::uint64_t id = 0;  ///< returned in the answer
  std::uint64_t step = 0;
  std::uint32_t channel = 0;
  std::vector<FetchRun> runs;  ///< empty: the asker needs no more of it; the remaining pieces come empty
};
inline constexpr std::uint64_t inbound_alignment = 64;
/// Sent unless all pieces have their data, or the fetch is over.
struct FetchFailed {
  std::uint64_t id = 0;
  bool is_unknown = false;  ///< the request names an unknown part: ask again with all copies
  Outcome outcome;
};

/// Asks a matcher of the same node to fetch parts, unless it has them. That matcher is the parts'
/// node_fetcher.
struct Bring {
  std::uint64_t ticket = 0;  ///< returned in the answer
  std::uint64_t step = 0;
  std::uint64_t reader = 0;  ///< the asker's connection whose get waits for the parts
  bool is_ahead = false;     ///< no get waits for the parts yet
  std::vector<FetchItem> parts;
};
struct BroughtPart {
  std::vector<matcher::LogRange> places;  ///< of the whole part, in ascending order
};
struct Brought {
  std::uint64_t ticket = 0;
  bool is_unknown = false;  ///< the request names an unknown part: ask again with all copies
  Outcome outcome;
  std::vector<BroughtPart> parts;  ///< one for each requested part, in the same order; empty after a failure
};

/// A range of one of the receiver's segments.
struct MemoryRange {
  matcher::SegmentId segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
/// A range of a step that was written as a file on the receiver, or of a file that is being written there.
struct FileRange {
  std::uint64_t step = 0;
  std::uint64_t file = 0;  ///< of its writer's connection; 0: the step is meant
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
/// Asks for bytes of segments, or of a file. They stay as they are: the registry keeps the step until its
/// image is made.
struct ReadMemory {
  std::uint64_t ticket = 0;  ///< returned in the answer
  std::vector<MemoryRange> ranges;
  std::vector<matcher::SegmentId> tables;  ///< request tables: what is used of them
  std::optional<FileRange> file;           ///< alone
};
struct FileFacts {
  std::uint64_t bytes = 0;
  std::uint32_t mode = 0, user = 0, group = 0;
  std::uint32_t names = 1;  ///< how many it has
  std::int64_t changed_s = 0, changed_ns = 0;
};
struct MemoryRead {
  std::uint64_t ticket = 0;
  Outcome outcome;
  std::vector<std::byte> bytes;  ///< of all ranges, side by side, or of the file, up to its end
  FileFacts facts;               ///< of the file
  std::vector<std::vector<std::byte>> tables;
};

}  // namespace sluice::runtime
