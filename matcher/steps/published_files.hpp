#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "dataset_names.hpp"
#include "dataset_table.hpp"
#include "file_rules.hpp"
#include "sluice/matcher/published_file.hpp"

namespace sluice::matcher {

/// Of an absolute path; empty: it is none.
[[nodiscard]] std::string_view directory_of(std::string_view path) noexcept;

/// The published files, by directory.
class PublishedFiles {
 public:
  struct Parts {
    const std::function<std::uint64_t()>& now_ms;
    const FileRules& rules;
    DatasetTable& datasets;
    const DatasetNames& names;
  };
  explicit PublishedFiles(const Parts& parts) : parts_(parts) {}

  void note_published(const Step& step);
  /// The file has gone, and listings need not name it any more.
  void forget(const DatasetKey& key, const Dataset& dataset);
  /// `bytes` stays 0. A part goes through so many files at most that it holds back nobody.
  [[nodiscard]] Listing list(const ListRequest& request);

 private:
  enum class Presence : std::uint8_t { here, gone, never };
  [[nodiscard]] Presence add(const DatasetKey& key, const Dataset& dataset, Listing& listing) const;
  [[nodiscard]] Listing list_all(const ListRequest& request) const;
  [[nodiscard]] Listing list_directory(const ListRequest& request);
  [[nodiscard]] Listing list_newer(std::uint64_t publication) const;

  Parts parts_;
  /// By directory: published files that may be in memory. Those that have gone are removed by a listing.
  std::map<std::string, std::set<DatasetKey>, std::less<>> by_directory_;
  std::map<std::uint64_t, DatasetKey> by_publication_;  ///< the last one of each file
  std::uint64_t publications_ = 0;
};

}  // namespace sluice::matcher
