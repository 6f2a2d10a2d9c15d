#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

/// A file of format CDF-1, CDF-2 or CDF-5 as the puts of one process, in the order of the header: each
/// variable as a whole. So the step of a file is matched and replayed as any other.
///
/// The log of a large file is the file itself: an element's log offset says where it is in the file, and that
/// it is big-endian (matcher::first_offset_of_file). Records of several variables are then puts of their own,
/// because they are not side by side. A short file, and one with very many records, has an ordinary log, into
/// which all elements are copied.
struct FilePuts {
  struct Put {
    int varid = -1;
    std::uint64_t log_offset = 0;
    std::vector<std::int64_t> start, count;
  };
  formats::Header header;
  formats::Layout layout;
  std::vector<Put> puts;
  bool is_log = false;             ///< the file itself is the log
  std::uint64_t first_offset = 0;  ///< of the log
  std::uint64_t data_bytes = 0;    ///< of the log
  std::uint64_t table_bytes = 0;   ///< of the request table, with its first word
  LogPattern pattern;
  matcher::LogExtent extent;
};

/// Empty: the bytes are no CDF file, and `trouble` says why. `name` is for messages.
[[nodiscard]] std::optional<FilePuts> puts_of(std::span<const std::byte> file, const std::string& name,
                                              std::string& trouble);
/// The same file with an ordinary log. Its table is no larger.
[[nodiscard]] FilePuts with_ordinary_log(const FilePuts& puts);

/// Fills the request table; `data` is the segment of the log's data. Returns the end of the table.
[[nodiscard]] TablePosition write_table(const FilePuts& puts, std::uint64_t data, std::span<std::byte> table);

/// Fills an ordinary log: the elements of all variables, in native byte order. What the file is too short
/// for, reads as zeros.
void write_data(const FilePuts& puts, std::span<const std::byte> file, std::span<std::byte> data);

}  // namespace sluice::runtime
