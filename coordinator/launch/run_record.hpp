#pragma once
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "run_directory.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// What others of the same user need to know of a run that goes on. It is a file in the run's directory,
/// which only this user can read.
struct RunRecord {
  std::string name;   ///< of the workflow
  pid_t process = 0;  ///< of `sluice run`: the id by which users name the run
  std::time_t began = 0;
  std::string flow;                   ///< absolute path of the workflow file
  std::string log_directory = {};     ///< absolute path
  std::string rules = {};             ///< SLUICE_RULES of a program that is attached
  std::filesystem::path socket = {};  ///< of the first matcher on this machine
};

/// The record of a workflow that this process runs. Each file whose data the matchers have can be looked at.
[[nodiscard]] RunRecord record_of(const workflows::Workflow& workflow, std::time_t began,
                                  const std::filesystem::path& log_directory);

/// From now on find_runs() finds the run. Throws IoError.
void write_run_record(const RunDirectory& directory, const RunRecord& record);

/// The runs of this user on this machine that go on, in the order of their beginnings. Runs that were killed
/// are left out.
[[nodiscard]] std::vector<RunRecord> find_runs();

}  // namespace sluice::coordinator
