#include "written_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "client_library.hpp"
#include "process_session.hpp"
#include "sluice/files/changed_parts.hpp"
#include "sluice/files/open_descriptors.hpp"
#include "sluice/files/process_memory.hpp"
#include "sluice/matcher/name_marks.hpp"
#include "sluice/runtime/file_reading.hpp"

namespace sluice::files {

namespace {

/// As the matcher names its files in memory, and those on disk.
bool is_of_matcher(std::string_view link) noexcept {
  return link.starts_with("/memfd:sluice-file") || link.find("/.sluice-file-") != std::string_view::npos;
}

/// What the kernel calls the descriptor's file; empty: it cannot be known. `room` has the text, with a zero.
std::string_view link_of(int descriptor, std::array<char, PATH_MAX>& room) noexcept {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "/proc/thread-self/fd/%d", descriptor);
  const ssize_t length = ::readlink(name.data(), room.data(), room.size() - 1);
  if (length <= 0) return {};
  room[static_cast<std::size_t>(length)] = '\0';
  return {room.data(), static_cast<std::size_t>(length)};
}

constexpr FileIdentity no_file{};

/// The file of a descriptor for writing, or `no_file`.
FileIdentity written_by(int descriptor) noexcept {
  const int flags = ::fcntl(descriptor, F_GETFL);
  struct stat facts {};
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || ::fstat(descriptor, &facts) != 0) return no_file;
  return S_ISREG(facts.st_mode) ? FileIdentity{facts.st_dev, facts.st_ino} : no_file;
}

/// The files that this process may write. A forked child has none of its own: after vfork, even the list is
/// its parent's. A file that was closed in a way that is not seen here stays until its place is needed.
class HeldFiles {
 public:
  void add(const FileIdentity& file) {
    const pid_t self = ::getpid();
    if (owner_.exchange(self) != self) {
      for (Place& place : places_) place.file = 0;
      count_ = 0;
      is_overfull_ = false;
    }
    if (find(file) || take_place(file)) return;
    drop_closed();
    if (!take_place(file)) is_overfull_ = true;
  }
  [[nodiscard]] bool has(const FileIdentity& file) const noexcept {
    return !is_empty() && (is_overfull_ || find(file));
  }
  void remove(const FileIdentity& file) noexcept {
    for (Place& place : places_) {
      std::uint64_t here = file.file;
      if (place.has(file) && place.file.compare_exchange_strong(here, 0)) --count_;
    }
  }
  [[nodiscard]] bool is_empty() const noexcept {
    return count_.load(std::memory_order_relaxed) == 0 || owner_.load() != ::getpid();
  }
  /// Calls `visit` with each file, with some perhaps twice. Takes no memory.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Place& place : places_) {
      if (const FileIdentity file = place.identity(); file != no_file) visit(file);
    }
    if (!is_overfull_) return;
    for_each_descriptor([&](int descriptor) {
      if (const FileIdentity file = written_by(descriptor); file != no_file) visit(file);
    });
  }
  [[nodiscard]] std::vector<FileIdentity> all() const {
    std::vector<FileIdentity> files;
    for_each([&](const FileIdentity& file) { files.push_back(file); });
    return files;
  }

 private:
  /// The device is set while nobody looks at it, because no two numbers can be changed at once.
  struct Place {
    static constexpr std::uint64_t is_being_taken = ~std::uint64_t{0};
    std::atomic<std::uint64_t> file{0};  ///< 0: the place is free
    std::atomic<std::uint64_t> device{0};
    [[nodiscard]] bool has(const FileIdentity& identity) const noexcept {
      return file == identity.file && device == identity.device;
    }
    [[nodiscard]] FileIdentity identity() const noexcept {
      const std::uint64_t number = file;
      return number == 0 || number == is_being_taken ? no_file : FileIdentity{device, number};
    }
  };

  [[nodiscard]] bool find(const FileIdentity& file) const noexcept {
    return std::ranges::any_of(places_, [&](const Place& place) { return place.has(file); });
  }
  [[nodiscard]] bool take_place(const FileIdentity& file) noexcept {
    for (Place& place : places_) {
      std::uint64_t none = 0;
      if (!place.file.compare_exchange_strong(none, Place::is_being_taken)) continue;
      place.device = file.device;
      place.file = file.file;
      ++count_;
      return true;
    }
    return false;
  }
  void drop_closed() {
    std::vector<FileIdentity> open;
    for_each_descriptor([&](int descriptor) { open.push_back(written_by(descriptor)); });
    for (const Place& place : places_) {
      const FileIdentity file = place.identity();
      if (file != no_file && std::ranges::find(open, file) == open.end()) remove(file);
    }
  }

  static constexpr std::size_t most_files = 256;
  std::array<Place, most_files> places_{};
  std::atomic<int> count_{0};
  std::atomic<bool> is_overfull_{false};  ///< more are open at once: then any file may be one of them
  std::atomic<pid_t> owner_{0};
};
constinit HeldFiles held_by_process, held_after_vfork;
HeldFiles& held() noexcept {
  return is_in_memory_of_parent() ? held_after_vfork : held_by_process;
}
/// Those of them that were made by an open for reading: any descriptor counts.
constinit HeldFiles made_for_reading;
/// Files on disk that have come into the run while they were open: they have a name there no more.
constinit HeldFiles taken_over;

