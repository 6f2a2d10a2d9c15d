/* Preloaded into a matcher: slows down the directory SLUICE_TEST_SLOW_DISK. Reserving or returning space
 * there, opening a file and removing one make the file "waiting" and wait while the file "closed" exists.
 * After many seconds they continue anyway and make the file "gave_up": nobody may depend on them.
 * With SLUICE_TEST_SLOW_CUT, cutting files alone is slow.
 * With SLUICE_TEST_SLOW_UNLINK_MS=TIME, a matcher takes so long to remove any file; with
 * SLUICE_TEST_SLOW_RANK=RANK this matcher alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void touch(const char* directory, const char* name) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0) close(file);
}

static void wait_for(const char* path) {
  enum { step_us = 2000, longest_us = 20 * 1000 * 1000 };
  const char* directory = getenv("SLUICE_TEST_SLOW_DISK");
  if (directory == NULL || strncmp(path, directory, strlen(directory)) != 0) return;
  char closed[PATH_MAX];
  snprintf(closed, sizeof closed, "%s/closed", directory);
  if (access(closed, F_OK) != 0) return;
  touch(directory, "waiting");
  for (int waited_us = 0; access(closed, F_OK) == 0; waited_us += step_us) {
    if (waited_us >= longest_us) return touch(directory, "gave_up");
    usleep(step_us);
  }
}

static void pass(const char* path) {
  if (getenv("SLUICE_TEST_SLOW_CUT") == NULL) wait_for(path);
}

int fallocate(int file, int mode, off_t offset, off_t bytes) {
  char name[64], path[PATH_MAX] = "";
  snprintf(name, sizeof name, "/proc/self/fd/%d", file);
  if (readlink(name, path, sizeof path - 1) > 0) pass(path);
  return (int)syscall(SYS_fallocate, file, mode, offset, bytes);
}

int ftruncate(int file, off_t bytes) {
  char name[64], path[PATH_MAX] = "";
  snprintf(name, sizeof name, "/proc/self/fd/%d", file);
  if (getenv("SLUICE_TEST_SLOW_CUT") != NULL && readlink(name, path, sizeof path - 1) > 0) wait_for(path);
  return (int)syscall(SYS_ftruncate, file, bytes);
}

int ftruncate64(int file, off64_t bytes) {
  return ftruncate(file, bytes);
}

int unlink(const char* path) {
  const char* slowness_ms = getenv("SLUICE_TEST_SLOW_UNLINK_MS");
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  const char* slow_rank = getenv("SLUICE_TEST_SLOW_RANK");
  const int is_slow = slow_rank == NULL || (rank != NULL && strcmp(rank, slow_rank) == 0);
  if (slowness_ms != NULL && is_slow && strcmp(program_invocation_short_name, "sluice-matcher") == 0)
    usleep((useconds_t)atoi(slowness_ms) * 1000);
  pass(path);
  return (int)syscall(SYS_unlink, path);
}

static int open_slowly(const char* path, int flags, mode_t mode) {
  pass(path);
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return open_slowly(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return open_slowly(path, flags | O_LARGEFILE, mode);
}
