#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sluice/formats/file_space.hpp"
#include "sluice/formats/header.hpp"
#include "sluice/formats/placement.hpp"
#include "sluice/formats/subfiles.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// A dataset whose data is in several files: its header, and the positions of its elements. It is immutable
/// after opening, so threads may share it.
class SplitDataset {
 public:
  virtual ~SplitDataset() = default;
  /// The user's view of the header; its begins have no meaning.
  [[nodiscard]] virtual const formats::Header& header() const = 0;
  /// The space of all files, and the paths in the space's order.
  [[nodiscard]] virtual const formats::FileSpace& space() const = 0;
  [[nodiscard]] virtual const std::vector<std::string>& paths() const = 0;
  /// Positions of elements, as offsets in the space.
  [[nodiscard]] virtual const formats::Placement& placement() const = 0;
  /// Throws FormatError, with the file's name, if a file was truncated.
  virtual void check_complete() const {}
  /// The size in bytes of a complete file with that many records; 0 if unknown.
  [[nodiscard]] virtual std::int64_t whole_bytes(int /*file*/, std::int64_t /*records*/) const { return 0; }
};

/// The naming scheme of a master's subfiles: without a suffix if only those names exist.
[[nodiscard]] formats::SubfileNames subfile_names(FileSystem& system, const std::string& master);

/// Reads the headers of a master and of all its files. Subfiles and blob files may be shorter than their
/// data: see check_complete. Throws IoError and FormatError, which name the file; throws Error(NC_EINVAL) for
/// an ordinary file.
[[nodiscard]] std::unique_ptr<SplitDataset> open_split_dataset(FileSystem& system, const std::string& master);

}  // namespace sluice::storage
