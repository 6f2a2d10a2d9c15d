#pragma once
#include <memory>
#include <string>
#include <vector>

#include "mpi_handles.hpp"
#include "sluice/storage/partial_file.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {

/// The partial files of a master and its blob files: ".NAME.sluice-partial", ".NAME.0001.sluice-partial", …,
/// or with a number
/// (".NAME.2.sluice-partial", ".NAME.0001.2.sluice-partial") where another run writes the same files. All
/// have the same number. Only the master's is locked: MPI libraries and HDF5 set locks of their own on the
/// others.
class ProcessBlobPartials {
 public:
  /// Collective over `comm`. `group` has the processes of one blob file, `paths[file]`. Creates the files for
  /// this user alone. Throws on all ranks.
  ProcessBlobPartials(const Communicator& comm, const Communicator& group,
                      const std::vector<std::string>& paths, int file);
  /// Removes what was not published.
  ~ProcessBlobPartials();
  ProcessBlobPartials(const ProcessBlobPartials&) = delete;
  ProcessBlobPartials& operator=(const ProcessBlobPartials&) = delete;

  /// The path of the partial blob file.
  [[nodiscard]] const std::string& blob_path() const noexcept { return blob_path_; }
  /// The partial master; on rank 0.
  [[nodiscard]] storage::File& master() noexcept { return master_->file(); }

  /// Gives the blob file its name; on the first rank of the group.
  void publish_blob(bool is_synced);
  /// Gives the master its name; on rank 0.
  void publish_master() { master_->publish(); }

 private:
  [[nodiscard]] bool take_blob(int number);
  void remove_blob() noexcept;

  storage::PosixFileSystem files_;
  std::string target_;  ///< of the blob file
  std::string blob_path_;
  bool has_blob_ = false;                         ///< this process made the blob's partial file
  std::unique_ptr<storage::PartialFile> master_;  ///< on rank 0
};

}  // namespace sluice::api
