#pragma once
#include <boost/container/flat_set.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "inbound_stage.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/step_pattern.hpp"

namespace sluice::runtime {

/// Remembers what each process of this matcher reads in steps of a pattern. It remembers logs, so that the
/// process gets their positions in the next step of that pattern before it asks. It also remembers data from
/// other nodes, so that this data is fetched when that step is published.
///
/// The history does not see reads by plans that a process has kept. Nothing is therefore fetched ahead for
/// one step when a process asks for data from another node that was not remembered, and at least every
/// `most_steps` steps. Processes then ask for the data that they need, and the history learns again.
class ReaderHistory {
 public:
  static constexpr std::uint32_t most_steps = 100;

  /// A published step: its rule and its pattern.
  struct Kind {
    std::uint32_t rule = 0;
    matcher::StepPattern pattern;
  };

  /// The process has received these ranges.
  void note_logs(matcher::ProcessId process, const Kind& step, std::span<const matcher::LogRange> ranges);
  /// The process has received these parts. `was_ahead`: wanted() had an answer for the step.
  void note_inbound(matcher::ProcessId process, const Kind& step, std::span<const InboundPart> parts,
                    bool was_ahead);

  /// The logs that the process has needed in steps of the same pattern. Their numbers may exceed the number
  /// of logs.
  [[nodiscard]] std::vector<std::uint32_t> logs(matcher::ProcessId process, const Kind& step);
  /// The data to fetch for a step. Call it once for each step.
  [[nodiscard]] std::vector<FetchSpecPointer> wanted(const Kind& step);
  /// The data that this process read of the step.
  [[nodiscard]] std::vector<FetchSpecPointer> inbound(matcher::ProcessId process, const Kind& step);

  /// A connection of the process has ended: no data is fetched ahead for the process any more, and the needs
  /// of other processes are learned again.
  void forget(matcher::ProcessId process);

 private:
  static constexpr std::size_t most_uses = 64;
  using Parts = std::map<matcher::Fingerprint, FetchSpecPointer>;
  struct Reads {
    boost::container::flat_set<std::uint32_t> logs;  ///< from the step's first own log on, modulo 2^32
    Parts parts;
  };
  struct Use {
    std::uint32_t rule = 0;
    matcher::StepPattern pattern;
    std::map<matcher::ProcessId, Reads> reads;
    std::uint32_t steps = 0;  ///< number of steps since `parts` were learned
    bool is_stale = false;    ///< the parts must be learned again
  };

  [[nodiscard]] Use* find(const Kind& step);
  [[nodiscard]] Use& find_or_add(const Kind& step);

  std::deque<Use> uses_;  ///< the most recently used entry is in front
};

}  // namespace sluice::runtime
