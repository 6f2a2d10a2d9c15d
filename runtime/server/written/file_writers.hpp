#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "file_watch.hpp"
#include "sluice/runtime/protocol.hpp"
#include "written_bytes.hpp"

namespace sluice::runtime {

/// Who has written files open for writing. The kernel tells when nobody can write to a file any more. Then
/// the processes that held it are asked whether they have left it in order, or were killed:
/// docs/design/closing-written-files.md.
class FileWriters {
 public:
  enum class Verdict {
    closed,   ///< by all, in order
    goes_on,  ///< somebody can write again
    killed,   ///< a process was killed before it had closed the file
  };
  struct News {
    FileId file = 0;
    Verdict verdict = Verdict::closed;
    std::uint32_t process = 0;                       ///< that was killed
    std::shared_ptr<const ByteRanges> touched = {};  ///< where the file may have been changed; null: anywhere
  };
  using Receiver = std::function<void(const News& news)>;
  /// Handles the messages that the processes have sent so far. They may concern these files.
  using TakeSent = std::function<void(std::span<const std::uint32_t> processes)>;

  FileWriters(boost::asio::io_context& loop, TakeSent take_sent, Receiver receiver);

  /// Begins to watch the file. Throws IoError(NC_ENFILE): the system has no watch left.
  void add(FileId file, const FileBytes& bytes);
  void remove(FileId file) noexcept;
  /// The process gets a descriptor for writing; `by_word`: one for reading, by which it can open another, so
  /// the file is open until the process says that it has left it, or ends.
  void note_given(FileId file, std::uint32_t process, bool by_word = false);
  /// Somebody has a descriptor for writing, and no process is known to.
  void note_open(FileId file) { files_.at(file).is_given = true; }
  /// What a process tells of the files that it holds.
  void note(std::uint32_t process, const FileHolder& note);
  /// The process ends, and has left all its files in order.
  void note_left(std::uint32_t process);
  /// Receives what has happened so far.
  void take_news();
  /// Receives at once that nobody can write, if that has not been told.
  void look(FileId file);
  /// From now on, only processes that hold the file can write, whatever the kernel tells of others.
  void trust_holders(FileId file);
  /// Whether somebody can write. Where the kernel does not tell, a holder can.
  [[nodiscard]] bool is_open(FileId file) const { return is_open(files_.at(file)); }
  /// Whether nobody could write a moment ago, and the processes are being asked.
  [[nodiscard]] bool are_asked(FileId file) const;

 private:
  struct Writers {
    SharedFile bytes;  ///< shared with all who use the file
    bool is_told = true;
    bool counts_by_word = false;  ///< note_given()
    int watch = -1;
    FileIdentity identity = {};
    bool is_given = false;                             ///< for writing, and not closed since
    bool are_asked = false;                            ///< settle() is under way
    std::vector<std::uint32_t> holders = {};           ///< processes that have the file, and have not left it
    std::optional<ByteRanges> changed = ByteRanges();  ///< News::touched
    std::vector<std::uint32_t> heirs =
        {};                   ///< that have become another program, which may tell that it holds it
    std::uint64_t doubt = 0;  ///< the close after which somebody could still write; 0: none
  };

  [[nodiscard]] static bool is_open(const Writers& writers);
  [[nodiscard]] Writers* find(FileId file);
  void closed(int watch);
  void doubt(FileId file, Writers& writers);
  void look_again(FileId file, std::uint64_t doubt, std::chrono::microseconds after);
  void settle(FileId file);
  void settle_left(const std::vector<FileId>& left);
  [[nodiscard]] bool ask(FileId file, News& news);

  boost::asio::io_context& loop_;
  TakeSent take_sent_;
  Receiver receiver_;
  FileWatch watch_;
  std::map<FileId, Writers> files_;
  std::map<int, FileId> by_watch_;
  std::uint64_t last_doubt_ = 0;
  std::vector<FileId> doubtful_;  ///< of which a close was told, and somebody could write still
};

}  // namespace sluice::runtime
