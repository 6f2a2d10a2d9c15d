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
#include "sluice/runtime/step_logs.hpp"

namespace sluice::runtime {

/// Where bytes land: in a segment of this node.
struct LandingPlace {
  matcher::SegmentId segment = 0;
  std::uint64_t offset = 0;
};

/// Data that is wanted of the logs of a step, in terms that hold for other steps of the same pattern: writers
/// are counted from the step's first own log (modulo 2^32).
struct WantedPart {
  bool is_mirrored = false;
  std::uint32_t element_bytes = 1;
  replay::Plan copies;  ///< what a replay::Packer is to pack; nothing else of it counts. Of one that is
                        ///< mirrored: one copy of bytes
  matcher::Fingerprint fingerprint;  ///< of all this
  std::uint64_t bytes = 0;           ///< packed

  /// All copies are read from logs of one matcher.
  [[nodiscard]] std::uint32_t writer() const { return copies.copies.front().writer; }
};
using WantedPartPointer = std::shared_ptr<const WantedPart>;  ///< shared by the steps of a pattern

/// The same from another matcher, as it came. Throws Error(NC_EIO) for copies that cannot be computed with,
/// or are not those of a mirrored range where that is said.
[[nodiscard]] WantedPartPointer checked_wanted_part(replay::Plan copies, std::uint32_t element_bytes,
                                                    bool is_mirrored);

/// Something that is fetched from the logs that one other matcher has.
struct LandingPart {
  matcher::MatcherPlace source;  ///< the matcher that has the logs
  std::uint32_t bringer = 0;     ///< which matcher of this node fetches it
  WantedPartPointer wanted;
  /// What a process is told of it; the places are there once they are known. There may be several once
  /// another matcher of the node has brought it.
  std::vector<matcher::LogRange> ranges;
  bool is_placed = false;  ///< by this matcher
  bool has_landed = false;
};

/// What of a step's logs on other nodes is on this one, or on its way. It is of two kinds: *mirrored* ranges
/// of a log, at their own log offsets, which serve every copy within them; and *bundles*, packed copies that
/// leave gaps in their log or are small, which serve all plans that read the same.
///
/// A bundle is told to processes as a range of a *landing log*, a writer that the step does not have. Which
/// one, and at which offset, follows from a fingerprint of what is in it, writers counted from the step's
/// first own log: so plans that read it hold for other steps of the same pattern.
///
/// Each part has one matcher of the node that fetches it for all, its *bringer*, which follows from where it
/// comes from and what it is: so all matchers of the node name the same.
class Landing {
 public:
  using PartId = std::uint64_t;
  using PartIds = std::set<PartId>;
  /// The matcher that has a writer's log; none when its data is at hand.
  using SourceOf = std::function<std::optional<matcher::MatcherPlace>(std::uint32_t writer)>;

  /// Landing logs have writer numbers from here on, the step's own logs less.
  static constexpr std::uint32_t first_landing_log = runtime::first_landing_log;
  /// Dense copies from this size on are mirrored.
  static constexpr std::uint64_t least_mirrored_bytes = 4096;
  /// Copies from this size on have a bundle of their own.
  static constexpr std::uint64_t least_own_bundle_bytes = 65536;
  /// Mirrored ranges are cut to parts of at most this.
  static constexpr std::uint64_t most_part_bytes = 16U << 20;
  /// Bundles from this size on are divided among the matchers of a node each for itself.
  static constexpr std::uint64_t least_spread_bytes = 1U << 20;

  /// `matchers`: of this node.
  explicit Landing(std::uint32_t first_own_log, std::uint32_t matchers = 1) noexcept
      : first_own_log_(first_own_log), matchers_(matchers) {}

  /// Makes the plan read what lands. Appends the parts that it needs: those that are not known yet are made,
  /// and have neither a place nor landed. Throws Error(NC_EIO) for a plan that cannot be computed with.
  void add(replay::Plan& plan, std::size_t element_bytes, const SourceOf& source_of, PartIds& needed);

  /// The same for data that was wanted of another step. Nothing when this step has no such logs.
  void add(const WantedPartPointer& wanted, const SourceOf& source_of, PartIds& needed);
  /// The parts that hold what was wanted, as far as they have landed.
  void find_landed(const WantedPart& wanted, PartIds& found) const;
  /// Where all of it is, in ascending order; nothing unless the whole has landed.
  [[nodiscard]] std::vector<matcher::LogRange> places_of(const WantedPart& wanted) const;

  [[nodiscard]] LandingPart* find(PartId id) noexcept;
  [[nodiscard]] std::uint32_t first_own_log() const noexcept { return first_own_log_; }
  /// The part does not come: who needs it next makes it anew.
  void drop(PartId id);
  /// Another matcher of the node has the part in these places. False when that is not the whole of it.
  [[nodiscard]] bool note_places(PartId id, std::vector<matcher::LogRange> places);
  [[nodiscard]] std::vector<LandingPart> parts(const PartIds& needed) const;

 private:
  struct Mirrored {
    std::uint64_t end = 0;
    PartId part = 0;
  };

  [[nodiscard]] bool is_mirrored(std::uint32_t writer, const replay::SourceRange& range) const noexcept;
  void mirror(std::uint32_t writer, matcher::MatcherPlace source, const replay::SourceRange& range,
              PartIds& needed);
  PartId make(matcher::MatcherPlace source, WantedPartPointer wanted);
  [[nodiscard]] std::uint32_t bringer_of(matcher::MatcherPlace source, const WantedPart& wanted) const;
  PartId bundle_of(matcher::MatcherPlace source, const WantedPartPointer& wanted);
  void bundle(replay::Plan& plan, std::size_t element_bytes, matcher::MatcherPlace source,
              const std::vector<std::size_t>& copies, PartIds& needed);

  std::uint32_t first_own_log_;
  std::uint32_t matchers_;
  PartId next_part_ = 1;
  std::map<PartId, LandingPart> parts_;
  std::map<std::uint32_t, std::map<std::uint64_t, Mirrored>> mirrored_;  ///< by writer, then first log offset
  std::unordered_map<matcher::Fingerprint, PartId, matcher::FingerprintHash> bundles_;
};

}  // namespace sluice::runtime
