#include "registry_inbox.hpp"

#include <string>
#include <utility>

#include "shared_gets.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

/// The segment that gets a new use by the message; 0: none.
matcher::SegmentId segment_used_by(const MatcherBody& body) {
  if (const auto* const answer = std::get_if<Answer>(&body)) return segment_used_by(answer->reply);
  if (const auto* const clear = std::get_if<ClearSegment>(&body)) return clear->segment;
  if (const auto* const gone = std::get_if<MarkGone>(&body)) return gone->control;
  if (const auto* const destroy = std::get_if<DestroySegment>(&body)) return destroy->segment;
  return 0;
}

/// Passes each message to its receiver.
struct Dispatch {
  const RegistryReceivers& to;

  void operator()(Answer& answer) const {
    if (answer.connection == LeaseQuery::connection) {
      if (to.shared != nullptr) to.shared->take(answer);
      return;
    }
    if (!to.written.take(answer)) to.answers.take(answer);
  }
  void operator()(HangUp& hang_up) const {
    to.clients.hang_up(hang_up.connection, std::move(hang_up.reason));
  }
  void operator()(View& view) const { to.gets.take(view); }
  void operator()(const StepOver& over) const {
    if (over.is_only_outdated) return to.written.note_outdated(over.step);
    to.gets.take(over);
    to.written.forget(over.step);
  }
  void operator()(MakeCopy& copy) const {
    if (const auto* const image = std::get_if<ImageOrder>(&copy.what))
      return to.images.take(copy.step, *image);
    to.drains.take(copy);
  }
  void operator()(Look look) const {
    to.written.add_held_up(look.request);
    to.looks.take(look);
  }
  void operator()(const BeginRound& begin) const { to.begin_round(begin); }
  void operator()(const GrantSeries& /*series*/) const {
    throw Error(NC_EIO, "several grants in one message, which the relay tree takes apart");
  }
  template <class Order>
  void operator()(const Order& order) const {
    to.segments.take(order);
  }
};

}  // namespace

void RegistryInbox::take(MatcherBody body) {
  if (is_held(body)) return held_.push_back(std::move(body));
  std::visit(Dispatch{receivers_}, body);
}

bool RegistryInbox::is_held(const MatcherBody& body) const {
  const matcher::SegmentId segment = segment_used_by(body);
  if (segment == 0) return false;
  return base_.store.is_being_made(segment) ||
         (receivers_.shared != nullptr && receivers_.shared->is_receiving_into(segment));
}

void RegistryInbox::take_held() {
  for (MatcherBody& body : std::exchange(held_, {})) {
    const matcher::SegmentId segment = segment_used_by(body);
    try {
      take(std::move(body));
    } catch (const IoError& error) {  // the registry has already granted the segment
      base_.store.note_failure(segment);
      base_.log.event(std::string("cannot get memory: ") + error.what());
    }
  }
}

}  // namespace sluice::runtime
