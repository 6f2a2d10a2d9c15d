// What datasets are called in messages, and which paths are one dataset.
#include <algorithm>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/registry.hpp"

namespace sluice::matcher {

/// Below the workflow's directory, from there; else as it is.
std::string Registry::name_of(const DatasetKey& key) const {
  return !directory_.empty() && key.name.starts_with(directory_) ? key.name.substr(directory_.size())
                                                                 : key.name;
}

/// What the file would be known by with `identity: name`: so many trailing components as the pattern has.
DatasetKey Registry::same_name(const DatasetKey& key) const {
  const std::string& pattern = rule_of(key).pattern;
  std::size_t begin = key.name.size();
  for (auto left = std::ranges::count(pattern, '/') + 1; left > 0 && begin > 0; --left) {
    const std::size_t slash = key.name.rfind('/', begin - 1);
    if (slash == std::string::npos) return key;
    begin = slash;
  }
  return {key.rule, key.name.substr(begin + 1)};
}

/// The dataset has been published.
void Registry::note_name(const DatasetKey& key) {
  if (rule_of(key).identity == Identity::path) newest_of_name_[same_name(key)] = key;
}

/// Why a file that somebody waits for may never come: one of the same name did, elsewhere.
std::string Registry::elsewhere_text(const DatasetKey& key) const {
  if (rule_of(key).identity != Identity::path) return {};
  const auto found = newest_of_name_.find(same_name(key));
  if (found == newest_of_name_.end() || found->second == key) return {};
  return " (it has published " + quoted(found->second) +
         ": if that is the file which is meant, let both programs name one directory, or set `identity: "
         "name` "
         "in the rule)";
}

/// With `identity: name`, files of one writer in several directories would be one dataset.
bool Registry::refuse_other_path(Group& group) {
  if (rule_of(group.key).identity != Identity::name || group.path.empty()) return false;
  std::string& written = datasets_[group.key].written_path;
  if (written.empty() && group.writes()) written = group.path;
  if (written.empty() || written == group.path) return false;
  refuse(group, NC_EINVAL,
         "by `identity: name` in the rule, " + group.path + " and " + written + ", which " +
             group.component->name +
             " has written, are one file: leave `identity: name` out, or tell the two apart by a pattern "
             "with their directories, '*/" +
             group.key.name + "'");
  return true;
}

}  // namespace sluice::matcher
