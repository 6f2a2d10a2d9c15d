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

/// Something that is fetched from the logs that one other matcher has.
struct LandingPart {
  std::uint32_t source = 0;  ///< rank of the matcher that has the logs
  WantedPartPointer wanted;
  matcher::LogRange range;  ///< what a process is told of it; the place is there once it is known
  bool is_placed = false;
  bool has_landed = false;
};

/// What of a step's logs on other nodes is on this one, or on its way. It is of two kinds: *mirrored* ranges
/// of a log, at their own log offsets, which serve every copy within them; and *bundles*, packed copies that
/// leave gaps in their log or are small, which serve all plans that read the same.
///
/// A bundle is told to processes as a range of a *landing log*, a writer that the step does not have. Which
/// one, and at which offset, follows from a fingerprint of what is in it, writers counted from the step's
/// first own log: so plans that read it hold for other steps of the same pattern.
class Landing {
 public:
  using PartId = std::uint64_t;
  using PartIds = std::set<PartId>;
  /// The rank of the matcher that has a writer's log; none when its data is at hand.
  using SourceOf = std::function<std::optional<std::uint32_t>(std::uint32_t writer)>;

  /// Landing logs have writer numbers from here on, the step's own logs less.
  static constexpr std::uint32_t first_landing_log = 1U << 30;
  /// Dense copies from this size on are mirrored.
  static constexpr std::uint64_t least_mirrored_bytes = 4096;
  /// Copies from this size on have a bundle of their own.
  static constexpr std::uint64_t least_own_bundle_bytes = 65536;
  /// Mirrored ranges are cut to parts of at most this.
  static constexpr std::uint64_t most_part_bytes = 16U << 20;

  explicit Landing(std::uint32_t first_own_log) noexcept : first_own_log_(first_own_log) {}

  /// Makes the plan read what lands. Appends the parts that it needs: those that are not known yet are made,
  /// and have neither a place nor landed. Throws Error(NC_EIO) for a plan that cannot be computed with.
  void add(replay::Plan& plan, std::size_t element_bytes, const SourceOf& source_of, PartIds& needed);

  /// The same for data that was wanted of another step. Nothing when this step has no such logs.
  void add(const WantedPartPointer& wanted, const SourceOf& source_of, PartIds& needed);
  /// The parts that hold what was wanted, as far as they have landed.
  void find_landed(const WantedPart& wanted, PartIds& found) const;

  [[nodiscard]] LandingPart* find(PartId id) noexcept;
  [[nodiscard]] std::uint32_t first_own_log() const noexcept { return first_own_log_; }
  /// The part does not come: who needs it next makes it anew.
  void drop(PartId id);
  [[nodiscard]] std::vector<LandingPart> parts(const PartIds& needed) const;

 private:
  struct Mirrored {
    std::uint64_t end = 0;
    PartId part = 0;
  };

  [[nodiscard]] bool is_mirrored(std::uint32_t writer, const replay::SourceRange& range) const noexcept;
  void mirror(std::uint32_t writer, std::uint32_t source, const replay::SourceRange& range, PartIds& needed);
  PartId make(std::uint32_t source, WantedPartPointer wanted);
  PartId bundle_of(std::uint32_t source, const WantedPartPointer& wanted);
  void bundle(replay::Plan& plan, std::size_t element_bytes, std::uint32_t source,
              const std::vector<std::size_t>& copies, PartIds& needed);

  std::uint32_t first_own_log_;
  PartId next_part_ = 1;
  std::map<PartId, LandingPart> parts_;
  std::map<std::uint32_t, std::map<std::uint64_t, Mirrored>> mirrored_;  ///< by writer, then first log offset
  std::unordered_map<matcher::Fingerprint, PartId, matcher::FingerprintHash> bundles_;
};

}  // namespace sluice::runtime
