#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace sluice::workflows {

/// What this process's control group and those above it allow it of memory, in bytes; nothing where there is
/// no limit. `own_groups`: what /proc/self/cgroup says; `root`: where control groups are mounted, both of
/// version 1 (the controller `memory`) and version 2.
[[nodiscard]] std::optional<std::uint64_t> control_group_limit(std::string_view own_groups,
                                                               const std::filesystem::path& root);

/// The physical memory of this machine, or what this process may use of it (a batch job's share, a
/// container's), in bytes.
[[nodiscard]] std::uint64_t usable_memory_bytes();

}  // namespace sluice::workflows
