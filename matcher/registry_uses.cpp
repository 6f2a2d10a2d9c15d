// Who uses which files, coupled or not, for what users are told: what should be coupled and is not.
#include <algorithm>
#include <filesystem>

#include "sluice/formats/near_match.hpp"
#include "sluice/matcher/registry.hpp"

namespace sluice::matcher {

namespace {

/// Of files that no rule covers, so many of a component are worth knowing.
constexpr std::ptrdiff_t most_without_rule = 8;
constexpr std::size_t most_ordinary_files = 1000;
/// More names than this are not compared.
constexpr std::size_t most_compared = 4000;

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

void Registry::note_use(std::uint32_t rule, const std::string& component) {
  RuleUse& use = rule_uses_.at(rule);
  if (std::ranges::find(use.users, component) == use.users.end()) use.users.push_back(component);
}

void Registry::note_published(std::uint32_t rule) {
  RuleUse& use = rule_uses_.at(rule);
  if (!use.published_at_ms) use.published_at_ms = now_ms_();
}

void Registry::note_ordinary_file(ProcessId process, OrdinaryFile file) {
  const std::string& component = processes_.at(process).component->name;
  const bool has_rule = file.rule != OrdinaryFile::no_rule;
  if (has_rule) (void)rule_of({file.rule, {}});
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
    answers_.event(component + (file.is_written ? " writes " : " opens ") + file.path +
                   " as an ordinary file: the rule '" + rules_[file.rule].pattern + "' does not name it");
  }
  ordinary_files_.push_back(std::move(file));
}

/// What a reader may have meant that asks for what cannot come.
std::string Registry::near_miss_text(const DatasetKey& key) const {
  std::vector<std::string> published;
  for (const auto& [other, dataset] : datasets_) {
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

void Registry::report_uses(StatusReport& report) const {
  const std::uint64_t now = now_ms_();
  for (const RuleUse& use : rule_uses_) {
    report.rules.push_back(
        {use.users, use.published_at_ms ? std::max<std::uint64_t>(now - *use.published_at_ms, 1) : 0});
  }
  for (const auto& [name, component] : processes_.components()) {
    if (component.has_connected) report.connected.push_back(name);
  }
  report.ordinary_files = ordinary_files_;
  for (const auto& [key, dataset] : datasets_) {
    if (!dataset.kept_logs.empty()) report.kept_logs.push_back({name_of(key), dataset.kept_logs_directory});
  }
}

}  // namespace sluice::matcher
