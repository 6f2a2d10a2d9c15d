#include "informed_matchers.hpp"

#include <utility>
#include <vector>

namespace sluice::runtime {

void InformedMatchers::tell(std::uint32_t matcher, std::uint32_t tag, const matcher::Step& step) {
  const auto [entry, is_first] = sent_[step.id].try_emplace(matcher);
  SentRevisions& sent = entry->second;
  if (tag == 0 && !is_first && sent.revision == step.revision) return;
  View message{tag, step.id, {}};
  if (is_first || sent.revision != step.revision) {
    message.view = step.view();
    if (!is_first && sent.header_revision == message.view->header_revision) message.view->header.clear();
    sent = {message.view->revision, message.view->header_revision};
  }
  outlet_.send_to(matcher, std::move(message));
}

void InformedMatchers::note_fetch(std::uint32_t matcher, const matcher::Step& step) {
  fetched_by_[step.key.rule].insert(nodes_.place_of(matcher).node);
}

/// Nodes that fetched data of the rule's last step probably want the next one, too. A node stays on the list
/// only if it fetches again. All matchers of the node are told, because one may fetch for the processes of
/// another.
void InformedMatchers::announce(const matcher::Step& step) {
  std::set<std::uint32_t> concerned;
  for (const std::uint32_t node : std::exchange(fetched_by_[step.key.rule], {})) {
    const std::vector<std::uint32_t>& matchers = nodes_.matchers_of(node);
    concerned.insert(matchers.begin(), matchers.end());
  }
  if (step.publish_at != matcher::PublishAt::close) {  // gets may wait for the step
    for (const auto& [matcher, sent] : sent_[step.id]) concerned.insert(matcher);
  }
  for (const std::uint32_t matcher : concerned) tell(matcher, 0, step);
}

void InformedMatchers::note_file(std::uint32_t matcher, const matcher::Step& step) {
  tell(matcher, 0, step);
  file_steps_[step.id] = {matcher, step.key};
  newest_files_[step.key] = step.id;
}

std::optional<std::uint32_t> InformedMatchers::matcher_with_file(matcher::StepId step) const {
  const auto found = file_steps_.find(step);
  if (found == file_steps_.end()) return std::nullopt;
  return found->second.matcher;
}

matcher::StepId InformedMatchers::newest_file(const matcher::DatasetKey& key) const {
  const auto found = newest_files_.find(key);
  return found == newest_files_.end() ? 0 : found->second;
}

void InformedMatchers::erase(matcher::StepId step) {
  for (const auto& [matcher, sent] : sent_[step]) outlet_.send_to(matcher, StepErased{step});
  sent_.erase(step);
  const auto file = file_steps_.extract(step);
  if (file.empty()) return;
  const auto newest = newest_files_.find(file.mapped().key);
  if (newest != newest_files_.end() && newest->second == step) newest_files_.erase(newest);
}

}  // namespace sluice::runtime
