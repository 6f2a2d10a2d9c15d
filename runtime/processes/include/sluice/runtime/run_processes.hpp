#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::runtime {

/// The text of a file below /proc; empty where the process has ended.
[[nodiscard]] std::string text_of_process_file(const std::string& path);

/// The state of a process or thread, by its directory below /proc: R, S, D, Z and others; 0: it has ended.
[[nodiscard]] char process_state(const std::string& directory);

/// Whether some thread of the process has neither ended nor begun to end. The first one may end before
/// others.
[[nodiscard]] bool is_going_on(std::uint32_t process);

/// The environment variable ("NAME=VALUE") that marks processes of the components of a run. `socket`: the
/// first matcher's.
[[nodiscard]] std::string run_mark(const std::string& socket);

/// The environment variable that marks matchers of a job.
[[nodiscard]] std::string matcher_mark(const std::string& socket);

/// The environment variable that marks the launcher of the matchers' job. Its value is the socket.
inline constexpr const char* launcher_variable = "SLUICE_MATCHER_LAUNCHER_OF";

/// The same with its value.
[[nodiscard]] std::string launcher_mark(const std::string& socket);

/// Processes of this machine, except zombies and this process, whose environment has the variable
/// `assignment` ("NAME=VALUE"). Finds the processes of a run independent of their parents.
[[nodiscard]] std::vector<pid_t> processes_with_environment(const std::string& assignment);

/// The same, for processes that began after process `than`, which was started less than a second ago: later
/// the numbers of processes may have come round.
[[nodiscard]] std::vector<pid_t> younger_processes_with_environment(pid_t than,
                                                                    const std::string& assignment);

/// Whether the process that has started this one belongs to the run, for example a shell, a script, or a
/// process that forks. The launcher does not belong: it has the run's socket in its environment, but no
/// component. Returns false when the system does not report this.
[[nodiscard]] bool is_child_of_run();

/// Whether a launcher that has started its processes has none left: each of its children has ended and waits
/// to be collected; or it has no child, and waits for a lock. Open MPI 4.1's mpirun waits for one for ever,
/// at its own end, in some of the cases where a rank is killed before its MPI_Init has returned. Before it
/// has started its ranks it waits for events and not for locks, but for moments. Returns false when the
/// system does not report this.
[[nodiscard]] bool is_launcher_done(pid_t process);

/// Sends SIGTERM to the processes with the mark, and kills the remaining ones some seconds later.
void stop_processes(const std::string& mark);

/// Waits some seconds for the launchers with the mark. Then it kills those that do not notice that all their
/// processes have ended: a launcher may stand still at its own end.
void end_launchers(const std::string& mark);

}  // namespace sluice::runtime
