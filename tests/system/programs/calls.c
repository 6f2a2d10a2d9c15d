/* Calls of the C library by which few tools go, each on a file of the run and with what it gives for a file
   on disk. Built with the C library's checks, which have functions of other names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char* const name = "wave_0001.nc";

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "%s is wrong: %s\n", what, strerror(errno));
  exit(1);
}

/* The last component of what must be the whole name. */
static void expect_whole(const char* whole, const char* what) {
  char here[PATH_MAX], expected[2 * PATH_MAX];
  expect(whole != NULL && getcwd(here, sizeof here) != NULL, what);
  snprintf(expected, sizeof expected, "%s/%s", here, name);
  expect(strcmp(whole, expected) == 0, what);
}

static void ask_for_names(void) {
  char whole[PATH_MAX], text[PATH_MAX];
  const size_t room = (size_t)atoi("4096"); /* which the compiler does not know */
  expect_whole(realpath(name, whole), "realpath");
  expect_whole(realpath("./../coupled/./wave_0001.nc", NULL), "realpath of a detour");
  expect_whole(canonicalize_file_name(name), "canonicalize_file_name");
  expect(realpath("nowhere/wave_0001.nc", whole) == NULL && errno == ENOENT,
         "realpath of a missing directory");
  expect(readlink(name, text, sizeof text) == -1 && errno == EINVAL, "readlink");
  expect(readlinkat(AT_FDCWD, name, text, room) == -1 && errno == EINVAL, "readlinkat");
}

static void ask_for_attributes(void) {
  char text[1000];
  struct statfs system;
  struct statvfs other;
  struct stat facts;
  expect(getxattr(name, "user.none", text, sizeof text) == -1 && errno == ENODATA, "getxattr");
  expect(lgetxattr(name, "user.none", text, sizeof text) == -1 && errno == ENODATA, "lgetxattr");
  expect(listxattr(name, text, sizeof text) >= 0 && llistxattr(name, text, sizeof text) >= 0, "listxattr");
  expect(statfs(name, &system) == 0 && system.f_bsize > 0, "statfs");
  expect(statvfs(name, &other) == 0 && other.f_bsize > 0, "statvfs");
  expect(pathconf(name, _PC_NAME_MAX) > 0, "pathconf");
  expect(stat(name, &facts) == 0 && facts.st_nlink == 1 && S_ISREG(facts.st_mode), "stat");
  expect(lstat(name, &facts) == 0 && facts.st_nlink == 1 && S_ISREG(facts.st_mode), "lstat");
}

/* As libuv and some allocators do. */
static void ask_the_kernel(void) {
  char text[PATH_MAX];
  struct statx facts;
  struct stat other;
  expect(syscall(SYS_statx, AT_FDCWD, name, 0, STATX_ALL, &facts) == 0 && facts.stx_nlink == 1,
         "statx by syscall");
  expect(syscall(SYS_newfstatat, AT_FDCWD, name, &other, 0) == 0 && (size_t)other.st_size == facts.stx_size,
         "fstatat by syscall");
  expect(syscall(SYS_faccessat, AT_FDCWD, name, R_OK) == 0, "faccessat by syscall");
  expect(syscall(SYS_readlinkat, AT_FDCWD, name, text, sizeof text) == -1 && errno == EINVAL,
         "readlinkat by syscall");
  const int file = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY);
  expect(file >= 0 && read(file, text, 3) == 3 && memcmp(text, "CDF", 3) == 0 && close(file) == 0,
         "openat by syscall");
  expect(syscall(SYS_openat, AT_FDCWD, "nowhere.txt", O_RDONLY) == -1 && errno == ENOENT,
         "openat of a missing file");
  expect(syscall(SYS_getpid) == getpid(), "another system call");
}

/* The names that programs call which were built with C libraries before 2.33. */
static void ask_as_older_programs(void) {
  static const char* const calls[] = {"__xstat", "__lxstat", "__xstat64", "__lxstat64"};
  const int version = 1; /* of struct stat on x86-64 */
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    struct stat facts;
    int (*call)(int, const char*, struct stat*);
    *(void**)&call = dlsym(RTLD_DEFAULT, calls[i]);
    expect(call != NULL && call(version, name, &facts) == 0 && facts.st_nlink == 1, calls[i]);
    expect(call(version, "nowhere.txt", &facts) == -1 && errno == ENOENT, calls[i]);
  }
}

static void expect_signature(FILE* file, const char* what) {
  char signature[3];
  expect(file != NULL && fread(signature, 1, 3, file) == 3 && memcmp(signature, "CDF", 3) == 0, what);
}

int main(void) {
  ask_for_names();
  ask_for_attributes();
  ask_the_kernel();
  ask_as_older_programs();
  expect_signature(fopen(name, "rbe"), "fopen");
  expect_signature(fopen(name, "rm"), "fopen of a file that is to be mapped");
  expect_signature(freopen(name, "r", stdin), "freopen");
  expect(freopen("nowhere.txt", "r", stdin) == NULL && errno == ENOENT, "freopen of a missing file");
  return 0;
}
