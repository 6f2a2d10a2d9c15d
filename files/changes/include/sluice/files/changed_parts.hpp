#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "sluice/runtime/protocol.hpp"

/// Which parts of a file that goes on the process may have changed, so that the matcher need not compare the
/// whole of it: docs/design/written-files.md, "Changed parts". A signal handler may call all of these.
namespace sluice::files {

/// The begin and the end of each part; nothing: any byte may be another.
using ChangedParts = std::optional<std::vector<std::uint64_t>>;

/// How many files are noted. The wrapped calls have nothing to do where there is none.
extern constinit std::atomic<int> noted_files;
[[nodiscard]] inline bool notes_changes() noexcept {
  return noted_files.load(std::memory_order_relaxed) != 0;
}

/// The program has been given the descriptor, to go on in the file. `flags`: as of open(2). False: what it
/// changes is not noted.
[[nodiscard]] bool begin_noting(int descriptor, int flags) noexcept;
/// A part is about to be written by the descriptor.
void note_write(int descriptor, off_t offset, std::uint64_t bytes) noexcept;
/// The same at the descriptor's place. Returns the place, if the descriptor is noted.
[[nodiscard]] std::optional<std::uint64_t> note_write_here(int descriptor, std::uint64_t bytes) noexcept;
/// That was written, up to `end`.
void expect_place(int descriptor, std::uint64_t end) noexcept;
/// The file is about to have so many bytes.
void note_cut(int descriptor, off_t size) noexcept;
/// A wrapped call has written so many bytes to some file; -1: it has failed.
void count_written(ssize_t bytes) noexcept;
/// The descriptor is mapped: this counts the calls.
void note_mapping(int descriptor, int flags) noexcept;
/// The file, or any, may be changed in a way that is not seen.
void lose_track(int descriptor) noexcept;
void lose_track_of_all() noexcept;
/// The descriptor is about to be closed; `file`: of it.
[[nodiscard]] ChangedParts end_noting(int descriptor, const runtime::FileIdentity& file) noexcept;
/// Another descriptor of the file is closed, or is still open.
void lose_track(const runtime::FileIdentity& file) noexcept;

}  // namespace sluice::files
