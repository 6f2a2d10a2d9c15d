#pragma once
#include <chrono>
#include <string>
#include <utility>

#include "client_connections.hpp"
#include "matcher_base.hpp"

namespace sluice::runtime {

/// Looks at waiting processes for the registry: may any of them act?
class ProcessLooks {
 public:
  /// `run_mark`: the result of runtime::run_mark().
  ProcessLooks(MatcherBase& base, ClientConnections& clients, std::string run_mark)
      : base_(base), clients_(clients), run_mark_(std::move(run_mark)) {}

  void take(const Look& look);
  /// Says that this matcher works, and where it is.
  void tell_of_itself() const;

 private:
  void look_at(const matcher::LookRequest& request, std::chrono::milliseconds pause);
  void tell_idle(const matcher::LookRequest& request);

  MatcherBase& base_;
  ClientConnections& clients_;
  std::string run_mark_;
};

}  // namespace sluice::runtime
