#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "offer_book.hpp"
#include "sluice/matcher/process_table.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// Offers a group its next steps when two steps in a row were alike.
class OfferMaker {
 public:
  explicit OfferMaker(RegistryParts& parts) : parts_(parts) {}

  /// All members of the group have finished with the step. Withdraws the group's offers when the step is
  /// unlike the last one.
  void note_written(const Step& step, const Group& group);
  /// All members of a group have closed the step. Its group is offered the reads of the next steps, when the
  /// last one that it has read was of the same writers' page.
  void note_read(const Step& step, const Group& group);
  void end_process(ProcessId process);

 private:
  /// What steps that are alike have in common.
  struct Kind {
    Fingerprint structure;
    struct Log {
      std::uint64_t table_bytes = 0;
      std::uint64_t data_bytes = 0;
      bool operator==(const Log&) const = default;
    };
    std::vector<Log> logs;  ///< by rank
    bool operator==(const Kind&) const = default;
  };
  struct GroupKey {
    std::uint32_t rule = 0;
    std::vector<ProcessId> members;
    auto operator<=>(const GroupKey&) const = default;
  };

  [[nodiscard]] bool may_have_offers(const Step& step, const Group& group) const;
  [[nodiscard]] bool may_have_reads(const Step& step, const Group& group) const;
  [[nodiscard]] bool is_plain(std::uint32_t rule) const;
  [[nodiscard]] std::optional<GroupKey> key_of(const Group& group) const;
  [[nodiscard]] static std::optional<Kind> kind_of(const Step& step);
  [[nodiscard]] OfferBook::Page* begin_page(const GroupKey& key, std::uint64_t header_bytes);
  void fill(OfferBook::Page& page, const Kind& kind);
  [[nodiscard]] std::optional<StepOffer> make(const OfferBook::Page& page, const Kind& kind,
                                              std::uint64_t bytes);
  [[nodiscard]] std::optional<SegmentLease> take(ProcessId process, SegmentUse use, std::uint64_t bytes);

  RegistryParts& parts_;
  std::map<GroupKey, Kind> last_;            ///< the kind of each group's last step
  std::map<GroupKey, SegmentId> last_read_;  ///< the writers' page of each group's last read
};

}  // namespace sluice::matcher
