// The calls of the C library by which a program lists a directory, or walks through a tree: published coupled
// files come behind the entries on disk. The C library's own walks read directories by calls that nobody can
// wrap. docs/design/files-by-any-program.md.
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wordexp.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "open_directories.hpp"
#include "wrapped_call.hpp"

namespace {

using sluice::files::CoupledEntries;
using sluice::files::may_list_coupled;
using sluice::files::of_directory;
using sluice::files::OpenDirectories;
using sluice::runtime::FileDescriptor;

static_assert(sizeof(dirent) == sizeof(dirent64));

/// Never destroyed: programs read directories until their very end.
OpenDirectories& directories() {
  static auto* const all = new OpenDirectories;
  return *all;
}

/// Whether the C library's own walks, whose calls nobody can wrap, must not be used.
bool is_listing_wrapped() noexcept {
  return may_list_coupled() || sluice::files::is_recording();
}

/// `path`: by which the directory was opened; null: by a descriptor.
DIR* with_coupled_files(DIR* directory, const char* path = nullptr, const void* site = nullptr) noexcept {
  if (directory == nullptr) return directory;
  if (sluice::files::is_recording()) sluice::files::record_listing(::dirfd(directory), path, site);
  if (!may_list_coupled()) return directory;
  try {
    directories().add(directory, sluice::files::look_into(::dirfd(directory)));
  } catch (const std::exception&) {
    // No memory: the directory as it is on disk.
  }
  return directory;
}

/// Whether Sluice makes files of this name beside those of programs, for a moment.
bool is_of_sluice(std::string_view name) noexcept {
  return name.starts_with('.') && (name.ends_with(".sluice-partial") || name.starts_with(".sluice-renamed-"));
}

/// `read_entry(directory)` is the C library's call.
template <class Entry, class ReadEntry>
Entry* read_any(DIR* directory, const ReadEntry& read_entry) {
  const auto read = [&](DIR* from) {
    Entry* entry = read_entry(from);
    while (entry != nullptr && is_of_sluice(entry->d_name) && may_list_coupled()) entry = read_entry(from);
    return entry;
  };
  CoupledEntries* const coupled = directories().find(directory);
  if (coupled == nullptr) return read(directory);
  if (!coupled->is_begun()) {
    const int before = errno;
    errno = 0;
    Entry* const entry = read(directory);
    if (entry != nullptr) coupled->note_on_disk(entry->d_name);
    if (entry != nullptr || errno != 0) {
      if (errno == 0) errno = before;
      return entry;
    }
    errno = before;
    coupled->begin();
  }
  return reinterpret_cast<Entry*>(coupled->next());
}

template <class Entry, class Read, class ReadAll>
int read_into(DIR* directory, Entry* entry, Entry** result, const Read& read, const ReadAll& real) {
  if (directories().find(directory) == nullptr) {
    int status = real(directory, entry, result);
    while (status == 0 && *result != nullptr && is_of_sluice(entry->d_name) && may_list_coupled())
      status = real(directory, entry, result);
    return status;
  }
  const int before = errno;
  errno = 0;
  const Entry* const found = read_any<Entry>(directory, read);
  const int problem = errno;
  errno = before;
  if (found != nullptr) std::memcpy(entry, found, offsetof(Entry, d_name) + std::strlen(found->d_name) + 1);
  *result = found != nullptr ? entry : nullptr;
  return found != nullptr ? 0 : problem;
}

template <class Entry>
void free_entries(std::vector<Entry*>& entries) {
  for (Entry* const entry : entries) sluice::files::free_for_program(entry);
}

/// As scandir, of a directory that is open.
template <class Entry, class Read>
int scan(DIR* directory, Entry*** list, int (*is_wanted)(const Entry*),
         int (*compare)(const Entry**, const Entry**), const Read& read) {
  std::vector<Entry*> entries;
  errno = 0;
  while (Entry* const entry = read_any<Entry>(directory, read)) {
    if (is_wanted != nullptr && is_wanted(entry) == 0) continue;
    auto* const copy = static_cast<Entry*>(sluice::files::memory_for_program(sizeof(Entry)));
    if (copy != nullptr) {
      std::memcpy(copy, entry, offsetof(Entry, d_name) + std::strlen(entry->d_name) + 1);
      entries.push_back(copy);
    }
    errno = copy != nullptr ? 0 : ENOMEM;
    if (copy == nullptr) break;
  }
  const int problem = errno;
  auto** const result =
      problem == 0
          ? static_cast<Entry**>(sluice::files::memory_for_program(sizeof(Entry*) * (entries.size() + 1)))
          : nullptr;
  if (result == nullptr) {
    free_entries(entries);
    errno = problem != 0 ? problem : ENOMEM;
    return -1;
  }
  std::memcpy(result, entries.data(), sizeof(Entry*) * entries.size());
  if (compare != nullptr) {
    std::qsort(result, entries.size(), sizeof(Entry*),
               reinterpret_cast<int (*)(const void*, const void*)>(compare));
  }
  *list = result;
  return static_cast<int>(entries.size());
}

template <class Entry, class Read, class Scan>
int scan_any(int from, const char* path, Entry*** list, int (*is_wanted)(const Entry*),
             int (*compare)(const Entry**, const Entry**), const Read& read, const Scan& real) {
  if (!is_listing_wrapped()) return real();
  const int number =
      of_directory(from, path, SLUICE_REAL(openat)(from, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
  if (number < 0) return -1;
  DIR* const directory = ::fdopendir(number);
  if (directory == nullptr) {
    ::close(number);
    return -1;
  }
  int count = -1;
  try {
    count = scan(directory, list, is_wanted, compare, read);
  } catch (const std::exception&) {
    errno = ENOMEM;
  }
  const int before = errno;
  ::closedir(directory);
  errno = before;
  return count;
}

void* open_for_glob(const char* path) {
  return ::opendir(path);
}
void close_for_glob(void* directory) {
  ::closedir(static_cast<DIR*>(directory));
}

/// The C library's glob, with the calls of this library in place of its own.
template <class Result, class Real>
int glob_any(int flags, Result* result, const Real& real) {
  if (!is_listing_wrapped() || (flags & GLOB_ALTDIRFUNC) != 0) return real(flags);
  result->gl_opendir = open_for_glob;
  result->gl_closedir = close_for_glob;
  if constexpr (std::is_same_v<Result, glob64_t>) {
    result->gl_readdir = [](void* directory) { return ::readdir64(static_cast<DIR*>(directory)); };
    result->gl_lstat = [](const char* path, struct stat64* facts) { return ::lstat64(path, facts); };
    result->gl_stat = [](const char* path, struct stat64* facts) { return ::stat64(path, facts); };
  } else {
    result->gl_readdir = [](void* directory) { return ::readdir(static_cast<DIR*>(directory)); };
    result->gl_lstat = [](const char* path, struct stat* facts) { return ::lstat(path, facts); };
    result->gl_stat = [](const char* path, struct stat* facts) { return ::stat(path, facts); };
  }
  const int status = real(flags | GLOB_ALTDIRFUNC);
  result->gl_flags &= ~GLOB_ALTDIRFUNC;
  return status;
}

/// The text for wordexp(3) with the names in place of the patterns, each in quotes; nothing: patterns are not
/// all that it has.
std::optional<std::string> with_names(std::string_view text) {
  constexpr std::string_view others = "'\"\\$`~<>|&;(){}\n";
  if (text.find_first_of("*?[") == text.npos || text.find_first_of(others) != text.npos) return std::nullopt;
  std::string quoted;
  std::size_t end = 0;
  for (std::size_t begin = 0; (begin = text.find_first_not_of(" \t", end)) != text.npos;) {
    end = std::min(text.find_first_of(" \t", begin), text.size());
    const std::string word(text.substr(begin, end - begin));
    glob_t names{};
    const int status = ::glob(word.c_str(), GLOB_NOCHECK, nullptr, &names);
    for (std::size_t i = 0; status == 0 && i < names.gl_pathc; ++i) {
      quoted += '\'';
      for (const char* c = names.gl_pathv[i]; *c != '\0'; ++c)
        quoted += *c == '\'' ? "'\\''" : std::string(1, *c);
      quoted += "' ";
    }
    ::globfree(&names);
    if (status != 0) return std::nullopt;
  }
  return quoted;
}

/// What nftw(3) and ftw(3) hand over; `facts` has no contents for FTW_NS.
template <class Visit>
class Walk {
 public:
  Walk(const char* top, int flags, const Visit& visit) : flags_(flags), visit_(visit), path_(top) {
    while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  }

  int run() {
    struct stat facts {};
    if (has(FTW_CHDIR)) start_ = FileDescriptor(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if ((has(FTW_CHDIR) && !start_) || status_of(facts) != 0) return -1;
    device_ = facts.st_dev;
    FTW place{static_cast<int>(path_.rfind('/') + 1), 0};  // npos + 1 is 0
    if (!enter(path_.substr(0, static_cast<std::size_t>(place.base)))) return -1;
    const int outcome = go(place);
    if (start_ && ::fchdir(start_.number()) != 0) return -1;
    return has_actions() && (outcome == FTW_SKIP_SUBTREE || outcome == FTW_SKIP_SIBLINGS) ? 0 : outcome;
  }

 private:
  [[nodiscard]] bool has(int flag) const noexcept { return (flags_ & flag) != 0; }
  [[nodiscard]] bool has_actions() const noexcept { return has(FTW_ACTIONRETVAL); }
  /// What paths begin at.
  [[nodiscard]] int from() const noexcept { return start_ ? start_.number() : AT_FDCWD; }
  int status_of(struct stat& facts, bool is_of_link) const {
    return ::fstatat(from(), path_.c_str(), &facts, is_of_link ? AT_SYMLINK_NOFOLLOW : 0);
  }
  int status_of(struct stat& facts) const { return status_of(facts, has(FTW_PHYS)); }
  /// With FTW_CHDIR the program is told of a file in the file's directory, and of the end of a directory in
  /// that itself. False and errno where that fails.
  [[nodiscard]] bool enter(const std::string& directory) {
    if (!has(FTW_CHDIR) || directory == entered_) return true;
    const FileDescriptor opened(
        ::openat(from(), directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened || ::fchdir(opened.number()) != 0) return false;
    entered_ = directory;
    return true;
  }
  int tell(const struct stat& facts, int type, FTW place) {
    return visit_(path_.c_str(), &facts, type, &place);
  }

  /// What is at the path.
  int go(const FTW& place) {
    struct stat facts {};
    if (status_of(facts) != 0) {
      if (errno != EACCES && errno != ENOENT) return -1;
      const bool is_link = !has(FTW_PHYS) && status_of(facts, true) == 0 && S_ISLNK(facts.st_mode);
      return tell(facts, is_link ? FTW_SLN : FTW_NS, place);
    }
    if (!S_ISDIR(facts.st_mode)) return tell(facts, S_ISLNK(facts.st_mode) ? FTW_SL : FTW_F, place);
    if (has(FTW_MOUNT) && facts.st_dev != device_) return 0;  // a file in memory has another device
    if (!has(FTW_PHYS) && !known_.emplace(facts.st_dev, facts.st_ino).second) return 0;
    return go_into(facts, place);
  }

  int go_into(const struct stat& facts, const FTW& place) {
    std::vector<std::string> names;
    if (const int trouble = read_names(names); trouble != 0)
      return trouble == EACCES ? tell(facts, FTW_DNR, place) : sluice::files::fail(trouble);
    int outcome = has(FTW_DEPTH) ? 0 : tell(facts, FTW_D, place);
    const std::size_t length = path_.size();
    if (path_.back() != '/') path_ += '/';
    const FTW inner{static_cast<int>(path_.size()), place.level + 1};
    const std::string self = path_;
    for (auto name = names.begin(); outcome == 0 && name != names.end(); ++name) {
      if (!enter(self)) return -1;
      path_.replace(static_cast<std::size_t>(inner.base), std::string::npos, *name);
      outcome = go(inner);
      if (has_actions() && outcome == FTW_SKIP_SUBTREE) outcome = 0;
    }
    path_.resize(length);
    if (has_actions() && (outcome == FTW_SKIP_SIBLINGS || outcome == FTW_SKIP_SUBTREE)) outcome = 0;
    if (outcome != 0 || !has(FTW_DEPTH)) return outcome;
    return enter(self) ? tell(facts, FTW_DP, place) : -1;
  }

  /// All at once, so that no descriptor stays open. Returns 0, or an error number.
  int read_names(std::vector<std::string>& names) const {
    FileDescriptor opened(::openat(from(), path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened) return errno;
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(opened.number()), ::closedir);
    if (directory == nullptr) return errno;
    (void)opened.release();
    errno = 0;
    while (const dirent* const entry = ::readdir(directory.get())) {
      if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
        names.emplace_back(entry->d_name);
    }
    return errno;
  }

  int flags_;
  const Visit& visit_;
  std::string path_;
  FileDescriptor start_;  ///< FTW_CHDIR: the working directory before
  std::string entered_;   ///< where the program is, from there on
  dev_t device_ = 0;
  std::set<std::pair<dev_t, ino_t>> known_;  ///< directories that were visited
};

/// `visit`: as of nftw(3).
template <class Visit, class OnDisk>
int walk(const char* top, int flags, const Visit& visit, const OnDisk& on_disk) {
  if (top == nullptr || *top == '\0' || !is_listing_wrapped()) return on_disk();
  try {
    return Walk<Visit>(top, flags, visit).run();
  } catch (const std::bad_alloc&) {
    return sluice::files::fail(ENOMEM);
  }
}

/// ftw(3) knows fewer types of files.
int type_for_ftw(int type) noexcept {
  return type == FTW_SLN ? FTW_NS : type;
}

}  // namespace

extern "C" {

SLUICE_EXPORT DIR* opendir(const char* path) {
  return with_coupled_files(of_directory(AT_FDCWD, path, SLUICE_REAL(opendir)(path)), path,
                            __builtin_return_address(0));
}

SLUICE_EXPORT int chdir(const char* path) noexcept {
  sluice::files::note_call(AT_FDCWD, path, sluice::files::Recorded::entered);
  return of_directory(AT_FDCWD, path, SLUICE_REAL(chdir)(path));
}

SLUICE_EXPORT DIR* fdopendir(int number) {
  return with_coupled_files(SLUICE_REAL(fdopendir)(number));
}

SLUICE_EXPORT int closedir(DIR* directory) {
  directories().remove(directory);
  return SLUICE_REAL(closedir)(directory);
}

SLUICE_EXPORT struct dirent* readdir(DIR* directory) {
  return read_any<struct dirent>(directory, [](DIR* from) { return SLUICE_REAL(readdir)(from); });
}

SLUICE_EXPORT struct dirent64* readdir64(DIR* directory) {
  return read_any<struct dirent64>(directory, [](DIR* from) { return SLUICE_REAL(readdir64)(from); });
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
SLUICE_EXPORT int readdir_r(DIR* directory, struct dirent* entry, struct dirent** result) {
  return read_into(
      directory, entry, result, [](DIR* from) { return SLUICE_REAL(readdir)(from); },
      [](DIR* from, struct dirent* to, struct dirent** found) {
        return SLUICE_REAL(readdir_r)(from, to, found);
      });
}

SLUICE_EXPORT int readdir64_r(DIR* directory, struct dirent64* entry, struct dirent64** result) {
  return read_into(
      directory, entry, result, [](DIR* from) { return SLUICE_REAL(readdir64)(from); },
      [](DIR* from, struct dirent64* to, struct dirent64** found) {
        return SLUICE_REAL(readdir64_r)(from, to, found);
      });
}
#pragma GCC diagnostic pop

/// What was published since then is shown, too.
SLUICE_EXPORT void rewinddir(DIR* directory) noexcept {
  directories().remove(directory);
  SLUICE_REAL(rewinddir)(directory);
  (void)with_coupled_files(directory);
}

SLUICE_EXPORT long telldir(DIR* directory) noexcept {
  const CoupledEntries* const coupled = directories().find(directory);
  return coupled != nullptr && coupled->is_begun() ? coupled->place() : SLUICE_REAL(telldir)(directory);
}

SLUICE_EXPORT void seekdir(DIR* directory, long place) noexcept {
  CoupledEntries* const coupled = directories().find(directory);
  if (coupled != nullptr && place < 0) return coupled->go_to(place);
  if (coupled != nullptr) coupled->rewind();
  SLUICE_REAL(seekdir)(directory, place);
}

#define SLUICE_SCANDIR(scandir, scandirat, structure, readdir)                                          \
  SLUICE_EXPORT int scandir(const char* path, struct structure*** list,                                 \
                            int (*is_wanted)(const struct structure*),                                  \
                            int (*compare)(const struct structure**, const struct structure**)) {       \
    return scan_any<struct structure>(                                                                  \
        AT_FDCWD, path, list, is_wanted, compare, [](DIR* from) { return SLUICE_REAL(readdir)(from); }, \
        [&] { return SLUICE_REAL(scandir)(path, list, is_wanted, compare); });                          \
  }                                                                                                     \
  SLUICE_EXPORT int scandirat(int from, const char* path, struct structure*** list,                     \
                              int (*is_wanted)(const struct structure*),                                \
                              int (*compare)(const struct structure**, const struct structure**)) {     \
    return scan_any<struct structure>(                                                                  \
        from, path, list, is_wanted, compare, [](DIR* of) { return SLUICE_REAL(readdir)(of); },         \
        [&] { return SLUICE_REAL(scandirat)(from, path, list, is_wanted, compare); });                  \
  }
SLUICE_SCANDIR(scandir, scandirat, dirent, readdir)
SLUICE_SCANDIR(scandir64, scandirat64, dirent64, readdir64)

SLUICE_EXPORT int glob(const char* pattern, int flags, int (*on_error)(const char*, int), glob_t* result) {
  return glob_any(flags, result,
                  [&](int all_flags) { return SLUICE_REAL(glob)(pattern, all_flags, on_error, result); });
}

SLUICE_EXPORT int glob64(const char* pattern, int flags, int (*on_error)(const char*, int),
                         glob64_t* result) {
  return glob_any(flags, result,
                  [&](int all_flags) { return SLUICE_REAL(glob64)(pattern, all_flags, on_error, result); });
}

// Its own glob is a call that nobody can wrap.
SLUICE_EXPORT int wordexp(const char* text, wordexp_t* result, int flags) {
  std::optional<std::string> names;
  try {
    if (text != nullptr && is_listing_wrapped()) names = with_names(text);
  } catch (const std::exception&) {
    return WRDE_NOSPACE;
  }
  return SLUICE_REAL(wordexp)(names ? names->c_str() : text, result, flags);
}

#define SLUICE_NFTW(nftw, structure, function)                                                        \
  SLUICE_EXPORT int nftw(const char* top, function visit, int descriptors, int flags) {               \
    const auto tell = [&](const char* path, const struct stat* facts, int type, FTW* place) {         \
      return visit(path, reinterpret_cast<const struct structure*>(facts), type, place);              \
    };                                                                                                \
    return walk(top, flags, tell, [&] { return SLUICE_REAL(nftw)(top, visit, descriptors, flags); }); \
  }
SLUICE_NFTW(nftw, stat, __nftw_func_t)
SLUICE_NFTW(nftw64, stat64, __nftw64_func_t)

#define SLUICE_FTW(ftw, structure, function)                                                    \
  SLUICE_EXPORT int ftw(const char* top, function visit, int descriptors) {                     \
    const auto tell = [&](const char* path, const struct stat* facts, int type, FTW*) {         \
      return visit(path, reinterpret_cast<const struct structure*>(facts), type_for_ftw(type)); \
    };                                                                                          \
    return walk(top, 0, tell, [&] { return SLUICE_REAL(ftw)(top, visit, descriptors); });       \
  }
SLUICE_FTW(ftw, stat, __ftw_func_t)
SLUICE_FTW(ftw64, stat64, __ftw64_func_t)

}  // extern "C"
