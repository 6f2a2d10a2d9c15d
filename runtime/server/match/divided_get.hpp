#pragma once
#include <compare>
#include <cstdint>
#include <map>

#include "exchange_protocol.hpp"
#include "sluice/matcher/divided_list.hpp"
#include "sluice/matcher/step_partition.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

/// Divides the accesses of a get among their owners. A list is divided once for all variables that have the
/// same parts, and goes to an owner once.
class DividedGet {
 public:
  /// Both must outlive this object.
  DividedGet(const matcher::StepPartition& partition, const Get& get) noexcept
      : partition_(partition), get_(get) {}

  /// Adds the next access. Returns the number of its elements. Throws Error(NC_EIO) when the access does not
  /// fit the step.
  std::int64_t add(const ReadAccess& access);
  /// The requests by owner, without step and ticket. Call it once.
  [[nodiscard]] std::map<std::uint32_t, MatchParts> take();

 private:
  struct ListKey {
    std::uint32_t list = 0;
    matcher::Division division;
    auto operator<=>(const ListKey&) const = default;
  };
  struct Owner {
    MatchParts request;
    /// the numbers of the lists in `request`
    std::map<const matcher::DividedList::Part*, std::uint32_t> numbers;
  };

  const matcher::DividedList& divided(const ReadAccess& access, const matcher::Ownership& ownership);

  const matcher::StepPartition& partition_;
  const Get& get_;
  std::uint32_t accesses_ = 0;
  std::map<ListKey, matcher::DividedList> lists_;
  std::map<std::uint32_t, Owner> owners_;
};

}  // namespace sluice::runtime
