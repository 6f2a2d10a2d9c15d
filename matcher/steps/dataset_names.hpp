#pragma once
#include <map>
#include <string>

#include "file_rules.hpp"
#include "sluice/matcher/dataset_key.hpp"

namespace sluice::matcher {

/// The names of datasets in messages, and published datasets with the same name in another directory.
class DatasetNames {
 public:
  /// `directory`: messages name files below it relative to it; empty: messages show whole paths.
  DatasetNames(const FileRules& rules, std::string directory);

  [[nodiscard]] std::string of(const DatasetKey& key) const;
  [[nodiscard]] std::string quoted(const DatasetKey& key) const { return "'" + of(key) + "'"; }

  /// The dataset has been published.
  void note_published(const DatasetKey& key);
  /// The dataset has gone, and texts need not name it any more.
  void forget(const DatasetKey& key);
  /// The reason why a file may never come: a file of the same name was published in another directory.
  /// Otherwise empty.
  [[nodiscard]] std::string elsewhere_text(const DatasetKey& key) const;

 private:
  [[nodiscard]] DatasetKey same_name(const DatasetKey& key) const;

  const FileRules& rules_;
  std::string directory_;                            ///< ends with a slash
  std::map<DatasetKey, DatasetKey> newest_of_name_;  ///< identity: path: by same_name(), the last published
};

}  // namespace sluice::matcher
