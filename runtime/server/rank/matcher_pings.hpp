#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "control_protocol.hpp"
#include "matcher_base.hpp"

namespace sluice::runtime {

/// At matcher 0: asks all other matchers for an answer now and then, and knows which of them are silent.
class MatcherPings {
 public:
  using Clock = std::chrono::steady_clock;

  explicit MatcherPings(MatcherBase& base) : base_(base) {}

  /// Asks each matcher that does not owe an answer, at most once a second.
  void ask(Clock::time_point now = Clock::now());
  /// An answer of a matcher.
  void take(std::uint32_t from, Looked answer, Clock::time_point now = Clock::now());
  /// The matchers that have not answered for some seconds. A matcher behind a silent one, in the relay tree,
  /// cannot answer and is left out.
  [[nodiscard]] std::vector<matcher::SilentMatcher> silent(Clock::time_point now = Clock::now()) const;

 private:
  struct Matcher {
    Clock::time_point asked = {};
    Clock::time_point answered = {};
    bool owes_answer = false;
    Looked last = {};  ///< what it said of itself
  };
  [[nodiscard]] bool is_silent(std::uint32_t rank, Clock::time_point now) const;

  MatcherBase& base_;
  std::map<std::uint32_t, Matcher> matchers_;  ///< by rank
};

}  // namespace sluice::runtime
