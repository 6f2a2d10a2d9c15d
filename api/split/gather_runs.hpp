#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "mpi_handles.hpp"
#include "sluice/formats/blobs.hpp"

namespace sluice::api {

/// A hash of the elements that all processes have put into a variable. Equal lists of all processes give
/// equal ids.
using PatternId = std::array<std::uint64_t, 2>;

/// The elements that this process has put into one variable.
class PutPattern {
 public:
  /// Adds another record of the variable.
  void add(const std::vector<formats::ElementRun>& runs) {
    if (is_put_ && runs != runs_) is_regular_ = false;
    if (!is_put_) runs_ = runs;
    is_put_ = true;
  }
  /// Records of the variable have different elements.
  void set_irregular() noexcept { is_regular_ = false; }
  [[nodiscard]] const std::vector<formats::ElementRun>& runs() const noexcept { return runs_; }
  [[nodiscard]] bool is_put() const noexcept { return is_put_; }
  /// Whether all records have the same elements.
  [[nodiscard]] bool is_regular() const noexcept { return is_regular_; }

 private:
  std::vector<formats::ElementRun> runs_;
  bool is_put_ = false;
  bool is_regular_ = true;
};

/// The elements that all processes have put into one variable.
struct AgreedPattern {
  int putters = 0;  ///< number of processes that have put elements
  bool is_regular = true;
  PatternId id{};
};

/// Collective: agrees on the pattern of each variable.
[[nodiscard]] std::vector<AgreedPattern> agree_on_patterns(const Communicator& comm,
                                                           std::span<const PutPattern> patterns);
/// The id of a pattern in which process i has put the i-th list of runs.
[[nodiscard]] PatternId id_of_pattern(const std::vector<std::vector<formats::ElementRun>>& runs_of_processes);

/// Collective: returns the numbers of every process.
[[nodiscard]] std::vector<std::vector<std::int64_t>> gather_numbers(const Communicator& comm,
                                                                    const std::vector<std::int64_t>& mine);

/// Collective: returns the runs of every process.
[[nodiscard]] std::vector<std::vector<formats::ElementRun>> gather_runs(
    const Communicator& comm, const std::vector<formats::ElementRun>& mine);

}  // namespace sluice::api
