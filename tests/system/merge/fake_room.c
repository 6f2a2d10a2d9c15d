/* Preloaded: every file system reports free space. A program that checks the space first then finds the
 * disk full later. */
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

int statfs(const char* path, struct statfs* facts) {
  const int result = (int)syscall(SYS_statfs, path, facts);
  if (result == 0) facts->f_bavail = 1L << 40;
  return result;
}
