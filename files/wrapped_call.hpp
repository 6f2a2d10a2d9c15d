#pragma once
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "open_record.hpp"
#include "read_only_file.hpp"
#include "sluice/files/coupled_file.hpp"
#include "sluice/files/held_signals.hpp"
#include "written_file.hpp"

/// What the wrappers of the C library's calls have in common.
namespace sluice::files {

/// A name as a template's argument.
template <std::size_t size>
struct FunctionName {
  consteval FunctionName(const char (&name)[size]) { std::copy_n(name, size, text); }
  char text[size]{};
};

/// The C library's function of that name. In a process with rules, all of them are looked up before the
/// program begins: in a signal handler, dlsym might give back memory of the C library, namely the text of an
/// error.
template <class Function, FunctionName name>
class RealFunction {
 public:
  static Function* get() noexcept {
    (void)&is_known_ahead;
    Function* function = known.load(std::memory_order_relaxed);
    if (function == nullptr) function = look_up();
    if (function == nullptr) std::abort();  // there is no C library without it
    return function;
  }

 private:
  static Function* look_up() noexcept {
    auto* const function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name.text));
    known.store(function, std::memory_order_relaxed);
    return function;
  }
  static constinit inline std::atomic<Function*> known{nullptr};
  static inline const bool is_known_ahead = std::getenv("SLUICE_RULES") != nullptr && look_up() != nullptr;
};
#define SLUICE_REAL(name) \
  (::sluice::files::RealFunction<std::remove_pointer_t<decltype(&::name)>, #name>::get())

#define SLUICE_EXPORT __attribute__((visibility("default")))

/// For what this library does itself.
class Inside {
 public:
  /// The thread is not ended by others meanwhile: what this library has begun, it ends.
  Inside() noexcept : was_inside_(is_inside) {
    if (!was_inside_) (void)::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled_how_);
    is_inside = true;
  }
  ~Inside() {
    is_inside = was_inside_;
    if (!was_inside_) (void)::pthread_setcancelstate(cancelled_how_, nullptr);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  HeldSignals held_;
  bool was_inside_;
  int cancelled_how_ = PTHREAD_CANCEL_ENABLE;
};

/// May end the thread at once, where it is cancelled at any instruction: then no frame above has anything to
/// clean up, or a promise not to throw.
void restore_cancel_type(int type);
/// The same for a cancellation at any instruction whose signal is on its way: it ends the thread here. Later,
/// the C library would obey it in the next system call, whatever the state.
void await_cancel_signal();

template <class Call>
__attribute__((noinline)) auto call_apart(const Call& call) {
  return call();
}

/// Meanwhile the thread is cancelled at the usual points only, and not at any instruction. `call()` returns a
/// number or a pointer.
template <class Call>
auto cancelled_at_points(const Call& call) {
  int type = PTHREAD_CANCEL_DEFERRED;
  (void)::pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
  if (type != PTHREAD_CANCEL_DEFERRED) await_cancel_signal();
  const auto outcome = call_apart(call);
  if (type != PTHREAD_CANCEL_DEFERRED) restore_cancel_type(type);
  return outcome;
}

/// Meanwhile the thread is not cancelled.
class Uncancelled {
 public:
  Uncancelled() noexcept { (void)::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_); }
  ~Uncancelled() { (void)::pthread_setcancelstate(state_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int state_ = PTHREAD_CANCEL_ENABLE;
};

/// The outermost part of a wrapper.
template <class Call>
auto undisturbed(const Call& call) {
  return cancelled_at_points([&] {
    const Uncancelled uncancelled;
    return call();
  });
}

/// The same for a call that is a cancellation point. One that is none of this library's may wait for long in
/// the kernel, and the thread is cancelled there.
template <class IsOurs, class Call>
auto undisturbed_point(const IsOurs& is_ours, const Call& call) {
  return cancelled_at_points([&] {
    if (!is_ours()) return call();
    ::pthread_testcancel();
    const Uncancelled uncancelled;
    return call();
  });
}

/// Whether the component may write the path by a rule, and this library does not ask for itself.
[[nodiscard]] bool may_be_written(const char* path) noexcept;
/// The same for this library's own question.
[[nodiscard]] bool has_rule_to_write(const char* path) noexcept;
/// Whether the component may only read the path by a rule.
[[nodiscard]] bool has_rule_to_read(const char* path) noexcept;
/// Whether there is a rule to write by.
[[nodiscard]] bool may_write_any() noexcept;

/// Opens a file that the component writes; the arguments are those of open_written_file(). Where it does not
/// write the path: nothing to be done here. Leaves errno as it is.
[[nodiscard]] WrittenFile open_written(int directory, const char* path, int flags, mode_t mode,
                                       OpenReason reason = OpenReason::of_program) noexcept;

/// The process ends without its last functions: it has left its files in order.
void end_at_once() noexcept;
/// Closes a file that this library has opened for the program, as the program would.
void close_written(runtime::FileDescriptor& descriptor) noexcept;

/// A link has been made at the path. What it leads to is published, if no rule covers that: so readers get it
/// now. Leaves errno as it is.
void publish_behind_link(int directory, const char* path) noexcept;

/// What the component may do with a file that it only reads; to_disk where no rule covers the path.
[[nodiscard]] ReaderChange change_read(int directory, const char* path) noexcept;
[[nodiscard]] ReaderChange remove_read(int directory, const char* path) noexcept;

/// Whether a rule may cover the path, and this library does not ask for itself; never false where one does.
[[nodiscard]] bool may_be_coupled(const char* path) noexcept;

/// The path's file, which this may wait for, unless the component writes it. Where no rule covers the path:
/// nothing to be done here. `directory`: AT_FDCWD, or a descriptor that a relative path begins at. Leaves
/// errno as it is. `site`: as find_coupled_file().
[[nodiscard]] CoupledFile look_for(int directory, const char* path, const void* site = nullptr) noexcept;

/// Whether a coupled file has the name, as far as this process would find it without a wait. Leaves errno as
/// it is.
[[nodiscard]] bool is_taken(int directory, const char* path) noexcept;

/// Whether there is something on disk at the path. Leaves errno as it is.
[[nodiscard]] bool is_on_disk(int directory, const char* path) noexcept;
/// Whether there is a symbolic link at the path itself. Leaves errno as it is.
[[nodiscard]] bool is_link(int directory, const char* path) noexcept;
/// Whether an open with these flags does not follow a link at the path, and one is there.
[[nodiscard]] bool stops_at_link(int directory, const char* path, int flags) noexcept;
/// Where the links on disk that begin at the path end, if a rule may cover that; empty: no link is there.
/// Leaves errno as it is.
[[nodiscard]] std::string end_of_links(const char* path) noexcept;
/// Where links on disk lead from a path that no rule covers to one that a rule may cover; empty: they do not.
/// Leaves errno as it is.
[[nodiscard]] std::string behind_links(int directory, const char* path) noexcept;

/// Whether coupled files may be in some directory, and this library does not ask for itself.
[[nodiscard]] bool may_list_coupled() noexcept;

/// find_coupled_names(). None without memory. Leaves errno as it is.
[[nodiscard]] std::vector<std::string> look_into(int directory) noexcept;

/// Whether there are any in the directory of that path. Leaves errno as it is.
[[nodiscard]] bool has_coupled_files(int directory, const char* path) noexcept;

/// A path at which the kernel opens an image anew, with an offset of its own, as long as `image` lives.
class ImageLink {
 public:
  explicit ImageLink(const CoupledFile& image) noexcept;
  [[nodiscard]] const char* path() const noexcept { return text_.data(); }

 private:
  std::array<char, 32> text_{};
};

/// A call about the path has failed with ENOENT. Where a part of it is a coupled file, errno becomes ENOTDIR:
/// the kernel knows only directories on disk.
void note_files_in_path(int directory, const char* path) noexcept;

/// The outcome of a call, with the errno that it has where a coupled file is a part of the path.
template <class Outcome>
Outcome with_parts(int directory, const char* path, Outcome outcome) noexcept {
  bool has_failed = false;
  if constexpr (std::is_pointer_v<Outcome>) {
    has_failed = outcome == nullptr;
  } else {
    has_failed = outcome == -1;
  }
  if (has_failed && errno == ENOENT) note_files_in_path(directory, path);
  return outcome;
}

/// The same for a call that takes directories alone: a coupled file is none.
template <class Outcome>
Outcome of_directory(int directory, const char* path, Outcome outcome) noexcept {
  std::array<char, PATH_MAX> whole;
  const std::size_t length = path == nullptr ? 0 : std::strlen(path);
  if (length == 0 || length + 1 >= whole.size()) return outcome;
  std::memcpy(whole.data(), path, length);
  std::memcpy(whole.data() + length, "/", 2);
  return with_parts(directory, whole.data(), outcome);
}

/// Memory that the program is to free.
[[nodiscard]] void* memory_for_program(std::size_t bytes) noexcept;
void free_for_program(void* memory) noexcept;

inline int fail(int error_number) noexcept {
  errno = error_number;
  return -1;
}

/// `of_image(descriptor)`, or `of_image(file)`, and `of_path(directory, path)` answer for a path: -1 and
/// errno where they fail.
template <class OfImage, class OfPath>
auto ask_it(int directory, const char* path, const OfImage& of_image, const OfPath& of_path)
    -> decltype(of_path(directory, path)) {
  const CoupledFile file = look_for(directory, path);
  switch (file.kind) {
    case CoupledFile::Kind::image:
      if constexpr (std::is_invocable_v<const OfImage&, const CoupledFile&>) {
        return of_image(file);
      } else {
        return of_image(file.image.number());
      }
    case CoupledFile::Kind::on_disk:
      return of_path(AT_FDCWD, file.path.c_str());
    case CoupledFile::Kind::failed:
      return with_parts(directory, path, fail(file.error_number));
    default:
      break;
  }
  const auto answer = of_path(directory, path);
  if (answer != -1 || errno != ENOENT) return answer;
  const std::string target = behind_links(directory, path);
  return target.empty() ? with_parts(directory, path, answer)
                        : ask_it(directory, target.c_str(), of_image, of_path);
}

template <class OfImage, class OfPath>
auto ask_any(int directory, const char* path, const OfImage& of_image, const OfPath& of_path) {
  note_call(directory, path, Recorded::asked);
  return undisturbed([&] { return ask_it(directory, path, of_image, of_path); });
}

/// The same about a link itself, where one is at the path.
template <class OfImage, class OfPath>
auto ask_unfollowed(int directory, const char* path, const OfImage& of_image, const OfPath& of_path) {
  note_call(directory, path, Recorded::asked);
  return undisturbed([&] {
    if (may_be_coupled(path) && is_link(directory, path)) return of_path(directory, path);
    const auto answer = ask_it(directory, path, of_image, of_path);  // may have waited for the link
    return may_be_coupled(path) && is_link(directory, path) ? of_path(directory, path) : answer;
  });
}

/// `remove()` is the C library's call for a directory. One that has coupled files is not empty.
template <class Remove>
int remove_directory(int directory, const char* path, const Remove& remove) noexcept {
  if (path != nullptr && has_coupled_files(directory, path)) return fail(ENOTEMPTY);
  if (path != nullptr && is_taken(directory, path)) return fail(ENOTDIR);
  return with_parts(directory, path, remove());
}

// Coupled files that are programs to run: docs/design/files-by-any-program.md.

/// Why the file cannot be run: errno, or 0.
inline int trouble_of_running(int image) noexcept {
  struct stat facts {};
  if (::fstat(image, &facts) != 0) return errno;
  return (facts.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0 ? 0 : EACCES;
}

/// The first line of a script without "#!"; empty: it is no script.
inline std::string line_of_script(int program) {
  std::array<char, 256> text;  // as much as the kernel reads
  const ssize_t bytes = ::pread(program, text.data(), text.size(), 0);
  if (bytes < 2 || text[0] != '#' || text[1] != '!') return {};
  const std::string_view all(text.data() + 2, static_cast<std::size_t>(bytes) - 2);
  return std::string(all.substr(0, all.find('\n')));
}

/// Without the blanks at both ends.
inline std::string_view trimmed(std::string_view words) noexcept {
  constexpr std::string_view blanks = " \t";
  const std::size_t begin = words.find_first_not_of(blanks);
  return begin == words.npos ? "" : words.substr(begin, words.find_last_not_of(blanks) + 1 - begin);
}

/// Starts the interpreter, which opens the script by its path, as the kernel does it.
template <class Start>
int start_script(std::string_view line, const char* path, char* const arguments[], const Start& start) {
  line = trimmed(line);
  const std::string interpreter(line.substr(0, line.find_first_of(" \t")));
  std::string option(trimmed(line.substr(interpreter.size())));
  std::vector<char*> words{const_cast<char*>(interpreter.c_str())};
  if (!option.empty()) words.push_back(option.data());
  words.push_back(const_cast<char*>(path));
  const bool has_name = arguments != nullptr && arguments[0] != nullptr;
  for (std::size_t i = 1; has_name && arguments[i] != nullptr; ++i) words.push_back(arguments[i]);
  words.push_back(nullptr);
  return start(interpreter.c_str(), words.data());
}

/// Starts the program at a path if that is a coupled file; ENOENT: it is none.
/// `start(path, arguments)` starts a program that the kernel finds. Both return 0, or an error number.
template <class Start>
int start_coupled(const char* path, char* const arguments[], const Start& start) {
  if (path == nullptr || !may_be_coupled(path)) return ENOENT;
  const CoupledFile file = look_for(AT_FDCWD, path);
  if (file.kind != CoupledFile::Kind::image) return ENOENT;
  try {
    if (const int trouble = trouble_of_running(file.image.number()); trouble != 0) return trouble;
    const std::string line = line_of_script(file.image.number());
    return line.empty() ? start(ImageLink(file).path(), arguments)
                        : start_script(line, path, arguments, start);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

/// The event log says so where a program is started without this library.
void note_environment(const char* program, char* const environment[]) noexcept;

/// What has no slash is looked for in PATH: null.
inline const char* path_without_search(const char* file) noexcept {
  return file != nullptr && std::strchr(file, '/') != nullptr ? file : nullptr;
}

}  // namespace sluice::files
