#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// A published file for which a component may be started.
struct JobFile {
  std::uint64_t step = 0;
  std::string path;          ///< absolute
  std::uint64_t number = 0;  ///< {step}: counts the published files from 1, through all runs
};

/// The published files that wait for a job of one component: which is next, and which are skipped.
class JobQueue {
 public:
  explicit JobQueue(const workflows::ForEach& jobs) : jobs_(jobs) {}

  /// Adds a published file. Returns the files that will have no job: this one or earlier ones.
  [[nodiscard]] std::vector<JobFile> add(JobFile file);
  /// Takes the next file out of the queue; nothing if there is none. `busy`: paths that have a job now.
  [[nodiscard]] std::optional<JobFile> next(const std::set<std::string>& busy);
  /// Takes all files out.
  [[nodiscard]] std::vector<JobFile> take_all();

  [[nodiscard]] bool empty() const noexcept { return files_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return files_.size(); }

 private:
  workflows::ForEach jobs_;
  std::deque<JobFile> files_;
  std::set<std::string> paths_;  ///< of `files_`
};

}  // namespace sluice::coordinator
