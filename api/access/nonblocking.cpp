#include "nonblocking.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "guard.hpp"
#include "prepared_access.hpp"
#include "sluice/formats/convert.hpp"
#include "transfer.hpp"

namespace sluice::api {

using Kind = RequestQueue::Kind;

namespace {

constexpr int null_request = -1;      // NC_REQ_NULL
constexpr int all_requests = -1;      // NC_REQ_ALL
constexpr int all_get_requests = -2;  // NC_GET_REQ_ALL
constexpr int all_put_requests = -3;  // NC_PUT_REQ_ALL

/// Puts of up to this many bytes are copied when they are posted. A program must not change the buffer before
/// the wait. But programs that do so work with PnetCDF, which copies small data.
constexpr std::int64_t copied_at_once_bytes = 4096;

/// Copies the elements of a put into the request, in the variable's type. Returns NC_NOERR or NC_ERANGE.
int stage(const Dataset& dataset, PreparedAccess& prepared, PendingRequest& request) {
  const auto& header = dataset.header;
  const auto external = header.variable(request.varid).type;
  const bool byte_is_unsigned = header.version != formats::Version::cdf5;
  request.staging = dense_row(external, request.elements);
  const bool is_plain = formats::is_plain_copy(external, request.memory, byte_is_unsigned);
  int status = NC_NOERR;
  if (prepared.scattered && is_plain) {
    prepared.scattered->gather(request.staging.get());
  } else {
    std::unique_ptr<std::byte[]> row;
    if (prepared.scattered) {
      row = dense_row(request.memory, request.elements);
      prepared.scattered->gather(row.get());
    }
    std::array<std::byte, 8> fill{};
    header.fill_value(request.varid, fill.data());
    status = formats::convert_put(external, request.staging.get(), request.memory,
                                  row ? row.get() : request.buffer, request.elements, fill.data(),
                                  byte_is_unsigned);
  }
  request.buffer = request.staging.get();
  request.memory = external;
  return status;
}

bool is_staged(const Dataset& dataset, const AccessCall& call, const PreparedAccess& prepared,
               formats::Type external) noexcept {
  if (call.verb == Verb::bput || prepared.scattered || dataset.copies_posted_puts) return true;
  const auto& access = prepared.access;
  if (access.memory != external) return true;
  return access.elements * static_cast<std::int64_t>(formats::size_of(external)) <= copied_at_once_bytes;
}

/// Passes the elements of a put to a driver that keeps puts, or copies them where needed. Returns NC_NOERR or
/// NC_ERANGE. For puts that the driver keeps, its flush reports NC_ERANGE.
int keep_data(Dataset& dataset, const AccessCall& call, PreparedAccess& prepared, PendingRequest& request) {
  const bool is_scattered = prepared.scattered != nullptr;
  int status = is_scattered ? stage(dataset, prepared, request) : NC_NOERR;
  if (!dataset.in_define_mode) {
    Access access = request.access();
    access.status = status;
    request.ticket = dataset.driver->post_put(dataset.header, access);
    if (request.ticket) {
      request.staging.reset();
      request.buffer = nullptr;
      return NC_NOERR;
    }
  }
  const auto external = dataset.header.variable(call.varid).type;
  if (!is_scattered && is_staged(dataset, call, prepared, external))
    status = stage(dataset, prepared, request);
  return status;
}

int post_put(Dataset& dataset, const AccessCall& call, PreparedAccess& prepared, PendingRequest request) {
  auto& queue = dataset.requests;
  const auto external = dataset.header.variable(call.varid).type;
  int status = NC_NOERR;
  if (call.verb == Verb::bput && needs_attached_buffer(dataset)) {
    request.attached_slot =
        queue.attached.reserve(request.elements * static_cast<std::int64_t>(formats::size_of(external)));
  }
  try {
    status = keep_data(dataset, call, prepared, request);
  } catch (...) {
    if (request.attached_slot >= 0) queue.attached.release(request.attached_slot);
    throw;
  }
  const int id = queue.post(Kind::put, std::move(request));
  if (call.request != nullptr) *call.request = id;
  return status;
}

}  // namespace

int post(Dataset& dataset, const AccessCall& call) {
  if (call.request != nullptr) *call.request = null_request;
  if (const int status = check_mode(dataset, call); status != NC_NOERR) return status;
  PreparedAccess prepared;
  if (const int status = prepare(dataset, call, prepared); status != NC_NOERR) return status;
  if (prepared.is_empty()) return NC_NOERR;

  const auto& access = prepared.access;
  PendingRequest request;
  request.varid = access.varid;
  request.memory = access.memory;
  request.elements = access.elements;
  request.buffer = access.buffer;
  request.slabs = prepared.selection.keep(dataset.requests.recent_slabs);
  if (is_put(call.verb)) {
    request.record_end = prepared.record_end;
    return post_put(dataset, call, prepared, std::move(request));
  }
  request.scattered = std::move(prepared.scattered);
  request.is_long = prepared.is_long;
  const int id = dataset.requests.post(Kind::get, std::move(request));
  if (call.request != nullptr) *call.request = id;
  return NC_NOERR;
}

namespace {

/// The checked ids of a wait or cancel.
class RequestedIds {
 public:
  /// Sets the status of every id: NC_NOERR, or NC_EINVAL_REQUEST for an id that is not pending or appears
  /// twice. With `forgives_puts` the id of a put that is not pending gets NC_EINVAL_REQUEST, but is valid.
  RequestedIds(const RequestQueue& queue, std::span<int> ids, int* statuses, bool forgives_puts)
      : ids_(ids), statuses_(statuses) {
    std::vector<std::pair<int, std::size_t>> places;
    places.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      set_status(i, NC_NOERR);
      if (ids[i] != null_request) places.emplace_back(ids[i], i);
    }
    std::ranges::sort(places);
    sorted_.reserve(places.size());
    for (const auto& [id, place] : places) {
      const bool is_repeated = !sorted_.empty() && sorted_.back() == id;
      if (is_repeated || !queue.contains(id)) {
        set_status(place, NC_EINVAL_REQUEST);
        unknown_.push_back(place);
        if (!forgives_puts || id % 2 != 0) is_valid_ = false;
      } else {
        sorted_.push_back(id);
      }
    }
  }

