#pragma once
#include <memory>
#include <span>

#include "sluice/formats/blobs.hpp"
#include "sluice/formats/map_entries.hpp"
#include "sluice/formats/placement.hpp"

namespace sluice::formats {

/// Where a map's elements are: in which file (the holder), from which element of the file's part on. Of a map
/// that has its runs.
[[nodiscard]] MapEntries entries_of_map(const Header& header, const Blobs& blobs, int map);

/// Where the elements of a dataset in blobs are, in the space of all its files: the master and the blob files
/// in their order. Undecided variables have no place: null. Does not keep references.
class BlobPlacement final : public Placement {
 public:
  /// `load` gives the entries of a map when a variable needs them; what is kept of them is bounded, as
  /// MapCache says.
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
