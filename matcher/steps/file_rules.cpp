#include "file_rules.hpp"

#include <string>

#include "sluice/formats/error.hpp"

namespace sluice::matcher {

const FileRule& FileRules::of(std::uint32_t rule) const {
  if (rule < rules_.size()) return rules_[rule];
  throw Error(NC_EINVAL, "the workflow has no rule " + std::to_string(rule));
}

}  // namespace sluice::matcher
