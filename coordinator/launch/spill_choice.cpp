#include "spill_choice.hpp"

#include "sluice/formats/error.hpp"
#include "sluice/runtime/spill_file.hpp"

namespace sluice::coordinator {

SpillChoice choose_spill(const workflows::Workflow& workflow, const Environment& environment) {
  if (!workflow.has_automatic_spill) return {workflow.spill_directory, false, ""};
  SpillChoice choice{{}, true, ""};
  const auto temporary = environment.find("TMPDIR");
  const std::filesystem::path candidates[] = {std::filesystem::absolute(workflow.file).parent_path(),
                                              temporary == environment.end() ? "/tmp" : temporary->second};
  for (const std::filesystem::path& directory : candidates) {
    try {
      runtime::probe_spill_directory(directory.string());
      choice.directory = directory;
      return choice;
    } catch (const Error& error) {
      choice.trouble += (choice.trouble.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  return choice;
}

}  // namespace sluice::coordinator
