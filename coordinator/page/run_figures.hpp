#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "step_uses.hpp"
#include "timeline.hpp"

namespace sluice::coordinator {

/// The figures of a run that has ended, for its report.
struct RunFigures {
  /// Files of one name, or all files of a rule.
  struct Files {
    std::string name;
    std::uint64_t steps = 0;
    std::uint64_t put_bytes = 0, get_bytes = 0;
    std::uint64_t opened_bytes = 0;        ///< the sizes of what was opened by the C library
    std::uint64_t put_ms = 0, get_ms = 0;  ///< while a process had it open for writing, or for reading
    std::uint64_t getting_ms = 0;          ///< the latter without what the C library had open
  };
  struct Rule : Files {
    std::uint64_t files = 0;
    std::uint64_t puts = 0, gets = 0, replayed_gets = 0, opens = 0;
    [[nodiscard]] std::uint64_t matched_gets() const { return gets - std::min(gets, replayed_gets); }
  };
  struct Component {
    std::string name;
    int ranks = 0;
    std::uint64_t run_ms = 0;
    std::uint64_t put_bytes = 0, get_bytes = 0, opened_bytes = 0;
    /// by a process on average: in create and open, and for memory
    std::uint64_t open_wait_ms = 0, memory_wait_ms = 0;
    std::uint64_t processor_ms = 0;
    std::string end = {};
    std::string command = {};
  };
  std::vector<Component> components;
  std::vector<Rule> rules;
  std::vector<Files> files;  ///< those with most bytes first
  std::uint64_t more_files = 0;
  std::uint64_t peak_bytes = 0, limit_bytes = 0, spilled_bytes = 0;  ///< of the node that has most
  std::vector<Following> followings;                                 ///< by rule and reader
  std::vector<std::string> advice;                                   ///< sentences
};

/// `timeline` must outlive the figures.
[[nodiscard]] RunFigures figures_of(const Timeline& timeline);
/// What stands out, and what helps, from all other figures.
[[nodiscard]] std::vector<std::string> findings_of(const Timeline& timeline, const RunFigures& figures);
[[nodiscard]] std::string figures_as_json(const Timeline& timeline, const RunFigures& figures);
/// The activities, with arrows from who wrote a step to who opened it, and all figures over time, in the
/// format of Chrome's trace viewer, which ui.perfetto.dev reads.
[[nodiscard]] std::string as_perfetto_trace(const Timeline& timeline, const RunFigures& figures);

}  // namespace sluice::coordinator
