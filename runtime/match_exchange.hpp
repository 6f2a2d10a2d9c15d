#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "exchange_protocol.hpp"
#include "held_requests.hpp"
#include "known_steps.hpp"
#include "owned_requests.hpp"
#include "sluice/matcher/step_view.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

/// Receives a view, or why there is none.
using ViewReceiver = std::function<void(const Outcome& outcome, const StepViewPointer& view)>;

/// A get that was matched: for each access which of the plans is its own, writers as in the step.
struct MatchedGet {
  StepViewPointer view;
  std::vector<replay::Plan> plans;
  std::vector<std::size_t> element_bytes;  ///< per plan: of the external type
  std::vector<PlanUse> uses;
  // Of a step that grows:
  std::int64_t records_end = 0;  ///< of the records that were written
  /// publish: write: the first that a reader reads where nobody has written yet; -1: it need not wait
  int unwritten_variable = -1;
};
/// Gives accesses whose plans read logs of these writers plans of their own, with log offsets that are not
/// moved.
void give_own_plans(MatchedGet& matched, const std::function<bool(std::uint32_t writer)>& is_elsewhere);

using MatchReceiver = std::function<void(const Outcome& outcome, MatchedGet matched)>;

/// Matching that is divided among the matchers of a run: docs/architecture.md, "Many matchers, many nodes".
/// Each matcher has one; it takes part in three roles. It *holds* the request tables of its processes, *owns*
/// a part of each variable's index space, and *asks* the owners for its processes' gets. Of a step that still
/// grows, the asker is the owner of everything. One thread; packets go by `send`, which must not call back.
class MatchExchange {
 public:
  struct Environment {
    std::uint32_t rank = 0;
    matcher::MatcherPlace place;
    std::function<std::uint32_t(matcher::MatcherPlace place)> rank_of;
    matcher::Partition partition;  ///< owners: number of matchers
    matcher::SegmentMemory* memory = nullptr;
    std::function<void(std::uint32_t to, std::vector<std::byte> packet)> send;
    /// Gives a view, at once or later. Of a step that is not published, the newest one.
    std::function<void(std::uint64_t step, ViewReceiver receiver)> view;
  };

  explicit MatchExchange(Environment environment);
  ~MatchExchange();
  MatchExchange(const MatchExchange&) = delete;
  MatchExchange& operator=(const MatchExchange&) = delete;

  /// Matches all accesses of a get on a step that the asking process has open. The receiver is called once,
  /// at once or later.
  void match(Get get, MatchReceiver receiver);
  /// A packet of one of the four kinds that match. Throws Error(NC_EIO) when it is damaged.
  void take(std::uint32_t from, ExchangePacket kind, std::span<const std::byte> fields);
  /// The step is no more.
  void forget(std::uint64_t step);
  /// How many steps something is known of.
  [[nodiscard]] std::size_t known_steps() const noexcept { return steps_.size(); }

 private:
  struct Step;
  struct Asking;
  using StepPointer = std::shared_ptr<Step>;  ///< shared with calls that work on it
  struct WaitingGet {
    Get get;
    MatchReceiver receiver;
  };

  template <class Message>
  void send(std::uint32_t to, ExchangePacket kind, const Message& message);
  [[nodiscard]] StepPointer step_of(const StepViewPointer& view);
  [[nodiscard]] std::set<std::uint32_t> holders_of(const matcher::StepView& view) const;
  [[nodiscard]] std::set<std::uint32_t> holders_for_owner(const Step& step) const;

  // As asker.
  void ask_owners(const StepViewPointer& view, const Get& get, MatchReceiver receiver);
  void take_answer(const MatchedParts& answer);
  void finish(std::uint64_t ticket);
  void join_round(const StepViewPointer& view, WaitingGet waiting);
  void start_round(Step& step, matcher::Reach reach);
  void finish_round(Step& step, matcher::Reach reach);

  // As owner.
  void answer_parts(std::uint32_t to, const MatchParts& request);
  void with_index(Step& step, std::function<void(Step&)> use);
  void take_collected(std::uint32_t from, Collected collected);
  void finish_index(Step& step);

  // As holder.
  void answer_collect(std::uint32_t to, const Collect& request);

  Environment environment_;
  std::map<std::uint64_t, StepPointer> steps_;
  std::map<std::uint64_t, std::unique_ptr<Asking>> asking_;
  std::uint64_t next_ticket_ = 1;
};

}  // namespace sluice::runtime
