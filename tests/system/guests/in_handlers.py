#!/usr/bin/python3
"""in_handlers.py BUILD CASE: calls for coupled files where nobody expects them: in signal handlers, in threads that are cancelled at any instruction, in children of fork and vfork. What POSIX allows on disk does neither hang nor spoil anything."""
import os
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, case = sys.argv[1:3]

INCLUDES = "#define _GNU_SOURCE\n#include <dirent.h>\n#include <errno.h>\n#include <fcntl.h>\n#include <pthread.h>\n#include <setjmp.h>\n#include <signal.h>\n#include <spawn.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/stat.h>\n#include <sys/time.h>\n#include <sys/wait.h>\n#include <unistd.h>\n"

WAITING = INCLUDES + """
static volatile sig_atomic_t wrong;
static void handler(int number) {
  (void)number;
  char text[10] = "";
  int file = open("early.dat", O_RDONLY);
  if (file < 0 || read(file, text, 9) != 6 || strcmp(text, "early\\n") != 0 || close(file) != 0) wrong = 1;
  close(open("go.txt", O_WRONLY | O_CREAT, 0644));
}
int main(void) {
  char text[10] = "";
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGALRM, &action, NULL);
  alarm(1);
  int file = open("late.dat", O_RDONLY);
  if (file < 0 || read(file, text, 9) != 5 || strcmp(text, "late\\n") != 0) return 2;
  return wrong;
}
"""

# Each step is opened once, and counts as read when the process ends in order.
KEPT = INCLUDES + """
static void handler(int number) { (void)number; _exit(0); }
int main(int count, char** words) {
  for (int i = 0; i < 3; ++i) if (open("s.dat", O_RDONLY) < 0) return 2;
  signal(SIGALRM, handler);
  struct itimerval when = {{0, 0}, {0, 1000 + 100 * atoi(words[1])}};
  setitimer(ITIMER_REAL, &when, NULL);
  for (unsigned i = 0;; ++i) free(malloc(20 << i % 12 << (count - 2)));
}
"""

FORKS = INCLUDES + """
static int put(const char* name) {
  int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  return file < 0 || write(file, "data\\n", 5) != 5 || close(file) != 0;
}
static volatile int is_over;
static void* writes(void* name) {
  struct stat facts;
  while (!is_over) if (put(name) != 0 || stat(name, &facts) != 0) _exit(3);
  return NULL;
}
int main(void) {
  pthread_t threads[3];
  char names[3][10];
  for (int i = 0; i < 3; ++i) {
    sprintf(names[i], "t%d.dat", i);
    pthread_create(&threads[i], NULL, writes, names[i]);
  }
  for (int i = 0; i < 60; ++i) {
    char name[20];
    sprintf(name, "c%d.dat", i % 10);
    pid_t child = fork();
    if (child == 0) _exit(put(name));
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 4;
  }
  is_over = 1;
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return put("last.dat");
}
"""

VFORK = INCLUDES + """
extern char** environ;
int main(int count, char** words) {
  if (count < 3) return 1;
  int own = open("own.dat", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (own < 0 || write(own, "own\\n", 4) != 4) return 2;
  pid_t child = 0;
  int status = 1;
  if (strcmp(words[1], "vfork") == 0) {
    child = vfork();
    if (child == 0) {
      int file = open("out.dat", O_WRONLY | O_CREAT | O_TRUNC, 0644);
      int from = open("in.dat", O_RDONLY);
      if (file < 0 || from < 0 || dup2(file, 1) != 1 || dup2(from, 0) != 0) _exit(3);
      close(file);
      execvp(words[2], words + 2);
      _exit(4);
    }
  } else {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "out.dat", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_addopen(&actions, 0, "in.dat", O_RDONLY, 0);
    if (posix_spawnp(&child, words[2], &actions, NULL, words + 2, environ) != 0) return 3;
    posix_spawn_file_actions_destroy(&actions);
  }
  if (waitpid(child, &status, 0) != child || status != 0) return 5;
  if (write(own, "more\\n", 5) != 5) return 6;
  return 0;
}
"""

