#include "dataset_names.hpp"

#include <algorithm>
#include <utility>

namespace sluice::matcher {

DatasetNames::DatasetNames(const FileRules& rules, std::string directory)
    : rules_(rules), directory_(std::move(directory)) {
  if (!directory_.empty() && !directory_.ends_with('/')) directory_ += '/';
}

std::string DatasetNames::of(const DatasetKey& key) const {
  return !directory_.empty() && key.name.starts_with(directory_) ? key.name.substr(directory_.size())
                                                                 : key.name;
}

/// The key that the file would have with `identity: name`: as many trailing components as the pattern.
DatasetKey DatasetNames::same_name(const DatasetKey& key) const {
  const std::string& pattern = rules_.of(key).pattern;
  std::size_t begin = key.name.size();
  if (begin == 0) return key;
  for (auto left = std::ranges::count(pattern, '/') + 1; left > 0 && begin > 0; --left) {
    const std::size_t slash = key.name.rfind('/', begin - 1);
    if (slash == std::string::npos) return key;
    begin = slash;
  }
  return {key.rule, key.name.substr(begin + 1)};
}

void DatasetNames::note_published(const DatasetKey& key) {
  if (rules_.of(key).identity == Identity::path) newest_of_name_[same_name(key)] = key;
}

void DatasetNames::forget(const DatasetKey& key) {
  if (rules_.of(key).identity != Identity::path) return;
  const auto found = newest_of_name_.find(same_name(key));
  if (found != newest_of_name_.end() && found->second == key) newest_of_name_.erase(found);
}

std::string DatasetNames::elsewhere_text(const DatasetKey& key) const {
  if (rules_.of(key).identity != Identity::path) return {};
  const auto found = newest_of_name_.find(same_name(key));
  if (found == newest_of_name_.end() || found->second == key) return {};
  return " (it has published " + quoted(found->second) +
         ". If you mean that file, use the same directory in both programs, or set `identity: name` "
         "in the rule. If the program makes this file itself, give it a name that '" +
         rules_.of(key).pattern + "' does not cover)";
}

}  // namespace sluice::matcher
