#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dataset_table.hpp"
#include "file_rules.hpp"
#include "sluice/matcher/registry_requests.hpp"

namespace sluice::matcher {

/// The components that use files, coupled or not. From this, users learn of files that should be coupled but
/// are not.
class FileUses {
 public:
  FileUses(RegistryAnswers& answers, const FileRules& rules, const DatasetTable& datasets,
           const std::function<std::uint64_t()>& now_ms);

  /// The component asks for a file of the rule.
  void note_use(std::uint32_t rule, const std::string& component);
  /// A file of the rule was published.
  void note_published(std::uint32_t rule);
  /// The component creates or opens an ordinary file.
  void note_ordinary_file(const std::string& component, OrdinaryFile file);
  /// The component, which only reads the rule's files, makes one on disk by the C library.
  void note_own_file(const std::string& component, const DatasetKey& key) {
    own_files_.emplace(component, key);
  }
  [[nodiscard]] bool is_own_file(const std::string& component, const DatasetKey& key) const {
    return own_files_.contains({component, key});
  }
  /// The component cannot use a file of the rule. Only its first such text for a rule becomes an event.
  /// OrdinaryFile::no_rule: it concerns the component as a whole; each text becomes one event.
  void note_complaint(const std::string& component, std::uint32_t rule, const std::string& text);

  /// For a component that asks for a file that will not come: names the file that it may have meant; empty:
  /// none.
  [[nodiscard]] std::string near_miss_text(const DatasetKey& key) const;
  [[nodiscard]] bool has_published(std::uint32_t rule) const {
    return rule_uses_.at(rule).published_at_ms.has_value();
  }
  /// Whether a published file of the rule has the same name but for its digits: wave_0030.nc, where
  /// wave_0029.nc was the last.
  [[nodiscard]] bool differs_in_digits(const DatasetKey& key) const;
  /// Who has used the files of each rule, without how far its readers are.
  [[nodiscard]] std::vector<RuleStatus> rules() const;
  void report(StatusReport& report) const;

 private:
  std::set<std::pair<std::string, DatasetKey>> own_files_;
  /// A RuleStatus in the making.
  struct RuleUse {
    std::vector<std::string> users;
    std::optional<std::uint64_t> published_at_ms;
  };

  RegistryAnswers& answers_;
  const FileRules& rules_;
  const DatasetTable& datasets_;
  const std::function<std::uint64_t()>& now_ms_;
  std::vector<RuleUse> rule_uses_;
  std::vector<OrdinaryFile> ordinary_files_;
  struct Complaint {
    std::string component;
    std::uint32_t rule = 0;
    std::string text;  ///< empty where it is of a rule
    auto operator<=>(const Complaint&) const = default;
  };
  std::set<Complaint> complaints_;
};

}  // namespace sluice::matcher
