#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "informed_matchers.hpp"
#include "registry_outlet.hpp"
#include "sluice/matcher/registry.hpp"
#include "sluice/runtime/node_map.hpp"

namespace sluice::runtime {

/// Chooses the matchers that drain a step, and leads them through the stages. The registry orders one drain
/// at a time.
class DrainStages {
 public:
  /// All must outlive this object.
  struct Parts {
    matcher::Registry& registry;
    const NodeMap& nodes;
    InformedMatchers& informed;
    RegistryOutlet& outlet;
  };
  DrainStages(Parts parts, std::vector<matcher::FileRule> rules) : parts_(parts), rules_(std::move(rules)) {}

  /// The step is to be drained.
  void add(matcher::StepId step) { added_.push_back(step); }
  /// Starts what was added; not during a call of the registry.
  void start_added();
  /// Of matcher `from`: of a drain, or an image. Notes of other drains are ignored.
  void take(std::uint32_t from, CopyNote& note);

 private:
  void take_part(std::uint32_t from, const matcher::DrainProgress& progress);
  void take_part(std::uint32_t from, DrainTables& tables);
  void take_part(std::uint32_t from, const DrainReport& report);
  void take_part(std::uint32_t /*from*/, const ImageReport& /*image*/) {}
  void start(const matcher::Step& step);
  [[nodiscard]] std::vector<std::uint32_t> drainers_of(const matcher::Step& step) const;
  void end_stage_of_drainer();
  void go_on();

  Parts parts_;
  std::vector<matcher::FileRule> rules_;
  std::vector<matcher::StepId> added_;
  /// The drain that is under way.
  struct Drain {
    enum class Stage { preparing, writing, finishing } stage = Stage::preparing;
    matcher::StepId step = 0;
    std::vector<std::uint32_t> drainers;
    std::size_t missing = 0;  ///< matchers that have not answered yet
    DrainTables tables;
    DrainReport outcome;                                    ///< the first failure
    std::map<std::uint32_t, matcher::DrainProgress> parts;  ///< by matcher
  };
  Drain drain_;
};

}  // namespace sluice::runtime
