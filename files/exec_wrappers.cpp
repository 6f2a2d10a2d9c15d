// The calls of the C library by which a process goes on as another program, and those by which it loads
// libraries. docs/design/written-files.md, docs/design/files-by-any-program.md.
//
// The other program may lack this library: a static one, or one with a cleared environment. So the process
// leaves its files before; a program that has the library tells at its start that it holds them.
//
// With RTLD_DEEPBIND a library finds the C library before all that is preloaded, and in a namespace of its
// own (dlmopen) there is nothing else: then its coupled files would be missing without a word. The C library
// looks at its return address: the RUNPATH of the calling library counts, and its namespace. So its function
// is jumped to, with the caller's return address, instead of called.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

#include "process_session.hpp"
#include "sluice/files/changed_parts.hpp"
#include "sluice/files/process_memory.hpp"
#include "wrapped_call.hpp"
#include "written_file.hpp"

extern char** environ;

#if defined(__clang__)
#define SLUICE_JUMPS
#define SLUICE_JUMP_TO [[clang::musttail]] return
#else
#define SLUICE_JUMPS __attribute__((optimize("O2", "optimize-sibling-calls", "no-stack-protector")))
#define SLUICE_JUMP_TO return
#endif

namespace sluice::files {

namespace {

void tell(const char* file, const char* what) noexcept {
  const int before = errno;
  const Inside inside;
  try {
    ImageSession& session = process_session();
    if (session.environment().is_coupled())
      session.complain(std::string(file == nullptr ? "the program" : file) + what);
  } catch (const std::exception&) {
    // The matcher is gone: nobody reads its log.
  }
  errno = before;
}

}  // namespace

void note_environment(const char* program, char* const environment[]) noexcept {
  if (!may_list_coupled()) return;
  for (char* const* each = environment; each != nullptr && *each != nullptr; ++each) {
    const std::string_view variable(*each);
    if (variable.starts_with("LD_PRELOAD=") && variable.find("sluice") != std::string_view::npos) return;
  }
  tell(
      program,
      " is started with an environment without LD_PRELOAD (env -i, for example): it sees files on disk only, "
      "unless it hands on LD_PRELOAD and all SLUICE_ variables");
}

}  // namespace sluice::files

namespace {

using sluice::files::Inside;
using sluice::files::tell;

/// `exec()` is the C library's call, which comes back only where it fails.
template <class Exec>
int exec_any(const Exec& exec) noexcept {
  sluice::files::lose_track_of_all();                // after vfork, the parent's
  if (!sluice::files::holds_files()) return exec();  // after vfork, nothing may be changed
  const int before = errno;
  {
    const Inside inside;
    sluice::files::note_exec();
  }
  errno = before;
  const int outcome = exec();
  const int trouble = errno;
  {
    const Inside inside;
    sluice::files::note_start(sluice::files::has_rule_to_write);
  }
  errno = trouble;
  return outcome;
}

/// `exec()`, or the same with a coupled file of that path. What is on disk may be an older one that is kept.
/// After vfork this process must not ask more than it has to, so the disk comes first.
template <class Exec>
int exec_at(const char* path, char* const arguments[], char* const environment[], const Exec& exec) noexcept {
  const auto start = [&](const char* program, char* const words[]) {
    return SLUICE_REAL(execve)(program, words, environment) == 0 ? 0 : errno;
  };
  sluice::files::note_environment(arguments == nullptr ? path : arguments[0], environment);
  return exec_any([&] {
    const bool is_first = !sluice::files::is_in_memory_of_parent();
    const int trouble = is_first ? ENOENT : (exec(), errno);
    if (trouble != ENOENT && trouble != EACCES) return sluice::files::fail(trouble);
    const int status = sluice::files::start_coupled(path, arguments, start);
    if (status != ENOENT) return sluice::files::fail(status);
    return is_first ? exec() : sluice::files::fail(trouble);
  });
}

/// The arguments of execl(3) and its like are on the stack, as execv(3) wants them: it may be called after
/// vfork. `rest` is behind the first argument.
template <class ExecArray>
int exec_list(const char* first, va_list rest, bool has_environment, const ExecArray& exec) {
  va_list counted;
  va_copy(counted, rest);
  std::size_t count = 1;
  if (first != nullptr) {
    while (va_arg(counted, const char*) != nullptr) ++count;
  }
  va_end(counted);
  auto** const arguments = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));
  arguments[0] = const_cast<char*>(first);
  for (std::size_t i = 1; first != nullptr && i <= count; ++i) arguments[i] = va_arg(rest, char*);
  return exec(arguments, has_environment ? va_arg(rest, char**) : environ);
}

