#include "sluice/runtime/segment_cache.hpp"

#include <chrono>
#include <string>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {
// The other thread is between receiving its message and storing the attached segment.
constexpr std::chrono::seconds arrival_limit{10};
}  // namespace

void SegmentCache::add(const SegmentGrant& grant, FileDescriptor file) {
  const std::lock_guard lock(mutex_);
  auto known = grant.file == 0 ? nullptr : files_[grant.file];
  if (file && known == nullptr) known = std::make_shared<MappedFile>(std::move(file));
  if (grant.file != 0) files_[grant.file] = known;
  if (entries_.contains(grant.segment)) return;
  if (known == nullptr) {
    throw Error(NC_EIO,
                "the matcher gave segment " + std::to_string(grant.segment) + " without its descriptor");
  }
  entries_.emplace(grant.segment, Entry{known,
                                        {grant.bytes, grant.offset_bytes, grant.is_of_log, grant.file},
                                        nullptr,
                                        grant.has_cheap_faults});
  arrived_.notify_all();
}

void SegmentCache::map_all() noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& [segment, entry] : entries_) {
    if (entry.mapping != nullptr || entry.extent.file != 0) continue;
    try {
      map(entry, Mapping::Access::read);
    } catch (const Error&) {
      // Users of the segment get the error.
    }
  }
}

bool SegmentCache::knows(std::uint64_t segment) {
  const std::lock_guard lock(mutex_);
  return entries_.contains(segment);
}

void SegmentCache::drop(std::span<const std::uint64_t> segments) {
  const std::lock_guard lock(mutex_);
  for (const std::uint64_t segment : segments) entries_.erase(segment);
}

SegmentCache::Entry& SegmentCache::wait_for(std::unique_lock<std::mutex>& lock, std::uint64_t segment) {
  const auto is_there = [&] { return entries_.contains(segment); };
  if (!is_there() && !arrived_.wait_for(lock, arrival_limit, is_there)) {
    throw Error(NC_EIO, "the matcher named segment " + std::to_string(segment) + " and did not send it");
  }
  return entries_.at(segment);
}

void SegmentCache::map(Entry& entry, Mapping::Access access) {
  if (entry.mapping == nullptr) {
    entry.mapping = std::make_shared<Mapping>(entry.file->map(entry.extent, access));
    if (entry.extent.file == 0) entry.file.reset();
  } else if (access == Mapping::Access::read_write) {
    entry.mapping->make_writable();
  }
}

std::shared_ptr<const Mapping> SegmentCache::mapping(std::uint64_t segment, Mapping::Access access) {
  std::unique_lock lock(mutex_);
  Entry& entry = wait_for(lock, segment);
  map(entry, access);
  return entry.mapping;
}

SegmentCache::Writable SegmentCache::writable(std::uint64_t segment) {
  std::unique_lock lock(mutex_);
  Entry& entry = wait_for(lock, segment);
  const auto file = entry.mapping == nullptr && !entry.has_cheap_faults ? entry.file->descriptor() : nullptr;
  map(entry, Mapping::Access::read_write);
  return {entry.mapping, file, entry.extent.offset_bytes};
}

}  // namespace sluice::runtime
