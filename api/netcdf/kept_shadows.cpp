#include "kept_shadows.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

namespace sluice::api::netcdf {

namespace {

constexpr std::size_t most_shadows = 4;
constexpr std::size_t most_bytes_of_shadow = std::size_t{8}
                                             << 20;  // of a shadow's file: larger ones are closed

std::mutex shadows_mutex;

/// What is left of datasets that are closed; the newest first. Never destroyed, because programs call netCDF
/// while they end.
auto& kept_shadows() {
  static auto& shadows = *new std::list<CarriedDataset>;
  return shadows;
}

}  // namespace

bool take_kept_shadow(CarriedDataset& dataset) {
  if (dataset.is_writable || dataset.described->is_altered) return false;
  const std::lock_guard lock(shadows_mutex);
  auto& shadows = kept_shadows();
  const auto found = std::ranges::find_if(shadows, [&](CarriedDataset& kept) {
    return kept.library == dataset.library && kept.header == dataset.header &&
           kept.described->serve(dataset.coupled);
  });
  if (found == shadows.end()) return false;
  dataset.shadow = found->shadow;
  dataset.described = std::move(found->described);
  shadows.erase(found);
  return true;
}

int keep_shadow(CarriedDataset& dataset) {
  if (dataset.described->is_altered || dataset.header.size() > most_bytes_of_shadow)
    return dataset.ask("nc_close");
  CarriedDataset kept{dataset.library, {}, {}};
  kept.shadow = std::exchange(dataset.shadow, -1);
  kept.header = std::move(dataset.header);
  kept.described = std::move(dataset.described);
  const std::lock_guard lock(shadows_mutex);
  auto& shadows = kept_shadows();
  shadows.push_front(std::move(kept));
  if (shadows.size() <= most_shadows) return 0;
  CarriedDataset last = std::move(shadows.back());
  shadows.pop_back();
  return last.ask("nc_close");
}

}  // namespace sluice::api::netcdf
