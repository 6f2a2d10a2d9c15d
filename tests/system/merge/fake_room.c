/* Preloaded: file systems tell that they have room, so that who looks before it writes finds out later. */
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

int statfs(const char* path, struct statfs* facts) {
  const int result = (int)syscall(SYS_statfs, path, facts);
  if (result == 0) facts->f_bavail = 1L << 40;
  return result;
}
