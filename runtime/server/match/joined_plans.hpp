#pragma once
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "exchange_protocol.hpp"
#include "sluice/replay/plan.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

/// The plans of a get's accesses, joined from the plans of their parts, which have different owners. Accesses
/// whose parts share plans share a plan, too, if each writer's log offsets are moved by the same distance in
/// all parts.
class JoinedPlans {
 public:
  /// Adds the next access. `elements`: of its destination. `element_bytes`: of the external type.
  void add_access(std::int64_t elements, std::size_t element_bytes) {
    accesses_.push_back({elements, element_bytes, {}});
  }
  /// Adds the parts of one owner. Throws Error(NC_EIO) when they are damaged, or do not belong to these
  /// accesses.
  void add_parts(const MatchedParts& answer);

  struct Result {
    std::vector<replay::Plan> plans;
    std::vector<std::size_t> element_bytes;  ///< per plan
    std::vector<PlanUse> uses;               ///< per access
  };
  /// Throws Error(NC_ENOMEM) when a plan becomes too large.
  [[nodiscard]] Result take();

 private:
  struct PartPlan {
    replay::Plan plan;
    std::vector<std::uint32_t> writers;  ///< the writers whose logs it reads, ascending
  };
  struct Part {
    std::uint32_t plan = 0;
    std::vector<LogShift> shifts;
  };
  struct Access {
    std::int64_t elements = 0;
    std::size_t element_bytes = 1;
    std::vector<Part> parts;
  };
  /// Accesses with equal keys have the same plan.
  struct Key {
    std::int64_t elements = 0;
    std::size_t element_bytes = 1;
    std::vector<std::uint32_t> plans;
    /// For each part and writer: the move of its log offsets, relative to the move in the first part that
    /// reads the writer's log.
    std::vector<std::int64_t> differences;
    auto operator<=>(const Key&) const = default;
  };

  [[nodiscard]] Key key_of(const Access& access, std::vector<LogShift>& shifts) const;
  [[nodiscard]] bool join_parts(const Key& key, replay::Plan& joined) const;
  [[nodiscard]] replay::Plan own_plan(const Access& access) const;

  std::vector<Access> accesses_;
  std::vector<PartPlan> plans_;  ///< of all owners
};

}  // namespace sluice::runtime
