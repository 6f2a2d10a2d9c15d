#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "sluice/matcher/fingerprint.hpp"
#include "sluice/matcher/log_range.hpp"
#include "sluice/matcher/matcher_place.hpp"
#include "sluice/replay/packer.hpp"
#include "sluice/runtime/log_range_map.hpp"

namespace sluice::runtime {

/// The place in a segment of this node where bytes arrive.
struct InboundPlace {
  matcher::SegmentId segment = 0;
  std::uint64_t offset = 0;
};

/// Data that is wanted from the logs of a step, in terms that hold for other steps of the same pattern:
/// writers are counted from the step's first own log (modulo 2^32).
struct FetchSpec {
  bool is_mirrored = false;
  std::uint32_t element_bytes = 1;
  /// The input of a replay::Packer; only the copies count. A mirrored range has one copy of bytes.
  replay::Plan copies;
  matcher::Fingerprint fingerprint;  ///< of all members above
  std::uint64_t bytes = 0;           ///< packed

  /// All copies read logs of one matcher.
  [[nodiscard]] std::uint32_t writer() const { return copies.copies.front().writer; }
};
using FetchSpecPointer = std::shared_ptr<const FetchSpec>;  ///< shared by the steps of a pattern

/// Checks and makes a spec from another matcher. Throws Error(NC_EIO) for malformed copies, and when
/// `is_mirrored` does not fit the copies.
[[nodiscard]] FetchSpecPointer checked_wanted_part(replay::Plan copies, std::uint32_t element_bytes,
                                                   bool is_mirrored);

/// A part that is fetched from the logs of one other matcher.
struct InboundPart {
  matcher::MatcherPlace source;    ///< the matcher that owns the logs
  std::uint32_t node_fetcher = 0;  ///< the matcher of this node that fetches the part
  FetchSpecPointer wanted;
  /// The ranges for processes; their places are set once they are known. A part from another matcher of the
  /// node may have several ranges.
  std::vector<matcher::LogRange> ranges;
  bool is_placed = false;  ///< by this matcher
  bool has_landed = false;
};

/// The data of a step's logs on other nodes that is on this node, or on its way. There are two kinds of
/// parts. *Mirrored* ranges of a log stay at their own log offsets, and serve every copy within them.
/// *Bundles* are packed copies that leave gaps in their log or are small. They serve all plans that read the
/// same.
///
/// Processes see a bundle as a range of an *inbound log*, a writer that the step does not have. A fingerprint
/// of the bundle's contents selects this writer and the offset; writers are counted from the step's first own
/// log. Plans that read a bundle therefore hold for other steps of the same pattern.
///
/// Each part has one matcher of the node that fetches it for all, its *node_fetcher*. The node_fetcher
/// follows from the part's source and contents, so all matchers of the node select the same one.
class InboundStage {
 public:
  using PartId = std::uint64_t;
  using PartIds = std::set<PartId>;
  /// The matcher that has a writer's log; empty when the log's data is on this node.
  using SourceOf = std::function<std::optional<matcher::MatcherPlace>(std::uint32_t writer)>;

  /// Inbound logs have writer numbers from here on, minus the number of the step's first own log.
  static constexpr std::uint32_t first_inbound_log = runtime::first_inbound_log;
  /// Dense copies of at least this size are mirrored.
  static constexpr std::uint64_t least_mirrored_bytes = 4096;
  /// Copies of at least this size have a bundle of their own.
  static constexpr std::uint64_t least_own_bundle_bytes = 65536;
  /// Mirrored ranges are cut into parts of at most this size.
  static constexpr std::uint64_t most_part_bytes = 16U << 20;
  /// Bundles of at least this size are spread among the matchers of a node one by one.
  static constexpr std::uint64_t least_spread_bytes = 1U << 20;

  /// `matchers`: the number of matchers of this node.
  explicit InboundStage(std::uint32_t first_own_log, std::uint32_t matchers = 1) noexcept
      : first_own_log_(first_own_log), matchers_(matchers) {}

  /// Changes the plan to read the arriving data. Appends the parts that it needs. New parts are made, without
  /// a place, and not landed. Throws Error(NC_EIO) for a malformed plan.
  void add(replay::Plan& plan, std::size_t element_bytes, const SourceOf& source_of, PartIds& needed);

  /// The same for data that was wanted of another step. Appends nothing when this step does not have these
  /// logs.
  void add(const FetchSpecPointer& wanted, const SourceOf& source_of, PartIds& needed);
  /// The parts that contain the wanted data and have landed.
  void find_landed(const FetchSpec& wanted, PartIds& found) const;
  /// The positions of all wanted data, in ascending order; empty unless all of it has landed.
  [[nodiscard]] std::vector<matcher::LogRange> places_of(const FetchSpec& wanted) const;

  [[nodiscard]] InboundPart* find(PartId id) noexcept;
  [[nodiscard]] std::uint32_t first_own_log() const noexcept { return first_own_log_; }
  /// The part does not come: the next user makes it again.
  void drop(PartId id);
  /// Another matcher of the node has the part at these places. Returns false when the places do not cover the
  /// whole part.
  [[nodiscard]] bool note_places(PartId id, std::vector<matcher::LogRange> places);
  [[nodiscard]] std::vector<InboundPart> parts(const PartIds& needed) const;

 private:
  struct Mirrored {
    std::uint64_t end = 0;
    PartId part = 0;
  };

  [[nodiscard]] bool is_mirrored(std::uint32_t writer, const replay::SourceRange& range) const noexcept;
  void mirror(std::uint32_t writer, matcher::MatcherPlace source, const replay::SourceRange& range,
              PartIds& needed);
  PartId make(matcher::MatcherPlace source, FetchSpecPointer wanted);
  [[nodiscard]] std::uint32_t node_fetcher_of(matcher::MatcherPlace source, const FetchSpec& wanted) const;
  PartId bundle_of(matcher::MatcherPlace source, const FetchSpecPointer& wanted);
  void bundle(replay::Plan& plan, std::size_t element_bytes, matcher::MatcherPlace source,
              const std::vector<std::size_t>& copies, PartIds& needed);

  std::uint32_t first_own_log_;
  std::uint32_t matchers_;
  PartId next_part_ = 1;
  std::map<PartId, InboundPart> parts_;
  std::map<std::uint32_t, std::map<std::uint64_t, Mirrored>> mirrored_;  ///< by writer, then first log offset
  std::unordered_map<matcher::Fingerprint, PartId, matcher::FingerprintHash> bundles_;
};

}  // namespace sluice::runtime
