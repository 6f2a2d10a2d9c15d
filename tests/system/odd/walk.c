/* walk TOP NAME...: what nftw and ftw tell of these names below TOP, sorted. */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char** names;
static char* lines[1000];
static int count, is_stopping;

static int is_known(const char* name) {
  for (char** known = names; *known != NULL; ++known)
    if (strcmp(*known, name) == 0) return 1;
  return 0;
}

static void note(const char* path, const struct stat* facts, int type, int base, int level) {
  char line[5000];
  snprintf(line, sizeof line, "%s %d %d %d %ld", path, type, base, level,
           type == FTW_F ? (long)facts->st_size : 0L);
  if (count < 1000) lines[count++] = strdup(line);
}

static int visit(const char* path, const struct stat* facts, int type, struct FTW* place) {
  if (is_known(path + place->base)) note(path, facts, type, place->base, place->level);
  if (is_stopping && type == FTW_D && place->level > 0) return FTW_SKIP_SUBTREE;
  return is_stopping && strcmp(path + place->base, "b.dat") == 0 ? FTW_STOP : 0;
}

static int see(const char* path, const struct stat* facts, int type) {
  const char* slash = strrchr(path, '/');
  if (is_known(slash == NULL ? path : slash + 1)) note(path, facts, type, 0, 0);
  return 0;
}

static int compare(const void* a, const void* b) {
  return strcmp(*(char* const*)a, *(char* const*)b);
}

static void show(const char* what, int outcome) {
  printf("%s: %d\n", what, outcome);
  qsort(lines, count, sizeof *lines, compare);
  for (int i = 0; i < count; ++i) puts(lines[i]);
  count = 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  names = argv + 2;
  show("links as they are", nftw(argv[1], visit, 5, FTW_PHYS));
  show("links followed", nftw(argv[1], visit, 5, 0));
  show("the contents first", nftw(argv[1], visit, 5, FTW_DEPTH | FTW_PHYS));
  show("one file system", nftw(argv[1], visit, 5, FTW_PHYS | FTW_MOUNT));
  show("ftw", ftw(argv[1], see, 5));
  show("a file alone", nftw(argv[2], visit, 5, FTW_PHYS));
  int outcome = nftw("no such", visit, 5, FTW_PHYS);
  printf("%d\n", errno);
  show("none", outcome);
  is_stopping = 1;
  outcome = nftw(argv[1], visit, 5, FTW_PHYS | FTW_ACTIONRETVAL);
  count = 0; /* the order is the directory's */
  show("stopped", outcome);
  return 0;
}
