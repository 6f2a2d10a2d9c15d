#pragma once
#include <map>
#include <string>
#include <vector>

namespace sluice::coordinator {

/// Names and values of environment variables.
using Environment = std::map<std::string, std::string>;

/// Of this process.
[[nodiscard]] Environment current_environment();

/// Takes out what an MPI launcher set for the process that `sluice` was started in: handed on, it would make
/// the components' MPI believe to be part of that job. What the user set (OMPI_MCA_… without a surrounding
/// job) stays.
void remove_surrounding_job(Environment& environment);

/// "NAME=VALUE" for each, as exec wants them.
[[nodiscard]] std::vector<std::string> as_strings(const Environment& environment);

}  // namespace sluice::coordinator
