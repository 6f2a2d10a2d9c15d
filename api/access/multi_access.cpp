// mput and mget: one request for each variable, and one wait for all requests.
#include <cstring>
#include <vector>

#include "collective_checks.hpp"
#include "dataset_table.hpp"
#include "guard.hpp"
#include "nonblocking.hpp"
#include "pnetcdf/entry.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::api {
namespace {

/// The i-th user buffer. The pointers may have any type, so they are copied as bytes.
void* buffer_at(const void* buffers, std::size_t i) {
  void* buffer = nullptr;
  std::memcpy(&buffer, static_cast<const char*>(buffers) + i * sizeof(void*), sizeof buffer);
  return buffer;
}

/// The access to the i-th variable of the call, as a nonblocking request.
AccessCall request_for(const MultiAccessCall& call, std::size_t i, int* request) {
  AccessCall one;
  one.verb = call.verb == Verb::put ? Verb::iput : Verb::iget;
  one.shape = call.shape;
  one.is_flexible = call.buffer_types != nullptr;
  one.ncid = call.ncid;
  one.varid = call.varids[i];
  const auto list = [i](MPI_Offset* const* lists) { return lists != nullptr ? lists[i] : nullptr; };
  one.start = list(call.starts);
  one.count = list(call.counts);
  one.stride = list(call.strides);
  one.imap = list(call.imaps);
  one.buffer = buffer_at(call.buffers, i);
  one.buffer_type = one.is_flexible ? call.buffer_types[i] : call.buffer_type;
  if (one.is_flexible) one.buffer_count = call.buffer_counts != nullptr ? call.buffer_counts[i] : -1;
  one.request = request;
  return one;
}

int perform(const MultiAccessCall& call) {
  const DatasetUse dataset(call.ncid);
  if (dataset->in_define_mode) return NC_EINDEFINE;
  if (call.verb == Verb::put && call.variables > 0 && !dataset->is_writable) return NC_EPERM;
  if (call.is_collective == dataset->is_independent) return call.is_collective ? NC_EINDEP : NC_ENOTINDEP;
  const auto variables = static_cast<std::size_t>(call.variables > 0 ? call.variables : 0);
  std::vector<int> requests(variables, -1);
  int status = NC_NOERR;
  for (std::size_t i = 0; i < variables && (status == NC_NOERR || status == NC_ERANGE); ++i) {
    const int own = guard([&] { return post(*dataset, request_for(call, i, &requests[i])); });
    if (own != NC_NOERR) status = own;
  }
  if (call.is_collective) {
    const int shared = status_of_all(*dataset, status);
    if (shared != NC_NOERR) status = shared;
  }
  auto count = static_cast<int>(variables);
  if (status != NC_NOERR && status != NC_ERANGE) {
    // After an error no data is transferred, but this rank still takes part in the wait: the other ranks wait
    // for it.
    cancel(*dataset, count, requests.data(), nullptr);
    count = 0;
  }
  std::vector<int> statuses(variables, NC_NOERR);
  const auto mode = call.is_collective ? Mode::collective : Mode::independent;
  const int waited = wait(*dataset, count, requests.data(), statuses.data(), mode);
  return status != NC_NOERR ? status : waited;
}

}  // namespace

int multi_access(const MultiAccessCall& call) noexcept {
  return guard([&] { return perform(call); });
}

}  // namespace sluice::api
