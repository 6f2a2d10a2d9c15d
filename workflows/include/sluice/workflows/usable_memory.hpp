#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace sluice::workflows {

/// The memory in bytes that this process's control group and its parents allow; nothing if there is no limit.
/// `own_groups`: the content of /proc/self/cgroup. `root`: the mount point of control groups, of version 1
/// (controller `memory`) and version 2.
[[nodiscard]] std::optional<std::uint64_t> control_group_limit(std::string_view own_groups,
                                                               const std::filesystem::path& root);

/// The memory in bytes that this process may use: the physical memory of this machine, or less (a batch job's
/// share, a container's).
[[nodiscard]] std::uint64_t usable_memory_bytes();

}  // namespace sluice::workflows
