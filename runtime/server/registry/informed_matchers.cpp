#include "informed_matchers.hpp"

#include <utility>
#include <vector>

namespace sluice::runtime {

namespace {

/// What this matcher gets is not a message.
void unpack(matcher::StepView& view, const matcher::Step& step) {
  if (std::exchange(view.packed_logs, nullptr) != nullptr) view.logs = step.packed->views();
}

matcher::StepView view_of(const matcher::Step& step, bool has_header) {
  matcher::StepView view = step.view();
  if (!has_header) view.header.clear();
  return view;
}

}  // namespace

void InformedMatchers::tell(std::uint32_t matcher, std::uint32_t tag, const matcher::Step& step) {
  const bool is_as_last =
      last_.matcher == matcher && last_.step == step.id && last_.revision == step.revision;
  if (is_as_last && tag == 0) return;
  last_ = {matcher, step.id, step.revision};
  const auto [entry, is_first] = sent_[step.id].try_emplace(matcher);
  SentRevisions& sent = entry->second;
  const bool is_unchanged = !is_first && sent.revision == step.revision;
  if (is_unchanged && tag == 0) return;
  if (is_unchanged) return outlet_.send_to(matcher, View{tag, step.id, {}});
  const bool has_header = is_first || sent.header_revision != step.header_revision;
  sent = {step.revision, step.header_revision};
  // A step that is being written may change without a new revision.
  const bool may_share = tag == 0 && matcher != registry_rank && step.state == matcher::StepState::published;
  if (may_share) {
    const Receiver receiver{matcher};
    return outlet_.send(std::span(&receiver, 1), shared_view(step, has_header));
  }
  View view{tag, step.id, view_of(step, has_header)};
  if (matcher == registry_rank) unpack(*view.view, step);
  outlet_.send_to(matcher, std::move(view));
}

/// A view has an entry for each process that wrote the step, so it is made and encoded once for all matchers.
SharedMessage InformedMatchers::shared_view(const matcher::Step& step, bool has_header) {
  const bool is_known = newest_.message != nullptr && newest_.step == step.id &&
                        newest_.revision == step.revision && newest_.has_header == has_header;
  if (!is_known)
    newest_ = {step.id, step.revision, has_header, share(View{0, step.id, view_of(step, has_header)})};
  return newest_.message;
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
  tell_outdated(step);
  newest_files_[step.key] = step.id;
}

void InformedMatchers::tell_outdated(const matcher::Step& step) {
  const auto newest = newest_files_.find(step.key);
  if (newest == newest_files_.end() || newest->second == step.id) return;
  const std::uint32_t matcher = file_steps_.at(newest->second).matcher;
  if (matcher_with_file(step.id) != matcher) outlet_.send_to(matcher, StepOver{newest->second, true});
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
  if (newest_.step == step) newest_ = {};
  if (last_.step == step) last_ = {};
  for (const auto& [matcher, sent] : sent_[step]) outlet_.send_to(matcher, StepOver{step});
  sent_.erase(step);
  const auto file = file_steps_.extract(step);
  if (file.empty()) return;
  const auto newest = newest_files_.find(file.mapped().key);
  if (newest != newest_files_.end() && newest->second == step) newest_files_.erase(newest);
}

}  // namespace sluice::runtime
