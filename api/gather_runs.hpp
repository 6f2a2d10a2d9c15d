#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "mpi_handles.hpp"
#include "sluice/formats/blobs.hpp"

namespace sluice::api {

/// Which elements all processes have put into a variable, in short: equal for equal lists of all processes.
using PatternId = std::array<std::uint64_t, 2>;

/// What this process has put into one variable.
class PutPattern {
 public:
  /// Another record of it.
  void add(const std::vector<formats::ElementRun>& runs) {
    if (is_put_ && runs != runs_) is_regular_ = false;
    if (!is_put_) runs_ = runs;
    is_put_ = true;
  }
  /// Not the same elements in all records.
  void set_irregular() noexcept { is_regular_ = false; }
  [[nodiscard]] const std::vector<formats::ElementRun>& runs() const noexcept { return runs_; }
  [[nodiscard]] bool is_put() const noexcept { return is_put_; }
  /// The same elements in all records.
  [[nodiscard]] bool is_regular() const noexcept { return is_regular_; }

 private:
  std::vector<formats::ElementRun> runs_;
  bool is_put_ = false;
  bool is_regular_ = true;
};

/// What all processes have put into one variable.
struct AgreedPattern {
  int putters = 0;  ///< processes
  bool is_regular = true;
  PatternId id{};
};

/// Collective: for each of the variables.
[[nodiscard]] std::vector<AgreedPattern> agree_on_patterns(const Communicator& comm,
                                                           std::span<const PutPattern> patterns);
/// The id of the pattern in which each process has put these runs.
[[nodiscard]] PatternId id_of_pattern(const std::vector<std::vector<formats::ElementRun>>& runs_of_processes);

/// Collective: the numbers of every process.
[[nodiscard]] std::vector<std::vector<std::int64_t>> gather_numbers(const Communicator& comm,
                                                                    const std::vector<std::int64_t>& mine);

/// Collective: the runs of every process.
[[nodiscard]] std::vector<std::vector<formats::ElementRun>> gather_runs(
    const Communicator& comm, const std::vector<formats::ElementRun>& mine);

}  // namespace sluice::api
