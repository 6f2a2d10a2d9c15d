#pragma once
#include <deque>
#include <functional>
#include <utility>

#include "client_answers.hpp"
#include "node_drains.hpp"
#include "node_images.hpp"
#include "process_looks.hpp"
#include "segment_orders.hpp"
#include "written_files.hpp"

namespace sluice::runtime {

/// The receivers of the registry's messages.
struct RegistryReceivers {
  ClientConnections& clients;
  ClientAnswers& answers;
  Gets& gets;
  SharedGets* shared;  ///< null for a single matcher
  SegmentOrders& segments;
  NodeDrains& drains;
  NodeImages& images;
  WrittenFiles& written;
  ProcessLooks& looks;
  std::function<void(const BeginRound&)> begin_round;
};

/// Passes the registry's messages to the parts of this matcher. A message that gives a segment a new use
/// waits until no more data arrives in the segment. A message that destroys a segment waits until the segment
/// is made.
class RegistryInbox {
 public:
  RegistryInbox(MatcherBase& base, RegistryReceivers receivers)
      : base_(base), receivers_(std::move(receivers)) {}

  void take(MatcherBody body);
  /// Call it when no more data arrives in some segments, or when segments have been made.
  void take_held();

 private:
  [[nodiscard]] bool is_held(const MatcherBody& body) const;

  MatcherBase& base_;
  RegistryReceivers receivers_;
  std::deque<MatcherBody> held_;
};

}  // namespace sluice::runtime
