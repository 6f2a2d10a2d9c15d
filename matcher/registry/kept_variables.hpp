#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dataset_names.hpp"
#include "file_rules.hpp"
#include "sluice/formats/header.hpp"
#include "sluice/matcher/registry_requests.hpp"

namespace sluice::matcher {

/// Tells where `keep` names variables that are not there, once a rule: at its first step, and at the first
/// step that has none of them.
class KeptVariables {
 public:
  KeptVariables(RegistryAnswers& answers, const FileRules& rules, const DatasetNames& names)
      : answers_(answers), rules_(rules), names_(names) {}

  void note_published(const Step& step);

 private:
  struct Looked {
    std::vector<std::byte> header;  ///< of the last step that was looked at
    bool has_told_of_none = false;
  };
  void compare(const Step& step, const formats::Header& header, Looked& looked, bool is_first);

  RegistryAnswers& answers_;
  const FileRules& rules_;
  const DatasetNames& names_;
  std::map<std::uint32_t, Looked> looked_;  ///< by rule
};

}  // namespace sluice::matcher
