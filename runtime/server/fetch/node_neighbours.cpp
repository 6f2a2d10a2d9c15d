// Requests between the matchers of a node, so that each byte comes to the node once.
#include <algorithm>
#include <utility>

#include "remote_fetcher_state.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::runtime {

// The asker

void RemoteFetcher::ask_neighbour(Step& step, std::uint32_t neighbour, const WaitingPointer& waiting,
                                  const std::vector<InboundStage::PartId>& parts, SentSpecs::Form form) {
  const std::uint32_t rank = host_.rank_of({seat_.place.node, neighbour});
  Bring request;
  request.ticket = next_ticket_++;
  request.step = step.id;
  request.reader = waiting->reader.connection;
  request.is_ahead = waiting->is_ahead;
  for (const InboundStage::PartId id : parts)
    request.parts.push_back(sent_specs_.ask(rank, *step.inbound.find(id)->wanted, form));
  asking_.emplace(request.ticket, Asking{step.id, neighbour, waiting, parts});
  send_message(host_, rank, ExchangePacket::bring, request);
}

/// An answer for an ended step is ignored.
void RemoteFetcher::take_brought(Brought brought) {
  const auto found = asking_.extract(brought.ticket);
  if (found.empty()) return;
  const Asking& asking = found.mapped();
  Step& step = *steps_.at(asking.step);
  if (brought.is_unknown) return ask_again(step, asking);
  Outcome outcome = std::move(brought.outcome);
  std::vector<InboundStage::PartId> landed;
  if (!outcome.is_failure() && brought.parts.size() != asking.parts.size())
    outcome = {NC_EIO, "another matcher of the node answered with other data than requested"};
  for (std::size_t i = 0; !outcome.is_failure() && i < asking.parts.size(); ++i) {
    const InboundPart* const part = step.inbound.find(asking.parts[i]);
    if (part == nullptr || part->has_landed) continue;  // it has arrived for another get already
    if (step.inbound.note_places(asking.parts[i], std::move(brought.parts[i].places))) {
      landed.push_back(asking.parts[i]);
    } else {
      outcome = {NC_EIO, "another matcher of the node answered with less data than requested"};
    }
  }
  if (outcome.is_failure()) {
    asking.waiting->outcome = outcome;
    return give_up_asking(step, *asking.waiting, asking.parts);
  }
  for (const InboundStage::PartId id : landed) land_part(asking.step, id);
}

/// Asks with all copies for the parts that have not arrived for other gets meanwhile.
void RemoteFetcher::ask_again(Step& step, const Asking& asking) {
  std::vector<InboundStage::PartId> parts;
  for (const InboundStage::PartId id : asking.parts) {
    const InboundPart* const part = step.inbound.find(id);
    if (part != nullptr && !part->has_landed) parts.push_back(id);
  }
  if (!parts.empty()) ask_neighbour(step, asking.neighbour, asking.waiting, parts, SentSpecs::Form::whole);
}

/// Other gets that wait for the same parts have sent their own requests.
void RemoteFetcher::give_up_asking(Step& step, Waiting& waiting,
                                   const std::vector<InboundStage::PartId>& parts) {
  std::size_t given_up = 0;
  for (const InboundStage::PartId id : parts) {
    const auto entry = step.waiting.find(id);
    if (entry == step.waiting.end()) continue;
    given_up +=
        std::erase_if(entry->second, [&](const WaitingPointer& get) { return get.get() == &waiting; });
    if (!entry->second.empty()) continue;
    step.waiting.erase(entry);
    step.inbound.drop(id);
  }
  if (given_up == 0) return;
  waiting.missing -= given_up - 1;
  count_down(waiting);
}

// The asked matcher

void RemoteFetcher::answer_bring(std::uint32_t from, const Bring& request) {
  host_.view(request.step, [this, from, request](const Outcome& outcome, const StepViewPointer& view) {
    Brought refusal{request.ticket, false, outcome, {}};
    try {
      if (!outcome.is_failure()) return bring(from, request, view);
    } catch (const Error& error) {
      refusal.outcome = {error.status(), error.what()};
    }
    send_message(host_, from, ExchangePacket::brought, refusal);
  });
}

/// Works as if a get of this matcher needed the parts.
void RemoteFetcher::bring(std::uint32_t from, const Bring& request, const StepViewPointer& view) {
  auto waiting = std::make_shared<Waiting>();
  waiting->matched.view = view;
  for (const FetchItem& asked : request.parts) {
    waiting->wanted.push_back(known_specs_.take(asked));
    if (waiting->wanted.back() != nullptr) continue;
    const Brought unknown{request.ticket, true, {}, {}};
    return send_message(host_, from, ExchangePacket::brought, unknown);
  }
  waiting->is_ahead = request.is_ahead;
  waiting->reader = {from, request.reader};
  waiting->receiver = [this, from, ticket = request.ticket, step = request.step, wanted = waiting->wanted](
                          const Outcome& outcome, const MatchedGet&, const auto&) {
    Brought answer = outcome.is_failure() ? Brought{0, false, outcome, {}} : brought(step, wanted);
    answer.ticket = ticket;
    send_message(host_, from, ExchangePacket::brought, answer);
  };
  enqueue(step_of(view), std::move(waiting));
}

Brought RemoteFetcher::brought(std::uint64_t step, const std::vector<FetchSpecPointer>& wanted) const {
  Brought answer;
  const InboundStage& inbound = steps_.at(step)->inbound;
  for (const FetchSpecPointer& part : wanted) {
    BroughtPart& places = answer.parts.emplace_back();
    places.places = inbound.places_of(*part);
    if (places.places.empty())
      return {0, false, {NC_EIO, "a log on another node lacks the requested data"}, {}};
  }
  return answer;
}

}  // namespace sluice::runtime
