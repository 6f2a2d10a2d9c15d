#include "dataset_table.hpp"

#include <algorithm>
#include <array>

namespace sluice::api {
namespace {

constexpr int max_open_datasets = 1024;  // NC_MAX_NFILES

struct Table {
  std::mutex mutex;
  std::array<std::shared_ptr<Dataset>, max_open_datasets> datasets;
  int used = 0;  ///< all ids in use are below this number
};

/// The table of open datasets. It is never destroyed: other threads may still run when the process ends.
Table& table() {
  static Table* const only = std::make_unique<Table>().release();
  return *only;
}

[[noreturn]] void throw_bad_id(int ncid) {
  throw Error(NC_EBADID, "ncid " + std::to_string(ncid) + " does not name an open dataset");
}

}  // namespace

int add_dataset(const std::shared_ptr<Dataset>& dataset) {
  auto& all = table();
  const std::lock_guard lock(all.mutex);
  const auto free = std::ranges::find(all.datasets, nullptr);
  if (free == all.datasets.end()) throw Error(NC_ENFILE, "too many datasets are open: close some");
  const int ncid = static_cast<int>(free - all.datasets.begin());
  *free = dataset;
  all.used = std::max(all.used, ncid + 1);
  return ncid;
}

void remove_dataset(int ncid) noexcept {
  auto& all = table();
  std::shared_ptr<Dataset> last_use;  // destroyed after the lock is released
  const std::lock_guard lock(all.mutex);
  if (ncid >= 0 && ncid < all.used) std::swap(last_use, all.datasets[static_cast<std::size_t>(ncid)]);
}

std::vector<int> open_datasets() {
  auto& all = table();
  const std::lock_guard lock(all.mutex);
  std::vector<int> ids;
  for (int id = 0; id < all.used; ++id) {
    if (all.datasets[static_cast<std::size_t>(id)]) ids.push_back(id);
  }
  return ids;
}

std::shared_ptr<Dataset> find_dataset(int ncid) {
  auto& all = table();
  const std::lock_guard lock(all.mutex);
  if (ncid < 0 || ncid >= all.used) throw_bad_id(ncid);
  auto dataset = all.datasets[static_cast<std::size_t>(ncid)];
  if (!dataset) throw_bad_id(ncid);
  return dataset;
}

DatasetUse::DatasetUse(int ncid) : dataset_(find_dataset(ncid)), lock_(dataset_->mutex) {
  if (!dataset_->driver) throw_bad_id(ncid);  // another thread closed the dataset meanwhile
}

}  // namespace sluice::api
