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

/// The netCDF file that logs are replayed into, or the master and its subfiles, as one range of offsets.
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
  /// Where a file's header says fewer. Throws Error(NC_EINTOVERFLOW) where its format cannot say so many.
  void raise_record_count(std::int64_t records);
  /// Subfiles that end before their data does get its length: what the logs have is complete now.
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
