#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "cached_steps.hpp"
#include "exchange_host.hpp"
#include "exchange_protocol.hpp"
#include "held_requests.hpp"
#include "owned_requests.hpp"
#include "sluice/matcher/step_view.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

/// A matched get: for each access its plan. Writers are numbered as in the step.
struct MatchedGet {
  StepViewPointer view;
  std::vector<replay::Plan> plans;
  std::vector<std::size_t> element_bytes;  ///< for each plan: size of an element of the external type
  std::vector<PlanUse> uses;
  // For a step that grows:
  std::int64_t records_end = 0;  ///< the end of the written records
  /// publish: write: the first variable of the get with unwritten elements; -1: the get need not wait
  int unwritten_variable = -1;
};
/// Gives accesses whose plans read logs of `is_elsewhere` writers separate plans with unmoved log offsets.
void give_own_plans(MatchedGet& matched, const std::function<bool(std::uint32_t writer)>& is_elsewhere);

using MatchReceiver = std::function<void(const Outcome& outcome, MatchedGet matched)>;

/// Matching that is divided among the matchers of a run: docs/design/matchers-and-ranks.md. Each matcher has
/// one object, which plays three roles. It *holds* the request tables of its processes. It *owns* a part of
/// each variable's index space. It *asks* the owners for its processes' gets. For a step that still grows,
/// the asker owns everything. One thread.
class DistributedMatcher {
 public:
  /// The place of this matcher in the run.
  struct Seat {
    std::uint32_t rank = 0;
    matcher::MatcherPlace place;
    matcher::Partition partition;  ///< owners: the number of matchers
  };

  /// `memory` has the request tables of this matcher's processes. Both must outlive this object.
  DistributedMatcher(ExchangeHost& host, matcher::SegmentMemory& memory, const Seat& seat);
  ~DistributedMatcher();
  DistributedMatcher(const DistributedMatcher&) = delete;
  DistributedMatcher& operator=(const DistributedMatcher&) = delete;

  /// Matches all accesses of a get on a step that the asking process has open. The receiver is called once,
  /// at once or later.
  void match(Get get, MatchReceiver receiver);
  /// Handles a packet of one of the four kinds for matching. Throws Error(NC_EIO) when the packet is damaged.
  void take(std::uint32_t from, ExchangePacket kind, std::span<const std::byte> fields);
  /// The step has ended.
  void forget(std::uint64_t step);
  /// The number of steps with stored state.
  [[nodiscard]] std::size_t known_steps() const noexcept { return steps_.size(); }

 private:
  struct Step;
  struct Asking;
  using StepPointer = std::shared_ptr<Step>;  ///< shared with calls that work on it
  struct WaitingGet {
    Get get;
    MatchReceiver receiver;
  };

  [[nodiscard]] StepPointer step_of(const StepViewPointer& view);
  [[nodiscard]] std::set<std::uint32_t> holders_of(const matcher::StepView& view) const;
  [[nodiscard]] std::set<std::uint32_t> holders_for_owner(const Step& step) const;

  // As asker.
  void ask_owners(const StepViewPointer& view, const Get& get, MatchReceiver receiver);
  void take_answer(const MatchedParts& answer);
  void finish(std::uint64_t ticket);
  void join_round(const StepViewPointer& view, WaitingGet waiting);
  void start_round(Step& step, matcher::Visibility reach);
  void finish_round(Step& step, matcher::Visibility reach);

  // As owner.
  void answer_parts(std::uint32_t to, const MatchParts& request);
  void with_index(Step& step, std::function<void(Step&)> use);
  void take_collected(std::uint32_t from, Collected collected);
  void finish_index(Step& step);

  // As holder.
  void answer_collect(std::uint32_t to, const Collect& request);

  ExchangeHost& host_;
  matcher::SegmentMemory& memory_;
  const Seat seat_;
  std::map<std::uint64_t, StepPointer> steps_;
  std::map<std::uint64_t, std::unique_ptr<Asking>> asking_;
  std::uint64_t next_ticket_ = 1;
};

}  // namespace sluice::runtime
