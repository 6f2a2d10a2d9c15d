#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sluice/matcher/divided_list.hpp"
#include "sluice/matcher/request_list.hpp"
#include "sluice/matcher/step_partition.hpp"
#include "sluice/matcher/table_scan.hpp"

namespace sluice::matcher {

/// Divides the requests in the tables of one matcher among the owners of the written parts. One pass over the
/// tables serves all owners. A request that overlaps several parts goes as a whole to each of their owners. A
/// list is divided once for all variables that have the same parts, and goes to an owner once.
class RequestDivision {
 public:
  explicit RequestDivision(const StepPartition& partition) : by_owner_(partition.owners()) {}

  /// Adds the next request of `writer`; the writers come one after the other. `bytes`: the entry in its
  /// table. Throws Error(NC_EIO) for a request that does not fit the step's variables.
  void add(const StepPartition& partition, std::uint32_t writer, const TableEntry& entry,
           std::span<const std::byte> bytes);
  /// The same for a list request.
  void add(const StepPartition& partition, std::uint32_t writer, const TableEntry& request,
           const std::shared_ptr<const ListedBoxes>& list);
  /// The requests for that owner. Only the first call for an owner returns them; later calls return nothing.
  [[nodiscard]] std::vector<WriterRequests> take(std::uint32_t owner);

 private:
  /// A list and the division of some variables.
  struct ListKey {
    std::shared_ptr<const ListedBoxes>
        list;  ///< shared with the scan, so that no other list gets the same address
    Division division;
    auto operator<=>(const ListKey&) const = default;
  };
  struct PartKey {
    const DividedList* list = nullptr;
    std::uint32_t part = 0;
    auto operator<=>(const PartKey&) const = default;
  };
  struct Writer {
    std::uint32_t writer = 0;
    RequestList requests;
    std::vector<std::vector<std::byte>> lists;
    std::map<PartKey, std::uint64_t> numbers;  ///< the numbers of the lists in `lists`
  };

  [[nodiscard]] Writer& of(std::uint32_t owner, std::uint32_t writer);
  [[nodiscard]] const DividedList& divided(const StepPartition& partition, int varid,
                                           const std::shared_ptr<const ListedBoxes>& list);

  std::vector<std::vector<Writer>> by_owner_;
  std::map<ListKey, DividedList> divided_;  ///< for the current writer
  std::uint32_t writer_ = 0;
  std::vector<OwnedPart> parts_;  ///< scratch
};

}  // namespace sluice::matcher
