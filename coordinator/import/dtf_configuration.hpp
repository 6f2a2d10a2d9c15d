#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// Files that two or more components of a DTF configuration share.
struct DtfFile {
  std::string pattern;  ///< as a workflow's file rule has it
  std::string writer;
  std::vector<std::string> readers;
  bool is_on_disk = false;             ///< mode="file"
  bool has_replay = false;             ///< replay_io=1
  bool has_guessed_direction = false;  ///< comp1 and comp2: the configuration does not say who writes
  int line = 1;                        ///< of its [FILE]
};

/// A DTF configuration in the words of a workflow.
struct DtfConfiguration {
  std::vector<std::string> components;
  std::vector<DtfFile> files;
  bool divides_by_variable = false;       ///< iodb_build_mode="varid"
  std::vector<workflows::Mistake> notes;  ///< what has no equivalent: what it was, why, what to do
};

/// Reads the text of a DTF configuration: sections [INFO] and [FILE] of lines KEY=VALUE. `file` is for
/// messages. Keys that it does not know are notes. Source of the keys: DTF's doc/README.config.
/// Throws WorkflowError with all mistakes in one go.
[[nodiscard]] DtfConfiguration read_dtf_configuration(std::string_view text,
                                                      const std::filesystem::path& file);

/// The workflow as YAML, with "???" for the commands that the configuration does not have, and the notes as
/// comments.
[[nodiscard]] std::string write_workflow_of(const DtfConfiguration& configuration,
                                            const std::filesystem::path& file);

}  // namespace sluice::coordinator
