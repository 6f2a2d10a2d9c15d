/* read_stream NAMES LIMIT HELD: reads the names step_0000.dat, … of a stream, each by two opens of two calls,
   as netCDF does. LIMIT: of descriptors. The last HELD names stay open, and are opened again at the end.
   Prints how many images the process has when it has closed all but those. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char* name_of(int index) {
  static char name[32];
  snprintf(name, sizeof name, "step_%04d.dat", index);
  return name;
}

static void stop(const char* what, int index) {
  printf("%s: %s\n", name_of(index), what);
  exit(1);
}

static void check(int file, int index) {
  char text[64] = "";
  if (file < 0) stop("cannot be opened", index);
  if (pread(file, text, sizeof text - 1, 0) <= 0 || atoi(text) != index) stop("has other bytes", index);
}

static int images(void) {
  int count = 0;
  for (int number = 3; number < 1024; ++number) {
    struct stat facts;
    count += fstat(number, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size == 4096;
  }
  return count;
}

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const int names = atoi(arguments[1]), held = atoi(arguments[3]);
  struct rlimit limit = {(rlim_t)atoi(arguments[2]), (rlim_t)atoi(arguments[2])};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 2;
  for (int index = 0; index < names; ++index) {
    const int first = open(name_of(index), O_RDONLY);
    check(first, index);
    if (index >= names - held) continue;
    close(first);
    const int second = open(name_of(index), O_RDONLY);
    check(second, index);
    close(second);
  }
  for (int index = names - held; index < names; ++index) {
    const int again = open(name_of(index), O_RDONLY);
    check(again, index);
    close(again);
  }
  printf("images %d\n", images() - held);
  return 0;
}
