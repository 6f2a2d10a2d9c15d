#pragma once
#include <string>
#include <vector>

#include "mpi_handles.hpp"
#include "process_patterns.hpp"
#include "sluice/formats/process_blobs.hpp"

namespace sluice::api {

/// The blob of this process: its maps and what it has put, in this machine's byte order. Where the puts are
/// `given_up`, each part is dropped when it has been copied.
[[nodiscard]] std::vector<std::byte> encode_blob(const formats::Header& header, const formats::Blobs& blobs,
                                                 int process, PendingPuts& puts, bool given_up);

/// What a blob has of one variable (of one record of it); the bytes are big-endian.
struct WrittenPart {
  int varid = 0;
  std::int64_t record = 0;
  std::vector<formats::ElementRun> runs;
  std::vector<std::byte> bytes;
};
/// Reads the blob of one process, as encode_blob made it.
[[nodiscard]] std::vector<WrittenPart> read_blob(const formats::ProcessBlobDataset& dataset, int process,
                                                 const formats::BlobReader& read);

/// What is written of a dataset in blobs of processes.
struct ProcessBlobOutput {
  const std::vector<std::string>& paths;  ///< the master's and the files'
  const formats::Header& header;          ///< the user's, with the number of records
  const formats::Blobs& blobs;
  const std::vector<std::byte>& blob;  ///< this process's
  MPI_Info info = MPI_INFO_NULL;
  bool is_synced = false;  ///< on storage afterwards
};

/// Collective: writes all files by the HDF5 library, each under another name until all are complete; those of
/// that name before are there until then. Throws on all ranks.
void write_process_blobs(const Communicator& comm, const ProcessBlobOutput& output);

}  // namespace sluice::api
