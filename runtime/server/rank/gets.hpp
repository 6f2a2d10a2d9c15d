#pragma once
#include <cstdint>

#include "client_segments.hpp"
#include "deferred_gets.hpp"
#include "reader_history.hpp"
#include "step_views.hpp"

namespace sluice::runtime {

class SharedGets;

/// The parts of the matcher that gets need.
struct GetParts {
  MatcherBase& base;
  ClientConnections& clients;
  ClientSegments& segments;
  StepViews& views;
  DeferredGets& deferred;
  ReaderHistory& history;
};

/// The gets of this matcher's clients. A single matcher answers them by itself.
class Gets final : public GetContinuation {
 public:
  /// `shared`: null where this is the only matcher.
  Gets(GetParts parts, SharedGets* shared) : parts_(parts), shared_(shared) {}

  void begin(Client& client, std::uint32_t tag, Get request);
  /// Uses a new view if the step still grows.
  void continue_get(WaitingGet waiting) override;
  void take(View& answer);
  void take(const StepOver& erased);

 private:
  void answer(Client& client, WaitingGet& waiting);

  GetParts parts_;
  SharedGets* shared_;
};

}  // namespace sluice::runtime
