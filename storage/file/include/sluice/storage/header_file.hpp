#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sluice/formats/cdf.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// A decoded header, and its bytes in the file.
struct HeaderOfFile {
  formats::DecodedHeader decoded;
  std::vector<std::byte> bytes;
};

inline constexpr std::int64_t default_header_chunk_bytes = std::int64_t{256} << 10;

/// Reads the header in chunks until it is complete, from `begin_bytes` of the file on. Throws IoError; throws
/// FormatError as decode_header does.
[[nodiscard]] HeaderOfFile read_header(const File& file,
                                       std::int64_t chunk_bytes = default_header_chunk_bytes,
                                       formats::Detail detail = formats::Detail::all,
                                       formats::AttributeTaker* taker = nullptr,
                                       std::int64_t begin_bytes = 0);

}  // namespace sluice::storage
