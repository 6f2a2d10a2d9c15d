#pragma once
// The bytes of burst-buffer logs: docs/formats/burst-buffer-log.md.
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

/// The first bytes of both files of a log. The last byte is the version; there is only one.
inline constexpr std::string_view burst_log_magic = "PnetCDF0";
/// The offset of the first entry's data in the data log.
inline constexpr std::int64_t burst_data_begin = static_cast<std::int64_t>(burst_log_magic.size());
/// Offsets of the fields in the metadata log that change during writing, in bytes.
inline constexpr std::int64_t burst_cdf_version_offset = 11;
inline constexpr std::int64_t burst_max_dimensions_offset = 40;
inline constexpr std::int64_t burst_entry_count_offset = 48;
/// The offset of data_len in an entry.
inline constexpr std::int64_t burst_data_length_offset = 32;
/// Bytes of an entry without its starts, counts and strides, and without the clock at its end.
inline constexpr std::int64_t burst_entry_fixed_bytes = 40;
inline constexpr std::int64_t burst_entry_clock_bytes = 8;

/// The workflow's step of a log. This is an extension of Sluice, between the names and the first entry. Steps
/// that belong together have the same origin: the step that created the dataset, for all processes that
/// opened it for writing later. The step that a log was created for is its first; step marks name later ones.
struct BurstLogStep {
  std::int64_t step = 0;
  std::int64_t origin = 0;
  std::int64_t base = 0;  ///< the step that this one contains; 0: unknown, or the step created the dataset
  bool operator==(const BurstLogStep&) const = default;
};

/// The identity of a log's writer. This is an extension of Sluice, after the names and the step. Recovery
/// relies on it alone.
struct BurstLogIdentity {
  std::uint64_t run = 0;  ///< in a workflow, a random number; otherwise 0
  std::int64_t created_ns =
      0;  ///< the begin of that run; without a run, the time of the create or open of the file: ns since 1970
  std::uint64_t group = 0;  ///< a random number that the processes of one create or open share
  auto operator<=>(const BurstLogIdentity&) const = default;
};

/// The header of a metadata log.
struct BurstLogHeader {
  int cdf_version = 0;  ///< the digit after "CDF" in the field `format`: 1, 2, 5; 0 in PnetCDF's own logs
  bool is_big_endian =
      std::endian::native == std::endian::big;  ///< byte order of the integers of the metadata log
  bool is_external = true;                      ///< the data is stored as in the netCDF file
  std::int64_t process_count = 1;               ///< num_ranks
  std::int64_t rank = 0;                        ///< rank_id
  std::int64_t max_dimensions =
      0;  ///< maximum over all variables; redundant, because entries have their own numbers
  std::int64_t entry_count = 0;  ///< num_entries: complete entries
  std::int64_t entry_begin = 0;  ///< offset of the first entry in bytes; set by encoding
  std::string path;              ///< basename: absolute path of the netCDF file
  std::string processor;         ///< proc_name: MPI's name of the node
  std::optional<BurstLogStep> step = {};
  std::optional<BurstLogIdentity> identity = {};
};

/// Encodes a header in this machine's byte order and sets its entry_begin. Throws Error(NC_EBAD_FILE) if a
/// name is too long.
[[nodiscard]] std::vector<std::byte> encode_burst_log_header(BurstLogHeader& header);

/// Decodes a header from a prefix of the file. Returns nothing if the prefix ends inside the header and is
/// not the whole file. `path` is for messages. Also accepts the other field positions of PnetCDF 1.12.3.
/// Throws FormatError: NC_EFILE (not a metadata log), NC_ETRUNC, NC_ENOTBUILT (a log of a file that is not
/// CDF).
[[nodiscard]] std::optional<BurstLogHeader> decode_burst_log_header(std::span<const std::byte> prefix,
                                                                    std::int64_t file_size_bytes,
                                                                    std::string_view path);

