#!/usr/bin/python3
"""guests.py BUILD CASE: the wrapped calls live in other people's programs: in their signal handlers, threads and last moments. Each program leaves the files that it would leave on disk."""
import os
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, case = sys.argv[1:3]

INCLUDES = "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <pthread.h>\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/syscall.h>\n#include <sys/time.h>\n#include <unistd.h>\n"

# The handler comes at any moment: within the memory allocator, the C library, or a wrapped call.
HANDLER = INCLUDES + """
static void handler(int number) { (void)number; END; }
static void* other(void* nothing) { pause(); return nothing; }
int main(int count, char** words) {
  (void)count;
  int file = open(words[1], O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || write(file, "data\\n", 5) != 5) return 2;
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  signal(SIGALRM, handler);
  struct itimerval when = {{0, 0}, {0, 1000 * (1 + atoi(words[2]) % 17)}};
  setitimer(ITIMER_REAL, &when, NULL);
  for (unsigned i = 0;; ++i) {
    void* volatile memory = malloc(16 + i % 500);
    free(memory);
    FILE* volatile stream = fopen("/dev/null", "r");
    if (stream) fclose(stream);
  }
}
"""

CANCELLED = INCLUDES + """
static void* writes(void* name) {
  for (;;) {
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (write(file, "data\\n", 5) != 5) _exit(2);
    close(file);
  }
  return NULL;
}
int main(void) {
  for (int turn = 0; turn < 20; ++turn) {
    char name[20];
    sprintf(name, "a%d.dat", turn);
    pthread_t thread;
    void* result = NULL;
    pthread_create(&thread, NULL, writes, name);
    usleep(1000 + 1700 * turn);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    if (result != PTHREAD_CANCELED) return 3;
  }
  FILE* last = fopen("last.dat", "w");
  fputs("whole\\n", last);
  return fclose(last);
}
"""

MANY = INCLUDES + """
static void handler(int number) { (void)number; _exit(0); }
int main(int count, char** words) {
  for (int i = 0; i < atoi(words[1]); ++i) {
    char name[20];
    sprintf(name, "a%d.dat", i);
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || write(file, "data\\n", 5) != 5) return 2;
  }
  signal(SIGALRM, handler);
  alarm(1);
  for (;;) free(malloc((size_t)count));
}
"""

ENDS = INCLUDES + """
int main(int count, char** words) {
  (void)count;
  FILE* file = fopen(words[1], "w");
  fputs("whole\\n", file);
  fflush(file);
  if (strcmp(words[2], "quick_exit") == 0) quick_exit(0);
  if (strcmp(words[2], "exit_group") == 0) syscall(SYS_exit_group, 0);
  if (strcmp(words[2], "_exit") == 0) _exit(0);
  if (strcmp(words[2], "_Exit") == 0) _Exit(0);
  if (strcmp(words[2], "end_of_thread") == 0) syscall(SYS_exit, 0);
  return 0;
}
"""


def compile_program(name, text, *options, compiler="cc"):
    with open(name + ".c", "w") as source:
        source.write(text)
    subprocess.run([compiler, "-O1", "-Wall", "-pthread", *options, "-o", name, name + ".c"], check=True)


def run(writes, reads):
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: guests\nstaging: {{prewarm: 0}}\ncomponents:\n  w: {{command: [sh, -c, '{writes}']}}\n  r: {{command: [sh, -c, '{reads}'], start: when-done}}\nfiles:\n  - {{path: '*.dat', writer: w, readers: [r]}}\n")
    return finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), 0)


def handlers():
    """`_exit` in a signal handler ends the process at once, and its file is there."""
    compile_program("program", HANDLER.replace("END", "_exit(0)"))
    run("for i in $(seq 30); do timeout -s KILL 30 ./program a$i.dat $i || echo hangs >> failed; done", "for i in $(seq 30); do cat a$i.dat; done > read")
    expect(not os.path.exists("failed"), "a program hangs")
    expect(open("read").read() == "data\n" * 30, "what is read: " + open("read").read())


def handlers_of_mpi():
    """The same in a program that uses MPI, which asks its matcher by the client library."""
    compile_program("program", HANDLER.replace("END", "_exit(0)").replace("#define _GNU_SOURCE", "#define _GNU_SOURCE\n#include <mpi.h>").replace("(void)count;", "MPI_Init(&count, &words);"), compiler="mpicc.openmpi")
    run("for i in $(seq 8); do timeout -s KILL 60 ./program a$i.dat $i || echo hangs >> failed; done", "for i in $(seq 8); do cat a$i.dat; done > read")
    expect(not os.path.exists("failed"), "a program hangs")
    expect(open("read").read() == "data\n" * 8, "what is read: " + open("read").read())


def many_files():
    """A program that ends in a handler with more files open than are remembered has left all of them in order."""
    compile_program("program", MANY)
    run("timeout -s KILL 60 ./program 600 || echo failed > failed", "i=0; while [ $i -lt 600 ]; do cat a$i.dat; i=$((i + 1)); done > read")
    expect(not os.path.exists("failed"), "the program ends")
    expect(open("read").read() == "data\n" * 600, f"what is read: {len(open('read').read())} bytes")


def cancelled():
    """A thread that is cancelled within a wrapped call leaves the program as it was."""
    compile_program("program", CANCELLED)
    run("timeout -s KILL 60 ./program || echo failed > failed", "cat last.dat > read")
    expect(not os.path.exists("failed") and open("read").read() == "whole\n", "the program goes on")


def ends():
    """However a process ends by itself, it has left its files in order."""
    compile_program("program", ENDS)
    ways = ["quick_exit", "exit_group", "_exit", "_Exit", "return", "end_of_thread"]
    run("; ".join(f"./program {way}.dat {way}" for way in ways), "; ".join(f"cat {way}.dat" for way in ways) + " > /dev/null && touch whole")
    expect(os.path.exists("whole"), "all files are there")


def sanitized():
    """A program that was built with the address sanitizer runs."""
    compile_program("program", ENDS, "-fsanitize=address")
    run("./program a.dat return", "cat a.dat > read")
    expect(open("read").read() == "whole\n", "what is read")


clear_directory()
globals()[case]()
