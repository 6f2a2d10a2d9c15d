#include "progress.hpp"

#include <algorithm>

#include "format.hpp"

namespace sluice::coordinator {

std::string describe_draining(const runtime::RunView& view) {
  constexpr std::uint64_t mib = 1 << 20;
  const runtime::DrainStatus& first = view.drains.front();
  std::string text = "draining " + first.name;
  if (first.total_bytes > 0)
    text += ": " + std::to_string(first.done_bytes / mib) + " of " +
            std::to_string((first.total_bytes + mib - 1) / mib) + " MiB";
  if (view.waiting_drains > 0)
    text += "; " + std::to_string(view.waiting_drains) +
            (view.waiting_drains == 1 ? " more file waits" : " more files wait");
  return text;
}

/// A wait that is probably a mistake is told sooner.
std::vector<WaitNotices::Wait> WaitNotices::waits_of(const runtime::RunView& view) const {
  constexpr std::chrono::milliseconds patience{3000};
  std::vector<Wait> waits;
  for (const runtime::WaitStatus& wait : view.waits) {
    waits.push_back({wait.component + '\n' + wait.waits_for, describe_wait(wait),
                     std::chrono::milliseconds(wait.since_ms),
                     wait.is_doubtful ? std::min(after_, patience) : after_});
  }
  for (const runtime::GatheringStatus& gathering : view.gatherings) {
    waits.push_back({gathering.component + '\n' + gathering.call,
                     describe_gathering(gathering) +
                         ". The call is collective: let all ranks of the communicator make it",
                     std::chrono::milliseconds(gathering.since_ms), after_});
  }
  return waits;
}

std::vector<std::string> WaitNotices::due(const runtime::RunView& view) {
  std::vector<std::string> notices;
  std::map<std::string, Notice> next;
  for (const auto& [key, text, lasted, first] : waits_of(view)) {
    const auto known = notices_.find(key);
    std::chrono::milliseconds threshold = first;
    // Not of a new wait for the same file, nor of one that looks like a mistake only now.
    if (known != notices_.end() && lasted >= first && first >= known->second.first)
      threshold = known->second.next;
    if (lasted >= threshold) {
      notices.push_back(text);
      while (threshold <= lasted) threshold *= 2;
    }
    next.insert_or_assign(key, Notice{threshold, first});
  }
  notices_ = std::move(next);
  return notices;
}

std::vector<std::string> UnreadNotices::due(const workflows::Workflow& workflow, const runtime::RunView& view,
                                            const std::function<bool(const std::string&)>& running) {
  std::vector<std::string> notices;
  for (std::size_t i = 0; i < std::min(workflow.files.size(), view.rules.size()); ++i) {
    const std::chrono::milliseconds lasted(view.rules[i].use.published_for_ms);
    if (lasted < after_) continue;
    const auto& users = view.rules[i].use.users;
    for (const std::string& reader : workflow.files[i].readers) {
      if (std::ranges::find(users, reader) != users.end() || !running(reader)) continue;
      auto& threshold = next_.try_emplace({i, reader}, after_).first->second;
      if (lasted < threshold) continue;
      while (threshold <= lasted) threshold *= 2;
      notices.push_back(
          reader + " has opened no file of '" + workflow.files[i].pattern +
          "'; the first one was published " + std::to_string(lasted.count() / 1000) +
          " s ago. A coupled file is not on disk: static programs, programs without LD_PRELOAD, "
          "and those that wait for an event of the file system never see it. Let " +
          reader + " open the file, because the open waits; or set 'expose: true'");
    }
  }
  return notices;
}

}  // namespace sluice::coordinator
