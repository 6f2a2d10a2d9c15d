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

/// The files of a dataset whose data is in several files, and their headers. The drivers of subfiles and
/// blobs share this class. File 0 is the master. Functions are collective, except simple accessors and where
/// noted.
class SplitFiles {
 public:
  using Descriptions = std::vector<formats::FileDescription>;

  struct OpenInfo {
    bool is_writable = false;
    bool is_shared = false;  ///< NC_SHARE: metadata is written to storage at once
  };

  /// `comm` outlives this object. `options` are those of an ordinary file. Fills do not bridge gaps here,
  /// because another rank may fill elements between the end of one file and the begin of the next.
  SplitFiles(const Communicator& comm, FileSet files, const FileOptions& options, const OpenInfo& open_info)
      : comm_(comm),
        files_(std::move(files)),
        open_info_(open_info),
        transfer_(comm_, files_, without_fill_gaps(options)) {}

  [[nodiscard]] const Communicator& comm() const noexcept { return comm_; }
  [[nodiscard]] int size() const noexcept { return files_.size(); }
  [[nodiscard]] const std::vector<std::string>& paths() const noexcept { return files_.paths(); }
  [[nodiscard]] const FileHandle& file(int i) const { return files_.file(i); }
  [[nodiscard]] FileTransfer& transfer() noexcept { return transfer_; }
  [[nodiscard]] const formats::FileSpace& space() const noexcept { return space_; }

  /// The description of all files, the same for every rank.
  struct Contents {
    formats::Version version = formats::Version::cdf1;
    bool has_record_dimension = false;  ///< in the master's header
    std::vector<formats::Layout> layouts;
  };
  [[nodiscard]] static Contents contents_of(const Descriptions& files);

  /// The data to move in a file with this number of bytes.
  using MoveOf = std::function<DataMove(int file, std::int64_t file_bytes)>;
  using Encode = std::function<std::vector<std::byte>(int file)>;

  /// Not collective: sets the current contents of the files.
  void adopt(Contents contents);
  /// Moves existing data to its positions in the next contents, and adopts these contents.
  void move_to(Contents next, const MoveOf& move_of);
  /// Not collective: writes this rank's share of the headers.
  void write_my_headers(const Encode& encode) const;
  /// Not collective: writes this rank's share of the record counts that have changed.
  void write_my_record_counts(std::int64_t records);
  [[nodiscard]] std::int64_t record_count() const noexcept { return record_count_; }
  /// Sets a record count that the headers already contain.
  void set_record_count(std::int64_t records) noexcept { record_count_ = records; }

  /// Called after metadata has changed: with NC_SHARE it goes to storage.
  void metadata_written();
  void sync();
  /// Extends all files to the length of their data. A put to only some files leaves them with different ends,
  /// and a shorter file would count as cut off. Does nothing if a put has failed.
  void lengthen(const std::function<formats::FileEnd(int file, std::int64_t file_bytes)>& end_of);
  /// Runs a put and remembers a failure.
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
  /// Removes new files.
  void discard(bool is_new);

  /// Calls work(file) for this rank's share of the files.
  template <class Work>
  void for_my_files(const Work& work) const {
    for (int file = comm_.rank(); file < files_.size(); file += comm_.size()) work(file);
  }

 private:
  [[nodiscard]] static FileOptions without_fill_gaps(FileOptions options) noexcept {
    options.fill_gap_bytes = 0;
    return options;
  }

  const Communicator& comm_;
  FileSet files_;
  OpenInfo open_info_;
  Contents contents_;
  formats::FileSpace space_;
  std::int64_t record_count_ = 0;  ///< in the files' headers
  bool has_failed_ = false;
  FileTransfer transfer_;
};

}  // namespace sluice::api
