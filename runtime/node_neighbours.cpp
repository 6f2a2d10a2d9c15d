// What the matchers of a node ask of each other, so that each byte comes to the node once.
#include <algorithm>
#include <utility>

#include "node_exchange_state.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::runtime {

// Who asks

void NodeExchange::ask_neighbour(Step& step, std::uint32_t neighbour, const WaitingPointer& waiting,
                                 const std::vector<Landing::PartId>& parts, ToldParts::Form form) {
  const std::uint32_t rank = environment_.rank_of({environment_.place.node, neighbour});
  Bring request;
  request.ticket = next_ticket_++;
  request.step = step.id;
  request.reader = waiting->reader.connection;
  request.is_ahead = waiting->is_ahead;
  for (const Landing::PartId id : parts)
    request.parts.push_back(told_parts_.ask(rank, *step.landing.find(id)->wanted, form));
  asking_.emplace(request.ticket, Asking{step.id, neighbour, waiting, parts});
  environment_.send(rank, packet_of(ExchangePacket::bring, request));
}

/// An answer for a step that is no more is ignored.
void NodeExchange::take_brought(Brought brought) {
  const auto found = asking_.extract(brought.ticket);
  if (found.empty()) return;
  const Asking& asking = found.mapped();
  Step& step = *steps_.at(asking.step);
  if (brought.is_unknown) return ask_again(step, asking);
  Outcome outcome = std::move(brought.outcome);
  std::vector<Landing::PartId> landed;
  if (!outcome.is_failure() && brought.parts.size() != asking.parts.size())
    outcome = {NC_EIO, "another matcher of the node told of other data than it was asked for"};
  for (std::size_t i = 0; !outcome.is_failure() && i < asking.parts.size(); ++i) {
    const LandingPart* const part = step.landing.find(asking.parts[i]);
    if (part == nullptr || part->has_landed) continue;  // another get has had it already
    if (step.landing.note_places(asking.parts[i], std::move(brought.parts[i].places))) {
      landed.push_back(asking.parts[i]);
    } else {
      outcome = {NC_EIO, "another matcher of the node told of less data than it was asked for"};
    }
  }
  if (outcome.is_failure()) {
    asking.waiting->outcome = outcome;
    return give_up_asking(step, *asking.waiting, asking.parts);
  }
  for (const Landing::PartId id : landed) land_part(asking.step, id);
}

/// With all copies, of what has not come for others meanwhile.
void NodeExchange::ask_again(Step& step, const Asking& asking) {
  std::vector<Landing::PartId> parts;
  for (const Landing::PartId id : asking.parts) {
    const LandingPart* const part = step.landing.find(id);
    if (part != nullptr && !part->has_landed) parts.push_back(id);
  }
  if (!parts.empty()) ask_neighbour(step, asking.neighbour, asking.waiting, parts, ToldParts::Form::whole);
}

/// Other gets that wait for the same parts have asked for themselves.
void NodeExchange::give_up_asking(Step& step, Waiting& waiting, const std::vector<Landing::PartId>& parts) {
  std::size_t given_up = 0;
  for (const Landing::PartId id : parts) {
    const auto entry = step.waiting.find(id);
    if (entry == step.waiting.end()) continue;
    given_up +=
        std::erase_if(entry->second, [&](const WaitingPointer& get) { return get.get() == &waiting; });
    if (!entry->second.empty()) continue;
    step.waiting.erase(entry);
    step.landing.drop(id);
  }
  if (given_up == 0) return;
  waiting.missing -= given_up - 1;
  count_down(waiting);
}

// Who is asked

void NodeExchange::answer_bring(std::uint32_t from, const Bring& request) {
  environment_.view(request.step, [this, from, request](const Outcome& outcome, const StepViewPointer& view) {
    Brought refusal{request.ticket, false, outcome, {}};
    try {
      if (!outcome.is_failure()) return bring(from, request, view);
    } catch (const Error& error) {
      refusal.outcome = {error.status(), error.what()};
    }
    environment_.send(from, packet_of(ExchangePacket::brought, refusal));
  });
}

/// As if a get of this matcher needed the parts.
void NodeExchange::bring(std::uint32_t from, const Bring& request, const StepViewPointer& view) {
  auto waiting = std::make_shared<Waiting>();
  waiting->matched.view = view;
  for (const AskedPart& asked : request.parts) {
    waiting->wanted.push_back(known_parts_.take(asked));
    if (waiting->wanted.back() != nullptr) continue;
    const Brought unknown{request.ticket, true, {}, {}};
    return environment_.send(from, packet_of(ExchangePacket::brought, unknown));
  }
  waiting->is_ahead = request.is_ahead;
  waiting->reader = {from, request.reader};
  waiting->receiver = [this, from, ticket = request.ticket, step = request.step, wanted = waiting->wanted](
                          const Outcome& outcome, const MatchedGet&, const auto&) {
    Brought answer = outcome.is_failure() ? Brought{0, false, outcome, {}} : brought(step, wanted);
    answer.ticket = ticket;
    environment_.send(from, packet_of(ExchangePacket::brought, answer));
  };
  enqueue(step_of(view), std::move(waiting));
}

Brought NodeExchange::brought(std::uint64_t step, const std::vector<WantedPartPointer>& wanted) const {
  Brought answer;
  const Landing& landing = steps_.at(step)->landing;
  for (const WantedPartPointer& part : wanted) {
    BroughtPart& places = answer.parts.emplace_back();
    places.places = landing.places_of(*part);
    if (places.places.empty())
      return {0, false, {NC_EIO, "a log on another node does not have what is wanted"}, {}};
  }
  return answer;
}

}  // namespace sluice::runtime
