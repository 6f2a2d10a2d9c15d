#include "stream_visits.hpp"

#include <algorithm>
#include <utility>

namespace sluice::files {

namespace {

/// Whether the program has the file open: numbers from first_hidden_number on are this library's.
bool is_open(const FileIdentity& file) noexcept {
  for (int descriptor = 0; descriptor < first_hidden_number; ++descriptor)
    if (identity_of(descriptor) == file) return true;
  return false;
}

}  // namespace

StreamVisits::Visit* StreamVisits::find(const std::string& file) {
  const auto visit = std::ranges::find(visits_, file, &Visit::file);
  return visit == visits_.end() || !visit->image.is_there() ? nullptr : &*visit;
}

runtime::FileDescriptor StreamVisits::open(const std::string& file, const void* site) {
  const std::lock_guard lock(mutex_);
  Visit* const visit = find(file);
  if (visit == nullptr || std::ranges::find(visit->sites, site) != visit->sites.end()) return {};
  visit->sites.push_back(site);
  looks_[file].has_looked = false;
  return hidden_duplicate(visit->image.number());
}

runtime::FileDescriptor StreamVisits::look(const std::string& file) {
  const std::lock_guard lock(mutex_);
  const Visit* const visit = find(file);
  if (visit != nullptr && is_open(identity_of(visit->image.number())))
    return hidden_duplicate(visit->image.number());
  Looks& looks = looks_[file];
  const bool is_for_present = visit != nullptr && !looks.has_looked && !looks.is_ahead;
  looks.has_looked = true;
  return is_for_present ? hidden_duplicate(visit->image.number()) : runtime::FileDescriptor{};
}

void StreamVisits::begin(const std::string& file, const void* site, const runtime::FileDescriptor& image) {
  const std::lock_guard lock(mutex_);
  std::erase_if(visits_, [&](const Visit& visit) { return visit.file == file; });
  visits_.push_back({file, HiddenDescriptor(hidden_duplicate(image.number())), {site}});
  Looks& looks = looks_[file];
  looks.is_ahead = looks.is_ahead || looks.has_looked;
  looks.has_looked = false;
}

}  // namespace sluice::files
