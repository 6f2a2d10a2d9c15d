/* reopen_stream NAME OTHER...: opens NAME of a stream, then each other name, and then NAME by another call.
   Prints what it has read of NAME by both calls, or why the second one failed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void show(int file) {
  char text[64] = "";
  if (file < 0) {
    printf("%s\n", strerror(errno));
    return;
  }
  if (read(file, text, sizeof text - 1) < 0) perror("read");
  close(file);
  printf("%s\n", text);
}

int main(int count, char** names) {
  if (count < 3) return 2;
  show(open(names[1], O_RDONLY));
  for (int i = 2; i < count; ++i) close(open(names[i], O_RDONLY));
  show(open(names[1], O_RDONLY));
  return 0;
}
