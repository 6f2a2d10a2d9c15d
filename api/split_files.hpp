#pragma once
#include <cstdint>
#include <vector>

#include "file_options.hpp"
#include "file_set.hpp"
#include "file_transfer.hpp"
#include "mpi_handles.hpp"
#include "sluice/formats/file_space.hpp"

namespace sluice::api {

/// The files of a dataset whose data is in several, and their headers: what the drivers of subfiles and blobs
/// have in common. Files are numbered from 0, the master. All functions but the plain ones are collective.
class SplitFiles {
 public:
  using Descriptions = std::vector<formats::FileDescription>;

  struct Facts {
    bool is_writable = false;
    bool is_shared = false;  ///< NC_SHARE: metadata goes to storage at once
  };

  /// `comm` outlives this.
  SplitFiles(const Communicator& comm, FileSet files, const FileOptions& options, const Facts& facts)
      : comm_(comm), files_(std::move(files)), facts_(facts), transfer_(comm_, files_, options) {}

  [[nodiscard]] const Communicator& comm() const noexcept { return comm_; }
  [[nodiscard]] int size() const noexcept { return files_.size(); }
  [[nodiscard]] const std::vector<std::string>& paths() const noexcept { return files_.paths(); }
  [[nodiscard]] const FileHandle& file(int i) const { return files_.file(i); }
  [[nodiscard]] FileTransfer& transfer() noexcept { return transfer_; }
  [[nodiscard]] const Descriptions& descriptions() const noexcept { return descriptions_; }
  [[nodiscard]] const formats::FileSpace& space() const noexcept { return space_; }

  /// Not collective: the files are like this.
  void adopt(Descriptions descriptions);
  /// Existing data goes to where the next descriptions have it, and adopts them. `ids`: by file and id of a
  /// variable, the id that it will have; without them it keeps its own.
  void move_to(Descriptions next, std::int64_t record_count, const std::vector<std::vector<int>>& ids = {});
  /// Not collective: this rank's share of the headers.
  void write_my_headers() const;
  /// Not collective: this rank's share of the numbers of records, where they are others than before.
  void write_my_record_counts(std::int64_t records);
  [[nodiscard]] std::int64_t record_count() const noexcept { return record_count_; }
  /// The headers say so already.
  void set_record_count(std::int64_t records) noexcept { record_count_ = records; }

  /// Metadata has changed: with NC_SHARE it goes to storage.
  void metadata_written();
  void sync();
  void close(std::int64_t records);
  /// Removes the files where they are new.
  void discard(bool is_new);

  /// Calls work(file) for this rank's share of the files.
  template <class Work>
  void for_my_files(const Work& work) const {
    for (int file = comm_.rank(); file < files_.size(); file += comm_.size()) work(file);
  }

 private:
  const Communicator& comm_;
  FileSet files_;
  Facts facts_;
  Descriptions descriptions_;
  formats::FileSpace space_;
  std::int64_t record_count_ = 0;  ///< in the files' headers
  FileTransfer transfer_;
};

}  // namespace sluice::api
