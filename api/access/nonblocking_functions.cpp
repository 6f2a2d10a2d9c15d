// Functions for pending requests and the attached buffer: they find the dataset of the id.
#include "dataset_table.hpp"
#include "functions.hpp"
#include "nonblocking.hpp"

namespace sluice::api::ncmpi {

int wait(int ncid, int count, int* array_of_requests, int* array_of_statuses) {
  const DatasetUse dataset(ncid);
  return api::wait(*dataset, count, array_of_requests, array_of_statuses, Mode::independent);
}

int wait_all(int ncid, int count, int* array_of_requests, int* array_of_statuses) {
  const DatasetUse dataset(ncid);
  return api::wait(*dataset, count, array_of_requests, array_of_statuses, Mode::collective);
}

int cancel(int ncid, int num, int* reqs, int* statuses) {
  const DatasetUse dataset(ncid);
  return api::cancel(*dataset, num, reqs, statuses);
}

int buffer_attach(int ncid, MPI_Offset bufsize) {
  const DatasetUse dataset(ncid);
  dataset->requests.attached.attach(bufsize);
  return NC_NOERR;
}

int buffer_detach(int ncid) {
  const DatasetUse dataset(ncid);
  dataset->requests.attached.detach();
  return NC_NOERR;
}

int inq_buffer_usage(int ncid, MPI_Offset* usage) {
  const DatasetUse dataset(ncid);
  const auto bytes = dataset->requests.attached.usage();
  if (usage != nullptr) *usage = bytes;
  return NC_NOERR;
}

int inq_buffer_size(int ncid, MPI_Offset* buf_size) {
  const DatasetUse dataset(ncid);
  const auto bytes = dataset->requests.attached.size();
  if (buf_size != nullptr) *buf_size = bytes;
  return NC_NOERR;
}

int inq_nreqs(int ncid, int* nreqs) {
  const DatasetUse dataset(ncid);
  if (nreqs != nullptr) *nreqs = dataset->requests.size();
  return NC_NOERR;
}

}  // namespace sluice::api::ncmpi
