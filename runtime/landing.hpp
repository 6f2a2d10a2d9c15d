#pragma once
#include <cstdint>
#include <functional>
#include <map>
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

/// Something that is fetched from the logs that one other matcher has.
struct LandingPart {
  std::uint32_t source = 0;  ///< rank of the matcher that has the logs
  std::uint32_t element_bytes = 1;
  replay::Plan copies;      ///< what a replay::Packer is to pack; nothing else of it counts
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

  [[nodiscard]] LandingPart* find(PartId id) noexcept;
  /// The part does not come: who needs it next makes it anew.
  void drop(PartId id);
  /// Where these parts are, as a process is told.
  [[nodiscard]] std::vector<matcher::LogRange> ranges(const PartIds& needed) const;

 private:
  struct Mirrored {
    std::uint64_t end = 0;
    PartId part = 0;
  };

  [[nodiscard]] bool is_mirrored(std::uint32_t writer, const replay::SourceRange& range) const noexcept;
  void mirror(std::uint32_t writer, std::uint32_t source, const replay::SourceRange& range, PartIds& needed);
  void mirror_new(std::uint32_t writer, std::uint32_t source, const replay::SourceRange& range,
                  PartIds& needed);
  void bundle(replay::Plan& plan, std::size_t element_bytes, std::uint32_t source,
              const std::vector<std::size_t>& copies, PartIds& needed);

  std::uint32_t first_own_log_;
  PartId next_part_ = 1;
  std::map<PartId, LandingPart> parts_;
  std::map<std::uint32_t, std::map<std::uint64_t, Mirrored>> mirrored_;  ///< by writer, then first log offset
  std::unordered_map<matcher::Fingerprint, PartId, matcher::FingerprintHash> bundles_;
};

}  // namespace sluice::runtime
