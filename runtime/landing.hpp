#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "sluice/matcher/fingerprint.hpp"
#include "sluice/matcher/log_range.hpp"
#include "sluice/replay/packer.hpp"

namespace sluice::runtime {

/// Where bytes land: in a segment of this node.
struct LandingPlace {
  matcher::SegmentId segment = 0;
  std::uint64_t offset = 0;
};

/// What has to be fetched from one writer's log, or from several logs that one matcher has, and where it lands.
struct FetchPart {
  std::uint32_t source = 0;  ///< rank of the matcher that has the logs
  std::uint32_t element_bytes = 1;
  replay::Plan copies;  ///< what a replay::Packer is to pack; nothing else of it counts
  std::uint64_t bytes = 0;
  std::optional<LandingPlace> place;
  std::uint64_t fetch = 0;  ///< which fetch brings it; 0: it has landed, or none does yet
  bool has_landed = false;
};

/// What of a step's logs on other nodes is on this one, or on its way. Two kinds: *mirrored* ranges of a log, at
/// their own log offsets, which serve every copy within them; and *bundles*, packed copies that leave gaps in their
/// log or are small, which have a log of their own (a landing log) and serve plans that read the same.
class Landing {
 public:
  using PartId = std::uint64_t;

  /// The first writer number of landing logs; the writers of a step are fewer.
  static constexpr std::uint32_t first_landing_log = 1U << 30;
  /// Dense copies from this size on are mirrored.
  static constexpr std::uint64_t least_mirrored_bytes = 4096;

  /// What of `plan` is in logs of other nodes. `source_of`: the matcher that has a writer's log; none when it is
  /// here. Appends the parts that the plan needs, new and known ones, and makes the plan read bundles from landing
  /// logs. Throws Error(NC_EIO).
  template <class SourceOf>
  void add(replay::Plan& plan, std::size_t element_bytes, const SourceOf& source_of, std::set<PartId>& needed);

  [[nodiscard]] FetchPart& part(PartId id) { return parts_.at(id); }
  /// The part cannot be fetched: who needs it next tries again.
  void drop(PartId id);
  /// Where what these parts brought is, as a process is told.
  [[nodiscard]] std::vector<matcher::LogRange> ranges(const std::set<PartId>& needed) const;

 private:
  struct Mirrored {
    std::uint64_t end = 0;
    PartId part = 0;
  };
  struct Bundle {
    std::vector<std::size_t> copies;
    replay::Plan plan;
  };

  void mirror(std::uint32_t writer, std::uint32_t source, const replay::SourceRange& range,
              std::set<PartId>& needed);
  void bundle(replay::Plan& plan, std::size_t element_bytes, std::uint32_t source,
              const std::vector<std::size_t>& copies, std::set<PartId>& needed);
  [[nodiscard]] PartId make_part(FetchPart part);

  struct Identity {
    std::uint32_t writer = 0;  ///< a mirrored range's, or a landing log
    std::uint64_t first = 0;
    matcher::Fingerprint bundle = {};
  };
  std::map<PartId, FetchPart> parts_;
  std::map<PartId, Identity> identities_;
  std::map<std::uint32_t, std::map<std::uint64_t, Mirrored>> mirrored_;  ///< by writer, then first offset
  std::unordered_map<matcher::Fingerprint, PartId, matcher::FingerprintHash> bundles_;
  PartId next_part_ = 1;
  std::uint32_t next_log_ = first_landing_log;
};

}  // namespace sluice::runtime
