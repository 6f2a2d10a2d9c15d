#include "open_directories.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <functional>
#include <utility>

namespace sluice::files {

CoupledEntries::CoupledEntries(std::vector<std::string> names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (std::string& name : names) {
    if (name.size() < sizeof entry_.d_name) names_.push_back({std::move(name), false});
  }
}

void CoupledEntries::note_on_disk(const char* name) {
  const auto found = std::ranges::lower_bound(names_, name, std::less<>{}, &Name::text);
  if (found != names_.end() && found->text == name) found->is_on_disk = true;
}

void CoupledEntries::rewind() noexcept {
  next_ = 0;
  is_begun_ = false;
}

dirent64* CoupledEntries::next() noexcept {
  while (next_ < names_.size() && names_[next_].is_on_disk) ++next_;
  if (next_ == names_.size()) return nullptr;
  const std::string& name = names_[next_++].text;
  entry_.d_ino = std::hash<std::string>{}(name) | 1;  // 0 would be a deleted entry
  entry_.d_off = 0;
  entry_.d_reclen = sizeof entry_;
  entry_.d_type = DT_REG;
  std::memcpy(entry_.d_name, name.c_str(), name.size() + 1);
  return &entry_;
}

long CoupledEntries::place() const noexcept {
  return LONG_MIN + static_cast<long>(next_);
}

void CoupledEntries::go_to(long place) noexcept {
  next_ = std::min(static_cast<std::size_t>(place - LONG_MIN), names_.size());
  is_begun_ = true;
}

CoupledEntries* OpenDirectories::find(DIR* directory) {
  if (count_.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(directory);
  return found == entries_.end() ? nullptr : found->second.get();
}

void OpenDirectories::add(DIR* directory, std::vector<std::string> names) {
  if (names.empty()) return;
  auto entries = std::make_unique<CoupledEntries>(std::move(names));
  const std::lock_guard lock(mutex_);
  entries_[directory] = std::move(entries);
  count_.store(entries_.size());
}

void OpenDirectories::remove(DIR* directory) {
  if (count_.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(mutex_);
  entries_.erase(directory);
  count_.store(entries_.size());
}

}  // namespace sluice::files
