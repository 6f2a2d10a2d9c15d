#pragma once
#include <optional>
#include <string>
#include <vector>

namespace sluice::coordinator {

/// Takes `--via HOST` out of the arguments of a command, up to `--`. Nothing: it is not there. Throws
/// std::invalid_argument, with a text for users.
[[nodiscard]] std::optional<std::string> take_host(std::vector<std::string>& arguments);

/// Becomes `ssh HOST sluice ARGUMENTS`, in the same directory there. `SLUICE_SSH` has the words of another
/// ssh. Returns only when that cannot be started: the exit status, after a message.
[[nodiscard]] int go_to(const std::string& host, const std::vector<std::string>& arguments);

}  // namespace sluice::coordinator
