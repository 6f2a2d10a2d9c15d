// The calls of the C library that rename and link files. Within the run names change, never bytes; what
// leaves it, or comes to it, is the kernel's file under one of its names. docs/design/names-and-places.md.
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "named_file.hpp"
#include "open_record.hpp"
#include "wrapped_call.hpp"
#include "written_file.hpp"

namespace {

using sluice::files::change_read;
using sluice::files::close_written;
using sluice::files::CoupledFile;
using sluice::files::fail;
using sluice::files::Inside;
using sluice::files::is_link;
using sluice::files::may_be_coupled;
using sluice::files::may_be_written;
using sluice::files::NamedFile;
using sluice::files::OpenReason;
using sluice::files::ReaderChange;
using sluice::files::remove_read;
using sluice::files::undisturbed;
using sluice::files::WrittenFile;
using sluice::runtime::FileDescriptor;
using sluice::runtime::NameFile;

constexpr mode_t all_may = 0666;
constexpr mode_t permissions = 07777;

/// A path as a call gets it.
struct Path {
  int directory = AT_FDCWD;
  const char* text = nullptr;
};

/// What is to be renamed, or to get one more name.
struct Renamed {
  Path from, to;
  unsigned int flags = 0;  ///< of renameat2(2)
  bool is_along = false;   ///< with its directory, which has the new name already
  [[nodiscard]] bool has(unsigned int flag) const noexcept { return (flags & flag) != 0; }
};

WrittenFile open_written(const Path& path, int flags, OpenReason reason = OpenReason::of_program) noexcept {
  return sluice::files::open_written(path.directory, path.text, flags, all_may, reason);
}

NamedFile named(const Path& path) noexcept {
  if (!may_be_written(path.text) || *path.text == '\0') return {};
  const int before = errno;
  const Inside inside;
  NamedFile file = sluice::files::named_file(path.directory, path.text);
  errno = before;
  return file;
}

int give_name(NameFile::How how, const NamedFile& from, const NamedFile& to, bool must_be_new) noexcept {
  const Inside inside;
  return sluice::files::give_name({how, from.name, to.name, must_be_new});
}

int remove_from_run(const NamedFile& file) noexcept {
  const Inside inside;
  return sluice::files::remove_named_file(file.name);
}

/// st_mode of what is at the path on disk, a link itself; 0: nothing is.
mode_t mode_on_disk(const Path& path) noexcept {
  const int before = errno;
  const Inside inside;
  struct stat facts {};
  const int status = ::fstatat(path.directory, path.text, &facts, AT_SYMLINK_NOFOLLOW);
  errno = before;
  return status == 0 ? facts.st_mode : 0;
}

bool is_directory(const Path& path) noexcept {
  return S_ISDIR(mode_on_disk(path));
}

int trouble_of_parent(const Path& path) noexcept {
  const Inside inside;
  return sluice::files::trouble_of_parent(path.directory, path.text);
}

int trouble_of_leaving(const Path& path) noexcept {
  const Inside inside;
  return sluice::files::trouble_of_leaving(path.directory, path.text);
}

/// Whether the writer would find a file there, at once.
bool is_there(const Path& path) noexcept {
  return mode_on_disk(path) != 0 || open_written(path, O_RDONLY).kind == WrittenFile::Kind::given;
}

void remove_on_disk(const Path& path) noexcept {
  const int before = errno;
  const Inside inside;
  (void)::unlinkat(path.directory, path.text, 0);
  errno = before;
}

/// Returns errno, or 0.
int copy(int from, int to) noexcept {
  for (;;) {
    constexpr std::size_t piece = std::size_t{1} << 30;
    const ssize_t copied = ::sendfile(to, from, nullptr, piece);
    if (copied == 0) return 0;
    if (copied < 0 && errno != EINTR) return errno;
  }
}

int open_ordinary(const Path& path, int flags) noexcept {
  const Inside inside;
  return ::openat(path.directory, path.text, flags | O_CLOEXEC, all_may);
}

void copy_facts(int from, int to) noexcept {
  struct stat facts {};
  if (::fstat(from, &facts) != 0) return;
  const timespec times[] = {facts.st_atim, facts.st_mtim};
  (void)::fchmod(to, facts.st_mode & permissions);
  (void)::futimens(to, times);
}

/// A file of the run gets a second name on disk, or the other way round: a copy. Returns errno, or 0;
/// ENODATA: the source is not there.
int copy_file(const Path& from, const Path& to) noexcept {
  WrittenFile source = open_written(from, O_RDONLY);
  if (source.kind == WrittenFile::Kind::failed) return source.error_number;
  if (source.kind == WrittenFile::Kind::ordinary) {
    struct stat facts {};
    source.file = FileDescriptor(open_ordinary(from, O_RDONLY));
    if (!source.file || ::fstat(source.file.number(), &facts) != 0 || !S_ISREG(facts.st_mode)) return ENODATA;
  }
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL;
  WrittenFile target = open_written(to, flags);
  if (target.kind == WrittenFile::Kind::failed) return target.error_number;
  if (target.kind == WrittenFile::Kind::ordinary) {
    target.file = FileDescriptor(open_ordinary(to, flags));
    if (!target.file) return errno;
  }
  const int trouble = copy(source.file.number(), target.file.number());
  if (trouble == 0) copy_facts(source.file.number(), target.file.number());
  close_written(target.file);
  return trouble;
}

/// Two names of one file on disk: the kernel leaves both.
bool are_one_file(const Path& a, const Path& b) noexcept {
  const int before = errno;
  const Inside inside;
  struct stat one {
  }, other{};
  const bool are = ::fstatat(a.directory, a.text, &one, AT_SYMLINK_NOFOLLOW) == 0 &&
                   ::fstatat(b.directory, b.text, &other, AT_SYMLINK_NOFOLLOW) == 0 &&
                   one.st_dev == other.st_dev && one.st_ino == other.st_ino;
  errno = before;
  return are;
}

// To and from the disk

/// The file on disk has got its name. Readers get it as one that was written by this process. Returns errno,
/// or 0.
int publish_renamed(const Path& to, OpenReason reason) noexcept {
  {
    const Inside inside;  // the matcher reads it
    struct stat facts {};
    const bool may_read = ::faccessat(to.directory, to.text, R_OK, AT_EACCESS) == 0;
    if (!may_read && ::fstatat(to.directory, to.text, &facts, 0) == 0)
      (void)::fchmodat(to.directory, to.text, (facts.st_mode & permissions) | S_IRUSR, 0);
  }
  WrittenFile renamed = open_written(to, O_WRONLY, reason);
  if (renamed.kind == WrittenFile::Kind::failed) return renamed.error_number;
  if (renamed.kind == WrittenFile::Kind::given) close_written(renamed.file);
  return 0;
}

/// The bytes go to a new file on disk beside its new name, and later ones follow them. Returns errno, or 0;
/// ENOENT: the run has no such file.
int land(const NamedFile& from, const Path& to, std::string& part) {
  const char* const slash = std::strrchr(to.text, '/');
  part = std::string(to.text, slash == nullptr ? 0 : static_cast<std::size_t>(slash + 1 - to.text)) +
         ".sluice-renamed-" + std::to_string(::gettid());
  const Path path{to.directory, part.c_str()};
  FileDescriptor made(open_ordinary(path, O_WRONLY | O_CREAT | O_EXCL));
  if (!made) return errno;
  made.reset();
  NamedFile target;
  target.name.path = sluice::files::absolute_path(to.directory, part.c_str());
  const int trouble = give_name(NameFile::How::land, from, target, false);
  if (trouble != 0) remove_on_disk(path);
  return trouble;
}

/// The kernel renames, and the matcher takes the file over.
template <class Rename>
int rename_into_run(const Renamed& renamed, const Rename& rename) noexcept {
  if (!is_there(renamed.from)) return rename();  // the kernel knows why
  if (renamed.has(RENAME_NOREPLACE) && is_there(renamed.to)) return fail(EEXIST);
  if (renamed.has(RENAME_EXCHANGE)) return fail(is_there(renamed.to) ? EINVAL : ENOENT);
  const int before = errno;
  if (const int outcome = rename(); outcome != 0) return outcome;
  errno = before;
  const int trouble = publish_renamed(renamed.to, OpenReason::adopted);
  if (trouble == 0) return 0;
  const auto [from, to] = std::pair(renamed.from, renamed.to);
  (void)SLUICE_REAL(renameat)(to.directory, to.text, from.directory, from.text);
  return fail(trouble);
}

/// Returns errno, or 0; ENOENT: the run has no such file.
int rename_out_of_run(const NamedFile& from, const Path& to, unsigned int flags) {
  std::string part;
  if (const int trouble = land(from, to, part); trouble != 0) return trouble;
  if (SLUICE_REAL(renameat2)(to.directory, part.c_str(), to.directory, to.text, flags) != 0) {
    const int trouble = errno;
    remove_on_disk({to.directory, part.c_str()});
    return trouble;
  }
  return remove_from_run(from);
}

/// To a name of a file that the component writes on disk. Returns errno, or 0.
int note_renamed_in_place(const NamedFile& from, const NamedFile& to, const Path& path) noexcept {
  int trouble = ENOENT;
  if (from.kind == NamedFile::Kind::in_place) trouble = give_name(NameFile::How::rename, from, to, false);
  if (trouble != ENOENT) return trouble;
  if (from.kind != NamedFile::Kind::ordinary) (void)remove_from_run(from);
  return publish_renamed(path, OpenReason::renamed);
}

// Renaming

/// Both names are of the run. `ENOENT`: it has no such file.
int rename_in_run(const Renamed& renamed, const NamedFile& from, const NamedFile& to) noexcept {
  const int with_directory = renamed.has(RENAME_EXCHANGE)    ? EINVAL
                             : renamed.has(RENAME_NOREPLACE) ? EEXIST
                                                             : EISDIR;
  if (is_directory(renamed.to)) return is_there(renamed.from) ? with_directory : ENOENT;
  if (const int trouble = renamed.is_along ? 0 : trouble_of_parent(renamed.to); trouble != 0) return trouble;
  const bool must_be_new = renamed.has(RENAME_NOREPLACE);
  if (must_be_new && is_there(renamed.from) && is_there(renamed.to)) return EEXIST;
  const auto how = renamed.has(RENAME_EXCHANGE) ? NameFile::How::exchange : NameFile::How::rename;
  const int trouble = give_name(how, from, to, must_be_new);
  if (trouble != 0) return trouble;
  if (how == NameFile::How::rename) remove_on_disk(renamed.from);  // what was kept
  if (S_ISLNK(mode_on_disk(renamed.to))) remove_on_disk(renamed.to);
  return 0;
}

/// The kernel's rename was done, or is not needed; `from` is what the source was before. Returns errno, or 0;
/// ENOENT: the run has no such file.
int rename_named(const Renamed& renamed, const NamedFile& from, const NamedFile& to) {
  using Kind = NamedFile::Kind;
  if (const int trouble = from.kind == Kind::in_run ? trouble_of_leaving(renamed.from) : 0; trouble != 0)
    return is_there(renamed.from) ? trouble : ENOENT;
  if (from.kind == Kind::in_run && to.kind == Kind::in_run) return rename_in_run(renamed, from, to);
  if (from.kind == Kind::in_run) {
    const int trouble = rename_out_of_run(from, renamed.to, renamed.flags);
    if (trouble != 0) return trouble;
    remove_on_disk(renamed.from);
    return to.kind == Kind::in_place ? publish_renamed(renamed.to, OpenReason::renamed) : 0;
  }
  if (to.kind == Kind::in_place) return note_renamed_in_place(from, to, renamed.to);
  if (from.kind == Kind::in_place) (void)remove_from_run(from);
  return to.kind == Kind::in_run ? publish_renamed(renamed.to, OpenReason::adopted) : 0;
}

template <class Rename>
int rename_file(const Renamed& renamed, const NamedFile& from, const NamedFile& to, const Rename& rename) {
  using Kind = NamedFile::Kind;
  if (from.kind == Kind::failed || to.kind == Kind::failed)
    return fail(from.kind == Kind::failed ? from.error_number : to.error_number);
  if (from.kind != Kind::ordinary && from.kind == to.kind && from.name.path == to.name.path) {
    if (!is_there(renamed.from)) return fail(ENOENT);
    return renamed.has(RENAME_NOREPLACE) ? fail(EEXIST) : 0;  // a file that gets its own name stays as it is
  }
  const int before = errno;
  if (from.kind == Kind::in_run) {
    const bool can_be_exchanged = to.kind == Kind::in_run || !renamed.has(RENAME_EXCHANGE);
    const bool are_there = can_be_exchanged || (is_there(renamed.from) && is_there(renamed.to));
    const int trouble = !are_there ? ENOENT : can_be_exchanged ? rename_named(renamed, from, to) : EINVAL;
    errno = before;
    if (trouble != ENOENT) return trouble == 0 ? 0 : fail(trouble);
  }
  if (are_one_file(renamed.from, renamed.to)) return rename();
  if (to.kind == Kind::in_run) {
    const int outcome = rename_into_run(renamed, rename);
    if (outcome == 0 && from.kind == Kind::in_place) (void)remove_from_run(from);
    return outcome;
  }
  if (const int outcome = rename(); outcome != 0) return outcome;
  errno = before;
  if (renamed.has(RENAME_EXCHANGE)) {
    const bool are_in_place = from.kind == Kind::in_place && to.kind == Kind::in_place;
    const int trouble = are_in_place ? give_name(NameFile::How::exchange, from, to, false) : 0;
    return trouble == 0 ? 0 : fail(trouble);
  }
  if (from.kind == Kind::in_run) return 0;
  const int trouble = rename_named(renamed, from, to);
  return trouble == 0 || trouble == ENOENT ? 0 : fail(trouble);
}

/// For a component that only reads the files. A file that is not on disk is on no file system for which
/// rename could do anything: `mv` copies it then, and removes it. One that is not there yet is waited for, as
/// an open does.
template <class Rename>
int rename_read_any(const Renamed& renamed, const Rename& rename) {
  const auto [from, to] = std::pair(renamed.from, renamed.to);
  if (change_read(to.directory, to.text) != ReaderChange::to_disk) return fail(EACCES);
  ReaderChange change = remove_read(from.directory, from.text);
  if (change == ReaderChange::to_disk) {
    const int outcome = rename();
    const bool may_come = outcome != 0 && errno == ENOENT;
    if (!may_come || sluice::files::look_for(from.directory, from.text).kind != CoupledFile::Kind::image)
      return outcome;
    change = remove_read(from.directory, from.text);
  }
  return fail(change == ReaderChange::refused ? EACCES : EXDEV);
}

/// A file in a directory that is to be renamed.
struct Inner {
  std::string path;  ///< from the directory on
  NamedFile file;    ///< ordinary: it is on disk alone
};

/// Returns errno, or 0. EXDEV: there are files of the run that the component only reads.
int list_inner(const Path& directory, std::vector<Inner>& files) {
  std::map<std::string, bool> paths;
  {
    const Inside inside;
    if (const int trouble = sluice::files::list_below(directory.directory, directory.text, paths);
        trouble != 0)
      return trouble;
  }
  for (const auto& [path, is_of_run] : paths) {
    const std::string whole = std::string(directory.text) + '/' + path;
    NamedFile file = named({directory.directory, whole.c_str()});
    if (file.kind == NamedFile::Kind::failed) return file.error_number;
    if (is_of_run && file.kind == NamedFile::Kind::ordinary) return EXDEV;
    if (!is_of_run && file.kind == NamedFile::Kind::in_run) file = {};  // it is on disk alone
    files.push_back({path, std::move(file)});
  }
  return 0;
}

bool has_files_of_run(const std::vector<Inner>& files) noexcept {
  return std::ranges::any_of(files,
                             [](const Inner& inner) { return inner.file.kind != NamedFile::Kind::ordinary; });
}

/// The directory has been renamed. Returns errno, or 0.
int move_inner(const Renamed& renamed, const Inner& inner) {
  const std::string from = std::string(renamed.from.text) + '/' + inner.path;
  const std::string to = std::string(renamed.to.text) + '/' + inner.path;
  const Renamed moved{{renamed.from.directory, from.c_str()}, {renamed.to.directory, to.c_str()}, 0, true};
  const NamedFile target = named(moved.to);
  if (target.kind == NamedFile::Kind::failed) return target.error_number;
  const int trouble = rename_named(moved, inner.file, target);
  if (trouble != ENOENT || target.kind != NamedFile::Kind::in_run) return trouble == ENOENT ? 0 : trouble;
  return S_ISREG(mode_on_disk(moved.to)) ? publish_renamed(moved.to, OpenReason::adopted) : 0;
}

/// The files of the run that are in it go along. Their directories are on disk, so the kernel renames first.
template <class Rename>
int rename_directory(const Renamed& renamed, const Rename& rename) {
  if (renamed.has(RENAME_NOREPLACE) && mode_on_disk(renamed.to) != 0) return fail(EEXIST);
  if (are_one_file(renamed.from, renamed.to)) return rename();
  std::vector<Inner> files, others;
  if (const int trouble = list_inner(renamed.from, files); trouble != 0) return fail(trouble);
  if (const int trouble = is_directory(renamed.to) ? list_inner(renamed.to, others) : 0; trouble != 0)
    return fail(trouble == EXDEV ? ENOTEMPTY : trouble);
  const bool exchanges = renamed.has(RENAME_EXCHANGE);
  if (has_files_of_run(others)) return fail(exchanges ? EINVAL : ENOTEMPTY);
  if (exchanges && has_files_of_run(files)) return fail(EINVAL);
  const NamedFile target = named(renamed.to);
  if (exchanges && target.kind != NamedFile::Kind::ordinary && is_there(renamed.to)) return fail(EINVAL);
  if (target.kind == NamedFile::Kind::in_run && mode_on_disk(renamed.to) == 0 && is_there(renamed.to))
    return fail(renamed.has(RENAME_NOREPLACE) ? EEXIST : ENOTDIR);
  const int before = errno;
  if (const int outcome = rename(); outcome != 0) return outcome;
  errno = before;
  int trouble = 0;
  for (const Inner& inner : exchanges ? std::vector<Inner>{} : files) {
    if (const int one = move_inner(renamed, inner); one != 0) trouble = one;
  }
  errno = before;
  return trouble == 0 ? 0 : fail(trouble);
}

/// A trial's record of a name that a file gets: no rule covers any file then.
template <class Give>
int give_recorded(const Path& from, const Path& to, const Give& give) noexcept {
  const bool is_taken = sluice::files::is_on_disk(to.directory, to.text);
  const int outcome = give();
  if (outcome == 0) {
    using sluice::files::Recorded;
    sluice::files::record_open(from.directory, from.text, Recorded::read);
    sluice::files::record_open(to.directory, to.text, is_taken ? Recorded::renamed : Recorded::made);
  }
  return outcome;
}

/// A link is on disk. What had the name before has it no longer.
template <class Rename>
int rename_link(const Renamed& renamed, const Rename& rename) {
  const NamedFile target = named(renamed.to);
  if (target.kind == NamedFile::Kind::in_run && renamed.has(RENAME_NOREPLACE) && is_there(renamed.to))
    return fail(EEXIST);
  const bool can_be_done = !is_directory(renamed.to) && trouble_of_parent(renamed.to) == 0;
  // First: what is being kept must not replace the link.
  if (can_be_done && target.kind == NamedFile::Kind::in_run && !renamed.has(RENAME_EXCHANGE))
    (void)remove_from_run(target);
  const int renamed_it = rename();
  if (renamed_it == 0) sluice::files::publish_behind_link(renamed.to.directory, renamed.to.text);
  return renamed_it;
}

template <class Rename>
int rename_it(const Renamed& renamed, const Rename& rename) noexcept {
  const auto [from, to] = std::pair(renamed.from, renamed.to);
  if (from.text == nullptr || to.text == nullptr) return rename();
  if (sluice::files::is_recording()) return give_recorded(from, to, rename);
  if (!sluice::files::may_list_coupled() || renamed.has(RENAME_WHITEOUT)) return rename();
  try {
    if (may_be_coupled(from.text) && is_link(from.directory, from.text)) return rename_link(renamed, rename);
    if (is_directory(from)) return rename_directory(renamed, rename);
    if (renamed.has(RENAME_EXCHANGE) && is_directory(to))
      return rename_directory({to, from, renamed.flags}, rename);
    if (!may_be_written(from.text) && !may_be_written(to.text)) return rename_read_any(renamed, rename);
    if (!may_be_written(from.text) && is_link(from.directory, from.text)) return rename_link(renamed, rename);
    return rename_file(renamed, named(from), named(to), rename);
  } catch (const std::exception&) {
    return fail(ENOMEM);
  }
}

/// The outcome of a call with two names. The first is looked at first, as the kernel does.
int with_names(const Path& from, const Path& to, int outcome) noexcept {
  using sluice::files::with_parts;
  return with_parts(to.directory, to.text, with_parts(from.directory, from.text, outcome));
}

template <class Rename>
int rename_any(const Renamed& renamed, const Rename& rename) {
  return undisturbed([&] { return with_names(renamed.from, renamed.to, rename_it(renamed, rename)); });
}

// Linking

/// For a component that only reads the file: it stays as it is, so a copy on disk is as good as a link to it.
/// Returns errno, or 0; ENODATA: it is not of the run.
int copy_read(const Path& from, const Path& to) noexcept {
  const CoupledFile source = sluice::files::look_for(from.directory, from.text);
  if (source.kind == CoupledFile::Kind::failed) return source.error_number;
  if (source.kind != CoupledFile::Kind::image) return ENODATA;
  const FileDescriptor target(open_ordinary(to, O_WRONLY | O_CREAT | O_EXCL));
  if (!target) return errno;
  const FileDescriptor image(open_ordinary({AT_FDCWD, sluice::files::ImageLink(source).path()}, O_RDONLY));
  const int trouble = image ? copy(image.number(), target.number()) : errno;
  if (trouble == 0) copy_facts(image.number(), target.number());
  return trouble;
}

/// A file of the run gets a name on disk, too: what is written until its last close is in both. Returns
/// errno, or 0; ENODATA: the run has no such file.
int link_out_of_run(const NamedFile& from, const Path& to) {
  if (mode_on_disk(to) != 0) return EEXIST;
  std::string part;
  const int trouble = land(from, to, part);
  if (trouble != 0) return trouble == ENOENT ? ENODATA : trouble;
  const int linked = SLUICE_REAL(linkat)(to.directory, part.c_str(), to.directory, to.text, 0);
  const int error = errno;
  remove_on_disk({to.directory, part.c_str()});
  return linked == 0 ? 0 : error;
}

/// On disk the kernel makes the link. Returns errno, or 0.
template <class Link>
int link_in_place(const NamedFile& from, const NamedFile& to, const Path& path, const Link& link) {
  if (link() != 0) return errno;
  const bool may_be_open = from.kind == NamedFile::Kind::in_place;
  const int trouble = may_be_open ? give_name(NameFile::How::link, from, to, false) : ENOENT;
  return trouble == ENOENT ? publish_renamed(path, OpenReason::renamed) : trouble;
}

/// The kernel makes the name, and the matcher takes the file over by it: what is written until its last close
/// is in the run. Returns errno, or 0.
template <class Link>
int link_into_run(const Path& to, const Link& link) {
  if (is_there(to)) return EEXIST;
  if (link() != 0) return errno;
  const int trouble = publish_renamed(to, OpenReason::adopted);
  if (trouble != 0) remove_on_disk(to);
  return trouble;
}

/// Returns errno, or 0; ENODATA: that is the kernel's business.
template <class Link>
int link_written(const Path& from, const Path& to, const NamedFile& open_file, const Link& link) {
  using Kind = NamedFile::Kind;
  const bool is_by_descriptor = open_file.kind == Kind::in_run;
  const NamedFile source = is_by_descriptor ? open_file : named(from), target = named(to);
  if (source.kind == Kind::failed || target.kind == Kind::failed)
    return source.kind == Kind::failed ? source.error_number : target.error_number;
  if (source.kind == Kind::in_run && target.kind == Kind::in_run) {
    if (is_there(from) && is_there(to)) return EEXIST;
    if (const int trouble = trouble_of_parent(to); trouble != 0) return trouble;
    const int trouble = give_name(NameFile::How::link, source, target, true);
    return trouble == ENOENT && !is_by_descriptor ? copy_file(from, to) : trouble;
  }
  if (source.kind == Kind::in_run && target.kind == Kind::ordinary) {
    const int trouble = link_out_of_run(source, to);
    return trouble == ENODATA && is_by_descriptor ? ENOENT : trouble;
  }
  const bool is_on_disk = source.kind != Kind::in_run;
  if (target.kind == Kind::in_place && is_on_disk) return link_in_place(source, target, to, link);
  if (target.kind == Kind::ordinary) return ENODATA;
  return target.kind == Kind::in_run && is_on_disk ? link_into_run(to, link) : copy_file(from, to);
}

NamedFile named_open(const Path& from, int flags) noexcept {
  if ((flags & (AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) == 0 || !sluice::files::may_write_any()) return {};
  const Inside inside;
  return sluice::files::named_by_descriptor(from.directory, from.text, flags);
}

/// `flags`: as of linkat(2); where links are followed, a file without a name (O_TMPFILE) gets one by its link
/// below /proc.
template <class Link>
int link_it(const Path& from, const Path& to, int flags, const Link& link) noexcept {
  if (from.text == nullptr || to.text == nullptr) return link();
  if (sluice::files::is_recording()) return give_recorded(from, to, link);
  const NamedFile open_file = named_open(from, flags);
  const bool is_open = open_file.kind == NamedFile::Kind::in_run;
  if ((!is_open && !may_be_coupled(from.text) && !may_be_coupled(to.text)) ||
      ((flags & AT_SYMLINK_FOLLOW) == 0 && is_link(from.directory, from.text)))
    return link();
  if (change_read(to.directory, to.text) != ReaderChange::to_disk) return fail(EACCES);
  const int before = errno;
  int trouble = ENODATA;
  try {
    if (is_open || may_be_written(from.text) || may_be_written(to.text)) {
      trouble = link_written(from, to, open_file, link);
    } else if (may_be_coupled(from.text)) {
      trouble = copy_read(from, to);
    }
  } catch (const std::exception&) {
    trouble = ENOMEM;
  }
  errno = before;
  if (trouble == ENODATA) return link();
  return trouble == 0 ? 0 : fail(trouble);
}

template <class Link>
int link_any(const Path& from, const Path& to, int flags, const Link& link) {
  return undisturbed([&] { return with_names(from, to, link_it(from, to, flags, link)); });
}

}  // namespace

extern "C" {

SLUICE_EXPORT int rename(const char* from, const char* to) noexcept {
  return rename_any({{AT_FDCWD, from}, {AT_FDCWD, to}}, [&] { return SLUICE_REAL(rename)(from, to); });
}

SLUICE_EXPORT int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  return rename_any({{from_directory, from}, {to_directory, to}},
                    [&] { return SLUICE_REAL(renameat)(from_directory, from, to_directory, to); });
}

SLUICE_EXPORT int renameat2(int from_directory, const char* from, int to_directory, const char* to,
                            unsigned int flags) noexcept {
  return rename_any({{from_directory, from}, {to_directory, to}, flags},
                    [&] { return SLUICE_REAL(renameat2)(from_directory, from, to_directory, to, flags); });
}

SLUICE_EXPORT int link(const char* from, const char* to) noexcept {
  return link_any({AT_FDCWD, from}, {AT_FDCWD, to}, 0, [&] { return SLUICE_REAL(link)(from, to); });
}

SLUICE_EXPORT int linkat(int from_directory, const char* from, int to_directory, const char* to,
                         int flags) noexcept {
  return link_any({from_directory, from}, {to_directory, to}, flags,
                  [&] { return SLUICE_REAL(linkat)(from_directory, from, to_directory, to, flags); });
}

}  // extern "C"
