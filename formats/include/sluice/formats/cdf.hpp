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

/// Encodes a header in its own version (header.version). Big-endian, padded with zero bytes;
/// docs/formats/cdf.md. Throws Error(NC_EINVAL_CMODE or NC_ESTRICTCDF2 …) where the version cannot hold it
/// (types, sizes or offsets). In another byte order it is no CDF file, but what process-centric blobs have:
/// docs/formats/blobs-hdf5.md.
[[nodiscard]] std::vector<std::byte> encode_header(const Header& header, ByteOrder order = ByteOrder::big);

/// Bytes that encode_header would give.
[[nodiscard]] std::int64_t encoded_size(const Header& header);

/// Where a file has the number of records, in bytes.
inline constexpr std::int64_t record_count_offset = 4;

/// The bytes of the number of records: 4, or 8 in CDF-5.
[[nodiscard]] std::vector<std::byte> encode_record_count(Version version, std::int64_t records);

/// How much of a header is wanted: all of it, or no attributes of variables, of which there can be very many.
enum class Detail : std::uint8_t { all, structure };

/// A decoded header and the bytes it took.
struct DecodedHeader {
  Header header;
  std::int64_t size_bytes = 0;
};

/// Decodes a header from a prefix of a file. Returns nothing when `prefix` ends inside the header: call again
/// with more, up to the whole file; with `is_whole_file` an end inside the header is damage.
/// `file_size_bytes` (or -1 when unknown) bounds every count before memory is taken. `path` is for messages
/// only. Throws FormatError: NC_ENOTNC (no CDF magic, a truncated header, data that overlaps), NC_EFILE (too
/// short for any header), NC_ENOTBUILT (HDF5), NC_EBADDIM, NC_EBADTYPE, NC_EDIMSIZE,
/// NC_EMAXATTS, NC_EMAXDIMS, NC_EMAXNAME, NC_EMAXVARS, NC_EUNLIMIT, NC_EUNLIMPOS, NC_EVARSIZE. Names come
/// out as they are in the file (names.hpp: name_in_file). The record count of a file that was being streamed
/// is computed from the file's size. `taker` (attribute_view.hpp; may be null) can take attributes out of the
/// header; what it throws comes through.
[[nodiscard]] std::optional<DecodedHeader> decode_header(std::span<const std::byte> prefix,
                                                         bool is_whole_file, std::int64_t file_size_bytes,
                                                         std::string_view path, Detail detail = Detail::all,
                                                         AttributeTaker* taker = nullptr);

/// Decodes a whole encoded header that no file holds (a message, a step in memory): its file offsets may be
/// those of another version's file and are not checked. Throws FormatError as decode_header.
[[nodiscard]] Header decode_metadata(std::span<const std::byte> bytes, std::string_view path,
                                     ByteOrder order = ByteOrder::big);

/// The byte order of an encoded CDF-5 header, by the tag of its list of dimensions, which is not empty.
/// Nothing where there is no such tag.
[[nodiscard]] std::optional<ByteOrder> byte_order_of(std::span<const std::byte> cdf5_header) noexcept;

}  // namespace sluice::formats
