#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "sluice/runtime/packet_socket.hpp"
#include "sluice/storage/extents.hpp"

namespace sluice::runtime {

// Files that began as copies of each other. Whoever appends by opening a file again makes each step nearly
// the one before, so all of them are compared again and again.

/// A file in memory that stays mapped once it has been looked at here, until nobody has it any more: then to
/// look again takes neither a copy nor a fault for each page. One thread looks at a time.
[[nodiscard]] SharedFile kept_mapped(FileDescriptor file);

/// In ascending order, and apart from each other.
using ByteRanges = std::vector<storage::FileRange>;
[[nodiscard]] std::uint64_t size_of(const ByteRanges& ranges) noexcept;
/// Of what lies in a file of that size.
[[nodiscard]] std::uint64_t size_within(const ByteRanges& ranges, std::uint64_t size) noexcept;
/// The bytes of one or the other.
[[nodiscard]] ByteRanges united(const ByteRanges& a, const ByteRanges& b);
/// The bytes of `file` in pages that `base` does not have at the same place, or behind its end. Throws
/// Error(NC_EIO), also where another program cuts one of them.
[[nodiscard]] ByteRanges changed_ranges(const SharedFile& file, const SharedFile& base);
/// The same of files that can differ in these ranges alone, or behind the end of `base`.
[[nodiscard]] ByteRanges changed_ranges(const FileDescriptor& file, const FileDescriptor& base,
                                        const ByteRanges& where);
/// Gives `to` the bytes of `from` in the ranges, as far as it has them, and its size. Returns errno, or 0.
[[nodiscard]] int copy_ranges(const SharedFile& from, const FileDescriptor& to, const ByteRanges& ranges);
/// `to` has the bytes of `base`, and gets those of `file`, which others may change meanwhile. Returns what is
/// changed, as above. Throws Error.
ByteRanges copy_changes(const FileDescriptor& file, const SharedFile& base, const FileDescriptor& to);

}  // namespace sluice::runtime
