#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "dataset.hpp"

namespace sluice::api {

/// Gives the dataset the smallest free id. Throws Error(NC_ENFILE) if a million datasets are open.
int add_dataset(const std::shared_ptr<Dataset>& dataset);

/// Frees the id if it is in use.
void remove_dataset(int ncid) noexcept;

/// The ids in use, ascending.
[[nodiscard]] std::vector<int> open_datasets();

/// A dataset during one call: looked up, kept alive and locked.
class DatasetUse {
 public:
  /// Throws Error(NC_EBADID).
  explicit DatasetUse(int ncid);
  [[nodiscard]] Dataset& operator*() const noexcept { return *dataset_; }
  [[nodiscard]] Dataset* operator->() const noexcept { return dataset_.get(); }

 private:
  std::shared_ptr<Dataset> dataset_;  // shared with the table and with other threads' calls
  std::unique_lock<std::recursive_mutex> lock_;
};

}  // namespace sluice::api
