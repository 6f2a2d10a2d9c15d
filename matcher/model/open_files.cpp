#include "sluice/matcher/open_files.hpp"

#include <algorithm>

namespace sluice::matcher {

void OpenFiles::note(const WrittenFile& file, Known known) {
  end(file);
  for (const DatasetKey& key : known.keys) by_key_.emplace(key, file);
  files_.emplace(file, std::move(known));
}

void OpenFiles::end(const WrittenFile& file) {
  const auto ended = files_.extract(file);
  if (ended.empty()) return;
  for (const DatasetKey& key : ended.mapped().keys) by_key_.erase({key, file});
}

bool OpenFiles::has(const DatasetKey& key, const WrittenFile& besides) const {
  auto known = by_key_.lower_bound({key, {}});
  if (known != by_key_.end() && known->second == besides) ++known;
  return known != by_key_.end() && known->first == key;
}

void OpenFiles::for_each(const std::function<void(const DatasetKey& key, bool is_closed)>& take) const {
  for (const auto& [key, file] : by_key_) take(key, files_.at(file).is_closed);
}

bool OpenFiles::has_closed(const std::function<bool(const WrittenFile&)>& is_meant) const {
  return std::ranges::any_of(files_,
                             [&](const auto& file) { return file.second.is_closed && is_meant(file.first); });
}

WrittenFile OpenFiles::closed(const DatasetKey& key) const {
  return newest(key, [](const Known& known) { return known.is_closed; });
}

WrittenFile OpenFiles::open(const DatasetKey& key) const {
  return newest(key, [](const Known& known) { return !known.is_closed && !known.is_in_place; });
}

WrittenFile OpenFiles::newest(const DatasetKey& key,
                              const std::function<bool(const Known&)>& is_meant) const {
  WrittenFile newest;
  for (auto known = by_key_.lower_bound({key, {}}); known != by_key_.end() && known->first == key; ++known) {
    if (is_meant(files_.at(known->second))) newest = known->second;
  }
  return newest;
}

}  // namespace sluice::matcher
