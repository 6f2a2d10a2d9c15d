#include "dataset_table.hpp"

#include <algorithm>
#include <functional>

namespace sluice::api {
namespace {

/// More than NC_MAX_NFILES, PnetCDF's limit for files on disk: an open coupled file has no descriptor.
constexpr std::size_t max_open_datasets = std::size_t{1} << 20;

struct Table {
  std::mutex mutex;
  std::vector<std::shared_ptr<Dataset>> datasets;  ///< by id
  std::vector<int> free_ids;                       ///< ids without a dataset: a heap with the smallest on top
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
  if (all.free_ids.empty()) {
    if (all.datasets.size() == max_open_datasets)
      throw Error(NC_ENFILE, "too many datasets are open: close some");
    all.datasets.emplace_back();
    all.free_ids.reserve(all.datasets.capacity());  // remove_dataset() must not fail
    all.datasets.back() = dataset;
    return static_cast<int>(all.datasets.size()) - 1;
  }
  std::ranges::pop_heap(all.free_ids, std::greater());
  const int ncid = all.free_ids.back();
  all.free_ids.pop_back();
  all.datasets[static_cast<std::size_t>(ncid)] = dataset;
  return ncid;
}

void remove_dataset(int ncid) noexcept {
  auto& all = table();
  std::shared_ptr<Dataset> last_use;  // destroyed after the lock is released
  const std::lock_guard lock(all.mutex);
  if (ncid < 0 || static_cast<std::size_t>(ncid) >= all.datasets.size()) return;
  std::swap(last_use, all.datasets[static_cast<std::size_t>(ncid)]);
  if (!last_use) return;
  all.free_ids.push_back(ncid);
  std::ranges::push_heap(all.free_ids, std::greater());
}

std::vector<int> open_datasets() {
  auto& all = table();
  const std::lock_guard lock(all.mutex);
  std::vector<int> ids;
  for (std::size_t id = 0; id < all.datasets.size(); ++id) {
    if (all.datasets[id]) ids.push_back(static_cast<int>(id));
  }
  return ids;
}

std::shared_ptr<Dataset> find_dataset(int ncid) {
  auto& all = table();
  const std::lock_guard lock(all.mutex);
  if (ncid < 0 || static_cast<std::size_t>(ncid) >= all.datasets.size()) throw_bad_id(ncid);
  auto dataset = all.datasets[static_cast<std::size_t>(ncid)];
  if (!dataset) throw_bad_id(ncid);
  return dataset;
}

DatasetUse::DatasetUse(int ncid) : dataset_(find_dataset(ncid)), lock_(dataset_->mutex) {
  if (!dataset_->driver) throw_bad_id(ncid);  // another thread closed the dataset meanwhile
}

}  // namespace sluice::api
