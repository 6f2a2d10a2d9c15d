#pragma once
#include <cstdint>
#include <vector>

#include "sluice/matcher/request_list.hpp"
#include "sluice/matcher/step_partition.hpp"
#include "sluice/matcher/table_scan.hpp"

namespace sluice::matcher {

/// The requests in the tables of one matcher, divided among the owners of what they write: one pass over the
/// tables serves all owners. A request that overlaps several parts goes to each of their owners, whole.
class RequestDivision {
 public:
  explicit RequestDivision(const StepPartition& partition) : by_owner_(partition.owners()) {}

  /// The next request of `writer` (writers one after the other); `bytes`: the entry in its table. Throws
  /// Error(NC_EIO) for one that does not fit the step's variables.
  void add(const StepPartition& partition, std::uint32_t writer, const TableEntry& entry,
           std::span<const std::byte> bytes);
  /// What that owner has to know, for the first time it asks; nothing later on.
  [[nodiscard]] std::vector<WriterRequests> take(std::uint32_t owner);

 private:
  struct Writer {
    std::uint32_t writer = 0;
    RequestList list;
  };
  std::vector<std::vector<Writer>> by_owner_;
  std::vector<OwnedPart> parts_;  ///< scratch
};

}  // namespace sluice::matcher