/// Files between two opens that belong together.
class KeptFiles {
 public:
  void add(int file) {
    HiddenDescriptor hidden(hidden_duplicate(file));
    const std::lock_guard lock(mutex_);
    files_.push_back(std::move(hidden));
    count_ = files_.size();
  }
  /// The process has opened the file.
  void release(int opened) noexcept {
    if (count_.load(std::memory_order_relaxed) == 0) return;
    const FileIdentity identity = identity_of(opened);
    const std::lock_guard lock(mutex_);
    std::erase_if(files_,
                  [&](const HiddenDescriptor& file) { return identity_of(file.number()) == identity; });
    count_ = files_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<HiddenDescriptor> files_;
  std::atomic<std::size_t> count_{0};
};

/// Never destroyed: programs open files until their very end.
KeptFiles& kept() {
  static auto* const all = new KeptFiles;
  return *all;
}

/// Of the program. `file_of(descriptor)`: the file that a descriptor counts for.
template <class FileOf>
bool has_another(int descriptor, const FileIdentity& file, const FileOf& file_of) {
  bool has = false;
  for_each_descriptor([&](int other) {
    has = has || (other != descriptor && file_of(other) == file && !is_known_image(other));
  });
  return has;
}

void tell(bool holds, std::vector<FileIdentity> files, bool is_by_exec = false) {
  ImageSession& session = process_session();
  if (session.environment().is_coupled()) session.tell({holds, std::move(files), is_by_exec});
}

std::optional<runtime::RuleMatch> match_of(const ImageSession& session, int directory, const char* path) {
  const std::string whole = whole_path(directory, path);
  if (whole.empty() || !session.environment().is_coupled() || !may_go_up(directory, path))
    return std::nullopt;
  auto match = runtime::find_rule(session.environment(), whole);
  if (!match || !runtime::is_written_as_file(match->rule)) return std::nullopt;
  struct stat facts {};
  const bool is_other =
      match->is_on_disk && ::stat(match->file.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode);
  return is_other ? std::nullopt : match;
}

/// Whether the descriptor is of a file on disk that the component writes there itself.
bool is_written_in_place(const char* path) {
  if (path[0] != '/') return false;
  const auto match = match_of(process_session(), AT_FDCWD, path);
  return match && matcher::is_written_in_place(match->rule.through);
}

constexpr mode_t unknown_mask = ~mode_t{0};
constinit std::atomic<mode_t> known_mask{unknown_mask};

/// The process's mask, which is not changed for that: other threads may make files meanwhile.
mode_t read_mask() noexcept {
  const runtime::FileDescriptor status(::open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text{};
  const ssize_t length = status ? ::read(status.number(), text.data(), text.size() - 1) : 0;
  const char* const line = length > 0 ? std::strstr(text.data(), "\nUmask:") : nullptr;
  constexpr mode_t usual = 022;
  return line == nullptr ? usual : static_cast<mode_t>(std::strtoul(line + 7, nullptr, 8));
}

mode_t permissions_of(mode_t mode) noexcept {
  mode_t mask = known_mask;
  if (mask == unknown_mask) known_mask = mask = read_mask();
  return mode & ~mask;
}

/// Why the file cannot be made, or opened, by this name: errno, or 0. `flags` loses O_CREAT where only what
/// is there can be opened. `end`: the whole path, where a link may have led to it.
int trouble_of_name(int directory, const char* path, const char* end, bool is_link, int& flags) noexcept {
  const char* const slash = std::strrchr(path, '/');
  if (std::strlen(slash == nullptr ? path : slash + 1) > NAME_MAX) return ENAMETOOLONG;
  struct stat facts {};
  if (is_link && ::fstatat(directory, path, &facts, 0) != 0 && errno == ELOOP) return ELOOP;
  if ((flags & O_CREAT) == 0) return 0;
  const int trouble = trouble_of_parent(directory, is_link ? end : path);
  if (trouble == EACCES || trouble == EROFS) flags &= ~O_CREAT;
  return trouble;
}

/// The last word may come in a signal handler, which cannot ask for a way then.
void note_own_connection() {
  if (has_noted_connection() || is_in_memory_of_parent()) return;
  if (const int connection = connection_of_client_library(); connection >= 0) note_connection(connection);
}

/// Whether the link leads to a path that no rule covers. That file is on the disk for all who know it by its
/// own name, so it is written there.
bool leads_out_of_run(const ImageSession& session, const runtime::RuleMatch& match) {
  return !match.rule.is_stream &&
         !runtime::find_rule(session.environment(), match.file, runtime::LastLink::stay);
}

/// Where the file is saved at an fsync; empty: nowhere.
std::string save_directory(const runtime::ClientEnvironment& environment, const runtime::RuleMatch& match) {
  if (match.rule.through != matcher::Through::burst_buffer) return {};
  if (!environment.log_directory.empty()) return environment.log_directory;
  return match.file.substr(0, std::max<std::size_t>(match.file.rfind('/'), 1));
}

/// By MPI-IO, a file of several matchers is on the disk, where each step of a stream would overwrite the one
/// before. The first open is refused, too: a rank that has the file would wait for the others for ever.
WrittenFile refuse_stream(ImageSession& session, const std::string& file) {
  session.complain("'" + file +
                   "' cannot be opened: it is written by MPI-IO, its rule has 'steps: stream', and the ranks "
                   "have several matchers or nodes, which cannot share such a file. Give each step a name of "
                   "its own, without 'steps: stream', write it by PnetCDF, or run the program on one node "
                   "with 'matchers: 1'");
  return {WrittenFile::Kind::failed, {}, EACCES};
}

WrittenFile open_it(int directory, const char* path, int flags, mode_t mode, OpenReason reason) {
  if (is_in_pnetcdf()) return {};
  ImageSession& session = process_session();
  const auto match = match_of(session, directory, path);
  if (!match) return {};
  std::array<char, 1> link;
  const bool is_link = ::readlinkat(directory, path, link.data(), link.size()) >= 0;
  const bool leads_out = is_link && leads_out_of_run(session, *match);
  const bool is_in_place = leads_out || matcher::is_written_in_place(match->rule.through);
  const bool is_renamed = reason == OpenReason::renamed || reason == OpenReason::adopted;
  if (match->rule.is_stream && reason == OpenReason::by_mpi_io &&
      session.environment().may_have_several_matchers)
    return refuse_stream(session, match->file);
  const bool may_be_shared = reason == OpenReason::by_mpi_io && !is_in_place && !match->rule.is_stream;
  const int trouble = trouble_of_name(directory, path, match->file.c_str(), is_link, flags);
  const bool may_be_there = trouble == 0 || trouble == EACCES || trouble == EROFS;
  if (!may_be_there) return {WrittenFile::Kind::failed, {}, trouble};
  OpenedFile opened;
  const bool is_look = reason == OpenReason::to_look;
  if ((is_look || reason == OpenReason::to_read) && !is_in_place) opened = session.known_file(match->file);
  if (opened.file) return {WrittenFile::Kind::given, std::move(opened.file), 0, opened.names};
  try {
    opened = session.open_file({match->key, match->file, match->is_on_disk,
                                static_cast<std::uint32_t>(is_look ? flags | O_PATH : flags),
                                static_cast<std::uint32_t>(permissions_of(mode)), match->rule.closes,
                                leads_out || matcher::is_in_files(match->rule.through), is_in_place,
                                reason == OpenReason::adopted, is_renamed, may_be_shared,
                                match->rule.is_shown_at_sync && !match->rule.is_stream,
                                save_directory(session.environment(), *match)});
  } catch (const Error& error) {
    if (error.status() != NC_ENOENT || (flags & O_CREAT) != 0) throw;
    // The kernel knows why it is not there.
    return trouble == 0 ? WrittenFile{} : WrittenFile{WrittenFile::Kind::failed, {}, trouble};
  }
  runtime::FileDescriptor file = std::move(opened.file);
  if (!file) return {};
  std::array<char, PATH_MAX> room;
  const bool is_taken_over = !is_in_place && !is_of_matcher(link_of(file.number(), room));
  if (is_taken_over && !is_in_memory_of_parent()) taken_over.add(identity_of(file.number()));
  // Who makes a file and only reads it may write it by a second descriptor.
  if ((flags & (O_ACCMODE | O_CREAT | O_TRUNC)) != O_RDONLY) {
    if (const FileIdentity identity = identity_of(file.number()); identity != no_file) {
      held().add(identity);
      if ((flags & O_ACCMODE) == O_RDONLY && !is_in_memory_of_parent()) made_for_reading.add(identity);
    }
    kept().release(file.number());
    note_own_connection();
  }
  return {WrittenFile::Kind::given, std::move(file), 0, opened.names};
}

}  // namespace

bool may_go_up(int directory, const char* path) {
  const std::string_view all(path);
  for (std::size_t at = all.find("/.."); at != all.npos; at = all.find("/..", at + 1)) {
    if (at == 0 || (at + 3 < all.size() && all[at + 3] != '/')) continue;
    struct stat facts {};
    const std::string before(all.substr(0, at));
    if (::fstatat(directory, before.c_str(), &facts, 0) != 0 || !S_ISDIR(facts.st_mode)) return false;
  }
  return true;
}

WrittenFile open_written_file(int directory, const char* path, int flags, mode_t mode,
                              OpenReason reason) noexcept {
  try {
    return open_it(directory, path, flags, mode, reason);
  } catch (const Error& error) {
    return {WrittenFile::Kind::failed, {}, runtime::error_number_of(error)};
  } catch (const std::bad_alloc&) {
    return {WrittenFile::Kind::failed, {}, ENOMEM};
  } catch (const std::exception&) {
    return {WrittenFile::Kind::failed, {}, EIO};
  }
}

bool leads_to_ordinary_file(int directory, const char* path) noexcept {
  try {
    const ImageSession& session = process_session();
    const auto match = is_in_pnetcdf() ? std::nullopt : match_of(session, directory, path);
    return match && match->is_on_disk && leads_out_of_run(session, *match);
  } catch (const std::exception&) {
    return false;  // no memory
  }
}

void note_given(int descriptor, int flags) noexcept {
  if (!begin_noting(descriptor, flags)) return;
  const FileIdentity file = identity_of(descriptor);
  if (has_another(descriptor, file, identity_of)) lose_track(file);
}

void keep_until_reopened(int file) noexcept {
  try {
    kept().add(file);
  } catch (const std::exception&) {
    // No memory: it counts as closed between the two.
  }
}

void note_reopened(int file) noexcept {
  kept().release(file);
}

int trouble_of_parent(int directory, const char* path) noexcept {
  const char* const slash = std::strrchr(path, '/');
  if (std::strlen(slash == nullptr ? path : slash + 1) > NAME_MAX) return ENAMETOOLONG;
  std::array<char, PATH_MAX> parent{'.'};
  const auto length = slash == nullptr ? 0 : static_cast<std::size_t>(slash + 1 - path);
  if (length >= parent.size()) return ENAMETOOLONG;
  if (length > 0) std::memcpy(parent.data(), path, length);
  const int before = errno;
  struct stat facts {};
  const bool may_make = ::faccessat(directory, parent.data(), W_OK | X_OK, AT_EACCESS) == 0 &&
                        ::fstatat(directory, parent.data(), &facts, 0) == 0;
  // A directory that has been removed, and is still a process's own, has no links.
  const int trouble = !may_make ? errno : facts.st_nlink == 0 ? ENOENT : 0;
  errno = before;
  return trouble;
}

int trouble_of_leaving(int directory, const char* path) noexcept {
  const int trouble = trouble_of_parent(directory, path);
  return trouble == EACCES || trouble == EROFS ? trouble : 0;
}

namespace {

/// Asks for the file that has these numbers. Returns errno, or 0.
int sync_identity(const FileIdentity& file) noexcept {
  try {
    ImageSession& session = process_session();
    if (session.environment().is_coupled()) session.await_file({file, true});
    return 0;
  } catch (const Error& error) {
    return runtime::error_number_of(error);
  } catch (const std::exception&) {
    return EIO;
  }
}

/// The next line of a text; empty at its end.
std::string_view next_line(std::string_view& text) noexcept {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

std::string all_mappings() {
  const runtime::FileDescriptor file(::open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t length = 1; file && length > 0;) {
    length = ::read(file.number(), part.data(), part.size());
    if (length > 0) text.append(part.data(), static_cast<std::size_t>(length));
  }
  return text;
}

}  // namespace

bool is_written_in_memory(int descriptor) noexcept {
  std::array<char, PATH_MAX> room;
  return is_of_matcher(link_of(descriptor, room));
}

int sync_written(int descriptor) noexcept {
  std::array<char, PATH_MAX> link;
  if (!is_of_matcher(link_of(descriptor, link))) return 0;
  const FileIdentity file = identity_of(descriptor);
  return file == no_file ? 0 : sync_identity(file);
}

std::uint32_t names_of_open_file(int descriptor) noexcept {
  std::array<char, PATH_MAX> room;
  const std::string_view link = link_of(descriptor, room);
  if (link.starts_with("/memfd:sluice-image")) return 1;
  std::uint64_t mark = 0;
  const bool is_of_run =
      is_of_matcher(link) || (!taken_over.is_empty() && taken_over.has(identity_of(descriptor)));
  const bool is_marked = is_of_run && ::fcntl(descriptor, F_GET_RW_HINT, &mark) == 0;
  return is_marked ? matcher::names_of_mark(mark) : 0;
}

int sync_mapped(const void* address) noexcept {
  try {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const std::string mappings = all_mappings();
    for (std::string_view rest = mappings; !rest.empty();) {
      const std::string line(next_line(rest));
      unsigned long begin = 0, end = 0, inode = 0;
      unsigned major_number = 0, minor_number = 0;
      int name = 0;
      constexpr const char* form = "%lx-%lx %*s %*x %x:%x %lu %n";
      if (std::sscanf(line.c_str(), form, &begin, &end, &major_number, &minor_number, &inode, &name) < 5)
        continue;
      if (at < begin || at >= end) continue;
      const auto path = std::string_view(line).substr(static_cast<std::size_t>(name));
      return is_of_matcher(path) ? sync_identity({makedev(major_number, minor_number), inode}) : 0;
    }
    return 0;
  } catch (const std::exception&) {
    return ENOMEM;
  }
}

void note_umask(mode_t mask) noexcept {
  known_mask = mask;
}

bool may_close_written() noexcept {
  return !held_by_process.is_empty() || !held_after_vfork.is_empty();
}

namespace {

/// Before the close: what the kernel tells of it must not come first. False: it is not known what was
/// changed.
bool tell_changes(const FileIdentity& file, ChangedParts changed) noexcept {
  ImageSession& session = process_session();
  if (!changed || !session.environment().is_coupled()) return false;
  try {
    session.tell({false, {file}, false, std::move(changed)});
    return true;
  } catch (const std::exception&) {  // the matcher is gone
    return false;
  }
}

}  // namespace

ClosedFile begin_close(int descriptor) noexcept {
  const FileIdentity any = made_for_reading.is_empty() ? no_file : identity_of(descriptor);
  const bool counts_all = any != no_file && made_for_reading.has(any);
  const FileIdentity file = counts_all ? any : written_by(descriptor);
  if (file == no_file || !held().has(file)) return {};
  if (counts_all ? has_another(descriptor, file, identity_of) : has_another(descriptor, file, written_by)) {
    lose_track(file);
    return {};
  }
  std::uint64_t mark = 0;
  const bool is_marked = ::fcntl(descriptor, F_GET_RW_HINT, &mark) == 0 && mark == runtime::mark_of_landing;
  auto changed = end_noting(descriptor, file);
  return {file, is_marked, tell_changes(file, std::move(changed))};
}

void end_close(const ClosedFile& file) noexcept {
  if (file.identity == no_file) return;
  try {
    held().remove(file.identity);
    made_for_reading.remove(file.identity);
    if (!file.is_told) tell(false, {file.identity});
    if (file.has_landing) process_session().await_file({file.identity, false});
  } catch (const std::exception&) {
    // The matcher is gone, or looks at the process itself.
  }
}

namespace {

/// What the process has read of streams, it has read: it is not killed.
void leave_read_steps() noexcept {
  if (!has_kept_steps()) return;
  try {
    process_session().leave_steps();
  } catch (const std::exception&) {
    // The matcher is gone.
  }
}

/// Whether other threads may be opening files while this one ends the process. The matcher hears of no files
/// then, which means: of all that the process has, or is being given.
bool may_open_meanwhile() noexcept {
  constexpr nlink_t of_one_thread = 3;
  struct stat facts {};
  return has_noted_connection() && ::stat("/proc/self/task", &facts) == 0 && facts.st_nlink > of_one_thread;
}

}  // namespace

void note_exit() noexcept {
  leave_read_steps();
  const bool may_open_others = may_open_meanwhile();
  if (held().is_empty() && !may_open_others) return;
  try {
    if (!held().is_empty()) tell(false, held().all());
    if (may_open_others) tell(false, {});
  } catch (const std::exception&) {
  }
}

void note_end_at_once() noexcept {
  if (has_kept_steps()) return note_exit();
  if (may_open_meanwhile()) (void)say_farewell({});
  if (held().is_empty()) return;
  std::array<FileIdentity, most_farewell_files> files;
  std::size_t count = 0;
  bool is_told = true;
  const auto tell_some = [&] {
    is_told = is_told && say_farewell(std::span(files).first(count));
    count = 0;
  };
  held().for_each([&](const FileIdentity& file) {
    files[count++] = file;
    if (count == files.size()) tell_some();
  });
  if (count > 0) tell_some();
  if (!is_told && (uses_mpi() || !has_noted_connection())) note_exit();
}

bool holds_files() noexcept {
  return !held().is_empty() || has_kept_steps();
}

void note_exec() noexcept {
  leave_read_steps();
  if (held().is_empty()) return;
  try {
    const std::vector<FileIdentity> files = held().all();
    for (const FileIdentity& file : files) held().remove(file);
    tell(false, files, true);
  } catch (const std::exception&) {
  }
}

void note_start(bool (*may_be_ours)(const char* path)) noexcept {
  try {
    std::vector<FileIdentity> files;
    for_each_descriptor([&](int descriptor) {
      const FileIdentity file = written_by(descriptor);
      if (file == no_file || held().has(file)) return;
      std::array<char, PATH_MAX> link;
      if (link_of(descriptor, link).empty()) return;
      const bool is_in_place = may_be_ours(link.data()) && is_written_in_place(link.data());
      if (!is_in_place && !is_of_matcher(link.data())) return;
      held().add(file);
      files.push_back(file);
    });
    if (!files.empty()) tell(true, files);
  } catch (const std::exception&) {
  }
}

}  // namespace sluice::files
