#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dataset_names.hpp"
#include "file_rules.hpp"
#include "sluice/matcher/process_table.hpp"
#include "sluice/matcher/run_view.hpp"

namespace sluice::matcher {

/// The processes that have reached a collective create, open or other call, and those that have not:
/// otherwise only MPI knows them. This changes no wait: a process that has not arrived may act. When all
/// these are stuck, the run is told what looks hopeless.
class Gatherings {
 public:
  Gatherings(const std::function<std::uint64_t()>& now_ms, const FileRules& rules,
             const ProcessTable& processes, const DatasetNames& names)
      : now_ms_(now_ms), rules_(rules), processes_(processes), names_(names) {}

  /// The process waits for others to create or open a dataset with it, or no longer waits. Throws
  /// Error(NC_EINVAL) for an unknown rule or rank.
  void note(const Process& process, const Gathering& gathering);
  void drop_of(ProcessId process);
  [[nodiscard]] std::vector<GatheringStatus> report() const;
  /// Those that have come to a call to which others have not come yet.
  struct Present {
    std::string component;
    std::vector<ProcessId> processes;
  };
  [[nodiscard]] std::vector<Present> incomplete() const;

 private:
  /// Processes that have reached one collective call, by their ranks in its communicator.
  struct Id {
    std::string component;
    DatasetKey key;
    Gathering::Call call = Gathering::Call::open;
    std::uint32_t size = 1;
    std::uint64_t ranks = 0;
    auto operator<=>(const Id&) const = default;
  };
  struct Arrival {
    ProcessId process{};
    std::uint64_t since_ms = 0;
  };
  struct State {
    std::uint32_t first_rank = 0;  ///< as in Gathering
    std::uint32_t stride = 0;
    std::map<std::uint32_t, Arrival> arrivals;
  };

  const std::function<std::uint64_t()>& now_ms_;
  const FileRules& rules_;
  const ProcessTable& processes_;
  const DatasetNames& names_;
  std::map<Id, State> gatherings_;
};

}  // namespace sluice::matcher
