#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data_move.hpp"
#include "file_options.hpp"
#include "file_set.hpp"
#include "file_transfer.hpp"
#include "mpi_handles.hpp"
#include "sluice/formats/file_end.hpp"
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
  [[nodiscard]] const formats::FileSpace& space() const noexcept { return space_; }

  /// What has to be known of all files, whoever writes them.
  struct Contents {
    formats::Version version = formats::Version::cdf1;
    bool has_record_dimension = false;  ///< the master's header
    std::vector<formats::Layout> layouts;
  };
  [[nodiscard]] static Contents contents_of(const Descriptions& files);

  /// What has to move in a file of that many bytes.
  using MoveOf = std::function<DataMove(int file, std::int64_t file_bytes)>;
  using Encode = std::function<std::vector<std::byte>(int file)>;

  /// Not collective: the files are like this.
  void adopt(Contents contents);
  /// Existing data goes to where the next contents have it, and adopts them.
  void move_to(Contents next, const MoveOf& move_of);
  /// Not collective: this rank's share of the headers.
  void write_my_headers(const Encode& encode) const;
  /// Not collective: this rank's share of the numbers of records, where they are others than before.
  void write_my_record_counts(std::int64_t records);
  [[nodiscard]] std::int64_t record_count() const noexcept { return record_count_; }
  /// The headers say so already.
  void set_record_count(std::int64_t records) noexcept { record_count_ = records; }

  /// Metadata has changed: with NC_SHARE it goes to storage.
  void metadata_written();
  void sync();
  /// Where something was put into a variable in some files only, which end in different places then, all get
  /// the length of their data: one that is shorter was cut. But not where something could not be put.
  void lengthen(const std::function<formats::FileEnd(int file, std::int64_t file_bytes)>& end_of);
  /// Does what puts something, and remembers that it could not.
  template <class Put>
  void put(const Put& put) {
    try {
      put();
    } catch (...) {
      has_failed_ = true;
      throw;
    }
  }
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
  Contents contents_;
  formats::FileSpace space_;
  std::int64_t record_count_ = 0;  ///< in the files' headers
  bool has_failed_ = false;
  FileTransfer transfer_;
};

}  // namespace sluice::api
