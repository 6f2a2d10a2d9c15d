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

}  // namespace sluice::coordinator
