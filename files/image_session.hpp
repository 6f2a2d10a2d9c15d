#pragma once
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/runtime/files_matcher.hpp"
#include "sluice/runtime/name_counts.hpp"
#include "sluice/runtime/packet_socket.hpp"
#include "sluice/runtime/rules.hpp"

namespace sluice::files {

using runtime::FileIdentity;

/// All zero: there is no such descriptor.
[[nodiscard]] FileIdentity identity_of(int descriptor) noexcept;

/// This library's own descriptors have numbers from here on where possible: beyond those that scripts name,
/// as `exec 300> file` does.
inline constexpr int first_hidden_number = 900;
/// Where no such number is left, or allowed, it is another one. Empty: there is none at all.
[[nodiscard]] runtime::FileDescriptor hidden_duplicate(int descriptor);

/// How many images a process keeps that it may want again, and their bytes: they hold memory of the run.
inline constexpr std::size_t most_known_images = 8;
inline constexpr std::uint64_t most_known_bytes = std::uint64_t{64} << 20;

/// Connects to the matcher, with a descriptor out of the way of the program's. Throws Error.
[[nodiscard]] runtime::PacketSocket hidden_connection(const std::string& socket_path);

/// A descriptor that the program knows nothing of. A program may close all numbers that it does not know, and
/// use them again: so it is looked at before each use.
class HiddenDescriptor {
 public:
  HiddenDescriptor() = default;
  /// Takes the file with a high number, out of the way of programs that count on low ones.
  explicit HiddenDescriptor(runtime::FileDescriptor file);
  HiddenDescriptor(runtime::FileDescriptor hidden, FileIdentity identity) noexcept;
  ~HiddenDescriptor();
  HiddenDescriptor(HiddenDescriptor&& other) noexcept = default;
  HiddenDescriptor& operator=(HiddenDescriptor&& other) noexcept;

  /// Whether it still is that file.
  [[nodiscard]] bool is_there() const noexcept;
  [[nodiscard]] int number() const noexcept { return file_.number(); }
  [[nodiscard]] const FileIdentity& identity() const noexcept { return identity_; }

 private:
  runtime::FileDescriptor file_;
  FileIdentity identity_;
};

/// The bytes of a coupled file, or the file on disk that has them.
struct FoundImage {
  runtime::FileDescriptor image = {};  ///< close-on-exec; its offset is not to be used
  std::string path = {};               ///< where there is no image
  std::uint64_t step = 0;              ///< of the image, where that is known
};

/// Whether the descriptor is an image that this process keeps.
[[nodiscard]] bool is_known_image(int descriptor) noexcept;
/// In a forked child, which may live long: the memory of its parent's images can be used again without it.
void leave_images_of_parent() noexcept;

/// Whether this process has steps of streams open; a forked child, or one of vfork, has none.
[[nodiscard]] bool has_kept_steps() noexcept;

/// A file that the component writes; without a descriptor it is an ordinary one.
struct OpenedFile {
  runtime::FileDescriptor file = {};
  std::uint32_t names = 1;  ///< that it has in the run
};

/// What a process asks the matcher, and the images that it has had. A connection is used for one exchange at
/// a time and then kept, because the end of the last one would be the end of the process for the matcher.
/// Threads may use it at once.
class ImageSession {
 public:
  ImageSession(runtime::ClientEnvironment environment, runtime::FilesMatcher matcher);

  [[nodiscard]] const runtime::ClientEnvironment& environment() const noexcept { return environment_; }
  [[nodiscard]] std::uint64_t process_token() const noexcept { return process_token_; }

  /// Whether the path that somebody waits for leads to another file by now, by a link that was made
  /// meanwhile.
  using IsOutdated = std::function<bool()>;
  /// Waits until the file is published, or is_outdated(): then there is nothing. Who looks has not read it.
  /// Throws Error: NC_ENOENT when it can never come.
  [[nodiscard]] std::optional<FoundImage> find(const runtime::RuleMatch& match, bool is_look,
                                               const IsOutdated& is_outdated);
  /// The next step of a stream, with `is_look` without going on to it. The process has read the step before.
  /// Throws Error: NC_ENOENT at its end.
  [[nodiscard]] std::optional<FoundImage> find_next(const runtime::RuleMatch& match, bool is_look,
                                                    const IsOutdated& is_outdated);
  /// A step of a stream once more. Throws Error where it is gone.
  [[nodiscard]] FoundImage find_again(const runtime::RuleMatch& match, std::uint64_t step);

  /// The process has read the steps of streams that it has; it ends, or becomes another program.
  void leave_steps();

