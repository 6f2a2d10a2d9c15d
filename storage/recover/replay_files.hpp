#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/placement.hpp"
#include "sluice/storage/file_system.hpp"
#include "sluice/storage/split_dataset.hpp"

namespace sluice::storage {

/// The target of a replay: a netCDF file, or a master and its subfiles, as one range of offsets.
class ReplayFiles {
 public:
  /// Throws IoError, FormatError.
  ReplayFiles(FileSystem& system, const std::string& path);
  ReplayFiles(const ReplayFiles&) = delete;
  ReplayFiles& operator=(const ReplayFiles&) = delete;

  [[nodiscard]] const formats::Header& header() const;
  [[nodiscard]] const formats::Layout& layout() const;
  [[nodiscard]] const formats::Placement& placement() const;

  void write(std::int64_t offset_bytes, std::span<const std::byte> bytes);
  void sync();
  /// Raises the record count of files whose header has a lower one. Throws Error(NC_EINTOVERFLOW) if the
  /// format cannot store the count.
  void raise_record_count(std::int64_t records);
  /// Extends subfiles that end before their data: the data in the logs is now complete.
  void lengthen(std::int64_t records);
  void close();

 private:
  std::vector<std::unique_ptr<File>> files_;  ///< the master first
  formats::DecodedHeader decoded_;            ///< of the file, or of the master
  formats::Layout layout_;
  std::optional<formats::FilePlacement> plain_;
  std::unique_ptr<SplitDataset> split_;  ///< null for an ordinary file
};

}  // namespace sluice::storage