  [[nodiscard]] bool is_valid() const noexcept { return is_valid_; }
  /// Whether all ids are different pending requests.
  [[nodiscard]] bool is_exact() const noexcept { return sorted_.size() == ids_.size(); }
  /// The valid ids.
  [[nodiscard]] std::span<const int> sorted() const noexcept { return sorted_; }

  /// Sets the statuses of completed requests; the user's ids become NC_REQ_NULL.
  void complete(std::span<const PendingRequest> requests, std::span<const Access> accesses) {
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      const auto found = std::ranges::lower_bound(requests, ids_[i], {}, &PendingRequest::id);
      if (found == requests.end() || found->id != ids_[i]) continue;
      if (std::ranges::find(unknown_, i) != unknown_.end()) continue;  // named before
      set_status(i, accesses[static_cast<std::size_t>(found - requests.begin())].status);
    }
  }
  /// Same as complete(), if the ids were not checked.
  void complete_in_order(std::span<const Access> accesses) {
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      set_status(i, accesses[i].status);
      ids_[i] = null_request;
    }
  }
  void forget(std::span<const int> valid) {
    for (auto& id : ids_) {
      if (std::ranges::binary_search(valid, id)) id = null_request;
    }
  }

 private:
  void set_status(std::size_t i, int status) noexcept {
    if (statuses_ != nullptr) statuses_[i] = status;
  }

  std::span<int> ids_;
  int* statuses_;
  std::vector<int> sorted_;
  std::vector<std::size_t> unknown_;  ///< positions of the other ids
  bool is_valid_ = true;
};

std::span<int> as_span(int count, int* ids) {
  if (count <= 0) return {};
  if (ids == nullptr) throw Error(NC_EINVAL, "the array of request ids is a null pointer");
  return {ids, static_cast<std::size_t>(count)};
}

/// Requests of one kind that are being completed, and the driver's result for each.
struct Batch {
  std::vector<PendingRequest> requests;
  std::vector<Access> accesses;

  explicit Batch(std::vector<PendingRequest> taken) : requests(std::move(taken)) {
    accesses.reserve(requests.size());
    for (auto& request : requests) {
      if (request.scattered) {  // gets only
        request.staging = dense_row(request.memory, request.elements);
        request.buffer = request.staging.get();
      }
      accesses.push_back(request.access());
    }
  }

  [[nodiscard]] int first_error() const noexcept {
    for (const auto& access : accesses) {
      if (access.status != NC_NOERR) return access.status;
    }
    return NC_NOERR;
  }
};

/// Runs one transfer. An exception becomes the status of all accesses that have none, and of the result.
template <class Transfer>
int run(Batch& batch, const Transfer& transfer) {
  const int failure = guard([&] {
    transfer();
    return NC_NOERR;
  });
  if (failure == NC_NOERR) return batch.first_error();
  for (auto& access : batch.accesses) {
    if (access.status == NC_NOERR) access.status = failure;
  }
  return failure;
}

