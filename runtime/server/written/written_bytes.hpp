#pragma once
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "disk_worker.hpp"
#include "exchange_protocol.hpp"
#include "file_in_place.hpp"
#include "file_puts.hpp"
#include "segment_store.hpp"
#include "sluice/runtime/packet_socket.hpp"
#include "sluice/runtime/protocol.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "sluice/storage/run_lock.hpp"
#include "sluice/storage/saved_file.hpp"
#include "spare_files.hpp"

namespace sluice::runtime {

/// The number of a written file in its matcher; never used again.
using FileId = std::uint64_t;

/// The bytes of one file that programs write.
struct FileBytes {
  SharedFile file = {};     ///< shared with the thread that works on it, and with readers
  SharedFile base = {};     ///< what the file began with; null: nothing
  bool is_on_disk = false;  ///< on the spill disk, or in place
  bool is_in_place = false;
  bool is_adopted = false;  ///< it was on disk by another name, and goes to memory at its last close
  bool is_told = true;      ///< the kernel tells who has it open for writing
  std::optional<FileState> before = {};  ///< in place: of what was there
  /// What the file lacks of its base, until that is copied; null: all. Shared with the thread.
  std::shared_ptr<const ByteRanges> lacks = {};
  std::shared_ptr<const ByteRanges> changed = {};  ///< since the base, of a snapshot(); null: not known
  /// Where it may differ from its base; null: anywhere. Shared with the thread.
  std::shared_ptr<const ByteRanges> touched = {};
  std::shared_ptr<storage::FileSaver> saver = {};  ///< for save(). Shared with the thread
};

/// Where the bytes of written files begin, and all work on them that takes long: a thread does it, if they
/// are many. Each `then` is called from the loop, and later if nothing else is said:
/// docs/design/written-files.md.
class WrittenBytes {
 public:
  using Begun = std::function<void(FileBytes bytes, const Outcome& outcome)>;
  using Then = std::function<void(const Outcome& outcome)>;

  WrittenBytes(boost::asio::io_context& loop, const SegmentStore& store)
      : loop_(loop), store_(store), worker_(loop) {}

  /// At the start of the run. `memory_bytes`: staging.memory.
  void start(std::uint64_t memory_bytes) noexcept {
    memory_bytes_ = memory_bytes;
    spares_.start(memory_bytes / 4);
  }

  /// Makes an empty file in memory or on the spill disk. `base`: what it is to begin with; null: the file on
  /// disk, if the request goes on with one. Calls `then` at once or later.
  void begin(const OpenFile& request, SharedFile base, Begun then);
  /// Takes over the file on disk, which loses its name there. If nobody can write to it, it is the base of a
  /// file in memory.
  void adopt(const OpenFile& request, Begun then);
  /// Opens the file on disk, or makes it, as the user may. `base`: as begin().
  void begin_in_place(const OpenFile& request, SharedFile base, std::shared_ptr<const UserRights> user,
                      Begun then);
  /// Copies the base into the file, with its times. Throws IoError(NC_ENFILE): no descriptor is left.
  void copy_base(const FileBytes& bytes, Then then);
  /// What was copied from bases, so far.
  [[nodiscard]] std::uint64_t copied_bytes() const noexcept { return copied_bytes_; }
  /// What closed files were compared with their bases in, so far.
  [[nodiscard]] std::uint64_t compared_bytes() const noexcept { return compared_bytes_; }

  /// Whether nobody can write to the file, which may be spare later. Then it is not sealed yet.
  [[nodiscard]] static bool may_be_spare(const FileBytes& bytes);
  /// The file has been closed. What others have no more of it and its base can begin the next copy.
  void keep_spare(const std::string& path, const FileBytes& bytes, ByteRanges changed);
  /// A program has ended that may have gone on in files.
  void drop_spares() noexcept { spares_.clear(); }

  /// Another file of the same bytes as they are now, which nobody else has; its name and rule are `name`'s.
  void copy(const OpenFile& name, const SharedFile& from, Begun then);
  /// The same of a file that is being written. `former`: the newest snapshot, the copy's base; null: none.
  void snapshot(const OpenFile& name, const SharedFile& from, const SharedFile& former, Begun then);
  /// Saves the bytes on storage by their `saver`. `to`: a path in the directory of the file's logs.
  void save(const FileBytes& bytes, const storage::SavedFile& what, const std::string& to, Then then);
  /// What was saved is needed no more.
  void remove_saved(const std::string& path);

  /// Makes the file on disk one of the same bytes and times. It gets the permissions, too.
  void copy_to(const SharedFile& from, const SharedFile& to, Then then);

  /// A file of the rule has been closed. The next one may be as large.
  void note_size(std::uint32_t rule, std::uint64_t bytes) { last_bytes_[rule] = bytes; }
  /// What a file has become.
  struct Examined {
    bool is_unchanged = false;  ///< since it began; its base has its times and permissions now
    ByteRanges changed = {};    ///< what it does not share with its base, in whole pages
    std::shared_ptr<const FilePuts> puts = {};  ///< null: no CDF file. Shared with the thread
    std::string damage = {};                    ///< of a file that begins as a CDF file, and is none
    Outcome outcome = {};
    std::uint64_t compared_bytes = 0;
  };
  /// `may_have_puts`: whether the puts are of use.
  void examine(const FileBytes& bytes, const std::string& path, bool may_have_puts,
               std::function<void(const Examined&)> then);

  /// Memory that an ordinary log is written to.
  struct LogMemory {
    std::span<std::byte> bytes;
    std::shared_ptr<const void> mapping;  ///< shared with the store
  };
  void write_log(const FileBytes& bytes, const std::shared_ptr<const FilePuts>& puts, const LogMemory& log,
                 Then then);
  /// Moves bytes from memory to the file `to` on the spill disk. After a failure they are where they were.
  void move_to_disk(const FileBytes& bytes, const SharedFile& to, Begun then);
  /// Puts a file of the same bytes in the place of what is at the path.
  void write_to_disk(const FileBytes& bytes, const std::string& path, Then then);

 private:
  void open_base(const OpenFile& request, Begun then);
  void make(const OpenFile& request, SharedFile base, const Begun& then);
  void make_on_disk(SharedFile base, std::uint32_t permissions, Begun then);
  [[nodiscard]] bool is_large(std::uint64_t bytes) const;
  void submit(std::function<void()> work, std::shared_ptr<const Outcome> outcome, Then then);
  void carry_out(std::uint64_t bytes, std::function<void()> work, std::function<void()> then);

  boost::asio::io_context& loop_;
  const SegmentStore& store_;
  std::uint64_t memory_bytes_ = 0;
  std::map<std::uint32_t, std::uint64_t> last_bytes_;  ///< of the newest file, by rule
  /// What the thread alone uses: a lock tells others that the run still needs what is in the directory.
  struct SavedRoom {
    storage::PosixFileSystem system;
    std::map<std::string, storage::RunLock> locks;  ///< by directory
  };
  SavedRoom saved_;
  SpareFiles spares_;
  std::uint64_t copied_bytes_ = 0, compared_bytes_ = 0;
  DiskWorker worker_;
};

}  // namespace sluice::runtime
