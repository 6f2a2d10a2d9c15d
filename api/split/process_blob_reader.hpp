#pragma once
#include <memory>
#include <string>
#include <vector>

#include "file_set.hpp"
#include "file_transfer.hpp"
#include "mpi_handles.hpp"
#include "sluice/formats/process_blobs.hpp"

namespace sluice::api {

/// Collective: reads the metadata of a master's files in process-centric blobs; one rank reads each file. One
/// rank checks each map. Throws on all ranks.
[[nodiscard]] formats::ProcessBlobDataset look_at_process_blobs(const Communicator& comm,
                                                                const formats::Header& master,
                                                                const std::vector<std::string>& paths);

/// Reads a dataset in process-centric blobs with any number of ranks.
class ProcessBlobReader {
 public:
  /// `comm` outlives this object. Throws if this rank cannot open the master.
  ProcessBlobReader(const Communicator& comm, formats::ProcessBlobDataset dataset, const FileOptions& options,
                    MPI_Info info);

  /// See Driver::get.
  void get(const formats::Header& header, std::span<Access> accesses, Mode mode);
  void close() { files_.close(); }
  [[nodiscard]] const formats::ProcessBlobDataset& dataset() const noexcept { return placement_.dataset(); }
  /// Reads one file's data_blob on this rank alone.
  [[nodiscard]] const formats::BlobReader& blobs() const noexcept { return read_; }
  [[nodiscard]] std::map<std::string, std::string> hints() const { return files_.file(0).hints(); }

 private:
  FileSet files_;
  formats::BlobReader read_;
  formats::ProcessBlobPlacement placement_;
  FileTransfer transfer_;
};

}  // namespace sluice::api
