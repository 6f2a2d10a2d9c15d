#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "segment_grants.hpp"
#include "sluice/matcher/run_view.hpp"
#include "wait_analysis.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// Texts that say what processes wait for, and why a wait is hopeless.
class WaitTexts {
 public:
  explicit WaitTexts(const RegistryParts& parts) : parts_(parts) {}

  /// "'wave.nc' from model", "memory to write 'wave.nc'"
  [[nodiscard]] std::string of(const Group& group) const;
  [[nodiscard]] std::string of(const GetWait& wait) const;
  [[nodiscard]] std::string of(const MemoryWait& wait) const;
  /// Why the wait can never end, with the name of its file.
  [[nodiscard]] std::string hopeless(const MemoryWait& wait) const;
  [[nodiscard]] std::string hopeless_memory(std::uint32_t node, std::uint64_t bytes) const;
  /// "a waits for 'x.nc' from b, which waits for 'y.nc' from a"
  [[nodiscard]] std::string cycle(const std::vector<StuckWait>& waits) const;
  /// All present waits.
  [[nodiscard]] std::vector<WaitStatus> report(std::uint64_t now) const;

 private:
  [[nodiscard]] std::string doubt(const Group& group) const;
  [[nodiscard]] std::string for_memory(const DatasetKey& key) const;
  [[nodiscard]] std::string for_queue(const DatasetKey& key) const;
  [[nodiscard]] std::string blockers(Medium medium) const;
  [[nodiscard]] std::string blocker(Medium medium) const;
  [[nodiscard]] std::string missing_readers(const Step& step, std::size_t reader) const;
  [[nodiscard]] std::string starts_when(const Component& component) const;

  const RegistryParts& parts_;
};

}  // namespace sluice::matcher
