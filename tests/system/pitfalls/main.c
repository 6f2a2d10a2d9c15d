/* pitfalls writer|reader CASE: one side of one case. All files are called case*.nc, except in cases about
 * names. */
#include "check.h"

int rank, ranks;

static const struct test_case* find(const struct test_case* list, const char* name) {
  for (; list->name != NULL; ++list)
    if (strcmp(list->name, name) == 0) return list;
  return NULL;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 3) FAIL("usage: pitfalls writer|reader CASE");
  const struct test_case* found = find(shape_cases, argv[2]);
  if (found == NULL) found = find(mode_cases, argv[2]);
  if (found == NULL) FAIL("no case called %s", argv[2]);
  if (strcmp(argv[1], "writer") == 0)
    found->writer();
  else
    found->reader();
  MPI_Finalize();
  return 0;
}
