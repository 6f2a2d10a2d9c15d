#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/formats/error.hpp"
#include "sluice/storage/extents.hpp"

namespace sluice::storage {

enum class OpenMode {
  read,            ///< an existing file
  read_no_link,    ///< an existing file; fails for a symbolic link
  update,          ///< an existing file, for reading and writing
  create,          ///< for reading and writing; an existing file is emptied
  create_new,      ///< for reading and writing; NC_EEXIST if the file exists
  create_private,  ///< as create_new, with access for the owner only; NC_EEXIST also for a symbolic link
};

/// An open file of bytes. One thread may use it at a time. All functions throw IoError with PnetCDF's status
/// for the errno: NC_ENO_SPACE, NC_EQUOTA, NC_EREAD, NC_EWRITE, …
class File {
 public:
  virtual ~File() = default;
  [[nodiscard]] virtual const std::string& path() const noexcept = 0;
  [[nodiscard]] virtual std::int64_t size_bytes() const = 0;
  /// Returns the number of bytes read: fewer than requested only at the end of the file.
  [[nodiscard]] virtual std::size_t read(std::int64_t offset_bytes, std::span<std::byte> bytes) const = 0;
  /// Writes all bytes. After an error, some bytes may have been written.
  virtual void write(std::int64_t offset_bytes, std::span<const std::byte> bytes) = 0;
  /// Copies a range of another file to an offset of this file, within the kernel if possible. Returns the
  /// bytes copied: fewer than requested if the other file ends.
  virtual std::int64_t copy(const File& from, const FileRange& range, std::int64_t offset_bytes);
  /// Shortens the file, or extends it with zeros.
  virtual void resize(std::int64_t size_bytes) = 0;
  /// Reserves space for that many bytes from the start, so that later writes cannot fail for lack of space.
  /// The file's size becomes at least that number. NC_ENO_SPACE if there is not enough space.
  virtual void reserve(std::int64_t size_bytes) = 0;
  /// Reserves space for a range only, whatever is before it. The file's size becomes at least its end.
  virtual void reserve_range(const FileRange& range) { reserve(range.end); }
  /// Frees the space of a range, if the file system supports that; the range then reads as zeros. The size
  /// does not change.
  virtual void give_back(const FileRange& /*range*/) noexcept {}
  /// Reserves space for that many bytes and maps them into memory. Bytes written to this memory are in the
  /// file; such a write cannot fail for lack of space. The view is valid until the next call, or the end of
  /// the file; a call with 0 bytes ends it. Empty if there is no space, or if the file system cannot
  /// guarantee it.
  [[nodiscard]] virtual std::span<std::byte> map(std::int64_t /*size_bytes*/) { return {}; }
  /// A hint that a range will not be written again before sync(), so that the system may start to write it to
  /// storage.
  virtual void begin_sync(const FileRange& /*range*/) {}
  /// Ensures that all written data is on storage.
  virtual void sync() = 0;
  /// Locks the file as long as it is open here. A file open for writing is locked exclusively. A file open
  /// for reading is locked against writers. Returns false if another process holds a conflicting lock. Always
  /// true on file systems without locks.
  [[nodiscard]] virtual bool try_lock() = 0;
  /// As try_lock(), but false on file systems without locks: a process that gets the lock knows that no other
  /// process has it.
  [[nodiscard]] virtual bool try_lock_for_sure() { return try_lock(); }
  /// The id of the user who owns the file.
  [[nodiscard]] virtual std::int64_t owner() const { return 0; }
  /// Whether the file has lost its name, so that no process can open it any more.
  [[nodiscard]] virtual bool is_removed() const { return false; }
  /// Gives the file, which may have been private so far, the permissions of the file at that path. If that
  /// file does not exist, gives it the permissions of a new file.
  virtual void take_permissions_of(const std::string& /*path*/) {}
  /// Gives the file the times of access and of change of the file at that path, if that exists.
  virtual void take_times_of(const std::string& /*path*/) {}
  /// A line of metadata that stays with the file when it is renamed, and that programs do not see
  /// (storage/file_mark.hpp). Empty if there is none.
  [[nodiscard]] virtual std::string mark() const { return {}; }
  /// Sets the mark; an empty text removes it. Returns false if the file system does not store marks.
  virtual bool set_mark(const std::string& /*mark*/) noexcept { return false; }
  /// Closes the file and reports errors that some file systems delay until then. The destructor closes
  /// without reports.
  virtual void close() = 0;
};

/// Access to files: of the system (PosixFileSystem), in memory (MemoryFileSystem), or with failures for tests
/// (FaultyFileSystem). All functions throw IoError: NC_ENOENT, NC_EEXIST, NC_EACCESS, …
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  [[nodiscard]] virtual std::unique_ptr<File> open(const std::string& path, OpenMode mode) = 0;
  [[nodiscard]] virtual bool exists(const std::string& path) = 0;
  /// The owner of the file or symbolic link at the path; nothing if the path does not exist.
  [[nodiscard]] virtual std::optional<std::int64_t> owner_of(const std::string& path) = 0;
  /// The user who owns new files.
  [[nodiscard]] virtual std::int64_t user() const = 0;
  virtual void remove(const std::string& path) = 0;
  /// Renames in one step; replaces an existing file at `to`.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  /// The sorted names of the files in a directory, without subdirectories. Includes files that the system
  /// gives no information about (no permission).
  [[nodiscard]] virtual std::vector<std::string> list(const std::string& directory) = 0;
  /// The capacity in bytes of a directory's file system, used or not; the largest number if unknown.
  [[nodiscard]] virtual std::int64_t capacity_bytes(const std::string& /*directory*/) {
    return std::numeric_limits<std::int64_t>::max();
  }
  /// Ensures that the directory's entries are on storage: files created and renamed in it survive a crash of
  /// the node.
  virtual void sync_directory(const std::string& directory) = 0;
};

/// Reads exactly these bytes. Throws FormatError(NC_ETRUNC) if the file ends earlier.
void read_exactly(const File& file, std::int64_t offset_bytes, std::span<std::byte> bytes);

/// Removes the file if it belongs to this user and no process holds a lock on it. Where the file system has
/// no locks, or the file cannot be removed, it stays.
void remove_if_unlocked(FileSystem& files, const std::string& path);

/// Removes a file that could not be completed. Where that fails, too, it stays.
void remove_quietly(FileSystem& files, const std::string& path) noexcept;

/// The directory part of a path ("." if there is none), and the name after it.
[[nodiscard]] std::string directory_of(const std::string& path);
[[nodiscard]] std::string name_of(const std::string& path);

}  // namespace sluice::storage
