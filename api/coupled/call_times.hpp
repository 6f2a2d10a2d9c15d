#pragma once
#include <chrono>
#include <cstdint>

#include "sluice/matcher/status_report.hpp"

namespace sluice::api {

/// The times of the puts, or of the gets, of one open dataset. Reading the clock takes as long as a small
/// put. So of calls with few bytes, each 16th is timed and stands for the others.
class CallTimes {
 public:
  /// The times up to now.
  [[nodiscard]] matcher::CallSpan up_to_now() const noexcept {
    if (!has_calls_) return {};
    const auto now = Clock::now();
    return {microseconds(now - first_), microseconds(now - last_), microseconds(busy_)};
  }

 private:
  friend class TimedCall;
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] static std::uint64_t microseconds(Clock::duration time) noexcept {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
  }

  bool has_calls_ = false;
  std::uint32_t small_calls_ = 0;
  Clock::time_point first_ = {}, last_ = {};
  Clock::duration busy_ = {};
};

/// Times a call from its construction to its destruction.
class TimedCall {
 public:
  TimedCall(CallTimes& times, std::uint64_t bytes) noexcept : times_(times) {
    constexpr std::uint64_t least_bytes = std::uint64_t{64} << 10;
    constexpr std::uint32_t sample = 16;
    if (bytes < least_bytes) {
      if (times.small_calls_++ % sample != 0) return;
      stands_for_ = sample;
    } else {
      stands_for_ = 1;
    }
    begin_ = CallTimes::Clock::now();
  }
  ~TimedCall() {
    if (stands_for_ == 0) return;
    times_.last_ = CallTimes::Clock::now();
    if (!times_.has_calls_) times_.first_ = begin_;
    times_.has_calls_ = true;
    times_.busy_ += (times_.last_ - begin_) * stands_for_;
  }
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;

 private:
  CallTimes& times_;
  std::uint32_t stands_for_ = 0;  ///< calls; 0: this one is not timed
  CallTimes::Clock::time_point begin_ = {};
};

}  // namespace sluice::api
