#pragma once
#include <memory>
#include <span>

#include "sluice/formats/blobs.hpp"
#include "sluice/formats/map_entries.hpp"
#include "sluice/formats/placement.hpp"

namespace sluice::formats {

/// The positions of a map's elements: the file (the holder), and the position in the file's part. Requires
/// that the map has its runs.
[[nodiscard]] MapEntries entries_of_map(const Header& header, const Blobs& blobs, int map);

/// The positions of the elements of a dataset in blobs, in the space of all its files: the master and the
/// blob files in their order. Undecided variables have no place: null. Keeps no references.
class BlobPlacement final : public Placement {
 public:
  /// `load` makes the entries of a map when a variable needs them. MapCache bounds the entries that are kept.
  BlobPlacement(const Header& header, const Blobs& blobs, std::span<const FileDescription> files,
                const FileSpace& space, MapLoader load, std::size_t most_map_bytes);
  ~BlobPlacement() override;
  BlobPlacement(const BlobPlacement&) = delete;
  BlobPlacement& operator=(const BlobPlacement&) = delete;
  [[nodiscard]] std::unique_ptr<VariablePlace> place_of(int varid) const override;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sluice::formats
