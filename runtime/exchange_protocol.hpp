#pragma once
// The packets between matchers that match together (match_exchange.hpp) and move data (node_exchange.hpp):
// docs/architecture.md, "Many matchers, many nodes".
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

/// A packet is one byte of this and the fields of the struct that is named.
enum class ExchangePacket : std::uint8_t {
  collect = 1,        ///< Collect: owner → the matchers that have tables
  collected = 2,      ///< Collected
  match_parts = 3,    ///< MatchParts: asker → owner
  matched_parts = 4,  ///< MatchedParts
  fetch = 5,          ///< Fetch: matcher of the reader → matcher of the writer
  fetch_over = 6,     ///< FetchOver: asker → the matcher of the writer: send nothing more
  fetch_failed = 7,   ///< FetchFailed: what has not been sent does not come
  bring = 8,          ///< Bring: matcher of the reader → the matcher of its node that fetches this for all
  brought = 9,        ///< Brought
};

/// Whom a packet is for: node_exchange.hpp, or match_exchange.hpp.
[[nodiscard]] constexpr bool moves_data(ExchangePacket kind) noexcept {
  return kind >= ExchangePacket::fetch;
}

/// How a request between matchers went, ahead of what it was answered with.
struct Outcome {
  std::int32_t status = 0;  ///< NC_NOERR, or why there is no answer
  std::string text;
  [[nodiscard]] bool is_failure() const noexcept { return status != 0; }
};

using matcher::WriterRequests;

/// Asks for the requests of a step. Of a published one: those that overlap the asker's part, once. Of a
/// growing one: all within reach that are new since the asker asked last.
struct Collect {
  std::uint64_t step = 0;
  std::uint64_t round = 0;  ///< given back
  bool is_growing = false;
  bool is_from_start = false;                        ///< growing: from the first request on
  matcher::Reach reach = matcher::Reach::published;  ///< growing; given back
};
struct Collected {
  std::uint64_t step = 0;
  std::uint64_t round = 0;
  matcher::Reach reach = matcher::Reach::published;
  Outcome outcome;
  std::vector<WriterRequests> writers;  ///< in ascending order
};

/// A read access of which the receiver owns a part.
struct PartAccess {
  std::uint32_t access = 0;  ///< given back
  std::int32_t varid = 0;
  std::uint32_t list = 0;  ///< MatchParts::lists; accesses that read the same share one
};
struct MatchParts {
  std::uint64_t ticket = 0;  ///< given back
  std::uint64_t step = 0;
  /// The hyperslabs that have elements of the receiver's part, whole (matcher::DividedList::Part): log_offset
  /// is where the hyperslab begins in the destination of the access.
  std::vector<std::vector<std::byte>> lists;
  std::vector<PartAccess> accesses;
};
/// The part of an access: a plan, with writers' log offsets moved (ascending writers).
struct PartUse {
  std::uint32_t access = 0;
  std::uint32_t plan = 0;
  std::vector<matcher::LogShift> shifts;
};
struct MatchedParts {
  std::uint64_t ticket = 0;
  Outcome outcome;
  std::vector<std::vector<std::byte>> plans;  ///< encoded replay::Plans, whose elements are those of the part
  std::vector<PartUse> uses;
};

/// Data that is wanted: a WantedPart. Of an encoded replay::Plan only the copies count; writers are counted
/// from the step's first own log.
struct AskedPart {
  bool is_mirrored = false;
  std::uint32_t element_bytes = 1;
  matcher::Fingerprint fingerprint;  ///< names the part for who has been sent its copies before
  std::vector<std::byte> copies;     ///< none: it is only named
};
/// Bytes that land side by side: each part packed (replay::Packer), from the next multiple of
/// landing_alignment on.
struct FetchRun {
  std::uint64_t bytes = 0;  ///< of the whole run
  std::vector<AskedPart> parts;
};
/// Asks for data on a channel (PeerLink). Each run is cut into pieces of PeerLink::max_data_piece_bytes, and
/// each piece of each run is answered in its turn, by just one piece of data: what belongs there, or nothing.
struct Fetch {
  std::uint64_t id = 0;  ///< given back
  std::uint64_t step = 0;
  std::uint32_t channel = 0;
  std::vector<FetchRun> runs;
};
inline constexpr std::uint64_t landing_alignment = 64;
/// Nobody wants what has not been sent yet: the rest is answered by nothing.
struct FetchOver {
  std::uint64_t id = 0;
};
/// Comes unless all pieces have what belongs there, or the fetch is over.
struct FetchFailed {
  std::uint64_t id = 0;
  bool is_unknown = false;  ///< because a part is named that is not known: ask again with all copies
  Outcome outcome;
};

/// Asks a matcher of the same node to fetch parts of which it is the bringer, unless they are there.
struct Bring {
  std::uint64_t ticket = 0;  ///< given back
  std::uint64_t step = 0;
  std::uint64_t reader = 0;  ///< the connection, at the asker, whose get waits for them
  bool is_ahead = false;     ///< nobody waits for them yet
  std::vector<AskedPart> parts;
};
struct BroughtPart {
  std::vector<matcher::LogRange> places;  ///< of all of it, in ascending order
};
struct Brought {
  std::uint64_t ticket = 0;
  bool is_unknown = false;  ///< a part is named that is not known: ask again with all copies
  Outcome outcome;
  std::vector<BroughtPart> parts;  ///< as many as were asked for, and in their order; none after a failure
};

}  // namespace sluice::runtime
