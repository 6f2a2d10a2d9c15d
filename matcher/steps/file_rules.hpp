#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sluice/matcher/dataset_key.hpp"

namespace sluice::matcher {

/// The rules of the workflow, by number.
class FileRules {
 public:
  explicit FileRules(std::vector<FileRule> rules) : rules_(std::move(rules)) {}

  /// Throws Error(NC_EINVAL) when the workflow does not have the rule.
  [[nodiscard]] const FileRule& of(std::uint32_t rule) const;
  [[nodiscard]] const FileRule& of(const DatasetKey& key) const { return of(key.rule); }
  [[nodiscard]] const FileRule& at(std::uint32_t rule) const { return rules_.at(rule); }
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(rules_.size()); }
  /// Whether the processes write and read the files of the dataset's rule themselves.
  [[nodiscard]] bool is_in_files(const DatasetKey& key) const {
    return matcher::is_in_files(of(key).through);
  }

 private:
  std::vector<FileRule> rules_;
};

}  // namespace sluice::matcher
