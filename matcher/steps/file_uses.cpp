#include "file_uses.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sluice/formats/near_match.hpp"

namespace sluice::matcher {

namespace {

/// Limit of recorded files of a component that no rule covers.
constexpr std::ptrdiff_t most_without_rule = 8;
constexpr std::size_t most_ordinary_files = 1000;
/// Limit of names that are compared.
constexpr std::size_t most_compared = 4000;

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::string without_digits(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c >= '0' && c <= '9'; }, '0');
  return name;
}

}  // namespace

FileUses::FileUses(RegistryAnswers& answers, const FileRules& rules, const DatasetTable& datasets,
                   const std::function<std::uint64_t()>& now_ms)
    : answers_(answers), rules_(rules), datasets_(datasets), now_ms_(now_ms), rule_uses_(rules.size()) {}

void FileUses::note_use(std::uint32_t rule, const std::string& component) {
  RuleUse& use = rule_uses_.at(rule);
  if (std::ranges::find(use.users, component) == use.users.end()) use.users.push_back(component);
}

void FileUses::note_published(std::uint32_t rule) {
  RuleUse& use = rule_uses_.at(rule);
  if (!use.published_at_ms) use.published_at_ms = now_ms_();
}

void FileUses::note_ordinary_file(const std::string& component, OrdinaryFile file) {
  const bool has_rule = file.rule != OrdinaryFile::no_rule;
  if (has_rule) (void)rules_.of(file.rule);
  const auto is_same = [&](const OrdinaryFile& other) {
    return other.component == component && other.rule == file.rule && other.is_written == file.is_written &&
           (has_rule || other.path == file.path);
  };
  const auto is_of_component = [&](const OrdinaryFile& other) {
    return other.component == component && other.rule == OrdinaryFile::no_rule;
  };
  if (ordinary_files_.size() >= most_ordinary_files || std::ranges::any_of(ordinary_files_, is_same)) return;
  if (!has_rule && std::ranges::count_if(ordinary_files_, is_of_component) >= most_without_rule) return;
  file.component = component;
  if (has_rule) {
    const FileRule& rule = rules_.at(file.rule);
    answers_.event(component + (file.is_written ? " writes " : " opens ") + file.path +
                   " as an ordinary file: the rule '" + rule.pattern + "' " +
                   (rule.index_of(component) ? "names it as a reader only" : "does not name it"));
  }
  ordinary_files_.push_back(std::move(file));
}

void FileUses::note_complaint(const std::string& component, std::uint32_t rule, const std::string& text) {
  constexpr std::size_t most_complaints = 1000;
  const bool has_rule = rule != OrdinaryFile::no_rule;
  if (has_rule) (void)rules_.of(rule);
  if (complaints_.size() >= most_complaints) return;
  if (complaints_.insert({component, rule, has_rule ? "" : text}).second)
    answers_.event(component + ": " + text);
}

std::string FileUses::near_miss_text(const DatasetKey& key) const {
  std::vector<std::string> published;
  for (const auto& [other, dataset] : datasets_.all()) {
    if (other.rule != key.rule || dataset.steps_published == 0) continue;
    if (published.size() < most_compared) published.push_back(file_name(other.name));
  }
  const std::string wanted = file_name(key.name);
  if (std::ranges::find(published, wanted) != published.end()) return {};
  if (const std::string near = formats::near_match(wanted, published); !near.empty())
    return "; '" + near + "' was published: did you mean that?";
  std::vector<std::string> uncovered;
  for (const OrdinaryFile& file : ordinary_files_) {
    if (file.is_written && file.rule == OrdinaryFile::no_rule) uncovered.push_back(file_name(file.path));
  }
  const std::string near = formats::near_match(wanted, uncovered);
  return near.empty() ? std::string() : "; '" + near + "' was written, but no rule covers it";
}

bool FileUses::differs_in_digits(const DatasetKey& key) const {
  const std::string wanted = without_digits(key.name);
  std::size_t compared = 0;
  for (auto other = datasets_.all().lower_bound({key.rule, {}});
       other != datasets_.all().end() && other->first.rule == key.rule && compared < most_compared; ++other) {
    if (other->second.steps_published == 0) continue;
    if (without_digits(other->first.name) == wanted) return true;
    ++compared;
  }
  return false;
}

std::vector<RuleStatus> FileUses::rules() const {
  std::vector<RuleStatus> rules;
  const std::uint64_t now = now_ms_();
  for (const RuleUse& use : rule_uses_) {
    rules.push_back(
        {use.users, use.published_at_ms ? std::max<std::uint64_t>(now - *use.published_at_ms, 1) : 0});
  }
  return rules;
}

void FileUses::report(StatusReport& report) const {
  report.rules = rules();
  report.ordinary_files = ordinary_files_;
}

}  // namespace sluice::matcher
