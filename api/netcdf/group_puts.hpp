#pragma once
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sluice::api::netcdf {

struct CarriedDataset;
struct CarriedGroup;

/// What a rank of a group has put into variables whose values are in the shadow. Each rank has a shadow of
/// its own, so all get the puts of all with the next collective call that shows the file to readers.
class GroupPuts {
 public:
  struct Place {
    int group = 0;  ///< lower half of an id
    int varid = 0;
    std::vector<std::size_t> start, count;  ///< these have one element more than there are dimensions
    std::vector<std::ptrdiff_t> stride;
  };

  /// By the shadow's group and variable: whether puts are collective. Others: independent.
  std::map<std::array<int, 2>, bool> collective;

  /// Whether values of the variable can go to other ranks: they are no pointers, as strings are. Parallel
  /// HDF5 does not write those either.
  [[nodiscard]] static bool can_share(const CarriedGroup& group, int type);
  /// The shadow has the values.
  void add(Place put) { puts_.push_back(std::move(put)); }
  /// Collective, before a sync or close. Returns a status.
  int exchange(CarriedDataset& dataset);

 private:
  [[nodiscard]] std::string take(CarriedDataset& dataset);

  std::vector<Place> puts_;
};

}  // namespace sluice::api::netcdf
