/* idle NAME: an MPI program whose ranks write "their process id and their parent's" to NAME.RANK, and then
 * wait until they are ended. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int count, char** words) {
  int rank = 0, sum = 0;
  char path[200];
  if (MPI_Init(&count, &words) != MPI_SUCCESS || count != 2) return 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s.%d", words[1], rank);
  FILE* const file = fopen(path, "w");
  if (file == NULL || fprintf(file, "%d %d\n", (int)getpid(), (int)getppid()) < 0 || fclose(file) != 0)
    return 1;
  for (;;) pause();
}
