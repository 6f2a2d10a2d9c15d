#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dataset_table.hpp"
#include "file_rules.hpp"
#include "sluice/matcher/status_report.hpp"

namespace sluice::matcher {

/// Files in which their writers have gone on after readers had opened them. Who did not open such a file
/// again had a part of it. Nobody is concerned who asked for parts: by `publish`, a stream, or a mode.
class ContinuedFiles {
 public:
  explicit ContinuedFiles(const FileRules& rules) : rules_(rules) {}

  /// The step is published, and is not the dataset's newest one yet. Counts its closes.
  void note_published(const Step& step, Dataset& dataset);
  /// The component has the step now. Attached programs, and those that are no readers, do not count.
  void note_taken(const Step& step, const std::string& component);
  /// Adds to each rule who has a part only.
  void report(std::vector<RuleStatus>& rules) const;

 private:
  struct File {
    std::string name;
    std::uint32_t closes = 0;
    bool is_by_puts = false;
    StepId newest = 0;
    std::vector<bool> has_part;  ///< by reader
    std::vector<bool> had_part;  ///< the same, of what the file was before it was created anew
    void end_contents();
  };

  [[nodiscard]] bool takes_whole_files(std::uint32_t rule, const std::string& reader) const;

  const FileRules& rules_;
  std::map<DatasetKey, File> files_;
};

}  // namespace sluice::matcher
