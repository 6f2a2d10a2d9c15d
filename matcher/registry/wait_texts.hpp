#pragma once
// Texts that say what processes wait for, and why a wait is hopeless.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "segment_grants.hpp"
#include "sluice/matcher/run_view.hpp"
#include "wait_analysis.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// "'wave.nc' from model", "memory to write 'wave.nc'"
[[nodiscard]] std::string text_of(const RegistryParts& parts, const Group& group);
[[nodiscard]] std::string text_of(const RegistryParts& parts, const GetWait& wait);
[[nodiscard]] std::string text_of(const RegistryParts& parts, const MemoryWait& wait);
/// Why the wait can never end, with the name of its file.
[[nodiscard]] std::string hopeless_text(const RegistryParts& parts, const MemoryWait& wait);
[[nodiscard]] std::string hopeless_memory_text(const RegistryParts& parts, std::uint32_t node,
                                               std::uint64_t bytes);
/// "a waits for 'x.nc' from b, which waits for 'y.nc' from a"
[[nodiscard]] std::string cycle_text(const RegistryParts& parts, const std::vector<StuckWait>& waits);
/// All present waits.
[[nodiscard]] std::vector<WaitStatus> report_waits(const RegistryParts& parts, std::uint64_t now);

}  // namespace sluice::matcher
