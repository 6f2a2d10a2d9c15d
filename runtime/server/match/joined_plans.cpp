#include "joined_plans.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/box.hpp"

namespace sluice::runtime {

namespace {

std::vector<std::uint32_t> writers_of(const replay::Plan& plan) {
  std::vector<std::uint32_t> writers;
  for (const replay::Copy& copy : plan.copies) {
    if (!copy.is_fill && (writers.empty() || writers.back() != copy.writer)) writers.push_back(copy.writer);
  }
  std::ranges::sort(writers);
  writers.erase(std::unique(writers.begin(), writers.end()), writers.end());
  return writers;
}

/// Whether a plan's log offsets stay valid after the move. A copy may read backwards from its own offset.
bool can_move(const replay::Plan& plan, std::size_t element_bytes, std::span<const LogShift> shifts) {
  return std::ranges::all_of(plan.copies, [&](const replay::Copy& copy) {
    if (copy.is_fill) return true;
    const auto shift = static_cast<std::uint64_t>(replay::shift_of(shifts, copy.writer));
    const std::uint64_t first = replay::source_range(plan, copy, element_bytes).first;
    return first + shift <= matcher::max_log_offset && copy.log_offset + shift <= matcher::max_log_offset;
  });
}

}  // namespace

void JoinedPlans::add_parts(const MatchedParts& answer) {
  const auto first = static_cast<std::uint32_t>(plans_.size());
  for (const std::vector<std::byte>& encoded : answer.plans) {
    std::size_t position = 0;
    replay::Plan plan = replay::decode_plan(encoded, position);
    std::vector<std::uint32_t> writers = writers_of(plan);
    plans_.push_back({std::move(plan), std::move(writers)});
  }
  for (const PartUse& use : answer.uses) {
    if (use.access >= accesses_.size() || use.plan >= answer.plans.size())
      throw Error(NC_EIO, "a plan without an access, or an access without a plan for one of its parts");
    accesses_[use.access].parts.push_back({first + use.plan, use.shifts});
  }
}

/// `shifts`: for the plan that belongs to the key.
JoinedPlans::Key JoinedPlans::key_of(const Access& access, std::vector<LogShift>& shifts) const {
  Key key{access.elements, access.element_bytes, {}, {}};
  std::map<std::uint32_t, std::int64_t> by_writer;
  for (const Part& part : access.parts) {
    key.plans.push_back(part.plan);
    for (const std::uint32_t writer : plans_[part.plan].writers) {
      const std::int64_t shift = replay::shift_of(part.shifts, writer);
      const std::int64_t known = by_writer.try_emplace(writer, shift).first->second;
      key.differences.push_back(shift - known);
    }
  }
  for (const auto& [writer, bytes] : by_writer) {
    if (bytes != 0) shifts.push_back({writer, bytes});
  }
  return key;
}

/// Returns false when a log offset would be invalid: then the parts' common content is not a plan.
bool JoinedPlans::join_parts(const Key& key, replay::Plan& joined) const {
  auto difference = key.differences.begin();
  for (const std::uint32_t number : key.plans) {
    const PartPlan& part = plans_[number];
    std::vector<LogShift> moves;
    for (const std::uint32_t writer : part.writers) {
      if (*difference != 0) moves.push_back({writer, *difference});
      ++difference;
    }
    if (moves.empty()) {
      replay::join(joined, part.plan);
      continue;
    }
    if (!can_move(part.plan, key.element_bytes, moves)) return false;
    replay::Plan moved = part.plan;
    replay::move_logs(moved, moves);
    replay::join(joined, moved);
  }
  return true;
}

replay::Plan JoinedPlans::own_plan(const Access& access) const {
  replay::Plan joined;
  joined.elements = access.elements;
  for (const Part& part : access.parts) {
    replay::Plan moved = plans_[part.plan].plan;
    replay::move_logs(moved, part.shifts);
    replay::join(joined, moved);
  }
  return joined;
}

JoinedPlans::Result JoinedPlans::take() {
  Result result;
  std::map<Key, std::uint32_t> numbers;
  for (const Access& access : accesses_) {
    PlanUse use;
    const Key key = key_of(access, use.shifts);
    const auto known = numbers.find(key);
    if (known != numbers.end()) {
      use.plan = known->second;
      result.uses.push_back(std::move(use));
      continue;
    }
    use.plan = static_cast<std::uint32_t>(result.plans.size());
    replay::Plan joined;
    joined.elements = key.elements;
    if (join_parts(key, joined)) {
      numbers.emplace(key, use.plan);
    } else {
      joined = own_plan(access);
      use.shifts.clear();
    }
    result.plans.push_back(std::move(joined));
    result.element_bytes.push_back(key.element_bytes);
    result.uses.push_back(std::move(use));
  }
  accesses_.clear();
  plans_.clear();
  return result;
}

}  // namespace sluice::runtime
