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

// Blobs of processes; each blob has all data that a process has put: docs/formats/blobs-hdf5.md. Headers and
// maps are those of blobs.hpp.
namespace sluice::formats {

/// The position of the data in one file of blobs, and the file's header.
struct ProcessBlobFile {
  Header header;
  ByteOrder order = native_byte_order;
  std::int64_t data_offset = 0;  ///< offset of data_blob in the file
  std::int64_t data_bytes = 0;
};

/// The part of a process's blob for one map.
struct BlobMapPart {
  std::int64_t requests = 0;
  std::int64_t elements = 0;
  std::int64_t list_begin =
      0;  ///< position of the requests' offsets in the file's data_blob; their lengths follow
};

/// The contents of a process's blob, without the requests themselves.
struct BlobContents {
  std::int64_t data_begin = 0;  ///< position of the variables in the file's data_blob
  std::vector<BlobMapPart> maps;
};

/// Bytes of one number in a map's lists in that file: 4 or 8. Throws FormatError(NC_ENOTNC).
[[nodiscard]] std::int64_t list_number_bytes(const Header& file_header, int map, const std::string& path);

/// The first part of the process's blob: the variables of all maps, in this machine's byte order.
[[nodiscard]] std::vector<std::byte> encode_blob_maps(const Header& header, const Blobs& blobs, int process);

/// Bytes of a variable in a blob with that many elements of each map. If the variable has records and its map
/// has not, the bytes are for one record.
struct BlobVariableBytes {
  std::int64_t one = 0;
  std::int64_t all = 0;
};
[[nodiscard]] BlobVariableBytes bytes_in_blob(const BlobHeader& dataset, int varid, int process,
                                              const BlobContents& contents);

/// Reads bytes of a file's data_blob; the arguments are the file, the offset, and the destination.
using BlobReader = std::function<void(int, std::int64_t, std::span<std::byte>)>;

/// Reads the contents of the blobs of a file's processes, one after the other, because each blob's position
/// depends on the previous one. Throws FormatError(NC_ENOTNC).
[[nodiscard]] std::vector<BlobContents> read_blob_contents(const BlobHeader& dataset, int file,
                                                           const ProcessBlobFile& description,
                                                           const std::string& path, const BlobReader& read);

/// A dataset in blobs of processes, as its files describe it. Maps are read on demand.
struct ProcessBlobDataset {
  BlobHeader dataset;
  std::vector<ProcessBlobFile> files;
  std::vector<BlobContents> contents;  ///< contents of each process's blob
  std::vector<std::string> paths;      ///< paths of the master and the files

  /// Reads a process's requests of a map (from 1). Throws FormatError(NC_ENOTNC) if a request has an element
  /// that the map lacks.
  [[nodiscard]] std::vector<ElementRun> read_requests(int map, int process, const BlobReader& read) const;

  /// Reads all requests of a map. Throws FormatError(NC_ENOTNC) if a request has an element of another
  /// request, or an element that the map lacks. Also throws the exceptions of `read`.
  [[nodiscard]] MapEntries read_map(int map, const BlobReader& read) const;
};

/// The positions of elements in blobs of processes, in the space of all files (process_blob_space). Keeps the
/// maps that fit into `most_map_bytes`, and always the last one. Thread-safe.
class ProcessBlobPlacement final : public Placement {
 public:
  /// Any thread that asks for a place may call `read`.
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

/// The files of the space: first the master, then all data_blobs. The master is extended after its end by the
/// size of the largest variable. Elements in no blob, and records that the files lack, are placed there,
/// where a file reads as zeros.
[[nodiscard]] std::vector<FileDescription> process_blob_space(const ProcessBlobDataset& dataset,
                                                              std::int64_t master_bytes);

}  // namespace sluice::formats
