#!/usr/bin/python3
"""harness_test.py: what the tests take for the end of a process."""
import ctypes
import fcntl
import os
import threading

from harness import clear_directory, expect, is_alive, wait_for


def first_thread_state(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]


def is_locked():
    with open("lock") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def hold_lock(until):
    """A process whose first thread ends, while another one holds a lock."""
    lock = open("lock", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    threading.Thread(target=lambda: os.read(until, 1)).start()
    ctypes.CDLL(None).pthread_exit(None)


clear_directory()
until, end = os.pipe()
child = os.fork()
if child == 0:
    os.close(end)
    hold_lock(until)
wait_for(lambda: first_thread_state(child) == "Z", "the end of the first thread")
expect(is_locked(), "no thread holds the lock")
expect(is_alive(child), "a process counts as ended that holds a lock")
os.write(end, b" ")
wait_for(lambda: not is_alive(child), "the end of the process")
expect(not is_locked(), "a process that has ended holds a lock")
os.waitpid(child, 0)
expect(not is_alive(child), "a process that does not exist is alive")
print("as expected")
