#pragma once
#include <map>
#include <string>
#include <vector>

namespace sluice::coordinator {

/// Environment variables: values by name.
using Environment = std::map<std::string, std::string>;

/// The environment of this process.
[[nodiscard]] Environment current_environment();

/// Removes the variables that an MPI launcher set for the process that `sluice` was started in. With these
/// variables, the components' MPI would take itself for a part of that job. Variables that the user set stay
/// (OMPI_MCA_… without a surrounding job).
void remove_surrounding_job(Environment& environment);

/// "NAME=VALUE" for each variable: the form that exec needs.
[[nodiscard]] std::vector<std::string> as_strings(const Environment& environment);

}  // namespace sluice::coordinator
