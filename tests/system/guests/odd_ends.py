#!/usr/bin/python3
"""odd_ends.py BUILD CASE: programs that end, start others or go to the background in odd ways leave the files that they would leave on disk."""
import os
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, case = sys.argv[1:3]

PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static const char* way;
static volatile sig_atomic_t has_come;
static int is(const char* name) { return strcmp(way, name) == 0; }
static int begin(const char* name) {
  int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || write(file, "first\n", 6) != 6) abort();
  return file;
}
static void go_on(int file) {
  if (write(file, "second\n", 7) != 7) abort();
}
static void handler(int number) {
  (void)number;
  if (is("system_in_handler") && system("echo of a handler > a.dat") != 0) abort();
  if (is("popen_in_handler")) {
    FILE* pipe = popen("cat > a.dat", "w");
    fputs("of a handler\n", pipe);
    pclose(pipe);
  }
  has_come = 1;
}
static void* other(void* given) {
  const int file = *(int*)given;
  if (is("exec_of_thread")) {
    char* const words[] = {"sh", "-c", "echo third >&9; echo fourth > b.dat", NULL};
    dup2(file, 9);
    execv("/bin/sh", words);
  }
  if (is("main_has_ended")) {
    sleep(1);
    go_on(file);
    close(begin("b.dat"));
  }
  for (int i = 0; is("exit_beside") || is("end_beside"); ++i) {
    char name[32];
    sprintf(name, "other.%d.dat", i % 50);
    close(open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644));
  }
  return NULL;
}
int main(int count, char** words) {
  (void)count;
  way = words[1];
  static int file;
  pthread_t thread;
  if (is("system")) return system("echo of a shell > a.dat") != 0;
  if (is("popen")) {
    FILE* pipe = popen("cat > a.dat; echo more > b.dat", "w");
    fputs("by a pipe\n", pipe);
    return pclose(pipe) != 0;
  }
  if (is("system_in_handler") || is("popen_in_handler")) {
    signal(SIGALRM, handler);
    alarm(1);
    while (!has_come) {
      close(begin("b.dat"));
      free(malloc(100));
    }
    return 0;
  }
  file = begin("a.dat");
  if (is("daemon")) {
    if (daemon(1, 0) != 0) abort();
    sleep(2);
    go_on(file);
    return 0;
  }
  if (is("double_fork")) {
    if (fork() != 0) return 0;
    setsid();
    if (fork() != 0) _exit(0);
    for (int i = 0; i < 3; ++i) close(i);
    sleep(2);
    go_on(file);
    close(file);
    close(begin("b.dat"));
    _exit(0);
  }
  pthread_create(&thread, NULL, other, &file);
  if (is("main_has_ended")) pthread_exit(NULL);
  usleep(300000);
  if (is("exec_of_thread")) pause();
  go_on(file);
  close(file);
  if (is("exit_beside")) _exit(0);
  return 0;
}
"""


def run(ways):
    with open("program.c", "w") as source:
        source.write(PROGRAM)
    subprocess.run(["cc", "-O1", "-Wall", "-pthread", "-o", "program", "program.c"], check=True)
    for way in ways:
        for keys in ("", ", through: file"):
            directory = way + (".in_place" if keys else "")
            os.mkdir(directory)
            os.chdir(directory)
            with open("flow.yaml", "w") as flow:
                flow.write(f"version: 1\nname: ends\nstaging: {{prewarm: 0}}\ncomponents:\n  w: {{command: ../program {way}}}\n"
                           "  r: {command: [sh, -c, 'cat a.dat > read; cat b.dat >> read 2> /dev/null; true']}\n" +
                           "".join(f"files:\n  - {{path: '*.dat', writer: w, readers: [r]{keys}}}\n"))
            finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), 0)
            on_disk = directly(way)
            expect(open("read").read() == on_disk, f"{directory}: '{open('read').read()}' instead of '{on_disk}'")
            os.chdir("..")


def directly(way):
    """The text of the files that it leaves without a run."""
    os.mkdir("direct")
    subprocess.run(["../../program", way], cwd="direct", check=True)
    if way in ("daemon", "double_fork"):
        harness.wait_for(lambda: "second" in open("direct/a.dat").read() and (way == "daemon" or os.path.exists("direct/b.dat") and os.path.getsize("direct/b.dat") > 0), "the daemon")
    return "".join(open("direct/" + name).read() for name in ("a.dat", "b.dat") if os.path.exists("direct/" + name))


def threads():
    """One thread ends the process, or becomes another program, while others go on."""
    run(("exit_beside", "end_beside", "main_has_ended", "exec_of_thread"))


def commands():
    """Commands of the C library, in a handler, too."""
    run(("system", "popen", "system_in_handler", "popen_in_handler"))


def background():
    """The program goes on in the background with a file that it has opened before."""
    run(("double_fork", "daemon"))


def stranger():
    """A component that only reads a file has it open for writing when the writer ends: what the writer has closed is published."""
    for keys in ("", ", publish: exit"):
        clear_directory()
        with open("flow.yaml", "w") as flow:
            flow.write("version: 1\nname: ends\nstaging: {prewarm: 0}\ncomponents:\n  w: {command: [sh, -c, 'until test -e opened; do sleep 0.05; done; echo data >> a.dat']}\n"
                       "  changer: {command: [sh, -c, 'exec 9>>a.dat; touch opened; until test -e read; do sleep 0.05; done']}\n  r: {command: [sh, -c, 'cat a.dat > copy; mv copy read']}\n"
                       f"files:\n  - {{path: a.dat, writer: w, readers: [changer, r], through: file{keys}}}\n")
        finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), 0)
        expect(open("read").read() == "data\n", "the reader has the file")


clear_directory()
globals()[case]()
