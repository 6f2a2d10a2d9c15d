/* Preloaded: the STOP_AT-th write to a partial file comes with the signal STOP_SIGNAL. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_partial(int descriptor) {
  char link[64], path[4096] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  return length > 15 && strcmp(path + length - 15, ".sluice-partial") == 0;
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  static int writes = 0;
  if (is_partial(descriptor) && ++writes == atoi(getenv("STOP_AT"))) raise(atoi(getenv("STOP_SIGNAL")));
  return (ssize_t)syscall(SYS_pwrite64, descriptor, bytes, size, offset);
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off_t offset) {
  return pwrite(descriptor, bytes, size, offset);
}

ssize_t copy_file_range(int from, off_t* source, int to, off_t* target, size_t size, unsigned flags) {
  static int copies = 0;
  if (is_partial(to) && ++copies == atoi(getenv("STOP_AT"))) raise(atoi(getenv("STOP_SIGNAL")));
  return syscall(SYS_copy_file_range, from, source, to, target, size, flags);
}
