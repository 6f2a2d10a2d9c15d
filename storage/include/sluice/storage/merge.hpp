#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sluice/formats/header.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// How files are merged.
struct MergeOptions {
  std::optional<formats::Version> version;  ///< of the result; the master's where it is not said
  bool replaces = false;                    ///< an existing file of that name
  int threads = 4;
  std::int64_t chunk_bytes = std::int64_t{1} << 20;  ///< of the result, written at once by a thread
  std::int64_t gap_bytes = std::int64_t{32} << 10;   ///< gaps up to this are read along
  /// Where the pieces of a chunk are at least as long as this on average, the system copies them.
  std::int64_t copied_bytes = std::int64_t{128} << 10;
  /// Called before the first byte is written: until then there is nothing to clean up.
  std::function<void()> begin;
  /// Called now and then, by one thread at a time: bytes of data written, and of all. What it throws ends the
  /// merging.
  std::function<void(std::int64_t, std::int64_t)> progress;
};

/// Writes the dataset of a master and its files as one canonical file: the one that would have been written
/// without them, as PnetCDF lays it out by default. Memory: about three times `chunk_bytes` for each thread.
/// What is written is `OUT.partial` until it is complete and synced; nothing of it is left behind where it
/// fails. Returns the bytes of data. Throws IoError, FormatError; NC_EEXIST where the result is there already
/// (unless it `replaces`), NC_EINVAL where the result would be one of the sources.
std::int64_t merge_files(FileSystem& system, const std::string& master, const std::string& out,
                         const MergeOptions& options);

}  // namespace sluice::storage
