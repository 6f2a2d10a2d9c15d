#include "request_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::api {

Access PendingRequest::access() const noexcept {
  Access access;
  access.varid = varid;
  access.slabs = slabs->views();
  access.buffer = buffer;
  access.memory = memory;
  access.elements = elements;
  access.is_taken = ticket.has_value();
  return access;
}

int RequestQueue::post(Kind kind, PendingRequest request) {
  auto& requests = list(kind);
  int& next_id = kind == Kind::put ? next_put_id_ : next_get_id_;
  if (requests.empty()) next_id = kind == Kind::put ? 0 : 1;
  request.id = next_id;
  next_id += 2;
  requests.push_back(std::move(request));
  return requests.back().id;
}

bool RequestQueue::contains(int id) const noexcept {
  if (id < 0) return false;
  return std::ranges::binary_search(id % 2 == 0 ? puts_ : gets_, id, {}, &PendingRequest::id);
}

std::vector<PendingRequest> RequestQueue::take_all(Kind kind) {
  auto& requests = list(kind);
  std::vector<PendingRequest> taken;
  taken.reserve(requests.size());
  std::ranges::move(requests, std::back_inserter(taken));
  requests.clear();
  release(taken);
  return taken;
}

std::vector<PendingRequest> RequestQueue::take(Kind kind, std::span<const int> ids) {
  auto& requests = list(kind);
  std::vector<PendingRequest> taken;
  if (ids.empty()) return taken;
  taken.reserve(ids.size());
  const auto is_taken = [&](const PendingRequest& request) {
    return std::ranges::binary_search(ids, request.id);
  };
  const auto first = std::ranges::lower_bound(requests, ids.front(), {}, &PendingRequest::id);
  const auto last = std::ranges::upper_bound(first, requests.end(), ids.back(), {}, &PendingRequest::id);
  auto kept = first;
  for (auto it = first; it != last; ++it) {
    if (is_taken(*it)) {
      taken.push_back(std::move(*it));
    } else if (kept != it) {
      *kept++ = std::move(*it);
    } else {
      ++kept;
    }
  }
  requests.erase(kept, last);
  release(taken);
  return taken;
}

void RequestQueue::release(std::span<const PendingRequest> taken) noexcept {
  for (const auto& request : taken) {
    if (request.attached_slot >= 0) attached.release(request.attached_slot);
  }
  if (empty()) recent_slabs.clear();
}

}  // namespace sluice::api
