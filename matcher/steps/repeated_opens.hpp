#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/group.hpp"
#include "sluice/matcher/process_table.hpp"

namespace sluice::matcher {

/// A process that opens a dataset: by itself, or together with others.
struct Opener {
  const Component* component = nullptr;
  ProcessId process{};
  DatasetKey key;
  bool is_together = false;
  auto operator<=>(const Opener&) const = default;
};

/// Programs that open a stream several times to read one of its steps (`opens-per-step`). The opens of a
/// process by itself count apart from those together with others.
class RepeatedOpens {
 public:
  /// A step of a stream, by its number.
  struct Place {
    DatasetKey key;
    std::uint64_t number = 0;
  };

  /// The members that have arrived open the step.
  void note_taken(const Group& group, std::uint64_t number);
  /// The same for a member that arrives later.
  void note_joined(const Group& group, ProcessId process, std::uint64_t number);
  /// The step that the group is to open again; 0: none.
  [[nodiscard]] std::uint64_t present(const Group& group) const;
  /// Whether the member of the group is to open the step again.
  [[nodiscard]] bool is_to_open_again(const Group& group, ProcessId process, std::uint64_t number) const;
  /// Whether any process of the component, or of any, is to open the step again.
  [[nodiscard]] bool is_wanted(const Place& step, const Component* component = nullptr) const;
  /// The process has ended. Returns the steps that it was to open again.
  [[nodiscard]] std::vector<Place> forget(const Component& component, ProcessId process);
  /// All processes of the component have ended.
  void forget(const Component& component);

 private:
  struct Opens {
    std::uint64_t number = 0;
    std::uint32_t count = 0;
  };
  static Opener opener(const Group& group, ProcessId process);

  std::map<Opener, Opens> opens_;  ///< of steps that are to be opened again
};

/// How many steps of a stream each command of a script takes. A program that opens its input twice to read it
/// once takes two, and works on neither as it should (`opens-per-step`). One process that goes on from step
/// to step takes many, and is never told apart from such a program; so only commands that end are looked at.
class CommandSteps {
 public:
  /// The process, which is alone, has the next step.
  void note_taken(const Component& component, ProcessId process, const DatasetKey& key);
  struct Finding {
    DatasetKey key;
    std::uint32_t commands = 0;
    std::uint32_t steps = 0;  ///< of each command
  };
  /// The process has ended. The finding comes once a component and rule.
  [[nodiscard]] std::optional<Finding> end(const Component& component, ProcessId process);

 private:
  struct Series {
    std::uint32_t steps = 0;
    std::uint32_t commands = 0;  ///< one after the other that took so many steps
    bool is_told = false;
  };
  std::map<Opener, std::uint32_t> taken_;  ///< by live processes
  std::map<const Component*, std::map<std::uint32_t, Series>> series_;
};

}  // namespace sluice::matcher
