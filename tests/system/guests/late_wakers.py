#!/usr/bin/python3
"""late_wakers.py BUILD CASE: processes that seem to wait in vain, and are woken by others: a child, a process that is no part of the run, the kernel. They are no cycle of waits."""
import os
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, case = sys.argv[1:3]

# It waits for b.dat. a.dat, for which b waits, is written after 3 s: by a thread that somebody wakes, or by a child.
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static const char* way;
static int event, lock;
static sem_t* post;
static int is(const char* name) { return strcmp(way, name) == 0; }
static void write_it(void) {
  int file = open("a.dat", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (write(file, "a", 1) != 1) abort();
  close(file);
}
static void handler(int number) { (void)number; }
static void handler_writes(int number) { (void)number; write_it(); }
/* The outside process has no mark of the run, and is nobody's child. */
static void begin_outside(void) {
  if (fork() != 0) return (void)wait(NULL);
  if (fork() != 0) _exit(0);
  char* const words[] = {"outside", (char*)way, NULL};
  char* const nothing[] = {NULL};
  setsid();
  execve("/proc/self/exe", words, nothing);
  _exit(1);
}
/* Another process of the run, or one outside of it, which has taken a lock or will write something. */
static int act_outside(void) {
  if (is("flock")) {
    int file = open("locked", O_RDWR | O_CREAT, 0644);
    flock(file, LOCK_EX);
    close(open("has_lock", O_WRONLY | O_CREAT, 0644));
    sleep(3);
    return 0;
  }
  sleep(3);
  if (is("fifo")) return write(open("fifo", O_WRONLY), "x", 1) != 1;
  if (is("inotify")) return close(open("seen", O_WRONLY | O_CREAT, 0644));
  return 1;
}
static void* waits(void* nothing) {
  struct epoll_event one = {.events = EPOLLIN};
  struct pollfd polled = {event, POLLIN, 0};
  if (is("eventfd")) poll(&polled, 1, -1);
  if (is("eventfds")) {
    int set = epoll_create1(0);
    epoll_ctl(set, EPOLL_CTL_ADD, event, &one);
    epoll_wait(set, &one, 1, -1);
  }
  if (is("semaphore")) sem_wait(post);
  if (is("signal")) poll(NULL, 0, -1);
  if (is("flock")) flock(lock, LOCK_EX);
  if (is("fifo")) polled.fd = open("fifo", O_RDONLY | O_NONBLOCK), poll(&polled, 1, -1);
  if (is("inotify")) {
    polled.fd = inotify_init1(0);
    inotify_add_watch(polled.fd, ".", IN_CREATE);
    begin_outside();
    char events[4096];
    for (int is_there = 0; !is_there; is_there = access("seen", F_OK) == 0)
      if (poll(&polled, 1, -1) < 0 || read(polled.fd, events, sizeof events) < 0) abort();
  }
  write_it();
  return nothing;
}
int main(int count, char** words) {
  (void)count;
  way = words[1];
  if (strcmp(words[0], "outside") == 0) return act_outside();
  event = eventfd(0, 0);
  post = mmap(NULL, sizeof *post, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  sem_init(post, 1, 0);
  signal(SIGUSR1, handler);
  if (is("alarm_of_parent")) {
    signal(SIGALRM, handler_writes);
    if (fork() == 0) _exit(open("b.dat", O_RDONLY) < 0);
    alarm(3);
    int status;
    while (wait(&status) < 0);
    return status != 0;
  }
  pid_t self = getpid();
  if (is("child_writes") && fork() == 0) {
    sleep(3);
    write_it();
    _exit(0);
  }
  if ((is("eventfd") || is("eventfds") || is("semaphore") || is("signal")) && fork() == 0) {
    sleep(3);
    uint64_t ticks = 1;
    if (write(event, &ticks, sizeof ticks) < 0 || sem_post(post) != 0) abort();
    if (is("signal")) kill(self, SIGUSR1);
    _exit(0);
  }
  if (is("fifo") && mkfifo("fifo", 0644) != 0) abort();
  if (is("fifo")) begin_outside();
  if (is("flock")) {
    begin_outside();
    while (access("has_lock", F_OK) != 0) usleep(10000);
    lock = open("locked", O_RDWR);
  }
  pthread_t thread;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  if (!is("child_writes")) pthread_create(&thread, NULL, waits, NULL);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  int file = open("b.dat", O_RDONLY);
  if (!is("child_writes")) pthread_join(thread, NULL);
  return file < 0;
}
"""


def write_flow(way, ranks):
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: waits\nstaging: {{prewarm: 0}}\ncomponents:\n  a: {{command: ../program {way}{ranks}}}\n  b: {{command: [sh, -c, 'cat a.dat && echo b > b.dat']}}\n"
                   "files:\n  - {path: a.dat, writer: a, readers: [b]}\n  - {path: b.dat, writer: b, readers: [a]}\n")


def run(ways, ranks):
    with open("program.c", "w") as source:
        source.write(PROGRAM)
    subprocess.run(["cc", "-O1", "-Wall", "-pthread", "-o", "program", "program.c"], check=True)
    processes = []
    for way in ways:
        os.mkdir(way)
        os.chdir(way)
        write_flow(way, ranks)
        processes.append((way, harness.start(build + "/bin/sluice", "run", "flow.yaml")))
        os.chdir("..")
    failed = [way for way, process in processes if finish(process).status != 0]
    expect(not failed, "a process that would have gone on was given up: " + ", ".join(failed))


def of_children():
    """Where the number of processes is known, their children count, too."""
    run(("child_writes", "eventfd", "eventfds", "semaphore", "signal"), ", ranks: 1")


def of_outsiders():
    """Whether the number is known or not."""
    run(("flock", "fifo", "inotify"), ", ranks: 1")
    clear_directory()
    run(("flock", "fifo", "inotify"), "")


def of_timers():
    """A program waits for its child, and a timer's handler writes what the child waits for."""
    run(("alarm_of_parent",), "")


def true_cycle():
    """A process of a known number that has a child which has ended can do nothing."""
    with open("wait.c", "w") as source:
        source.write("#include <fcntl.h>\n#include <unistd.h>\nint main(void) { if (fork() == 0) _exit(0); return open(\"b.dat\", O_RDONLY) < 0; }\n")
    subprocess.run(["cc", "-o", "program", "wait.c"], check=True)
    os.mkdir("in")
    os.chdir("in")
    write_flow("nothing", ", ranks: 1")
    result = finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"))
    expect(result.status != 0 and "cycle" in result.all, "the cycle is found: " + result.all)


clear_directory()
globals()[case]()
