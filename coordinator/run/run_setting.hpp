#pragma once
#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "console.hpp"
#include "event_log.hpp"
#include "guardian.hpp"
#include "installation.hpp"
#include "job_nodes.hpp"
#include "launch.hpp"
#include "run_directory.hpp"
#include "sluice/runtime/rules.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// The common basis of all parts of a run: the workflow, the event loop, the user's screen, the event log,
/// and the directories. Each run has one; the parts refer to it.
class RunSetting {
 public:
  /// Creates the directories and the log. `log_directory`: as in RunOptions. Throws IoError.
  RunSetting(const workflows::Workflow& workflow, const Installation& installation,
             const Console::Options& console, const std::filesystem::path& log_directory,
             const JobNodes& nodes);

  void log(std::string_view source, std::string_view text) { events.add(source, text); }
  /// Prints a notice and logs it, with sluice itself as the source.
  void notice(std::string_view text);
  /// Prints an error and logs it, with sluice itself as the source.
  void error(std::string_view text);
  /// Whether the run keeps that record: "timeline" or "steps". It keeps all, unless SLUICE_RECORDS names
  /// some.
  [[nodiscard]] bool keeps_record(std::string_view record) const;

  const workflows::Workflow& workflow;
  const Installation& installation;
  JobNodes nodes;
  Console console;
  std::filesystem::path log_directory;
  EventLog events;
  RunDirectory directory;
  Guardian guardian;
  const runtime::RunIdentity run;  ///< in the names of logs and the marks of files
  LaunchContext launch;
  std::chrono::seconds end_timeout{};  ///< RunOptions::end_timeout
  boost::asio::io_context loop;
};

/// Gives a job of the run a directory of its own for Open MPI's files. Two jobs that create the same
/// directory at once fail in Open MPI 4.1.
void part_jobs(Environment& environment, const RunDirectory& directory, const std::string& job);

/// What the terminal says of processes that a command, which has ended, has left for too long.
[[nodiscard]] std::string text_of_rest(const std::string& command, const std::vector<pid_t>& rest);

}  // namespace sluice::coordinator
