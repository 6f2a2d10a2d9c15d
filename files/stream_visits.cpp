#include "stream_visits.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::files {

namespace {

constexpr int no_number = -1;
constexpr int most_numbers = 65536;

int numbers_of_process() noexcept {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return first_hidden_number;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, most_numbers));
}

/// The lowest descriptor of the file below `end`, other than `except`.
int find_number(const FileIdentity& file, int end, int except = no_number) noexcept {
  for (int number = 0; number < end; ++number)
    if (number != except && identity_of(number) == file) return number;
  return no_number;
}

/// Not the next step, silently.
runtime::FileDescriptor duplicate_of(int number) {
  runtime::FileDescriptor made = hidden_duplicate(number);
  if (!made) throw Error(NC_ENFILE, "no file descriptor is left for a step of a stream");
  return made;
}

}  // namespace

/// A descriptor of its image; `no_number` where there is none any more.
int StreamVisits::number_of(const Visit& visit) const {
  return visit.image.is_there() ? visit.image.number() : find_number(visit.identity, numbers_of_process());
}

/// Whether the program has the file open: numbers from first_hidden_number on are this library's.
bool StreamVisits::is_open(const Visit& visit) const {
  const int own = visit.image.is_there() ? visit.image.number() : no_number;
  return find_number(visit.identity, first_hidden_number, own) != no_number;
}

FoundImage StreamVisits::present_of(const Visit& visit) const {
  const int number = number_of(visit);
  return {number == no_number ? runtime::FileDescriptor() : duplicate_of(number), {}, visit.step};
}

std::optional<FoundImage> StreamVisits::open(const std::string& file, const void* site) {
  const std::lock_guard lock(mutex_);
  const auto known = visits_.find(file);
  if (known == visits_.end()) return std::nullopt;
  Visit& visit = known->second;
  if (std::ranges::find(visit.sites, site) != visit.sites.end()) return std::nullopt;
  FoundImage present = present_of(visit);
  visit.sites.push_back(site);
  looks_[file].has_looked = false;
  return present;
}

std::optional<FoundImage> StreamVisits::look(const std::string& file) {
  const std::lock_guard lock(mutex_);
  const auto known = visits_.find(file);
  const bool is_known = known != visits_.end();
  if (is_known && is_open(known->second)) return present_of(known->second);
  Looks& looks = looks_[file];
  const bool is_for_present = is_known && !looks.has_looked && !looks.is_ahead;
  looks.has_looked = true;
  return is_for_present ? std::optional(present_of(known->second)) : std::nullopt;
}

void StreamVisits::begin(const std::string& file, const void* site, const FoundImage& found) {
  const std::lock_guard lock(mutex_);
  Visit& visit = visits_[file] = Visit{};
  visit.sites = {site};
  keep_image(file, visit, found);
  Looks& looks = looks_[file];
  looks.is_ahead = looks.is_ahead || looks.has_looked;
  looks.has_looked = false;
}

void StreamVisits::renew(const std::string& file, const FoundImage& found) {
  const std::lock_guard lock(mutex_);
  if (const auto known = visits_.find(file); known != visits_.end()) keep_image(file, known->second, found);
}

void StreamVisits::keep_image(const std::string& file, Visit& visit, const FoundImage& found) {
  const runtime::FileDescriptor& image = found.image;
  std::erase(with_image_, file);
  visit.step = found.step;
  struct stat facts {};
  if (::fstat(image.number(), &facts) == 0) visit.bytes = static_cast<std::uint64_t>(facts.st_size);
  visit.identity = identity_of(image.number());
  give_up_images(visit.bytes);
  runtime::FileDescriptor hidden = hidden_duplicate(image.number());
  if (!hidden && !with_image_.empty()) {
    give_up_images(most_known_bytes);
    hidden = hidden_duplicate(image.number());
  }
  if (hidden) {
    visit.image = HiddenDescriptor(std::move(hidden), visit.identity);
    with_image_.push_back(file);
  }
}

/// Of the names that were opened first, until there is room for an image of so many bytes.
void StreamVisits::give_up_images(std::uint64_t bytes) {
  std::uint64_t all = bytes;
  for (const std::string& name : with_image_) all += visits_[name].bytes;
  while (!with_image_.empty() && (with_image_.size() >= most_known_images || all > most_known_bytes)) {
    Visit& oldest = visits_[with_image_.front()];
    all -= oldest.bytes;
    oldest.image = HiddenDescriptor();
    with_image_.erase(with_image_.begin());
  }
}

}  // namespace sluice::files
