#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sluice/formats/header.hpp"

namespace sluice::formats {

class AttributeTaker;

/// Encodes a header in its own version (header.version): big-endian, padded with zero bytes;
/// docs/formats/cdf.md. Throws Error(NC_EINVAL_CMODE or NC_ESTRICTCDF2 …) if the version cannot represent the
/// types, sizes or offsets. In the other byte order the result is not a CDF file, but a header for
/// process-centric blobs: docs/formats/blobs-hdf5.md.
[[nodiscard]] std::vector<std::byte> encode_header(const Header& header, ByteOrder order = ByteOrder::big);

/// The number of bytes that encode_header returns.
[[nodiscard]] std::int64_t encoded_size(const Header& header);

/// The offset in bytes of the number of records in a file.
inline constexpr std::int64_t record_count_offset = 4;

/// Encodes the number of records: 4 bytes, or 8 in CDF-5.
[[nodiscard]] std::vector<std::byte> encode_record_count(Version version, std::int64_t records);

/// The requested part of a header: the whole header, or no attributes of variables, because there can be very
/// many.
enum class Detail : std::uint8_t { all, structure };

/// A decoded header and its size in bytes.
struct DecodedHeader {
  Header header;
  std::int64_t size_bytes = 0;
};

/// Decodes a header from a prefix of a file. Returns nothing if `prefix` ends inside the header: call again
/// with a longer prefix, up to the whole file. With `is_whole_file`, an end inside the header is damage.
/// `file_size_bytes` (-1 if unknown) bounds every count before memory is allocated. `path` is for messages
/// only. Throws FormatError: NC_ENOTNC (no CDF magic, a truncated header, data that overlaps), NC_EFILE (too
/// short for any header), NC_ENOTBUILT (HDF5), NC_EBADDIM, NC_EBADTYPE, NC_EDIMSIZE, NC_EMAXATTS,
/// NC_EMAXDIMS, NC_EMAXNAME, NC_EMAXVARS, NC_EUNLIMIT, NC_EUNLIMPOS, NC_EVARSIZE. Names are returned as the
/// file stores them (names.hpp: name_in_file). The record count of a file that was being streamed is computed
/// from the file's size. `taker` (attribute_view.hpp; may be null) can take attributes out of the header; its
/// exceptions propagate.
[[nodiscard]] std::optional<DecodedHeader> decode_header(std::span<const std::byte> prefix,
                                                         bool is_whole_file, std::int64_t file_size_bytes,
                                                         std::string_view path, Detail detail = Detail::all,
                                                         AttributeTaker* taker = nullptr);

/// Decodes a complete encoded header that is not in a file (a message, a step in memory). Its file offsets
/// may belong to a file of another version and are not checked. Throws FormatError as decode_header does.
[[nodiscard]] Header decode_metadata(std::span<const std::byte> bytes, std::string_view path,
                                     ByteOrder order = ByteOrder::big);

/// The byte order of an encoded CDF-5 header with dimensions, found by the tag of its list of dimensions.
/// Returns nothing if the tag is missing.
[[nodiscard]] std::optional<ByteOrder> byte_order_of(std::span<const std::byte> cdf5_header) noexcept;

}  // namespace sluice::formats