int complete(Dataset& dataset, Batch& puts, Batch& gets, Mode mode) {
  std::int64_t record_end = 0;
  for (const auto& request : puts.requests) record_end = std::max(record_end, request.record_end);
  int status = NC_NOERR;
  if (dataset.is_writable) {
    status = run(puts, [&] {
      transfer_put(dataset, puts.accesses, record_end, mode);
      dataset.driver->flush(mode);
    });
    const int of_flush = dataset.driver->take_flush_status();
    if (status == NC_NOERR) status = of_flush;
  }
  const int get_status = run(gets, [&] { transfer_get(dataset, gets.accesses, mode); });
  for (std::size_t i = 0; i < gets.requests.size(); ++i) {
    const auto& request = gets.requests[i];
    const int own = gets.accesses[i].status;
    if (own == NC_ERANGE && request.is_long)
      fill_longs(static_cast<std::int64_t*>(request.buffer), request.elements);
    if (request.scattered && (own == NC_NOERR || own == NC_ERANGE))
      request.scattered->scatter(request.buffer);
  }
  return status != NC_NOERR ? status : get_status;
}

/// Takes part in a collective wait with an empty request, and returns `status`.
int complete_nothing(Dataset& dataset, Mode mode, int status) {
  Batch none({});
  Batch none_either({});
  const int others = complete(dataset, none, none_either, mode);
  return status != NC_NOERR ? status : others;
}

int wait_for_all(Dataset& dataset, int count, Mode mode) {
  auto& queue = dataset.requests;
  Batch puts(count == all_get_requests ? std::vector<PendingRequest>{} : queue.take_all(Kind::put));
  Batch gets(count == all_put_requests ? std::vector<PendingRequest>{} : queue.take_all(Kind::get));
  return complete(dataset, puts, gets, mode);
}

/// Completes all pending requests in the order of posting; all are of one kind.
int wait_for_as_many(Dataset& dataset, RequestedIds& requested, Mode mode) {
  auto& queue = dataset.requests;
  Batch puts(queue.take_all(Kind::put));
  Batch gets(queue.take_all(Kind::get));
  const int status = complete(dataset, puts, gets, mode);
  requested.complete_in_order(puts.accesses.empty() ? gets.accesses : puts.accesses);
  return status;
}

/// Withdraws these puts from the driver. The status of a put that is already in the file is NC_EFLUSHED. As
/// in PnetCDF, this is not an error of the call.
void withdraw(Dataset& dataset, Batch& puts) {
  for (std::size_t i = 0; i < puts.requests.size(); ++i) {
    const auto& ticket = puts.requests[i].ticket;
    if (!ticket) continue;
    puts.accesses[i].status =
        guard([&] { return dataset.driver->withdraw_put(*ticket) ? NC_NOERR : NC_EFLUSHED; });
  }
}

bool names_all(int count) noexcept {
  return count == all_requests || count == all_get_requests || count == all_put_requests;
}

}  // namespace

int wait(Dataset& dataset, int count, int* ids, int* statuses, Mode mode) {
  if (dataset.in_define_mode) return NC_EINDEFINE;
  const bool is_collective = mode == Mode::collective;
  if (is_collective == dataset.is_independent) return is_collective ? NC_EINDEP : NC_ENOTINDEP;
  if (names_all(count)) return wait_for_all(dataset, count, mode);
  if (count > 0 && ids == nullptr) return complete_nothing(dataset, mode, NC_EINVAL);

  auto& queue = dataset.requests;
  const bool goes_by_ids = dataset.driver->takes_posted_puts();
  RequestedIds requested(queue, as_span(count, ids), statuses, goes_by_ids);
  // As in PnetCDF, a program need not keep the ids if it waits for all pending requests. PnetCDF's Fortran
  // interface returns no id for a put with NC_ERANGE.
  if (!goes_by_ids && !requested.is_exact() && queue.is_one_kind_of(count))
    return wait_for_as_many(dataset, requested, mode);
  if (!requested.is_valid()) return complete_nothing(dataset, mode, NC_EINVAL_REQUEST);
  Batch puts(queue.take(Kind::put, requested.sorted()));
  Batch gets(queue.take(Kind::get, requested.sorted()));
  const int status = complete(dataset, puts, gets, mode);
  requested.complete(puts.requests, puts.accesses);
  requested.complete(gets.requests, gets.accesses);
  requested.forget(requested.sorted());
  return status;
}

int cancel(Dataset& dataset, int count, int* ids, int* statuses) {
  auto& queue = dataset.requests;
  if (names_all(count)) {
    if (count != all_get_requests) {
      Batch puts(queue.take_all(Kind::put));
      withdraw(dataset, puts);
    }
    if (count != all_put_requests) static_cast<void>(queue.take_all(Kind::get));
    return NC_NOERR;
  }
  if (count < 0) return NC_EINVAL;
  RequestedIds requested(queue, as_span(count, ids), statuses, dataset.driver->takes_posted_puts());
  Batch puts(queue.take(Kind::put, requested.sorted()));
  withdraw(dataset, puts);
  requested.complete(puts.requests, puts.accesses);
  static_cast<void>(queue.take(Kind::get, requested.sorted()));
  requested.forget(requested.sorted());
  return requested.is_valid() ? NC_NOERR : NC_EINVAL_REQUEST;
}

}  // namespace sluice::api
