#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sluice/formats/blobs.hpp"
#include "sluice/formats/map_entries.hpp"
#include "sluice/formats/placement.hpp"

// Blobs of processes, each with all that a process has put: docs/formats/blobs-hdf5.md. Headers and maps are
// those of blobs.hpp.
namespace sluice::formats {

/// Where the data of one file of blobs is, and the file's header.
struct ProcessBlobFile {
  Header header;
  ByteOrder order = native_byte_order;
  std::int64_t data_offset = 0;  ///< of data_blob, in the file
  std::int64_t data_bytes = 0;
};

/// What a process's blob has of one map.
struct BlobMapPart {
  std::int64_t requests = 0;
  std::int64_t elements = 0;
  std::int64_t list_begin = 0;  ///< of the requests' offsets, in the file's data_blob; their lengths follow
};

/// What a process's blob has, without the requests themselves.
struct BlobContents {
  std::int64_t data_begin = 0;  ///< of the variables, in the file's data_blob
  std::vector<BlobMapPart> maps;
};

/// Bytes of one number of a map's lists in that file: 4 or 8. Throws FormatError(NC_ENOTNC).
[[nodiscard]] std::int64_t list_number_bytes(const Header& file_header, int map, const std::string& path);

/// What the process's blob begins with: all maps' variables, in this machine's byte order.
[[nodiscard]] std::vector<std::byte> encode_blob_maps(const Header& header, const Blobs& blobs, int process);

/// Bytes of a variable in a blob that has so many elements of each map; of one record, where the variable has
/// records and its map has not.
struct BlobVariableBytes {
  std::int64_t one = 0;
  std::int64_t all = 0;
};
[[nodiscard]] BlobVariableBytes bytes_in_blob(const BlobHeader& dataset, int varid, int process,
                                              const BlobContents& contents);

/// Reads bytes of a file's data_blob: file, offset, where to.
using BlobReader = std::function<void(int, std::int64_t, std::span<std::byte>)>;

/// What the blobs of a file's processes have, read one after the other: where a blob begins is known when
/// that before it is. Throws FormatError(NC_ENOTNC).
[[nodiscard]] std::vector<BlobContents> read_blob_contents(const BlobHeader& dataset, int file,
                                                           const ProcessBlobFile& description,
                                                           const std::string& path, const BlobReader& read);

/// A dataset in blobs of processes, as its files say. Maps are read when they are needed.
struct ProcessBlobDataset {
  BlobHeader dataset;
  std::vector<ProcessBlobFile> files;
  std::vector<BlobContents> contents;  ///< by process
  std::vector<std::string> paths;      ///< the master's and those of the files

  /// Reads a process's requests of a map (from 1). Throws FormatError(NC_ENOTNC) where one has an element
  /// that the map has not.
  [[nodiscard]] std::vector<ElementRun> read_requests(int map, int process, const BlobReader& read) const;

  /// Reads all requests of a map. Throws FormatError(NC_ENOTNC) where one has an element that
  /// another has, or that the map has not; and what `read` throws.
  [[nodiscard]] MapEntries read_map(int map, const BlobReader& read) const;
};

/// Where the elements of blobs of processes are, in the space of all files (process_blob_space). Keeps as
/// many maps as fit into `most_map_bytes`, and the last one in any case. Threads may share it.
class ProcessBlobPlacement final : public Placement {
 public:
  /// `read` may be called by any thread that asks for a place.
  ProcessBlobPlacement(ProcessBlobDataset dataset, BlobReader read, std::size_t most_map_bytes);
  ~ProcessBlobPlacement() override;
  ProcessBlobPlacement(const ProcessBlobPlacement&) = delete;
  ProcessBlobPlacement& operator=(const ProcessBlobPlacement&) = delete;

  [[nodiscard]] std::unique_ptr<VariablePlace> place_of(int varid) const override;
  [[nodiscard]] ByteOrder byte_order() const noexcept override;
  [[nodiscard]] const ProcessBlobDataset& dataset() const noexcept;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The files of the space: first the master, with as many bytes behind its end as the largest variable has,
/// then all data_blobs. What is in no blob is placed behind the end of the master, where a file reads as
/// zeros; so are records that the files do not have.
[[nodiscard]] std::vector<FileDescription> process_blob_space(const ProcessBlobDataset& dataset,
                                                              std::int64_t master_bytes);

}  // namespace sluice::formats
