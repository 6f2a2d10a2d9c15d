#pragma once
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sluice/runtime/protocol.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// The name of the timeline in the log directory of a run.
inline constexpr const char* timeline_file = "timeline.tsv";

/// What a run has done, as its timeline tells: docs/design/watching-a-run.md. All times are milliseconds
/// since the beginning of the run.
struct Timeline {
  struct Component {
    std::string name;
    int ranks = 0;
    std::uint64_t begin_ms = 0, end_ms = 0;
    std::string end = {};  ///< how it has ended; empty: it has not, or was not seen
    std::string command = {};
    std::uint64_t processor_ms = 0;  ///< of all its starts, on the machine of `sluice run`
  };
  struct Rule {
    std::string pattern, writer, mode;
    std::vector<std::string> readers;
    matcher::RuleTotals totals;
    bool is_stream = false;  ///< FileRule::is_stream
  };
  /// Where it ran, and of what.
  struct Place {
    std::string version, host, workflow;
    std::uint64_t cores = 0;  ///< of the node with `sluice run`; 0: the record is older
  };
  struct Memory {
    std::uint64_t time_ms = 0;
    std::uint64_t used_bytes = 0, limit_bytes = 0, spilled_bytes = 0;
  };
  struct Traffic {
    std::uint64_t time_ms = 0, put_bytes = 0, get_bytes = 0, opened_bytes = 0;
  };

  std::string name;
  std::time_t began = 0;
  Place place;
  std::vector<Component> components;
  std::vector<Rule> rules;
  std::vector<std::vector<Memory>> memory;  ///< by node
  std::vector<Traffic> traffic;             ///< of the whole run
  std::vector<matcher::RuleUse> uses;       ///< the last figures
  std::vector<runtime::Activity> activities;
  std::uint64_t lost_activities = 0;  ///< that were not recorded
  std::vector<std::string> warnings;
  std::uint64_t end_ms = 0;
  std::string verdict;  ///< empty: the end was not recorded
};

/// Reads the timeline of a run's log directory. Lines that a killed run has left incomplete are skipped.
/// Throws IoError where there is none, FormatError where it is none of this version.
[[nodiscard]] Timeline read_timeline(const std::filesystem::path& log_directory);

/// How the data of a rule passes, for people: "memory, keep".
[[nodiscard]] std::string mode_of(const workflows::FileRule& rule);
/// "wait-open" and so on.
[[nodiscard]] std::string_view word_of(runtime::Activity::Kind kind) noexcept;

}  // namespace sluice::coordinator
