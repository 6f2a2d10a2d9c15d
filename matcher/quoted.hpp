#pragma once
#include <string>

#include "sluice/matcher/dataset_key.hpp"

namespace sluice::matcher {

/// The dataset's name for messages.
[[nodiscard]] inline std::string quoted(const DatasetKey& key) {
  return "'" + key.tail + "'";
}

}  // namespace sluice::matcher
