#include "carried_dataset.hpp"

#include <map>
#include <mutex>

namespace sluice::api::netcdf {

namespace {
struct Table {
  std::mutex mutex;
  std::map<int, std::unique_ptr<CarriedDataset>> datasets;  ///< by the program's id
};

/// Like the table of ids of api/dataset: never destroyed, because programs call netCDF while they end.
Table& open_datasets() {
  static Table& datasets = *new Table;
  return datasets;
}
}  // namespace

CarriedDataset* find_carried(int ncid) noexcept {
  const std::lock_guard lock(open_datasets().mutex);
  const auto found = open_datasets().datasets.find(ncid);
  return found == open_datasets().datasets.end() ? nullptr : found->second.get();
}

void add_carried(int ncid, std::unique_ptr<CarriedDataset> dataset) {
  const std::lock_guard lock(open_datasets().mutex);
  open_datasets().datasets[ncid] = std::move(dataset);
}

void remove_carried(int ncid) noexcept {
  const std::lock_guard lock(open_datasets().mutex);
  open_datasets().datasets.erase(ncid);
}

}  // namespace sluice::api::netcdf
