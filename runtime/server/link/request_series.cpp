#include "request_series.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace sluice::runtime {

namespace {

/// Whether the calls differ in the rank alone.
bool is_same(const Open& left, Open right) {
  right.member.rank = left.member.rank;
  return left == right;
}

bool join_call(RegistryBody& last, ClientRequest& next) {
  const auto* const open = std::get_if<Open>(&next.request);
  if (open == nullptr || (open->purpose != Purpose::create && open->purpose != Purpose::read)) return false;
  const GroupCall::Caller caller{next.connection, next.tag, open->member.rank};
  if (auto* const several = std::get_if<GroupCall>(&last)) {
    if (!is_same(several->call, *open)) return false;
    several->callers.push_back(caller);
    return true;
  }
  auto* const one = std::get_if<ClientRequest>(&last);
  auto* const first = one == nullptr ? nullptr : std::get_if<Open>(&one->request);
  if (first == nullptr || !is_same(*first, *open)) return false;
  const GroupCall::Caller first_caller{one->connection, one->tag, first->member.rank};
  last = GroupCall{std::move(*first), {first_caller, caller}};
  return true;
}

/// Closes of several steps, or kinds, keep their order.
bool may_change_places(const Close& left, const Close& right) {
  return left.how.index() == right.how.index() && left.step() == right.step();
}
bool may_change_places(const SegmentRequest& /*left*/, const SegmentRequest& /*right*/) {
  return true;
}

const Close& first_of(const Closes& several) {
  return several.requests.front().request;
}
const SegmentRequest& first_of(const SegmentCalls& several) {
  return several.calls.front().request;
}

void add(Closes& to, const ClientRequest& sender, Close&& request) {
  to.requests.push_back({sender.connection, sender.tag, std::move(request)});
}
/// Behind the requests of its connection.
void add(SegmentCalls& to, const ClientRequest& sender, SegmentRequest&& request) {
  const auto is_by_it = [&](const SegmentCalls::Call& call) {
    const auto found = std::find_if(call.callers.rbegin(), call.callers.rend(),
                                    [&](const auto& other) { return other.connection == sender.connection; });
    return found != call.callers.rend();
  };
  const SegmentCalls::Caller caller{sender.connection, sender.tag};
  const auto last = std::find_if(to.calls.rbegin(), to.calls.rend(), is_by_it);
  const auto same = std::ranges::find(last.base(), to.calls.end(), request, &SegmentCalls::Call::request);
  if (same != to.calls.end()) return same->callers.push_back(caller);
  to.calls.push_back({std::move(request), {caller}});
}

/// `Message` has several requests.
template <class Request, class Message>
bool join_several(RegistryBody& last, ClientRequest& next) {
  auto* const request = std::get_if<Request>(&next.request);
  if (request == nullptr) return false;
  auto* several = std::get_if<Message>(&last);
  if (several == nullptr) {
    auto* const one = std::get_if<ClientRequest>(&last);
    auto* const first = one == nullptr ? nullptr : std::get_if<Request>(&one->request);
    if (first == nullptr || !may_change_places(*first, *request)) return false;
    Message both;
    add(both, *one, std::move(*first));
    several = &last.emplace<Message>(std::move(both));
  }
  if (!may_change_places(first_of(*several), *request)) return false;
  add(*several, next, std::move(*request));
  return true;
}

bool join_notes(RegistryBody& last, const SegmentsMapped& next) {
  auto* const several = std::get_if<SegmentsMapped>(&last);
  if (several == nullptr) return false;
  several->notes.insert(several->notes.end(), next.notes.begin(), next.notes.end());
  return true;
}

}  // namespace

bool join(RegistryBody& last, RegistryBody& next) {
  if (const auto* const notes = std::get_if<SegmentsMapped>(&next)) return join_notes(last, *notes);
  auto* const request = std::get_if<ClientRequest>(&next);
  return request != nullptr &&
         (join_call(last, *request) || join_several<SegmentRequest, SegmentCalls>(last, *request) ||
          join_several<Close, Closes>(last, *request));
}

namespace {

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

MatcherBody body_of(const GrantOrder& order) {
  return std::visit([](const auto& one) { return body_of(one); }, order);
}

void GrantSeries::add(const CreateSegment& create) {
  const bool is_alike = !made.empty() && made.back().bytes == create.bytes;
  if (!is_alike || !made.back().row.extend({create.segment}))
    made.push_back({{create.segment}, create.bytes});
}

void GrantSeries::add(const ClearSegment& clear) {
  const bool is_alike = !cleared.empty() && cleared.back().use == clear.use;
  if (!is_alike || !cleared.back().row.extend({clear.segment}))
    cleared.push_back({{clear.segment}, clear.use});
}

void for_each_message(MatcherBody body, const std::function<void(MatcherBody)>& take) {
  const auto* const several = std::get_if<GrantSeries>(&body);
  if (several == nullptr) return take(std::move(body));
  for (const auto& [row, bytes] : several->made) {
    for (std::uint64_t i = 0; i < row.count; ++i) take(CreateSegment{row.at(i), bytes});
  }
  for (const auto& [row, use] : several->cleared) {
    for (std::uint64_t i = 0; i < row.count; ++i) take(ClearSegment{row.at(i), use});
  }
  for (const GrantSeries::Grant& grant : several->grants) take(body_of(grant));
}

void sort_by_connection(RegistryBody& body) {
  const auto sort = [](auto& list) {
    std::ranges::stable_sort(list, {}, [](const auto& one) { return one.connection; });
  };
  std::visit(
      [&](auto& message) {
        if constexpr (requires { message.callers.front(); }) sort(message.callers);
        if constexpr (requires { message.calls.front(); }) {
          for (auto& call : message.calls) sort(call.callers);
        }
        if constexpr (requires { message.requests.front(); }) sort(message.requests);
        if constexpr (requires { message.notes.front(); }) sort(message.notes);
      },
      body);
}

}  // namespace sluice::runtime
