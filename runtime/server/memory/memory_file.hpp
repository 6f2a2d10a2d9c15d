#pragma once
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sluice/runtime/packet_socket.hpp"

namespace sluice::runtime {

// Files in memory, or on the spill disk, that programs write by the C library. Errors are IoError with an
// NC_* status.

/// What chmod(2) can set of the mode of a file, or of what a process has asked for.
[[nodiscard]] mode_t mode_of(std::uint32_t permissions) noexcept;
/// A path by which this process can open the same file again.
[[nodiscard]] std::string link_to(const FileDescriptor& file);
/// An empty file in memory, opened so that is_open_for_writing() tells of others. The descriptor may be one
/// for writing, so nobody else gets it before the file is sealed. `permissions`: as of open(2).
[[nodiscard]] FileDescriptor make_memory_file(std::uint32_t permissions);
/// The same on disk. Its name, which is removed at once, tells programs that inherit it what it is.
[[nodiscard]] FileDescriptor make_file_on_disk(const std::string& directory, std::uint32_t permissions);
[[nodiscard]] struct stat status_of(const FileDescriptor& file);
/// In bytes.
[[nodiscard]] std::uint64_t file_size(const FileDescriptor& file);
/// Whether some process can write to the file: it has a descriptor for writing, or a mapping that came of
/// one. `file`: for reading, or of make_memory_file(), of a file of this user. Any number of processes may
/// have inherited the descriptor.
[[nodiscard]] bool is_open_for_writing(const FileDescriptor& file) noexcept;
/// Whether the file system can say that; not all on disks can.
[[nodiscard]] bool tells_who_writes(const FileDescriptor& file) noexcept;
/// From now on nobody can change the file in memory. False, without effect, where somebody can write now.
/// Throws IoError(NC_ENFILE), without effect, when this process has no descriptor left.
[[nodiscard]] bool seal(const FileDescriptor& file);
/// The same, whoever can write now: nobody can any more, but by a mapping. What is no file in memory stays as
/// it is. Throws IoError.
void seal_for_others(const FileDescriptor& file);
/// Whether it is sealed, or is no file in memory.
[[nodiscard]] bool is_sealed(const FileDescriptor& file) noexcept;
/// Whether no process has the file open, or mapped, by another open than the one that has made it; and it can
/// be changed. Nobody has got that descriptor.
[[nodiscard]] bool is_alone(const FileDescriptor& file) noexcept;
/// Returns errno, or 0.
[[nodiscard]] int copy_bytes(const FileDescriptor& from, const FileDescriptor& to);
/// Sets the times of access and of change to those of `facts`.
void set_times(const FileDescriptor& file, const struct stat& facts) noexcept;
/// Gives the file the owner of `facts`, where this process may do that; its permissions stay.
void set_owner(const FileDescriptor& file, const struct stat& facts) noexcept;
/// Gives `to` the times of `from`.
void copy_times(const FileDescriptor& from, const FileDescriptor& to) noexcept;
/// Gives `to` the times and permissions of `from`, which began as a copy of it, if they have changed.
void copy_facts(const FileDescriptor& from, const FileDescriptor& to) noexcept;
/// Gives the file at the path permissions, owner and times that are other ones than before. One that is no
/// longer there, or that somebody else has changed, stays as it is.
void set_facts(const std::string& path, const struct stat& before, const struct stat& wanted) noexcept;
/// Reads or writes all bytes of the range. Returns errno, or 0; EIO behind the end of the file.
[[nodiscard]] int read_range(const FileDescriptor& file, std::uint64_t offset, std::span<std::byte> bytes);
[[nodiscard]] int write_range(const FileDescriptor& file, std::uint64_t offset,
                              std::span<const std::byte> bytes);
/// The file's write hint, by which it tells what the kernel does not know: sluice/matcher/name_marks.hpp. 0:
/// it has none.
[[nodiscard]] std::uint64_t mark_of(const FileDescriptor& file) noexcept;
void mark(const FileDescriptor& file, std::uint64_t how) noexcept;
/// Makes `to`, which may be larger, the same file, and opens it for reading.
[[nodiscard]] FileDescriptor become(const FileDescriptor& to, const FileDescriptor& from);
/// Puts a file of the same bytes and permissions in the place of what is at the path. Throws Error: then what
/// was there is still there, and nothing beside it.
void write_file(const FileDescriptor& from, const std::string& path);
[[nodiscard]] bool have_same_bytes(const FileDescriptor& a, const FileDescriptor& b);
/// Another open of the same file. `flags`: of open(2), of the process that gets the descriptor. Shared as
/// messages want it. Where the file's permissions allow no reading, who wants to read gets what names the
/// file alone (O_PATH). Throws IoError: NC_EPERM where they allow no writing, NC_ENFILE when this process has
/// no descriptor left, NC_EINVAL for flags that the file cannot have.
[[nodiscard]] SharedFile reopened(const FileDescriptor& file, std::uint32_t flags);
/// The same whatever the permissions are: for who makes the file, and for this process itself.
[[nodiscard]] SharedFile reopened_by_owner(const FileDescriptor& file, std::uint32_t flags);
/// What a reader gets of a published file: it cannot write by that. Throws Error.
[[nodiscard]] SharedFile for_reader(const SharedFile& file);
/// Whether this user may open the file so.
[[nodiscard]] bool may_be_opened(const FileDescriptor& file, std::uint32_t flags) noexcept;

/// Does `work` while this process, which owns the file, can open it so, whatever the permissions are.
/// `wanted`: R_OK, W_OK.
void as_owner(const FileDescriptor& file, int wanted, const std::function<void()>& work);

/// The whole file in memory, for reading. A file that others may cut is copied, and not mapped: to read
/// behind the end of a mapped file ends the process.
class FileContents {
 public:
  explicit FileContents(const FileDescriptor& file);
  ~FileContents();
  FileContents(const FileContents&) = delete;
  FileContents& operator=(const FileContents&) = delete;
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace sluice::runtime