/// An entry of a workflow's log: the puts after it are of a later step, in which the same process continues
/// the log. For readers that do not know it, it is a withdrawn put.
struct BurstLogStepMark {
  std::int64_t step = 0;
  std::int64_t header_begin = 0;  ///< offset of the dataset's header in the header file, in bytes
  bool operator==(const BurstLogStepMark&) const = default;
};

/// One entry of a metadata log: a put of hyperslabs of one variable.
struct BurstLogEntry {
  std::int64_t size_bytes = 0;  ///< esize
  int api_kind = 0;             ///< burst_vara, burst_vars, …, or the number of hyperslabs of a varn
  Type type = Type::nat;        ///< itype: the type of the data; nat for unknown codes
  bool is_long = false;         ///< itype 13, PnetCDF's code for C's long; the type is then int64
  int varid = -1;
  int dimensions = 0;            ///< ndims
  std::int64_t data_offset = 0;  ///< offset in the data log, in bytes
  std::int64_t data_bytes = 0;   ///< 0: the put was withdrawn
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> counts;           ///< as many values as starts
  std::vector<std::int64_t> strides;          ///< empty: 1 everywhere
  std::optional<std::int64_t> clock;          ///< in a workflow's logs: the time of the put
  std::optional<BurstLogStepMark> mark = {};  ///< the entry is a step mark, and no put
  std::int64_t step = 0;  ///< in a workflow's logs: the step of the put; set by the reader

  [[nodiscard]] bool is_withdrawn() const noexcept { return data_bytes == 0; }
  /// Bytes of data of the selection; -1 if the number exceeds 63 bits or the selection is invalid. For a
  /// withdrawn put: the bytes before the withdrawal.
  [[nodiscard]] std::int64_t selected_bytes() const noexcept;
  [[nodiscard]] std::int64_t slab_count() const noexcept { return api_kind > 0 ? api_kind : 1; }
  /// The views refer to this entry.
  [[nodiscard]] HyperslabView slab(std::int64_t i) const noexcept;
};

// Values of api_kind; a positive number is a varn with that number of hyperslabs.
inline constexpr int burst_var = -1;
inline constexpr int burst_var1 = -2;
inline constexpr int burst_vara = -3;
inline constexpr int burst_vars = -4;

/// The facts about a put that a log records.
struct BurstLogPut {
  Type type = Type::nat;
  int varid = -1;
  std::span<const HyperslabView> slabs;  ///< at least one; all with the same number of dimensions
  std::int64_t data_offset = 0;
  std::int64_t data_bytes = 0;
  std::optional<std::int64_t> clock = {};  ///< set for a workflow's logs only
};

/// The number of bytes that encode_burst_log_entry appends. One entry cannot hold several hyperslabs with
/// strides.
[[nodiscard]] std::int64_t burst_log_entry_size(const BurstLogPut& put) noexcept;

/// Appends an entry in this machine's byte order: VARA or VARS for one hyperslab, varn (without strides) for
/// several.
void encode_burst_log_entry(const BurstLogPut& put, std::vector<std::byte>& bytes);

/// Appends a step mark in this machine's byte order.
void encode_burst_log_step_mark(const BurstLogStepMark& mark, std::vector<std::byte>& bytes);

/// The first field of an entry (its size), from its first 8 bytes.
[[nodiscard]] std::int64_t decode_burst_log_entry_size(std::span<const std::byte, 8> bytes,
                                                       bool is_big_endian) noexcept;

/// Decodes an entry from exactly these bytes. Checks the entry against itself: sizes, kinds, types, and that
/// the data has the length of the selection. Throws FormatError(NC_EFILE) with `offset_bytes` of the entry.
[[nodiscard]] BurstLogEntry decode_burst_log_entry(std::span<const std::byte> bytes,
                                                   const BurstLogHeader& header, std::int64_t offset_bytes,
                                                   std::string_view path);

/// Convert external types to codes of itype, and back. PnetCDF has a separate code for C's long (13).
[[nodiscard]] int burst_type_code(Type type) noexcept;
[[nodiscard]] Type burst_type_of_code(int code) noexcept;

}  // namespace sluice::formats
