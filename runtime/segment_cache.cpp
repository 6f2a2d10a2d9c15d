#include "sluice/runtime/segment_cache.hpp"

#include <chrono>
#include <string>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {
// The other thread is between receiving its message and storing what came with it.
constexpr std::chrono::seconds arrival_limit{10};
}  // namespace

void SegmentCache::add(const SegmentGrant& grant, FileDescriptor file) {
  const std::lock_guard lock(mutex_);
  if (!file) {
    if (!entries_.contains(grant.segment)) {
      throw Error(NC_EIO,
                  "the matcher gave segment " + std::to_string(grant.segment) + " without its descriptor");
    }
    return;
  }
  entries_.insert_or_assign(
      grant.segment, Entry{std::move(file), {grant.bytes, grant.offset_bytes, grant.is_of_log}, nullptr});
  arrived_.notify_all();
}

void SegmentCache::map_all() noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& [segment, entry] : entries_) {
    if (!entry.file) continue;
    try {
      map(entry, Mapping::Access::read);
      entry.file.reset();
    } catch (const Error&) {
      // Who uses it is told.
    }
  }
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
    entry.mapping = std::make_shared<Mapping>(entry.file, entry.extent, access);
  } else if (access == Mapping::Access::read_write) {
    entry.mapping->make_writable();
  }
}

std::shared_ptr<const Mapping> SegmentCache::mapping(std::uint64_t segment, Mapping::Access access) {
  std::unique_lock lock(mutex_);
  Entry& entry = wait_for(lock, segment);
  map(entry, access);
  entry.file.reset();
  return entry.mapping;
}

SegmentCache::Writable SegmentCache::writable(std::uint64_t segment) {
  std::unique_lock lock(mutex_);
  Entry& entry = wait_for(lock, segment);
  map(entry, Mapping::Access::read_write);
  return {entry.mapping, std::move(entry.file), entry.extent.offset_bytes};
}

}  // namespace sluice::runtime