COPIES = "#include <stdio.h>\nint main(void) { for (int c = getchar(); c != EOF; c = getchar()) putchar(c); return 0; }\n"

ASYNC = INCLUDES + """
static void* writes(void* name) {
  struct stat facts;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  for (;;) {
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (write(file, "data\\n", 5) != 5) _exit(2);
    close(file);
    stat(name, &facts);
    access("none.dat", F_OK);
    rename(name, "renamed.dat");
    unlink("renamed.dat");
  }
  return NULL;
}
int main(void) {
  for (int turn = 0; turn < 200; ++turn) {
    char name[20];
    sprintf(name, "a%d.dat", turn % 20);
    pthread_t thread;
    void* result = NULL;
    pthread_create(&thread, NULL, writes, name);
    usleep(500 + 173 * turn % 5000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    if (result != PTHREAD_CANCELED) return 3;
  }
  FILE* last = fopen("last.dat", "w");
  fputs("whole\\n", last);
  return fclose(last);
}
"""

# What the handler does, it does whole, and what it has interrupted goes on as if nothing had been.
HANDLER = INCLUDES + """
static volatile sig_atomic_t turns, wrong, error;
static int most;
/* Once: on a busy machine, a handler that takes longer than a period would leave the program no time. */
static void raise_in(int time_us) {
  struct itimerval when = {{0, 0}, {0, time_us}};
  setitimer(ITIMER_REAL, &when, NULL);
}
static int put(const char* name, const char* text) {
  int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return -1;
  int written = (int)write(file, text, strlen(text));
  return close(file) != 0 || written != (int)strlen(text) ? -1 : 0;
}
static int has(const char* name, const char* text) {
  char bytes[20] = "";
  int file = open(name, O_RDONLY);
  if (file < 0) return 0;
  int got = (int)read(file, bytes, sizeof bytes - 1);
  close(file);
  return got == (int)strlen(text) && strcmp(bytes, text) == 0;
}
static void check(int ok, int line) { if (!ok && !wrong) error = errno, wrong = line; }
#define CHECK(ok) check(ok, __LINE__)
static void handler(int number) {
  (void)number;
  const int before = errno;
  struct stat facts;
  CHECK(put("h.dat", "handler") == 0);
  CHECK(stat("h.dat", &facts) == 0 && facts.st_size == 7);
  CHECK(rename("h.dat", "i.dat") == 0);
  CHECK(access("h.dat", F_OK) != 0 && errno == ENOENT);
  CHECK(has("i.dat", "handler"));
  CHECK(chmod("i.dat", 0600) == 0);
  CHECK(link("i.dat", "j.dat") == 0);
  CHECK(unlink("i.dat") == 0 && unlink("j.dat") == 0);
  if (++turns < most) raise_in(3000);
  errno = before;
}
static void* other(void* nothing) {
  for (;;) free(malloc(100));
  return nothing;
}
int main(int count, char** words) {
  BEGIN
  most = atoi(words[count - 1]);
  pthread_t thread;
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  pthread_create(&thread, NULL, other, NULL);
  pthread_sigmask(SIG_UNBLOCK, &all, NULL);
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  raise_in(1000);
  for (unsigned i = 0; turns < most && !wrong; ++i) {
    free(malloc(16 + i % 5000));
    WORK
  }
  signal(SIGALRM, SIG_IGN);
  if (wrong) fprintf(stderr, "line %d: %s\\n", (int)wrong, strerror(error));
  const int failed = wrong || put("last.dat", "whole\\n") != 0;
  END
  return failed;
}
"""

