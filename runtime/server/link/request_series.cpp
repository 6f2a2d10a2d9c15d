#include "request_series.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace sluice::runtime {

namespace {

using Call = decltype(GroupCall::call);

Member& member_of(CreateRequest& create) {
  return create.member;
}
Member& member_of(OpenForReading& open) {
  return open.open.member;
}

/// Whether the calls differ in the rank alone.
template <class Request>
bool is_same(Request& left, Request right) {
  member_of(right).rank = member_of(left).rank;
  return left == right;
}

template <class Request>
bool join_call(RegistryBody& last, ClientRequest& next) {
  auto* const request = std::get_if<Request>(&next.request);
  if (request == nullptr) return false;
  const GroupCall::Caller caller{next.connection, next.tag, member_of(*request).rank};
  if (auto* const several = std::get_if<GroupCall>(&last)) {
    auto* const call = std::get_if<Request>(&several->call);
    if (call == nullptr || !is_same(*call, *request)) return false;
    several->callers.push_back(caller);
    return true;
  }
  auto* const one = std::get_if<ClientRequest>(&last);
  auto* const first = one == nullptr ? nullptr : std::get_if<Request>(&one->request);
  if (first == nullptr || !is_same(*first, *request)) return false;
  const GroupCall::Caller first_caller{one->connection, one->tag, member_of(*first).rank};
  last = GroupCall{Call(std::move(*first)), {first_caller, caller}};
  return true;
}

/// Publications of several steps keep their order.
template <class Request>
bool may_change_places(const Request& left, const Request& right) {
  return left.step == right.step;
}
bool may_change_places(const SegmentRequest& /*left*/, const SegmentRequest& /*right*/) {
  return true;
}

template <class Request>
bool join_several(RegistryBody& last, ClientRequest& next) {
  auto* const request = std::get_if<Request>(&next.request);
  if (request == nullptr) return false;
  auto* several = std::get_if<Several<Request>>(&last);
  if (several == nullptr) {
    auto* const one = std::get_if<ClientRequest>(&last);
    auto* const first = one == nullptr ? nullptr : std::get_if<Request>(&one->request);
    if (first == nullptr || !may_change_places(*first, *request)) return false;
    Several<Request> both;
    both.requests.push_back({one->connection, one->tag, std::move(*first)});
    several = &last.emplace<Several<Request>>(std::move(both));
  }
  if (!may_change_places(several->requests.front().request, *request)) return false;
  several->requests.push_back({next.connection, next.tag, std::move(*request)});
  return true;
}

bool join_note(RegistryBody& last, const SegmentMapped& next) {
  if (auto* const several = std::get_if<SegmentsMapped>(&last)) {
    several->notes.push_back(next);
    return true;
  }
  const auto* const one = std::get_if<SegmentMapped>(&last);
  if (one == nullptr) return false;
  last = SegmentsMapped{{*one, next}};
  return true;
}

}  // namespace

bool join(RegistryBody& last, RegistryBody& next) {
  if (const auto* const note = std::get_if<SegmentMapped>(&next)) return join_note(last, *note);
  auto* const request = std::get_if<ClientRequest>(&next);
  return request != nullptr &&
         (join_call<CreateRequest>(last, *request) || join_call<OpenForReading>(last, *request) ||
          join_several<SegmentRequest>(last, *request) || join_several<PublishRequest>(last, *request) ||
          join_several<CloseRequest>(last, *request));
}

namespace {

/// Empty when it is of another kind.
std::optional<decltype(GrantSeries::orders)::value_type> order_of(const MatcherBody& body) {
  if (const auto* const create = std::get_if<CreateSegment>(&body)) return *create;
  if (const auto* const clear = std::get_if<ClearSegment>(&body)) return *clear;
  const auto* const answer = std::get_if<Answer>(&body);
  const auto* const granted = answer == nullptr ? nullptr : std::get_if<Granted>(&answer->reply);
  if (granted == nullptr) return std::nullopt;
  return GrantSeries::Grant{answer->connection, answer->tag, granted->segment};
}

MatcherBody body_of(const CreateSegment& create) {
  return create;
}
MatcherBody body_of(const ClearSegment& clear) {
  return clear;
}
MatcherBody body_of(const GrantSeries::Grant& grant) {
  return Answer{grant.connection, grant.tag, Granted{grant.segment}};
}

}  // namespace

bool join(MatcherBody& last, MatcherBody& next) {
  const auto order = order_of(next);
  if (!order) return false;
  auto* several = std::get_if<GrantSeries>(&last);
  if (several == nullptr) {
    const auto first = order_of(last);
    if (!first) return false;
    several = &last.emplace<GrantSeries>();
    several->orders.push_back(*first);
  }
  several->orders.push_back(*order);
  return true;
}

void for_each_message(MatcherBody body, const std::function<void(MatcherBody)>& take) {
  const auto* const several = std::get_if<GrantSeries>(&body);
  if (several == nullptr) return take(std::move(body));
  for (const auto& order : several->orders)
    take(std::visit([](const auto& one) { return body_of(one); }, order));
}

void sort_by_connection(RegistryBody& body) {
  const auto sort = [](auto& list) {
    std::ranges::stable_sort(list, {}, [](const auto& one) { return one.connection; });
  };
  std::visit(
      [&](auto& message) {
        if constexpr (requires { message.callers.front(); }) sort(message.callers);
        if constexpr (requires { message.requests.front(); }) sort(message.requests);
        if constexpr (requires { message.notes.front(); }) sort(message.notes);
      },
      body);
}

}  // namespace sluice::runtime
