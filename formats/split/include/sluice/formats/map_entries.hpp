#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "sluice/formats/blobs.hpp"

namespace sluice::formats {

/// The positions of a map's elements, in canonical order.
class MapEntries {
 public:
  /// Elements from an offset on that are in one holder (a process's blob, or a file), or in none (-1).
  struct Entry {
    std::int64_t offset = 0;
    std::int64_t end = 0;
    std::int64_t position = 0;  ///< position within the holder's elements of the map
    std::int32_t holder = -1;
  };

  explicit MapEntries(std::int64_t elements) : elements_(elements) {}
  /// `run` must begin at or after the current end.
  void append(const ElementRun& run, std::int64_t position, std::int32_t holder);
  /// Call this after the last append.
  void finish();

  [[nodiscard]] std::size_t size() const noexcept { return offsets_.size(); }
  /// Whether some elements are in no holder.
  [[nodiscard]] bool has_holes() const noexcept { return has_holes_; }
  [[nodiscard]] Entry operator[](std::size_t i) const noexcept {
    return {offsets_[i], i + 1 < offsets_.size() ? offsets_[i + 1] : elements_, positions_[i], holders_[i]};
  }
  /// The entry that contains the element.
  [[nodiscard]] std::size_t find(std::int64_t offset) const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return offsets_.capacity() * 20; }

 private:
  std::int64_t elements_;
  std::int64_t end_ = 0;
  bool has_holes_ = false;
  std::vector<std::int64_t> offsets_;
  std::vector<std::int64_t> positions_;
  std::vector<std::int32_t> holders_;
};

/// Looks up single elements; fast if most look-ups are in ascending order. One thread at a time.
class EntryLookup {
 public:
  /// Shares `entries` with the cache, which may drop them meanwhile.
  explicit EntryLookup(std::shared_ptr<const MapEntries> entries) : entries_(std::move(entries)) {}

  [[nodiscard]] bool has_entries_of(const EntryLookup& other) const noexcept {
    return entries_ == other.entries_;
  }

  [[nodiscard]] bool has_holes() const noexcept { return entries_->has_holes(); }

  [[nodiscard]] const MapEntries::Entry& operator()(std::int64_t offset) {
    const auto has = [&] { return entry_.offset <= offset && offset < entry_.end; };
    if (!has() && last_ + 1 < entries_->size()) entry_ = (*entries_)[++last_];
    if (!has()) {
      last_ = entries_->find(offset);
      entry_ = (*entries_)[last_];
    }
    return entry_;
  }

 private:
  std::shared_ptr<const MapEntries> entries_;
  MapEntries::Entry entry_;
  std::size_t last_ = 0;
};

/// Makes the entries of a map; maps are numbered from 1.
using MapLoader = std::function<MapEntries(int)>;

/// The most recently used maps that fit into a number of bytes, and always the last one. Thread-safe.
class MapCache {
 public:
  MapCache(MapLoader load, std::size_t most_bytes) : load_(std::move(load)), most_bytes_(most_bytes) {}
  /// Throws the exceptions of the loader.
  [[nodiscard]] std::shared_ptr<const MapEntries> entries_of(int map);

 private:
  struct Kept {
    int map = 0;
    std::shared_ptr<const MapEntries> entries;  // shared with the places that use the map
  };
  MapLoader load_;
  std::size_t most_bytes_;
  std::mutex mutex_;
  std::list<Kept> kept_;  ///< most recently used first
};

}  // namespace sluice::formats
