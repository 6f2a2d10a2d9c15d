#!/usr/bin/python3
"""waits.py BUILD CASE: what looks like a cycle of waits, and is none, because a thread or a signal will still go on; and a true cycle, which is found."""
import os
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, case = sys.argv[1:3]

# One thread waits for b.dat; another one, or a handler, writes a.dat after a while. It is told how it waits until then.
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>
static const char* way;
static int is(const char* name) { return strcmp(way, name) == 0; }
static void write_it(void) {
  int file = open("a.dat", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (write(file, "a", 1) != 1) abort();
  close(file);
}
static int timer(void) {
  int made = timerfd_create(CLOCK_MONOTONIC, 0);
  struct itimerspec when = {{0, 0}, {3, 0}};
  timerfd_settime(made, 0, &when, NULL);
  return made;
}
static int set_of(int member) {
  int set = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(set, EPOLL_CTL_ADD, member, &event);
  return set;
}
static volatile sig_atomic_t has_come;
static void handler(int number) { (void)number; has_come = 1; }
static void* waits(void* nothing) {
  struct pollfd one = {-1, POLLIN, 0};
  struct epoll_event event;
  unsigned long long ticks;
  if (is("poll")) one.fd = timer(), poll(&one, 1, -1);
  if (is("ppoll")) one.fd = timer(), ppoll(&one, 1, NULL, NULL);
  if (is("epoll")) epoll_wait(set_of(timer()), &event, 1, -1);
  if (is("nested")) epoll_wait(set_of(set_of(timer())), &event, 1, -1);
  if (is("read") && read(timer(), &ticks, sizeof ticks) < 0) abort();
  if (is("sleep")) sleep(3);
  if (is("select")) {
    int made = timer();
    fd_set set;
    FD_ZERO(&set);
    FD_SET(made, &set);
    select(made + 1, &set, NULL, NULL, NULL);
  }
  if (is("signalfd") || is("sigwait")) {
    sigset_t set;
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    alarm(3);
    if (is("sigwait")) sigwait(&set, &number);
    else one.fd = signalfd(-1, &set, 0), poll(&one, 1, -1);
  }
  if (is("alarm")) {
    alarm(3);
    while (!has_come) poll(NULL, 0, -1);
  }
  if (is("pipe")) {
    int ends[2];
    if (pipe(ends) != 0) abort();
    if (fork() == 0) { sleep(3); _exit(write(ends[1], "x", 1) != 1); }
    one.fd = ends[0];
    poll(&one, 1, -1);
  }
  if (is("child")) {
    pid_t child = fork();
    if (child == 0) { sleep(3); _exit(0); }
    waitpid(child, NULL, 0);
  }
  write_it();
  return nothing;
}
int main(int count, char** words) {
  (void)count;
  way = words[1];
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  if (is("signalfd") || is("sigwait")) pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, waits, NULL);
  if (is("alarm")) {
    struct sigaction action = {.sa_handler = handler};
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sigaction(SIGALRM, &action, NULL);
  }
  int file = open("b.dat", O_RDONLY);
  pthread_join(thread, NULL);
  return file < 0;
}
"""


def write_flow(a):
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: waits\nstaging: {{prewarm: 0}}\ncomponents:\n  a: {{command: {a}}}\n  b: {{command: [sh, -c, 'cat a.dat && echo b > b.dat']}}\n"
                   "files:\n  - {path: a.dat, writer: a, readers: [b]}\n  - {path: b.dat, writer: b, readers: [a]}\n")


def false_cycles():
    with open("program.c", "w") as source:
        source.write(PROGRAM)
    subprocess.run(["cc", "-O1", "-Wall", "-pthread", "-o", "program", "program.c"], check=True)
    processes = []
    for way in ("poll", "ppoll", "epoll", "nested", "read", "sleep", "select", "signalfd", "sigwait", "alarm", "pipe", "child"):
        os.mkdir(way)
        os.chdir(way)
        write_flow(f"../program {way}")
        processes.append((way, harness.start(build + "/bin/sluice", "run", "flow.yaml")))
        os.chdir("..")
    failed = [way for way, process in processes if finish(process).status != 0]
    expect(not failed, "a process that would have gone on was given up: " + ", ".join(failed))


def true_cycle():
    write_flow("[sh, -c, 'cat b.dat && echo a > a.dat']")
    result = finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"))
    expect(result.status != 0 and "cycle" in result.all, "the cycle is found: " + result.all)


clear_directory()
globals()[case]()
