#include "carried_dataset.hpp"

#include <mpi.h>
#include <pthread.h>

#include <atomic>
#include <map>
#include <mutex>

#include "dataset_table.hpp"
#include "sluice/formats/names.hpp"
#include "sluice/formats/netcdf4.hpp"

namespace sluice::api::netcdf {

namespace {

std::mutex table_mutex;
std::atomic<int> forks = 0;

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

int forks_so_far() noexcept {
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);  // without memory for it, a child's calls fail
  return forks.load(std::memory_order_relaxed);
}

std::optional<formats::Attribute> CarriedDataset::changed_attribute(int group, int varid,
                                                                    const char* name) const {
  const bool may_be = described != nullptr && !is_writable && !is_plain() && name != nullptr;
  if (!may_be || (varid == global && group != 0)) return std::nullopt;
  std::optional<formats::Attribute> found;
  const int id = varid == global ? global : described->find(group, varid);
  const DatasetUse use(coupled);
  const auto look = [&](int variable, const formats::Attribute& changed) {
    if (variable == id && changed.name == formats::normalised_name(name)) found = changed;
  };
  formats::for_each_netcdf4_change(use->netcdf4_changes, use->header, look);
  return found;
}

CarriedDataset* find_carried(int ncid) noexcept {
  const std::lock_guard lock(table_mutex);
  const auto found = open_datasets().find(dataset_of(ncid));
  return found == open_datasets().end() ? nullptr : found->second.get();
}

std::shared_ptr<CarriedDataset> find_written(const std::string& file) {
  const std::lock_guard lock(table_mutex);
  for (const auto& [ncid, dataset] : open_datasets()) {
    const bool is_defined = dataset->described != nullptr || !dataset->in_define_mode;
    if (is_defined && dataset->forks == forks && dataset->is_writable && !dataset->is_parallel &&
        dataset->file == file)
      return dataset;
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

std::vector<int> carried_ids() {
  const std::lock_guard lock(table_mutex);
  std::vector<int> ids;
  for (const auto& [ncid, dataset] : open_datasets()) ids.push_back(ncid);
  return ids;
}

void remove_carried(int ncid) noexcept {
  const std::lock_guard lock(table_mutex);
  open_datasets().erase(dataset_of(ncid));
}

}  // namespace sluice::api::netcdf
