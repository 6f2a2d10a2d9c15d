#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cached_steps.hpp"
#include "drain_orders.hpp"
#include "sluice/matcher/registry.hpp"
#include "sluice/storage/partial_file.hpp"
#include "step_source.hpp"

namespace sluice::runtime {

/// A complete step that becomes a file. Holds values and descriptors only; no one else changes them.
struct DrainTask {
  StepViewPointer view;
  DrainOrder order;
  std::vector<OwnedSegment> segments;  ///< the segments of the view on this node
  std::vector<TableCopy> tables = {};  ///< of other nodes
  std::string partial = {};            ///< when several nodes write: the file that the first one has made
  std::shared_ptr<RemoteLogs> remote =
      {};  ///< an image: data of other nodes; null: all is here. Shared with the loop
  std::shared_ptr<const FileDescriptor> image =
      {};                  ///< an image: the file; shared with the store of segments
  bool shows_all = false;  ///< an image: of a step in progress, with all that was put
  /// The step was written as a file, with these bytes; shared with the images of the node.
  std::shared_ptr<const FileDescriptor> file = {};
};

struct DrainOptions {
  std::int64_t window_bytes = std::int64_t{8} << 20;  ///< bytes written at a time
  std::int64_t chunk_bytes = std::int64_t{1} << 20;   ///< bytes of one variable, read at a time
};

/// Receives the progress after each write. May throw to abort the drain.
using DrainWatcher = std::function<void(const matcher::DrainProgress&)>;

/// Writes the step to a partial file (storage::PartialFile) in ascending order of offsets, syncs it, and
/// renames it to PATH. In every case PATH has the earlier contents or the whole step. A failure removes the
/// partial file.
/// The order may say what PATH should already have. If PATH has that, and the step only adds records to it,
/// then only these records are written there and synced, and then their number is written. Returns the bytes
/// written. Throws IoError, FormatError, Error(NC_EIO) for a damaged request table, and the errors of the
/// watcher.
std::uint64_t drain_step(storage::FileSystem& system, const DrainTask& task, const DrainWatcher& watcher,
                         const DrainOptions& options = {});

/// Writes the step to the empty file `task.image`, which is neither synced nor marked. Returns the size of
/// the file. Throws as drain_step().
std::uint64_t make_image(storage::FileSystem& system, const DrainTask& task, const DrainWatcher& watcher,
                         const DrainOptions& options = {});

/// Marks the complete file with the step that it contains, and gives it its name. That of a netCDF-4 step
/// becomes a netCDF-4 file before. Throws as drain_step().
void publish_drained(storage::FileSystem& system, storage::PartialFile& partial, const DrainTask& task,
                     const DrainWatcher& watcher);

/// The same by several nodes. One node has made the partial file. Then each writes and syncs its part.
/// Finally the first node gives the file its name, or removes it. Throws as drain_step().
std::uint64_t drain_part(storage::FileSystem& system, const DrainTask& task, const DrainWatcher& watcher,
                         const DrainOptions& options = {});

}  // namespace sluice::runtime
