#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sluice/matcher/registry_requests.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "sluice/storage/step_record.hpp"

namespace sluice::runtime {

class RegistryOutlet;

/// Writes down what happens to steps, for a run that goes on where this one ends: docs/design/resume.md.
class StepNotes {
 public:
  /// `path`: of the record; empty: nothing is written down. `outlet` outlives this object.
  StepNotes(const std::string& path, const std::vector<matcher::FileRule>& rules, RegistryOutlet& outlet);

  /// The published steps of the former run, in order. Their numbers are the numbers of the registry's first
  /// steps.
  [[nodiscard]] std::vector<matcher::FormerStep> former_steps() const;
  [[nodiscard]] std::vector<matcher::FormerCount> former_counts() const;

  void begun(const matcher::Step& step);
  void published(const matcher::Step& step);
  void read(const matcher::Step& step, const std::string& reader);
  void on_disk(const matcher::Step& step, const std::string& file);
  void removed(const matcher::DatasetKey& key);
  void erased(matcher::StepId step);
  void given_up(const matcher::Step& step);
  /// The component has ended well: what it has not published is no loss.
  void writer_done(const std::string& component);
  void logged(const matcher::LogPlace& place);

 private:
  template <class Note>
  void write(const Note& note);
  void sync();

  storage::PosixFileSystem files_;
  RegistryOutlet& outlet_;
  std::optional<storage::StepRecorder> recorder_;
  std::vector<matcher::FileRule> rules_;
  std::string path_;
  bool is_syncing_ = false;
  bool is_changed_ = false;  ///< since the sync began
};

}  // namespace sluice::runtime
