#!/usr/bin/python3
"""locks.py BUILD CASE: whichever lock a reader has on a file on disk, its writer opens and locks the file again."""
import os
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, case = sys.argv[1:3]

# Prints what a lock says, and holds it until the writer has come back.
READER = """
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
static int lock_range(int file, int command, short type) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
  if (fcntl(file, command, &lock) != 0) return -1;
  return command == F_GETLK && lock.l_type != F_UNLCK;
}
static int take(const char* how, int file) {
  if (strcmp(how, "flock") == 0) return flock(file, LOCK_EX | LOCK_NB);
  if (strcmp(how, "fcntl") == 0) return lock_range(file, F_SETLK, F_WRLCK);
  if (strcmp(how, "ofd") == 0) return lock_range(file, F_OFD_SETLK, F_WRLCK);
  if (strcmp(how, "shared") == 0) return lock_range(file, F_SETLK, F_RDLCK);
  if (lockf(file, F_TLOCK, 0) != 0) return -1;
  return lockf(file, F_TEST, 0) || lock_range(file, F_GETLK, F_WRLCK);
}
static void make(const char* name) { fclose(fopen(name, "w")); }
static void wait_for(const char* name) { while (access(name, F_OK) != 0) usleep(1000); }
int main(int count, char** words) {
  int file = 0;
  FILE* stream = NULL;
  if (strcmp(words[2], "inherited") == 0) file = 0;
  else if (strcmp(words[2], "stream") == 0) file = (stream = fopen("a.dat", "r+")) == NULL ? -1 : fileno(stream);
  else file = open("a.dat", strcmp(words[2], "reading") == 0 ? O_RDONLY : O_RDWR);
  if (file < 0) return 2;
  if (count > 3 && (take(words[3], file) != -1 || errno != EBADF)) return 4;
  if (take(words[1], file) != 0) return 3;
  make("reader.locked");
  wait_for("writer.locked");
  close(file);
  make("reader.done");
  return 0;
}
"""

WRITER = """
import fcntl, os, sys, time
def wait_for(name):
    while not os.path.exists(name): time.sleep(0.01)
with open('a.dat', 'w') as file: file.write('data\\n')
wait_for('reader.locked')
with open('a.dat', 'r+') as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    open('writer.locked', 'w').close()
    wait_for('reader.done')
"""


def run(reads):
    clear_directory()
    with open("reader.c", "w") as source:
        source.write(READER)
    subprocess.run(["cc", "-O1", "-Wall", "-o", "reader", "reader.c"], check=True)
    with open("writer.py", "w") as program:
        program.write(WRITER)
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: locks\nstaging: {{prewarm: 0}}\ncomponents:\n  w: {{command: [sh, -c, 'timeout 60 python3 writer.py']}}\n  r: {{command: [sh, -c, 'exec timeout 60 {reads}']}}\nfiles:\n  - {{path: 'a.dat', writer: w, readers: [r], through: file}}\n")
    finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), 0)
    expect(os.path.exists("writer.locked"), "the writer has locked the file")


def updating():
    """A reader that opens the file for reading and writing locks it in any way."""
    for how in ["flock", "fcntl", "ofd", "lockf"]:
        run(f"./reader {how} updating")


def stream():
    """The same by fopen."""
    run("./reader flock stream")


def reading():
    """A descriptor for reading has shared locks, and no lock for writing, as the kernel says."""
    run("./reader shared reading fcntl")
    run("./reader flock reading lockf")


def inherited():
    """A program that a shell has given the file locks it, too."""
    run("./reader shared inherited < a.dat")
    run("./reader lockf inherited <> a.dat")


clear_directory()
globals()[case]()
