#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "known_steps.hpp"
#include "relay_protocol.hpp"
#include "sluice/matcher/registry.hpp"
#include "sluice/storage/file_system.hpp"
#include "step_source.hpp"

namespace sluice::runtime {

/// A complete step that is to become a file: values and descriptors, nothing that others change.
struct DrainTask {
  StepViewPointer view;
  DrainOrder order;
  std::vector<OwnedSegment> segments;  ///< all that the view names and that are on this node
  std::vector<TableCopy> tables = {};  ///< of other nodes
  std::string partial = {};            ///< where several write: the file that one of them has made
};

struct DrainOptions {
  std::int64_t window_bytes = std::int64_t{8} << 20;  ///< written at a time
  std::int64_t chunk_bytes = std::int64_t{1} << 20;   ///< of one variable, read at a time
};

/// Is told how far it is after each write; ends the drain by throwing.
using DrainWatcher = std::function<void(const matcher::DrainProgress&)>;

/// Writes the step to a partial file (storage::PartialFile) in ascending order of offsets, syncs it, and
/// renames it to PATH: whatever happens, at PATH is what was there before or all of the step. The partial
/// file does not outlast a failure. Where the order says what PATH should have, PATH has that, and the step
/// only adds records to it, these are written there, to storage, and then their number. Returns the bytes
/// written. Throws IoError, FormatError, Error(NC_EIO) for a damaged request table, and what the watcher
/// throws.
std::uint64_t drain_step(storage::FileSystem& system, const DrainTask& task, const DrainWatcher& watcher,
                         const DrainOptions& options = {});

/// Notes in a file that is complete which step it is of.
void mark_drained(storage::File& file, const DrainTask& task);

/// The same by several: one has made the partial file, then each writes and syncs its part of it, and then
/// that one gives the file its name, or removes it. Throws as drain_step().
std::uint64_t drain_part(storage::FileSystem& system, const DrainTask& task, const DrainWatcher& watcher,
                         const DrainOptions& options = {});

}  // namespace sluice::runtime
