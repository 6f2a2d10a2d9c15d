#include "group_agreement.hpp"

#include <algorithm>

namespace sluice::api {

// In memory

std::uint64_t AgreementInMemory::enter_put(std::uint64_t now) {
  if (is_being_read_) {
    // As in a file: a collective put after a collective get does not change the data that the get reads.
    control_.wait_for_others();
    is_being_read_ = false;
  }
  const std::uint64_t time = control_.time_of_next_call(now);
  control_.enter_collective_call();
  return time;
}

std::uint64_t AgreementInMemory::enter_get(std::uint64_t now) {
  control_.enter_collective_call();
  control_.wait_for_others();
  is_being_read_ = true;
  return now;  // all processes have the same clock
}

std::int64_t AgreementInMemory::agree_record_count(std::int64_t local) {
  control_.raise_record_count(local);
  control_.enter_collective_call();
  is_count_agreed_ = false;
  return local;
}

std::int64_t AgreementInMemory::record_count(std::int64_t local) {
  control_.wait_for_others();
  is_count_agreed_ = true;
  return std::max(local, control_.record_count());
}

std::uint64_t AgreementInMemory::sync(std::uint64_t now) {
  control_.enter_collective_call();
  is_count_agreed_ = false;
  control_.wait_for_others();
  return now;
}

std::int64_t AgreementInMemory::leave(std::int64_t local) noexcept {
  const std::int64_t records = std::max(local, control_.record_count());
  control_.leave();
  return records;
}

// By MPI

std::uint64_t AgreementByMpi::enter_put(std::uint64_t now) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &now, 1, MPI_UINT64_T, MPI_MAX, comm_.get()),
            "agree on the time of a collective put");
  return now;
}

std::int64_t AgreementByMpi::agree_record_count(std::int64_t local) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &local, 1, MPI_INT64_T, MPI_MAX, comm_.get()),
            "agree on the number of records");
  return local;
}

std::uint64_t AgreementByMpi::sync(std::uint64_t now) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &now, 1, MPI_UINT64_T, MPI_MAX, comm_.get()),
            "wait for the other writers");
  return now;
}

}  // namespace sluice::api
