#pragma once
#include <memory>
#include <string>
#include <vector>

#include "file_set.hpp"
#include "file_transfer.hpp"
#include "mpi_handles.hpp"
#include "sluice/formats/process_blobs.hpp"

namespace sluice::api {

/// Collective: what the files of a master in blobs of processes say; each is read by one rank. Checks the
/// maps, each by one rank. Throws on all ranks.
[[nodiscard]] formats::ProcessBlobDataset look_at_process_blobs(const Communicator& comm,
                                                                const formats::Header& master,
                                                                const std::vector<std::string>& paths);

/// Reads a dataset in blobs of processes, by any number of ranks.
class ProcessBlobReader {
 public:
  /// `comm` outlives this. Throws where this rank cannot open the master.
  ProcessBlobReader(const Communicator& comm, formats::ProcessBlobDataset dataset, const FileOptions& options,
                    MPI_Info info);

  /// As Driver::get.
  void get(const formats::Header& header, std::span<Access> accesses, Mode mode);
  void close() { files_.close(); }
  [[nodiscard]] const formats::ProcessBlobDataset& dataset() const noexcept { return placement_.dataset(); }
  /// Of one file's data_blob, by this rank alone.
  [[nodiscard]] const formats::BlobReader& blobs() const noexcept { return read_; }
  [[nodiscard]] std::map<std::string, std::string> hints() const { return files_.file(0).hints(); }

 private:
  FileSet files_;
  formats::BlobReader read_;
  formats::ProcessBlobPlacement placement_;
  FileTransfer transfer_;
};

}  // namespace sluice::api
