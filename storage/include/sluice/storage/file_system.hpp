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
  read_no_link,    ///< an existing file, not by a symbolic link
  update,          ///< an existing file, for reading and writing
  create,          ///< for reading and writing; emptied where it exists
  create_new,      ///< for reading and writing; NC_EEXIST where it exists
  create_private,  ///< as create_new, for its owner alone; NC_EEXIST where there is a symbolic link, too
};

/// An open file of bytes. One thread at a time. All functions throw IoError, whose status is PnetCDF's for
/// the errno: NC_ENO_SPACE, NC_EQUOTA, NC_EREAD, NC_EWRITE, …
class File {
 public:
  virtual ~File() = default;
  [[nodiscard]] virtual const std::string& path() const noexcept = 0;
  [[nodiscard]] virtual std::int64_t size_bytes() const = 0;
  /// Bytes read: fewer than asked for at the end of the file only.
  [[nodiscard]] virtual std::size_t read(std::int64_t offset_bytes, std::span<std::byte> bytes) const = 0;
  /// All of the bytes, or an error, after which some may have been written.
  virtual void write(std::int64_t offset_bytes, std::span<const std::byte> bytes) = 0;
  /// Copies a range of another file to an offset of this one, within the system where it can do that. Bytes
  /// copied: fewer than asked for where the other file ends.
  virtual std::int64_t copy(const File& from, const FileRange& range, std::int64_t offset_bytes);
  /// Cuts the file, or lengthens it by zeros.
  virtual void resize(std::int64_t size_bytes) = 0;
  /// Takes room for that many bytes from the start, so that writing them cannot fail for lack of it. The
  /// file's size becomes at least that. NC_ENO_SPACE where there is no room.
  virtual void reserve(std::int64_t size_bytes) = 0;
  /// Gives the room of a range back where the file system can do that; it reads as zeros. The size stays.
  virtual void give_back(const FileRange& /*range*/) noexcept {}
  /// Takes room for that many bytes and shows them in memory: what is written there is in the file, and
  /// cannot fail for lack of room. The view is valid until the next call, of which one of 0 bytes ends it, or
  /// the end of the file. Empty where there is no room, or where the file system cannot promise that.
  [[nodiscard]] virtual std::span<std::byte> map(std::int64_t /*size_bytes*/) { return {}; }
  /// A hint that no more is written to a range before sync(), so that the system may begin with it.
  virtual void begin_sync(const FileRange& /*range*/) {}
  /// What was written is on storage.
  virtual void sync() = 0;
  /// Locks the file for as long as it is open here: against everybody where it is open for writing, against
  /// those who write where it is open for reading. False when another has such a lock. Always true on file
  /// systems without locks.
  [[nodiscard]] virtual bool try_lock() = 0;
  /// As try_lock(), but false on file systems without locks: who gets the lock knows that nobody has it.
  [[nodiscard]] virtual bool try_lock_for_sure() { return try_lock(); }
  /// The number of the user who owns the file.
  [[nodiscard]] virtual std::int64_t owner() const { return 0; }
  /// Whether nobody can open the file any more: it has no name.
  [[nodiscard]] virtual bool is_removed() const { return false; }
  /// Gives the file, which may be private so far, the permissions of the file at that path; where there is
  /// none, those that a new file has.
  virtual void take_permissions_of(const std::string& /*path*/) {}
  /// A line that goes with the file wherever it is renamed to, of which programs do not know
  /// (storage/file_mark.hpp); empty where there is none.
  [[nodiscard]] virtual std::string mark() const { return {}; }
  /// An empty one takes it away. False where the file system keeps none.
  virtual bool set_mark(const std::string& /*mark*/) noexcept { return false; }
  /// Tells errors that some file systems keep until then; the destructor closes without a word.
  virtual void close() = 0;
};

/// Where files are: the system's (PosixFileSystem), memory (MemoryFileSystem), or one that fails as a test
/// wants it (FaultyFileSystem). All functions throw IoError: NC_ENOENT, NC_EEXIST, NC_EACCESS, …
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  [[nodiscard]] virtual std::unique_ptr<File> open(const std::string& path, OpenMode mode) = 0;
  [[nodiscard]] virtual bool exists(const std::string& path) = 0;
  /// When the file was written to last, in ns of the system's clock; 0 where nobody keeps that.
  [[nodiscard]] virtual std::int64_t modified_ns(const std::string& path) = 0;
  /// Who owns what is there, be it a symbolic link; nothing where nothing is.
  [[nodiscard]] virtual std::optional<std::int64_t> owner_of(const std::string& path) = 0;
  /// Whom new files belong to.
  [[nodiscard]] virtual std::int64_t user() const = 0;
  virtual void remove(const std::string& path) = 0;
  /// In one step; what was at `to` is gone.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  /// The names of the files in a directory, sorted, without those of directories; with those of which the
  /// system tells nothing (no permission).
  [[nodiscard]] virtual std::vector<std::string> list(const std::string& directory) = 0;
  /// How many bytes the file system of a directory has room for, used or not; the largest number where nobody
  /// knows.
  [[nodiscard]] virtual std::int64_t capacity_bytes(const std::string& /*directory*/) {
    return std::numeric_limits<std::int64_t>::max();
  }
  /// The directory's entries are on storage: what was created and renamed in it survives a crash of the node.
  virtual void sync_directory(const std::string& directory) = 0;
};

/// Reads all of the bytes. Throws FormatError(NC_ETRUNC) where the file ends before.
void read_exactly(const File& file, std::int64_t offset_bytes, std::span<std::byte> bytes);

/// The directory part of a path ("." where there is none), and what follows it.
[[nodiscard]] std::string directory_of(const std::string& path);
[[nodiscard]] std::string name_of(const std::string& path);

}  // namespace sluice::storage
