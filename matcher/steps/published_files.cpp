#include "published_files.hpp"

#include <string_view>

namespace sluice::matcher {

namespace {

constexpr std::size_t most_in_a_part = 1000;

}  // namespace

std::string_view directory_of(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {};
  return path.substr(0, slash == 0 ? 1 : slash);
}

void PublishedFiles::note_published(const Step& step) {
  Dataset& dataset = parts_.datasets[step.key];
  dataset.published_at_ms = parts_.now_ms();
  dataset.removed_by.clear();
  by_publication_.erase(dataset.publication);
  dataset.publication = ++publications_;
  by_publication_.emplace(publications_, step.key);
  const std::string_view directory = directory_of(step.path);
  auto entry = by_directory_.find(directory);
  if (entry == by_directory_.end()) entry = by_directory_.try_emplace(std::string(directory)).first;
  entry->second.insert(step.key);
}

void PublishedFiles::forget(const DatasetKey& key, const Dataset& dataset) {
  by_publication_.erase(dataset.publication);
  const auto directory = by_directory_.find(directory_of(key.name));
  if (directory == by_directory_.end()) return;
  directory->second.erase(key);
  if (directory->second.empty()) by_directory_.erase(directory);
}

Listing PublishedFiles::list(const ListRequest& request) {
  if (request.newer_than) return list_newer(*request.newer_than);
  return request.directory.empty() ? list_all(request) : list_directory(request);
}

PublishedFiles::Presence PublishedFiles::add(const DatasetKey& key, const Dataset& dataset,
                                             Listing& listing) const {
  const Step* const newest = dataset.newest;
  const bool is_kept = newest == nullptr && dataset.is_recycled && !dataset.kept_path.empty();
  if (newest == nullptr && !is_kept) return dataset.is_recycled ? Presence::gone : Presence::never;
  const bool is_in_memory = newest != nullptr && !newest->is_in_files;
  listing.files.push_back({key, parts_.names.of(key), newest != nullptr ? newest->path : dataset.kept_path,
                           is_in_memory ? newest->id : 0, 0, parts_.now_ms() - dataset.published_at_ms,
                           dataset.publication});
  return Presence::here;
}

Listing PublishedFiles::list_all(const ListRequest& request) const {
  Listing listing;
  if (!request.after)
    for (const auto& [rule, sum] : parts_.datasets.folded()) listing.gone += sum.files;
  const auto& all = parts_.datasets.all();
  auto entry = request.after ? all.upper_bound(*request.after) : all.begin();
  for (std::size_t count = 0; entry != all.end(); ++entry) {
    if (add(entry->first, entry->second, listing) == Presence::gone) ++listing.gone;
    if (++count < most_in_a_part) continue;
    if (std::next(entry) != all.end()) listing.last = entry->first;
    break;
  }
  return listing;
}

Listing PublishedFiles::list_newer(std::uint64_t publication) const {
  Listing listing;
  auto entry = by_publication_.upper_bound(publication);
  for (std::size_t count = 0; entry != by_publication_.end() && count < most_in_a_part; ++entry, ++count)
    (void)add(entry->second, parts_.datasets.at(entry->second), listing);
  return listing;
}

Listing PublishedFiles::list_directory(const ListRequest& request) {
  Listing listing;
  const auto directory = by_directory_.find(request.directory);
  if (directory == by_directory_.end()) return listing;
  std::set<DatasetKey>& keys = directory->second;
  auto key = request.after ? keys.upper_bound(*request.after) : keys.begin();
  for (std::size_t count = 0; key != keys.end() && count < most_in_a_part; ++count) {
    Dataset& dataset = parts_.datasets[*key];
    dataset.note_missed_by(request.component, parts_.rules.of(*key));
    const bool is_hidden = dataset.removed_by.contains(request.component);
    const bool is_here = is_hidden || add(*key, dataset, listing) == Presence::here;
    if (is_here) listing.last = *key;
    // The disk shows it, or has lost it.
    if (is_here && !is_hidden && !request.component.empty() && listing.files.back().step == 0)
      listing.files.pop_back();
    key = is_here ? std::next(key) : keys.erase(key);
  }
  if (key == keys.end()) listing.last.reset();
  if (keys.empty()) by_directory_.erase(directory);
  return listing;
}

}  // namespace sluice::matcher