  /// A file that this component writes; empty: an ordinary one. Throws Error: NC_EEXIST, NC_ENOENT, and what
  /// the workflow says to a create.
  [[nodiscard]] OpenedFile open_file(const runtime::OpenFile& request);
  /// A file that the process has opened before, to read it or to go on in it, for reading: without a
  /// question, while its path leads to no other. Empty: it has to ask.
  [[nodiscard]] OpenedFile known_file(const std::string& path);
  void tell(const runtime::FileHolder& holder);
  /// A line for the event log, once in the run.
  void complain(const std::string& text);
  /// Throws Error: NC_ENOENT where this run has no such file, NC_EEXIST where the new name is to be new, and
  /// is not.
  void name_file(const runtime::NameFile& request);
  /// Returns when the file, which this process has closed, has its bytes on the disk; after an fsync: when
  /// readers see the file, and it is saved, as its rule says. Throws Error.
  void await_file(const runtime::AwaitFile& request);
  /// An open that opens nothing: to remove, change or hide. Throws Error: NC_ENOENT where this run has no
  /// such file, NC_EPERM where the file is to stay as it is.
  void ask(const runtime::Open& open);

 private:
  struct Connection {
    runtime::PacketSocket socket;
    FileIdentity identity;
    uid_t user = 0;
    gid_t group = 0;
    const IsOutdated* is_outdated = nullptr;  ///< looked at during a wait
    bool is_given_up = false;                 ///< because of that
  };
  /// An image that this process has asked for: the same as long as the step is the newest one.
  struct KnownImage {
    std::string file;
    std::uint64_t step = 0;
    HiddenDescriptor image;
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;  ///< FileOpened::count, ImageMade::count
    std::uint32_t names = 1;  ///< of a file that this component writes
    uid_t user = ::geteuid();
  };

  /// A step that this process has open, so that it gets it again when it is killed and started again.
  struct KeptStep {
    std::string file;
    std::uint64_t step = 0;
  };

  [[nodiscard]] std::unique_ptr<Connection> connect();
  [[nodiscard]] std::unique_ptr<Connection> take_connection();
  void give_back(std::unique_ptr<Connection> connection);
  void keep_another_connection();
  [[nodiscard]] runtime::ReceivedMessage exchange(Connection& connection, runtime::MessageType type,
                                                  std::vector<std::byte> fields,
                                                  runtime::MessageType expected);
  void post(runtime::MessageType type, const std::vector<std::byte>& fields);
  [[nodiscard]] runtime::ReceivedMessage ask(runtime::MessageType type, std::vector<std::byte> fields,
                                             runtime::MessageType expected);
  [[nodiscard]] FoundImage open(Connection& connection, const runtime::RuleMatch& match, bool is_look,
                                std::uint64_t again = 0);
  [[nodiscard]] bool gives_up(std::unique_ptr<Connection>& connection);
  void keep_step(const std::string& file, std::uint64_t step);
  void leave_steps(Connection& connection, const std::string* file);
  [[nodiscard]] runtime::FileDescriptor known_image(const std::string& file, std::uint64_t step);
  [[nodiscard]] const KnownImage* last_image(const std::string& file) const;
  [[nodiscard]] FoundImage image_to_look_at(const std::string& file);
  void remember(const runtime::FileDescriptor& image, KnownImage known);
  void remember(const runtime::OpenFile& request, const runtime::FileOpened& opened,
                const runtime::FileDescriptor& file);
  void forget(const std::string& file);
  void note_known() const noexcept;
  void take_page(const runtime::ReceivedMessage& welcome);

  runtime::ClientEnvironment environment_;
  runtime::FilesMatcher matcher_;
  std::uint64_t process_token_;
  std::mutex mutex_;  ///< of what follows
  std::vector<std::unique_ptr<Connection>> idle_;
  std::vector<KnownImage> images_;  ///< the newest last
  std::optional<runtime::NameCounts> counts_;
  std::vector<KeptStep> kept_steps_;
  std::uint32_t last_tag_ = 0;
  bool has_threads_ = false;
};

// The last word of a process that ends by `_exit`, `quick_exit` or `exit_group`. POSIX allows `_exit` in a
// signal handler, which may have interrupted the memory allocator, or this library with its locks.

inline constexpr std::size_t most_farewell_files = 256;

/// The process has this connection to its matcher, as long as it keeps it open.
void note_connection(int descriptor) noexcept;
[[nodiscard]] bool has_noted_connection() noexcept;
/// Tells the matcher that the process has left these files in order: without memory and locks. Waits at most
/// 2 s, for a matcher that has much to read. False: there is no connection, or the matcher has not read for
/// so long. Takes at most `most_farewell_files`.
[[nodiscard]] bool say_farewell(std::span<const runtime::FileIdentity> files) noexcept;

}  // namespace sluice::files
