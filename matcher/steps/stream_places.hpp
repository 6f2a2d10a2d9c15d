#pragma once
#include <compare>
#include <cstdint>
#include <map>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/group.hpp"
#include "sluice/matcher/process_table.hpp"

namespace sluice::matcher {

/// The number of the last step of a stream that was taken; 0: none.
struct StreamPlace {
  std::uint64_t alone = 0;     ///< by one process, or by several
  std::uint64_t together = 0;  ///< by several processes with one open
};

/// The places of readers in streams: docs/steps.md, "Streams". Where the number of a component's
/// processes is known, each process has a place of its own.
class StreamPlaces {
 public:
  /// The members that have arrived take the step.
  void note_taken(const Group& group, std::uint64_t number);
  /// The same for a member that arrives later.
  void note_joined(const Group& group, ProcessId process, std::uint64_t number);
  /// The component starts again: its processes go on behind the step of that number, whatever earlier ones
  /// had taken.
  void restart(const DatasetKey& key, const Component& component, std::uint64_t number);
  /// The place at which an open of the group begins.
  [[nodiscard]] std::uint64_t of(const Group& group) const;
  /// The place that the component has reached with any of its processes.
  [[nodiscard]] StreamPlace of(const DatasetKey& key, const Component& component) const;

 private:
  struct Reader {
    DatasetKey key;
    const Component* component = nullptr;
    auto operator<=>(const Reader&) const = default;
  };
  struct Places {
    StreamPlace all;
    std::uint64_t begin = 0;  ///< of processes that have taken nothing yet
    std::map<ProcessId, StreamPlace> of_process;
  };
  static void advance(StreamPlace& place, const Group& group, std::uint64_t number) noexcept;

  std::map<Reader, Places> places_;
};

}  // namespace sluice::matcher
