#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "command_words.hpp"
#include "trial.hpp"

namespace sluice::coordinator {

/// A component of a workflow that `sluice init` writes.
struct DraftComponent {
  std::string name;
  CommandWords command;
  std::string kind;                ///< what the program is: Inspection::kind
  bool has_mpi = false;            ///< it is linked with an MPI
  std::string later_because = {};  ///< why it begins when others have ended; empty: it begins at once
};

/// Files that one component writes and others read.
struct DraftRule {
  std::string pattern;
  std::size_t writer = 0;                ///< index of the component
  std::vector<std::size_t> readers;      ///< indexes, ascending
  std::vector<std::string> files;        ///< paths that the pattern stands for, relative to the workflow
  int closes = 1;                        ///< how often the writer closes each of them; 0: the numbers differ
  std::vector<std::string> unread = {};  ///< what the pattern covers as well: files that only the writer used
  bool is_on_disk = false;  ///< it passes through the disk, because readers change it or wait for its writer
  bool keeps = false;       ///< the writer begins with the file on disk, so that is to be the newest one
  bool is_rewritten = false;  ///< the writer writes it anew several times
};

/// A name for each component, after its program; names that are the same get numbers.
void name_components(std::vector<DraftComponent>& components);

/// Without a trial: the rules for data files that two commands name. If there are none, one rule whose files
/// are to be filled in.
[[nodiscard]] std::vector<DraftRule> guess_rules(const std::vector<DraftComponent>& components,
                                                 const std::filesystem::path& directory);

/// The text of the workflow, with comments. `was_tried`: the rules are those of a trial run.
[[nodiscard]] std::string write_draft(const std::vector<DraftComponent>& components,
                                      const std::vector<DraftRule>& rules, bool was_tried);

}  // namespace sluice::coordinator
