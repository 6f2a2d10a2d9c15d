#pragma once
#include <string>

#include "sluice/formats/header.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// The name of a header that is being written.
[[nodiscard]] std::string partial_header_of(const std::string& header);

/// The netCDF file's header beside a workflow's log (docs/formats/burst-buffer-log.md), and the names of the
/// log's files.
class LogHeader {
 public:
  /// The log's files are in the directory of `path`, and their names are new. `files` outlives this object.
  LogHeader(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  /// Replaces the previous header in one step. The number of records is not part of it. Throws IoError.
  void write(const formats::Header& header);
  /// Adds a header of a later step behind the others, which stay. Returns its offset in bytes, which is not
  /// 0. Throws IoError.
  [[nodiscard]] std::int64_t append(const formats::Header& header);
  /// Ensures that the header and the directory's entries are on storage. Throws IoError.
  void sync();

 private:
  FileSystem& files_;
  std::string path_;
  bool is_written_ = false;
  bool is_header_synced_ = false;
  bool are_names_synced_ = false;
};

}  // namespace sluice::storage
