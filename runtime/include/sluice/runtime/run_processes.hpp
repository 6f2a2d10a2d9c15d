#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace sluice::runtime {

/// The variable ("NAME=VALUE") by which processes of the components of a run are known; `socket`: the first
/// matcher's.
[[nodiscard]] std::string run_mark(const std::string& socket);

/// The variable by which matchers of a job are known.
[[nodiscard]] std::string matcher_mark(const std::string& socket);

/// Processes of this machine (not zombies) whose environment has the variable `assignment` ("NAME=VALUE"),
/// other than this one: those of a run, whoever their parents are now.
[[nodiscard]] std::vector<pid_t> processes_with_environment(const std::string& assignment);

/// Asks those that have the mark to end, by SIGTERM, and kills what is still there some seconds later.
void stop_processes(const std::string& mark);

}  // namespace sluice::runtime
