#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "environment.hpp"

namespace sluice::coordinator {

/// The time that is left to the batch job around this process.
struct JobTime {
  std::optional<std::chrono::seconds> left;  ///< nothing: it is not known, or has no limit
  std::string problem;                       ///< why it is not known
};

/// Whether this process is in a batch job of Slurm or PBS.
[[nodiscard]] bool is_in_batch_job(const Environment& environment);

/// Asks, in this order: SLURM_JOB_END_TIME, squeue, qstat, PBS_WALLTIME. The last one counts from now, so it
/// is right only where the job begins with this process.
[[nodiscard]] JobTime find_job_time(const Environment& environment);

/// Slurm's forms of a time: "1-02:03:04", "02:03:04", "03:04". Nothing for anything else, such as UNLIMITED.
[[nodiscard]] std::optional<std::chrono::seconds> parse_slurm_time(std::string_view text);
/// The time left by what `qstat -f` prints: the walltime of Resource_List without that of resources_used, or
/// since stime. The former may be minutes old, and the latter counts where a job was suspended.
[[nodiscard]] std::optional<std::chrono::seconds> parse_qstat(std::string_view text,
                                                              std::chrono::system_clock::time_point now);

}  // namespace sluice::coordinator
