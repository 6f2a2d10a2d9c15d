#include "progress.hpp"

#include <algorithm>
#include <cstdio>

#include "format.hpp"

namespace sluice::coordinator {
namespace {

std::string clock_text(std::chrono::milliseconds since_start) {
  const auto seconds = since_start.count() / 1000;
  char text[40];
  std::snprintf(text, sizeof text, "%02lld:%02lld", static_cast<long long>(seconds / 60),
                static_cast<long long>(seconds % 60));
  return text;
}

std::string describe_waiter(const runtime::WaitStatus& wait) {
  return wait.component + (wait.processes > 1 ? " (" + std::to_string(wait.processes) + " processes)" : "");
}

}  // namespace

std::string describe_wait(const runtime::WaitStatus& wait) {
  const auto seconds = wait.since_ms / 1000;
  return describe_waiter(wait) + " waits for " + wait.waits_for + " since " + std::to_string(seconds) + " s";
}

std::string describe_progress(std::chrono::milliseconds since_start, const runtime::StatusReport& report) {
  std::uint64_t steps = 0;
  runtime::AccessCounters counters;
  for (const runtime::DatasetStatus& dataset : report.datasets) {
    steps += dataset.steps_published;
    counters += dataset.counters;
  }
  std::string text = clock_text(since_start) + "  " + format_count(report.datasets.size(), "file") + ", " +
                     format_count(steps, "step") + ", " + format_bytes(counters.put_bytes) + " put, " +
                     format_bytes(counters.get_bytes) + " got, " + format_bytes(report.bytes_staged) +
                     " staged";
  const auto longest = std::max_element(report.waits.begin(), report.waits.end(),
                                        [](const auto& a, const auto& b) { return a.since_ms < b.since_ms; });
  constexpr std::uint64_t worth_telling_ms = 1000;
  if (longest != report.waits.end() && longest->since_ms >= worth_telling_ms)
    text += "; " + describe_wait(*longest);
  return text;
}

std::string describe_draining(const runtime::StatusReport& report) {
  constexpr std::uint64_t mib = 1 << 20;
  const runtime::DrainStatus& first = report.drains.front();
  std::string text = "draining " + first.tail;
  if (first.total_bytes > 0)
    text += ": " + std::to_string(first.done_bytes / mib) + " of " +
            std::to_string((first.total_bytes + mib - 1) / mib) + " MiB";
  const std::size_t others = report.drains.size() - 1;
  if (others > 0)
    text += "; " + std::to_string(others) + (others == 1 ? " more file waits" : " more files wait");
  return text;
}

std::vector<std::string> WaitNotices::due(const runtime::StatusReport& report) {
  std::vector<std::string> notices;
  std::map<std::string, std::chrono::milliseconds> next;
  for (const runtime::WaitStatus& wait : report.waits) {
    const std::string key = wait.component + '\n' + wait.waits_for;
    const auto known = next_.find(key);
    std::chrono::milliseconds threshold = known == next_.end() ? after_ : known->second;
    const std::chrono::milliseconds lasted(wait.since_ms);
    if (lasted < after_) threshold = after_;  // another wait for the same thing
    if (lasted >= threshold) {
      notices.push_back(describe_wait(wait));
      while (threshold <= lasted) threshold *= 2;
    }
    next[key] = threshold;
  }
  next_ = std::move(next);
  return notices;
}

std::vector<std::string> UnreadNotices::due(const workflows::Workflow& workflow,
                                            const runtime::StatusReport& report,
                                            const std::function<bool(const std::string&)>& running) {
  std::vector<std::string> notices;
  for (std::size_t i = 0; i < std::min(workflow.files.size(), report.rules.size()); ++i) {
    const std::chrono::milliseconds lasted(report.rules[i].published_for_ms);
    if (lasted < after_) continue;
    const auto& users = report.rules[i].users;
    for (const std::string& reader : workflow.files[i].readers) {
      if (std::ranges::find(users, reader) != users.end() || !running(reader)) continue;
      auto& threshold = next_.try_emplace({i, reader}, after_).first->second;
      if (lasted < threshold) continue;
      while (threshold <= lasted) threshold *= 2;
      notices.push_back(reader + " has opened no file of '" + workflow.files[i].pattern +
                        "', of which the first was published " + std::to_string(lasted.count() / 1000) +
                        " s ago; if it waits until a file is there (stat, ls), it waits in vain: let it open "
                        "the file, which waits");
    }
  }
  return notices;
}

}  // namespace sluice::coordinator