using Open = void*(const char* file, int mode) noexcept;
using OpenInNamespace = void*(Lmid_t space, const char* file, int mode) noexcept;

/// The mode without RTLD_DEEPBIND, in a process that has rules.
__attribute__((noinline)) int bound_mode(const char* file, int mode) noexcept {
  if ((mode & RTLD_DEEPBIND) == 0 || !sluice::files::may_list_coupled()) return mode;
  tell(file,
       " is loaded without RTLD_DEEPBIND, which would hide coupled files from it: its calls find symbols of "
       "the program first");
  return mode & ~RTLD_DEEPBIND;
}

__attribute__((noinline)) int bound_mode(Lmid_t space, const char* file, int mode) noexcept {
  if (space == LM_ID_BASE) return bound_mode(file, mode);
  if (sluice::files::may_list_coupled())
    tell(file, " is loaded into a namespace of its own (dlmopen): it sees files on disk only");
  return mode;
}

__attribute__((noinline)) Open* real_open() noexcept {
  return SLUICE_REAL(dlopen);
}

__attribute__((noinline)) OpenInNamespace* real_open_in_namespace() noexcept {
  return SLUICE_REAL(dlmopen);
}

}  // namespace

#define SLUICE_EXEC_LIST(has_environment, exec)                         \
  va_list rest;                                                         \
  va_start(rest, argument);                                             \
  const int outcome = exec_list(argument, rest, has_environment, exec); \
  va_end(rest);                                                         \
  return outcome

extern "C" {

SLUICE_EXPORT int execve(const char* path, char* const arguments[], char* const environment[]) noexcept {
  return exec_at(path, arguments, environment,
                 [&] { return SLUICE_REAL(execve)(path, arguments, environment); });
}

SLUICE_EXPORT int execv(const char* path, char* const arguments[]) noexcept {
  return exec_at(path, arguments, environ, [&] { return SLUICE_REAL(execv)(path, arguments); });
}

SLUICE_EXPORT int execvp(const char* file, char* const arguments[]) noexcept {
  return exec_at(sluice::files::path_without_search(file), arguments, environ,
                 [&] { return SLUICE_REAL(execvp)(file, arguments); });
}

SLUICE_EXPORT int execvpe(const char* file, char* const arguments[], char* const environment[]) noexcept {
  return exec_at(sluice::files::path_without_search(file), arguments, environment,
                 [&] { return SLUICE_REAL(execvpe)(file, arguments, environment); });
}

SLUICE_EXPORT int fexecve(int file, char* const arguments[], char* const environment[]) noexcept {
  return exec_any([&] { return SLUICE_REAL(fexecve)(file, arguments, environment); });
}

SLUICE_EXPORT int execveat(int directory, const char* path, char* const arguments[],
                           char* const environment[], int flags) noexcept {
  return exec_any([&] { return SLUICE_REAL(execveat)(directory, path, arguments, environment, flags); });
}

SLUICE_EXPORT int execl(const char* path, const char* argument, ...) noexcept {
  const auto exec = [&](char** arguments, char**) { return ::execv(path, arguments); };
  SLUICE_EXEC_LIST(false, exec);
}

SLUICE_EXPORT int execlp(const char* file, const char* argument, ...) noexcept {
  const auto exec = [&](char** arguments, char**) { return ::execvp(file, arguments); };
  SLUICE_EXEC_LIST(false, exec);
}

SLUICE_EXPORT int execle(const char* path, const char* argument, ...) noexcept {
  const auto exec = [&](char** arguments, char** environment) {
    return ::execve(path, arguments, environment);
  };
  SLUICE_EXEC_LIST(true, exec);
}

SLUICE_EXPORT SLUICE_JUMPS void* dlopen(const char* file, int mode) noexcept {
  Open* const open = real_open();
  mode = bound_mode(file, mode);
  SLUICE_JUMP_TO open(file, mode);
}

SLUICE_EXPORT SLUICE_JUMPS void* dlmopen(Lmid_t space, const char* file, int mode) noexcept {
  OpenInNamespace* const open = real_open_in_namespace();
  mode = bound_mode(space, file, mode);
  SLUICE_JUMP_TO open(space, file, mode);
}

}  // extern "C"
