#pragma once
// The bytes of burst-buffer logs, docs/formats/burst-buffer-log.md.
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/formats/hyperslab.hpp"
#include "sluice/formats/types.hpp"

namespace sluice::formats {

/// What both files of a log begin with; the last byte is the version, of which there is one.
inline constexpr std::string_view burst_log_magic = "PnetCDF0";
/// Where the data of the first entry is in the data log.
inline constexpr std::int64_t burst_data_begin = static_cast<std::int64_t>(burst_log_magic.size());
/// Places in the metadata log that change while it is written, in bytes.
inline constexpr std::int64_t burst_cdf_version_offset = 11;
inline constexpr std::int64_t burst_max_dimensions_offset = 40;
inline constexpr std::int64_t burst_entry_count_offset = 48;
/// The place of data_len in an entry.
inline constexpr std::int64_t burst_data_length_offset = 32;
/// Bytes of an entry without its starts, counts and strides, and of the clock at its end.
inline constexpr std::int64_t burst_entry_fixed_bytes = 40;
inline constexpr std::int64_t burst_entry_clock_bytes = 8;

/// Of which step of a workflow a log is: Sluice's own, between the names and the first entry. What belongs
/// together has the same origin: the step that created the dataset, for all that opened it for writing later.
struct BurstLogStep {
  std::int64_t step = 0;
  std::int64_t origin = 0;
  bool operator==(const BurstLogStep&) const = default;
};

/// Whose a log is: Sluice's own, behind the names and the step. Recovery goes by it alone.
struct BurstLogIdentity {
  std::uint64_t run = 0;  ///< of a workflow, a random number; else 0
  std::int64_t created_ns =
      0;  ///< when that run began, or, without one, the file was created or opened: ns since 1970
  std::uint64_t group = 0;  ///< a random number of the processes that created or opened the file together
  auto operator<=>(const BurstLogIdentity&) const = default;
};

/// The header of a metadata log.
struct BurstLogHeader {
  int cdf_version = 0;  ///< the digit after "CDF" in the field `format`: 1, 2, 5; 0 in PnetCDF's own logs
  bool is_big_endian = std::endian::native == std::endian::big;  ///< the integers of the metadata log
  bool is_external = true;                                       ///< the data is as the netCDF file holds it
  std::int64_t process_count = 1;                                ///< num_ranks
  std::int64_t rank = 0;                                         ///< rank_id
  std::int64_t max_dimensions = 0;  ///< of all variables; tells nothing that entries do not tell
  std::int64_t entry_count = 0;     ///< num_entries: those that are complete
  std::int64_t entry_begin = 0;     ///< where the first entry is, in bytes; set by encoding
  std::string path;                 ///< basename: the netCDF file, absolute
  std::string processor;            ///< proc_name: MPI's name of the node
  std::optional<BurstLogStep> step = {};
  std::optional<BurstLogIdentity> identity = {};
};

/// Encodes a header in this machine's byte order and sets its entry_begin. Throws Error(NC_EBAD_FILE) for
/// names that are too long.
[[nodiscard]] std::vector<std::byte> encode_burst_log_header(BurstLogHeader& header);

/// Decodes a header from a prefix of the file; nothing where the prefix ends inside it and is not the whole
/// file. `path` is for messages. The fields that PnetCDF 1.12.3 puts in other places are found there. Throws
/// FormatError: NC_EFILE (not a metadata log), NC_ETRUNC, NC_ENOTBUILT (a log of a file that is not CDF).
[[nodiscard]] std::optional<BurstLogHeader> decode_burst_log_header(std::span<const std::byte> prefix,
                                                                    std::int64_t file_size_bytes,
                                                                    std::string_view path);

/// One entry of a metadata log: a put of hyperslabs of one variable.
struct BurstLogEntry {
  std::int64_t size_bytes = 0;  ///< esize
  int api_kind = 0;             ///< burst_vara, burst_vars, …, or the number of hyperslabs of a varn
  Type type = Type::nat;        ///< itype: of the data; nat for codes that are no type
  bool is_long = false;         ///< itype 13, PnetCDF's for C's long; then the type is int64
  int varid = -1;
  int dimensions = 0;            ///< ndims
  std::int64_t data_offset = 0;  ///< in the data log, bytes
  std::int64_t data_bytes = 0;   ///< 0: the put was withdrawn
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> counts;   ///< as many as starts
  std::vector<std::int64_t> strides;  ///< empty: 1 everywhere
  std::optional<std::int64_t> clock;  ///< of a workflow's logs: when it was put

  [[nodiscard]] bool is_withdrawn() const noexcept { return data_bytes == 0; }
  /// Bytes of data that the selection has; -1 where that is beyond 63 bits or makes no sense. Of a put that
  /// was withdrawn: what it had.
  [[nodiscard]] std::int64_t selected_bytes() const noexcept;
  [[nodiscard]] std::int64_t slab_count() const noexcept { return api_kind > 0 ? api_kind : 1; }
  /// They refer to this entry.
  [[nodiscard]] HyperslabView slab(std::int64_t i) const noexcept;
};

// api_kind; positive numbers are a varn of so many hyperslabs.
inline constexpr int burst_var = -1;
inline constexpr int burst_var1 = -2;
inline constexpr int burst_vara = -3;
inline constexpr int burst_vars = -4;

/// What is known of a put when it goes to a log.
struct BurstLogPut {
  Type type = Type::nat;
  int varid = -1;
  std::span<const HyperslabView> slabs;  ///< at least one, all with the same number of dimensions
  std::int64_t data_offset = 0;
  std::int64_t data_bytes = 0;
  std::optional<std::int64_t> clock = {};  ///< where the log is a workflow's, and only there
};

/// Bytes that encode_burst_log_entry appends; hyperslabs of lists with strides cannot be one entry.
[[nodiscard]] std::int64_t burst_log_entry_size(const BurstLogPut& put) noexcept;

/// Appends an entry in this machine's byte order: VARA or VARS for one hyperslab, varn (without strides) for
/// several.
void encode_burst_log_entry(const BurstLogPut& put, std::vector<std::byte>& bytes);

/// The first field of an entry, from its first 8 bytes.
[[nodiscard]] std::int64_t decode_burst_log_entry_size(std::span<const std::byte, 8> bytes,
                                                       bool is_big_endian) noexcept;

/// Decodes an entry of exactly these bytes. Checked is what the entry says of itself: sizes, kinds, types and
/// that the data is as long as the selection. Throws FormatError(NC_EFILE) with `offset_bytes` of the entry.
[[nodiscard]] BurstLogEntry decode_burst_log_entry(std::span<const std::byte> bytes,
                                                   const BurstLogHeader& header, std::int64_t offset_bytes,
                                                   std::string_view path);

/// The codes of itype for the external types and back; C's long has one of its own in PnetCDF (13).
[[nodiscard]] int burst_type_code(Type type) noexcept;
[[nodiscard]] Type burst_type_of_code(int code) noexcept;

}  // namespace sluice::formats
