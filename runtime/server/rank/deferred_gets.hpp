#pragma once
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <list>
#include <map>

#include "client_connections.hpp"
#include "matcher_base.hpp"
#include "step_views.hpp"

namespace sluice::runtime {

/// A get that may wait for puts.
struct WaitingGet {
  ClientId client = 0;
  std::uint32_t tag = 0;
  Get request;
  bool is_held = false;  ///< the registry knows that it waits for puts
};

/// Tries a get, for the first time or again.
class GetContinuation {
 public:
  virtual ~GetContinuation() = default;
  virtual void continue_get(WaitingGet waiting) = 0;
};

/// Gets that wait until their elements are put: docs/design/reading.md.
class DeferredGets {
 public:
  DeferredGets(MatcherBase& base, ClientConnections& clients, StepViews& views, GetContinuation& gets)
      : base_(base), clients_(clients), views_(views), gets_(gets), retry_timer_(base.loop) {}

  /// Asks the step's writers to tell of the next put. Call it before reading the request tables: then no put
  /// is missed.
  void await_puts(matcher::StepId step);
  /// Keeps the get until the writers tell of a put, or the step ends. The registry hears of the wait. If the
  /// registry refuses it, forget() drops the get.
  void hold(WaitingGet waiting, int varid);
  /// The same when the writers may be on other nodes. Tries the get again and again, with growing pauses.
  void hold_and_ask(WaitingGet waiting, int varid);
  [[nodiscard]] bool has(matcher::StepId step) const { return held_.contains(step); }
  /// Something was put, or the step has ended: tries all gets of the step again, with a new view.
  void retry(matcher::StepId step);
  /// The get is answered now; tells the registry if it was held.
  void release(WaitingGet& waiting);
  void forget(ClientId client, std::uint32_t tag);

 private:
  static constexpr std::chrono::milliseconds least_pause{1};

  MatcherBase& base_;
  ClientConnections& clients_;
  StepViews& views_;
  GetContinuation& gets_;
  std::map<matcher::StepId, std::list<WaitingGet>> held_;  ///< until something is put, or the step ends
  boost::asio::steady_timer retry_timer_;                  ///< used when there are other matchers
  std::chrono::milliseconds retry_pause_{least_pause};
};

}  // namespace sluice::runtime