WORK = """
    struct stat facts;
    errno = 0;
    CHECK(put("m.dat", "main") == 0);
    CHECK(has("m.dat", "main"));
    CHECK(stat("m.dat", &facts) == 0 && facts.st_size == 4);
    CHECK(stat("none.dat", &facts) != 0 && errno == ENOENT);
    CHECK(rename("m.dat", "n.dat") == 0 && unlink("n.dat") == 0);
    DIR* directory = opendir(".");
    while (readdir(directory) != NULL);
    closedir(directory);
"""

# Each rank in a directory of its own, until all have had their signals: within MPI, within PnetCDF's calls for a coupled file and for one on the disk, and within the allocator.
BEGIN_OF_MPI = """
  int rank = 0;
  char directory[20];
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  sprintf(directory, "r%d", rank);
  if (mkdir(directory, 0755) != 0 || chdir(directory) != 0) return 2;
"""
WORK_OF_MPI = """
    for (int all = 0, turn = 0; !all; ++turn) {
      const int is_over = turns >= most || wrong;
      struct timespec pause = {0, turn % 3 * 2000000 * rank};
      nanosleep(&pause, NULL);
      MPI_Barrier(MPI_COMM_WORLD);
      for (int j = 0; j < 1000; ++j) free(malloc(20 << j % 12));
      CALLS
      MPI_Allreduce(&is_over, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    }
"""
CALLS_OF_PNETCDF = """
      float values[1000] = {0};
      for (int j = 0; j < 2; ++j) {
        int file = 0, dimension = 0, variable = 0;
        const MPI_Offset begin = 1000 * rank, length = 1000;
        CHECK(ncmpi_create(MPI_COMM_WORLD, j == 0 ? "../p.dat" : "../on-disk.nc", NC_CLOBBER, MPI_INFO_NULL, &file) == NC_NOERR);
        CHECK(ncmpi_def_dim(file, "x", 2000, &dimension) == NC_NOERR);
        CHECK(ncmpi_def_var(file, "v", NC_FLOAT, 1, &dimension, &variable) == NC_NOERR);
        CHECK(ncmpi_enddef(file) == NC_NOERR);
        for (int k = 0; k < 20; ++k) CHECK(ncmpi_put_vara_float_all(file, variable, &begin, &length, values) == NC_NOERR);
        CHECK(ncmpi_close(file) == NC_NOERR);
      }
"""


def compile_program(text, *options, compiler="cc"):
    with open("program.c", "w") as source:
        source.write(text)
    subprocess.run([compiler, "-O1", "-Wall", "-Wno-format-truncation", "-pthread", "-o", "program", "program.c", *options], check=True)


def handler(begin, work, end=""):
    return HANDLER.replace("BEGIN", begin).replace("WORK", work).replace("  END\n", end)


def clear_directory_of_files():
    for name in ["read", "failed"]:
        if os.path.exists(name):
            os.remove(name)


def run(writes, reads, start=", start: when-done", keys=""):
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: guests\nstaging: {{prewarm: 0}}\ncomponents:\n  w: {{command: [sh, -c, '{writes}']}}\n  r: {{command: [sh, -c, '{reads}']{start}}}\nfiles:\n  - {{path: '*.dat', writer: w, readers: [r]{keys}}}\n")
    return finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), 0)


def run_program(*words):
    run("timeout -s KILL 100 ./program " + " ".join(words) + " || echo failed >> failed", "cat last.dat > read")
    expect(not os.path.exists("failed"), "the program ends well")
    expect(open("read").read() == "whole\n", "what is read: " + open("read").read())


def within_calls():
    """A handler opens, renames and removes coupled files while the program is within such calls, or in the memory allocator."""
    compile_program(handler("", WORK))
    run_program("400")


def within_allocator():
    """The same where the program does nothing but ask for memory, and the handler's calls are the first ones of the process."""
    compile_program(handler("", "for (int j = 0; j < 100; ++j) free(malloc(20 << j % 12));"))
    for turn in range(5):
        clear_directory_of_files()
        run_program("20")


