#include "carried_dataset.hpp"

#include <map>
#include <mutex>

namespace sluice::api::netcdf {

namespace {

std::mutex table_mutex;

/// By the upper half of the program's id. Like the table of ids of api/dataset: never destroyed, because
/// programs call netCDF while they end.
std::map<int, std::shared_ptr<CarriedDataset>>& open_datasets() {
  static auto& datasets = *new std::map<int, std::shared_ptr<CarriedDataset>>;
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

std::shared_ptr<CarriedDataset> find_written(const std::string& file) {
  const std::lock_guard lock(table_mutex);
  for (const auto& [ncid, dataset] : open_datasets()) {
    const bool is_defined = dataset->described != nullptr || !dataset->in_define_mode;
    if (is_defined && dataset->is_writable && !dataset->is_parallel && dataset->file == file) return dataset;
  }
  return nullptr;
}

bool has_other_ids(int ncid) noexcept {
  const std::lock_guard lock(table_mutex);
  return open_datasets().at(dataset_of(ncid)).use_count() > 1;
}

void add_carried(int ncid, std::shared_ptr<CarriedDataset> dataset) {
  const std::lock_guard lock(table_mutex);
  open_datasets()[dataset_of(ncid)] = std::move(dataset);
}

void remove_carried(int ncid) noexcept {
  const std::lock_guard lock(table_mutex);
  open_datasets().erase(dataset_of(ncid));
}

}  // namespace sluice::api::netcdf
