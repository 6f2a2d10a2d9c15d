#include "matcher_pings.hpp"

#include <utility>

namespace sluice::runtime {

namespace {

constexpr std::chrono::seconds ping_interval{1};
constexpr std::chrono::seconds longest_silence{3};

}  // namespace

void MatcherPings::ask(Clock::time_point now) {
  for (std::uint32_t rank = 1; rank < base_.tree.size(); ++rank) {
    Matcher& matcher = matchers_[rank];
    if (matcher.owes_answer || now - matcher.answered < ping_interval) continue;
    matcher.owes_answer = true;
    matcher.asked = now;
    base_.tree.send_down({rank, Look{}});
  }
}

void MatcherPings::take(std::uint32_t from, Looked answer, Clock::time_point now) {
  Matcher& matcher = matchers_[from];
  matcher.owes_answer = false;
  matcher.answered = now;
  matcher.last = std::move(answer);
}

bool MatcherPings::is_silent(std::uint32_t rank, Clock::time_point now) const {
  const auto found = matchers_.find(rank);
  return found != matchers_.end() && found->second.owes_answer &&
         now - found->second.asked >= longest_silence;
}

std::vector<matcher::SilentMatcher> MatcherPings::silent(Clock::time_point now) const {
  std::vector<matcher::SilentMatcher> silent;
  for (const auto& [rank, matcher] : matchers_) {
    if (!is_silent(rank, now) || is_silent(RelayTree::parent_of(rank), now)) continue;
    const auto silence = std::chrono::duration_cast<std::chrono::milliseconds>(now - matcher.asked);
    silent.push_back({rank, base_.nodes.place_of(rank).node, matcher.last.host, matcher.last.process,
                      static_cast<std::uint64_t>(silence.count())});
  }
  return silent;
}

}  // namespace sluice::runtime
