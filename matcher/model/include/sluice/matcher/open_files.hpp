#pragma once
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sluice/matcher/dataset_key.hpp"

namespace sluice::matcher {

/// The files that are being written by the C library, by their names.
class OpenFiles {
 public:
  struct Known {
    std::vector<DatasetKey> keys;  ///< its names now
    bool is_closed = false;        ///< for the last time, so it is being published, or given up
    bool is_in_place = false;      ///< the disk shows its bytes
  };
  void note(const WrittenFile& file, Known known);
  /// It is published, or has been given up.
  void end(const WrittenFile& file);
  [[nodiscard]] bool is_empty() const noexcept { return files_.empty(); }
  /// Whether a file of that name is not published yet, besides that one.
  [[nodiscard]] bool has(const DatasetKey& key, const WrittenFile& besides) const;
  /// Calls `take` with each name.
  void for_each(const std::function<void(const DatasetKey& key, bool is_closed)>& take) const;
  /// Whether any such file has been closed, and is not published yet.
  [[nodiscard]] bool has_closed(const std::function<bool(const WrittenFile& file)>& is_meant) const;
  /// The file of that name that has been closed, and is not published yet; connection 0: there is none.
  [[nodiscard]] WrittenFile closed(const DatasetKey& key) const;
  /// The one in memory that has not been closed.
  [[nodiscard]] WrittenFile open(const DatasetKey& key) const;

 private:
  [[nodiscard]] WrittenFile newest(const DatasetKey& key,
                                   const std::function<bool(const Known&)>& is_meant) const;
  std::map<WrittenFile, Known> files_;
  std::set<std::pair<DatasetKey, WrittenFile>> by_key_;
};

}  // namespace sluice::matcher
