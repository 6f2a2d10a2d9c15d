// The calls of the C library by which a process goes on as another program. That program may lack this
// library: a static one, or one with a cleared environment. So the process leaves its files before; a program
// that has the library tells at its start that it holds them. docs/design/written-files.md.
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>

#include "wrapped_call.hpp"
#include "written_file.hpp"

extern char** environ;

namespace {

using sluice::files::Inside;

/// `exec()` is the C library's call, which comes back only where it fails.
template <class Exec>
int exec_any(const Exec& exec) noexcept {
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

}  // namespace

#define SLUICE_EXEC_LIST(has_environment, exec)                         \
  va_list rest;                                                         \
  va_start(rest, argument);                                             \
  const int outcome = exec_list(argument, rest, has_environment, exec); \
  va_end(rest);                                                         \
  return outcome

extern "C" {

SLUICE_EXPORT int execve(const char* path, char* const arguments[], char* const environment[]) noexcept {
  return exec_any([&] { return SLUICE_REAL(execve)(path, arguments, environment); });
}

SLUICE_EXPORT int execv(const char* path, char* const arguments[]) noexcept {
  return exec_any([&] { return SLUICE_REAL(execv)(path, arguments); });
}

SLUICE_EXPORT int execvp(const char* file, char* const arguments[]) noexcept {
  return exec_any([&] { return SLUICE_REAL(execvp)(file, arguments); });
}

SLUICE_EXPORT int execvpe(const char* file, char* const arguments[], char* const environment[]) noexcept {
  return exec_any([&] { return SLUICE_REAL(execvpe)(file, arguments, environment); });
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

}  // extern "C"
