#pragma once
#include <string>
#include <vector>

#include "mpi_handles.hpp"
#include "process_patterns.hpp"
#include "sluice/formats/process_blobs.hpp"

namespace sluice::api {

/// The blob of this process: its maps and its puts, in this machine's byte order. If the puts are `given_up`,
/// each part is freed after it has been copied.
[[nodiscard]] std::vector<std::byte> encode_blob(const formats::Header& header, const formats::Blobs& blobs,
                                                 int process, PendingPuts& puts, bool given_up);

/// The part of a blob in one variable (and one record); the bytes are big-endian.
struct WrittenPart {
  int varid = 0;
  std::int64_t record = 0;
  std::vector<formats::ElementRun> runs;
  std::vector<std::byte> bytes;
};
/// Reads the blob of one process, as encode_blob wrote it.
[[nodiscard]] std::vector<WrittenPart> read_blob(const formats::ProcessBlobDataset& dataset, int process,
                                                 const formats::BlobReader& read);

/// The content of a dataset in process-centric blobs.
struct ProcessBlobOutput {
  const std::vector<std::string>& paths;  ///< of the master and the other files
  const formats::Header& header;          ///< the user's header, with the number of records
  const formats::Blobs& blobs;
  const std::vector<std::byte>& blob;  ///< of this process
  MPI_Info info = MPI_INFO_NULL;
  bool is_synced = false;  ///< the data is on storage afterwards
};

/// Collective: writes all files with the HDF5 library. Each file has a temporary name until all files are
/// complete; the old files exist until then. Throws on all ranks.
void write_process_blobs(const Communicator& comm, const ProcessBlobOutput& output);

}  // namespace sluice::api
