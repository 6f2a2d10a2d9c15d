#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "timeline.hpp"

namespace sluice::coordinator {

/// How a component has followed the steps of a rule. All times are milliseconds since the begin of the run.
struct Following {
  struct Point {
    std::uint64_t time_ms = 0, unread = 0;
  };
  /// A step, from the process that published it to the one that opened it first. Both are the timeline's.
  struct Use {
    const runtime::Activity* written = nullptr;
    const runtime::Activity* opened = nullptr;
  };
  std::uint32_t rule = 0;
  std::string reader;
  std::uint64_t steps = 0;    ///< that were published
  std::vector<Use> uses;      ///< of the steps that it has opened, in the order of their publication
  std::vector<Point> unread;  ///< steps that it had not opened, nor a newer one of their file, at each change
  std::uint64_t most_unread = 0;
  std::uint64_t median_delay_ms = 0, longest_delay_ms = 0;  ///< from publication to first open
  std::uint64_t last_published_ms = 0, last_closed_ms = 0;
};

/// The activities of one kind by the steps of each file, which has a rule and a name: the n-th time that a
/// rank has written a file, or put into it, belongs to its n-th step.
using StepsOfFiles =
    std::map<std::pair<std::uint32_t, std::string>, std::vector<std::vector<const runtime::Activity*>>>;
[[nodiscard]] StepsOfFiles activities_by_step(const Timeline& timeline, runtime::Activity::Kind kind);

/// For each rule and each component that has opened its steps and is not their writer. Steps and opens that
/// the timeline lacks are missing here, too.
[[nodiscard]] std::vector<Following> followings_of(const Timeline& timeline);

}  // namespace sluice::coordinator
