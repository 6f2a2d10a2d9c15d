#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::storage {

// Memory that maps a file which other programs can find, and cut. To touch what the file has no more ends a
// process by SIGBUS. Guarded memory becomes zeros instead, and who uses it asks whether that has happened. So
// it is where a disk cannot be read. The first call sets a handler of SIGBUS; what else brings the signal
// goes to the handler before. A program that sets another one later has no guard.

/// `memory`: whole pages, until unguard() is called, before they are unmapped.
void guard_from_cuts(std::span<std::byte> memory);
void unguard(std::span<std::byte> memory) noexcept;
/// Whether some of the guarded memory that has this byte is no longer the file's.
[[nodiscard]] bool is_cut(const std::byte* byte) noexcept;
/// How often that has happened in this process.
[[nodiscard]] std::uint64_t cuts() noexcept;
/// Throws Error(NC_EIO) when it has happened since cuts() was `before`.
void expect_no_cut(std::uint64_t before);

}  // namespace sluice::storage
