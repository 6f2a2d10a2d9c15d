#include "carried_dataset.hpp"

#include <map>
#include <mutex>

namespace sluice::api::netcdf {

namespace {

std::mutex table_mutex;

/// By the upper half of the program's id. Like the table of ids of api/dataset: never destroyed, because
/// programs call netCDF while they end.
std::map<int, std::unique_ptr<CarriedDataset>>& open_datasets() {
  static auto& datasets = *new std::map<int, std::unique_ptr<CarriedDataset>>;
  return datasets;
}

int dataset_of(int ncid) noexcept {
  return ncid & ~group_bits;
}

}  // namespace

CarriedDataset* find_carried(int ncid) noexcept {
  const std::lock_guard lock(table_mutex);
  const auto found = open_datasets().find(dataset_of(ncid));
  return found == open_datasets().end() ? nullptr : found->second.get();
}

void add_carried(int ncid, std::unique_ptr<CarriedDataset> dataset) {
  const std::lock_guard lock(table_mutex);
  open_datasets()[dataset_of(ncid)] = std::move(dataset);
}

void remove_carried(int ncid) noexcept {
  const std::lock_guard lock(table_mutex);
  open_datasets().erase(dataset_of(ncid));
}

}  // namespace sluice::api::netcdf