def run_ranks(mpi, launcher, *pnetcdf):
    program = handler(BEGIN_OF_MPI, WORK_OF_MPI.replace("CALLS", CALLS_OF_PNETCDF), "  MPI_Finalize();\n")
    headers = "#include <mpi.h>\n#include <pnetcdf.h>\n"
    compile_program(headers + "#include <time.h>\n" + program, *pnetcdf, compiler="mpicc." + mpi)
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: guests\nstaging: {{prewarm: 0}}\ncomponents:\n  w: {{command: ./program 200, ranks: 2, launcher: {launcher}}}\n"
                   "  r: {command: [sh, -c, 'cat r0/last.dat r1/last.dat > read'], start: when-done}\nfiles:\n  - {path: '*.dat', writer: w, readers: [r]}\n")
    finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), 0)
    expect(harness.text("read") == "whole\n" * 2, "what is read: " + harness.text("read"))


def within_open_mpi():
    """A handler that interrupts MPI, or a call of PnetCDF, uses coupled files as anywhere else."""
    run_ranks("openmpi", "mpirun", "-lpnetcdf")


def within_mpich():
    """The same with MPICH."""
    run_ranks("mpich", "mpiexec.hydra", "-L" + build + "/lib", "-Wl,-rpath," + build + "/lib", "-lsluice_pnetcdf_mpich")


def waiting():
    """A handler runs while an open waits for its file, and reads another one meanwhile."""
    compile_program(WAITING)
    run("echo early > early.dat; while [ ! -e go.txt ]; do sleep 0.1; done; echo late > late.dat", "timeout -s KILL 90 ./program || echo failed > failed", "")
    expect(not os.path.exists("failed"), "the program reads both files")


def kept_steps():
    """`_exit` in a handler of a process that has steps of a stream open, and may be started again, leaves them as read."""
    compile_program(KEPT)
    with open("flow.yaml", "w") as flow:
        flow.write("version: 1\nname: guests\nstaging: {prewarm: 0}\ncomponents:\n  w: {command: [sh, -c, 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i > s.dat; done']}\n"
                   "  r: {command: [sh, -c, 'for i in 1 2 3 4; do timeout -s KILL 60 ./program $i || echo failed > failed; done'], restarts: 1}\nfiles:\n  - {path: 's.dat', writer: w, readers: [r], steps: stream}\n")
    result = finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), 0)
    expect(not os.path.exists("failed"), "each process ends, with three steps: " + result.all)


def forks():
    """Children of a program whose other threads are within such calls write files, too."""
    compile_program(FORKS)
    run("timeout -s KILL 100 ./program || echo failed > failed", "for i in 0 1 2 3 4 5 6 7 8 9; do cat c$i.dat; done > read; cat last.dat >> read")
    expect(not os.path.exists("failed") and open("read").read() == "data\n" * 11, "all files are there")


def start_with(way):
    compile_program(VFORK)
    with open("copy.c", "w") as source:
        source.write(COPIES)
    subprocess.run(["cc", "-O1", "-static", "-o", "static", "copy.c"], check=True)
    for program in ["cat", "./static"]:
        clear_directory_of_files()
        run(f"echo data > in.dat; timeout -s KILL 60 ./program {way} {program} || echo failed > failed", "cat out.dat own.dat > read")
        expect(not os.path.exists("failed") and open("read").read() == "data\nown\nmore\n", f"{program}: the child has copied the file, and its parent's own one is there")


def vforked():
    """A child of vfork opens coupled files for the program that it becomes, and its parent goes on."""
    start_with("vfork")


def spawned():
    """The same by posix_spawn."""
    start_with("spawn")


def cancelled_anywhere():
    """A thread that may be cancelled at any instruction is cancelled within a wrapped call, and the program goes on."""
    compile_program(ASYNC)
    run_program()


clear_directory()
globals()[case]()
