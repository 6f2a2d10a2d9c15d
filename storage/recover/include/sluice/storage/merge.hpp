#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sluice/formats/header.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// Options of a merge.
struct MergeOptions {
  std::optional<formats::Version> version;  ///< version of the result; default: the master's
  bool replaces = false;                    ///< replace an existing file
  bool ignores_logs = false;       ///< merge the files as they are, although burst-buffer logs hold more data
  bool takes_short_files = false;  ///< files may end before their data, which then reads as zeros
  int threads = 4;
  std::int64_t chunk_bytes = std::int64_t{1} << 20;  ///< bytes of the result that a thread writes at once
  std::int64_t gap_bytes = std::int64_t{32} << 10;   ///< gaps up to this size are read, too
  /// The system copies a chunk if its pieces have at least this average length.
  std::int64_t copied_bytes = std::int64_t{128} << 10;
  /// Called before the first byte is written: until then there is nothing to clean up.
  std::function<void()> begin;
  /// Called now and then, by one thread at a time, with the bytes of data written and the total. An exception
  /// ends the merge.
  std::function<void(std::int64_t, std::int64_t)> progress;
};

/// Writes the dataset of a master and its files as one canonical file, with PnetCDF's default layout. Memory:
/// about three times `chunk_bytes` for each thread. The file is `.OUT.sluice-partial` until it is complete
/// and synced; a failure leaves nothing behind. Returns the bytes of data. Throws IoError, FormatError;
/// NC_EEXIST if the result exists (unless `replaces`), NC_EINVAL if the result would be one of the sources.
/// NC_EFILE if burst-buffer logs beside the files hold data that the files lack (unless `ignores_logs`).
std::int64_t merge_files(FileSystem& system, const std::string& master, const std::string& out,
                         const MergeOptions& options);

}  // namespace sluice::storage
