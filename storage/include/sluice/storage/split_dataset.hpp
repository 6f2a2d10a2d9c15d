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

/// A dataset whose data is in several files: what it is, and where its elements are. Does not change once it
/// is open: threads may share it.
class SplitDataset {
 public:
  virtual ~SplitDataset() = default;
  /// As the user knows it; begins mean nothing.
  [[nodiscard]] virtual const formats::Header& header() const = 0;
  /// Of all its files, and the paths in the order of the space's files.
  [[nodiscard]] virtual const formats::FileSpace& space() const = 0;
  [[nodiscard]] virtual const std::vector<std::string>& paths() const = 0;
  /// Offsets in the space.
  [[nodiscard]] virtual const formats::Placement& placement() const = 0;
  /// Throws FormatError, naming the file, where one was cut short.
  virtual void check_complete() const {}
  /// Bytes that a file has with so many records when all of its data is there; 0 where that is not known.
  [[nodiscard]] virtual std::int64_t whole_bytes(int /*file*/, std::int64_t /*records*/) const { return 0; }
};

/// How the subfiles of a master are called: without a suffix where it is only these that are there.
[[nodiscard]] formats::SubfileNames subfile_names(FileSystem& system, const std::string& master);

/// Reads the headers of a master and of all files that it tells of, where subfiles may be shorter than their
/// data: check_complete. Throws IoError, FormatError, which name the file; Error(NC_EINVAL) for an ordinary
/// file.
[[nodiscard]] std::unique_ptr<SplitDataset> open_split_dataset(FileSystem& system, const std::string& master);

}  // namespace sluice::storage
