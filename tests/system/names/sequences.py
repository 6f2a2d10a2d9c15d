#!/usr/bin/python3
"""sequences.py BUILD MATCHERS [CASE]: sequences of calls by two processes, which are clients of different matchers where there are two, or on two nodes, on disk and coupled: each result has to be the same."""
import os
import sys

sys.path.append(sys.path[0])
import differential
from harness import clear_directory, expect

build, matchers, only = sys.argv[1], sys.argv[2], sys.argv[3:]
os.environ["SLUICE_TEST_MATCHERS"] = matchers

WORKER = """
import errno, os, stat, subprocess, sys
opened = {}
def open_to(slot, name, how): opened[slot] = open(name, how + 'b', buffering=0)
def write(slot, text): return opened[slot].write(text.encode())
def close(slot): opened.pop(slot).close()
def names(name): return os.stat(name).st_nlink
def names_of(slot): return os.fstat(opened[slot].fileno()).st_nlink
def store(name, text):
    with open(name, 'w') as file: file.write(text)
def show(name):
    with open(name) as file: return file.read()
def facts(name):
    found = os.stat(name)
    return stat.filemode(found.st_mode), found.st_size, found.st_uid, found.st_gid
def shell(command):
    done = subprocess.run(['sh', '-c', command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.returncode, done.stdout
def listing(name): return sorted(each for each in os.listdir(name) if not each.startswith('.') and not each.endswith(('.sh', '.py', '.out')))
"""
NAMES = ["a.dat", "b.dat", "c.dat", "d/a.dat", "e/a.dat", "out/x"]

# Sentence: the keys of the rules, and the calls: the number of the process, what it does, and with what.
CASES = {
    "a file that another process has open is renamed": ("", [
        (0, "open_to", 0, "a.dat", "w"), (0, "write", 0, "one "), (1, "rename", "a.dat", "b.dat"), (0, "write", 0, "two"), (1, "listing", "."), (0, "listing", "."), (0, "names_of", 0),
        (0, "close", 0), (0, "show", "b.dat"), (1, "show", "b.dat"), (0, "facts", "a.dat"), (1, "facts", "a.dat"), (0, "listing", "."), (1, "listing", ".")]),
    "a file that another process has open is renamed to a name that is there": ("", [
        (0, "store", "b.dat", "old"), (1, "show", "b.dat"), (0, "open_to", 0, "a.dat", "w"), (0, "write", 0, "new"), (1, "rename", "a.dat", "b.dat"), (0, "close", 0), (1, "show", "b.dat"),
        (0, "show", "b.dat"), (1, "store", "a.dat", "again"), (0, "show", "a.dat"), (0, "show", "b.dat")]),
    "an empty file is renamed by another process": ("", [
        (0, "store", "a.dat", ""), (1, "rename", "a.dat", "b.dat"), (0, "show", "b.dat"), (0, "facts", "b.dat"), (1, "show", "b.dat")]),
    "a name that is not there is not renamed": ("", [
        (0, "store", "b.dat", "b"), (1, "rename", "a.dat", "b.dat"), (1, "link", "a.dat", "b.dat"), (1, "link", "a.dat", "c.dat"), (0, "show", "b.dat"), (1, "show", "b.dat"), (1, "open_to", 0, "c.dat", "w"), (0, "rename", "a.dat", "c.dat"), (1, "write", 0, "c"),
        (1, "close", 0), (0, "show", "c.dat"), (1, "show", "c.dat")]),
    "a file that another process has open is removed": ("", [
        (0, "open_to", 0, "a.dat", "w"), (0, "write", 0, "gone"), (1, "unlink", "a.dat"), (1, "unlink", "a.dat"), (0, "write", 0, ", too"), (0, "names_of", 0), (1, "listing", "."), (0, "facts", "a.dat"),
        (0, "close", 0), (0, "facts", "a.dat"), (1, "facts", "a.dat"), (1, "store", "a.dat", "anew"), (0, "show", "a.dat"), (0, "unlink", "a.dat"), (1, "facts", "a.dat")]),
    "logs are rotated by another process": ("", [
        (0, "open_to", 0, "a.dat", "a"), (0, "write", 0, "1"), (1, "rename", "a.dat", "b.dat"), (0, "write", 0, "2"), (0, "open_to", 1, "a.dat", "a"), (0, "close", 0), (0, "write", 1, "3"),
        (1, "show", "b.dat"), (0, "close", 1), (1, "show", "a.dat"), (1, "rename", "b.dat", "c.dat"), (0, "show", "c.dat"), (0, "listing", ".")]),
    "a file moves between directories, and only its name identifies it": (", identity: name", [
        (0, "mkdir", "d"), (0, "store", "d/a.dat", "1"), (1, "rename", "d/a.dat", "a.dat"), (0, "show", "a.dat"), (1, "listing", "."),
        (0, "rename", "a.dat", "d/a.dat"), (1, "rename", "d", "e"), (0, "show", "e/a.dat"), (1, "listing", "e"), (0, "unlink", "e/a.dat"), (1, "rmdir", "e"), (1, "store", "a.dat", "2"), (0, "show", "a.dat")]),
    "a file that is open moves, and only its name identifies it": (", identity: name", [
        (0, "mkdir", "d"), (0, "open_to", 0, "d/a.dat", "w"), (0, "write", 0, "1"), (0, "listing", "d"), (0, "rename", "d/a.dat", "a.dat"), (0, "write", 0, "2"), (0, "listing", "."), (0, "listing", "d"),
        (0, "close", 0), (0, "show", "a.dat"), (1, "show", "a.dat"), (0, "open_to", 0, "b.dat", "w"), (1, "listing", "."), (0, "unlink", "b.dat"), (0, "close", 0), (0, "store", "d/b.dat", "3"),
        (1, "show", "d/b.dat"), (1, "rename", "d/b.dat", "c.dat"), (0, "show", "c.dat"), (0, "listing", "d")]),
    "a file that another process has open is looked at": ("", [
        (0, "open_to", 0, "a.dat", "w"), (0, "write", 0, "one"), (1, "facts", "a.dat"), (1, "show", "a.dat"), (1, "access", "a.dat", 0), (1, "listing", "."), (1, "open_to", 0, "a.dat", "x"),
        (0, "write", 0, ", two"), (1, "facts", "a.dat"), (1, "show", "a.dat"), (1, "shell", "ls *.dat; cat a.dat"), (0, "close", 0), (1, "show", "a.dat"), (1, "open_to", 0, "a.dat", "x")]),
    "a file that another process has open gets one more name": ("", [
        (0, "open_to", 0, "a.dat", "w"), (0, "write", 0, "one"), (1, "link", "a.dat", "b.dat"), (1, "show", "b.dat"), (1, "names", "b.dat"), (0, "names", "a.dat"), (0, "names_of", 0), (0, "write", 0, ", two"),
        (1, "link", "a.dat", "b.dat"), (1, "unlink", "a.dat"), (0, "names_of", 0), (0, "close", 0), (0, "show", "b.dat"), (1, "show", "b.dat"), (1, "names", "b.dat"), (0, "facts", "a.dat")]),
    "another process writes in a file that is open": ("", [
        (0, "open_to", 0, "a.dat", "w"), (0, "write", 0, "one"), (1, "open_to", 0, "a.dat", "a"), (1, "write", 0, ", two"), (0, "close", 0), (0, "show", "a.dat"), (1, "write", 0, ", three"), (0, "show", "a.dat"),
        (1, "close", 0), (0, "show", "a.dat"), (1, "truncate", "a.dat", 3), (0, "show", "a.dat"), (0, "open_to", 0, "a.dat", "r+"), (1, "truncate", "a.dat", 1), (0, "write", 0, "T"), (0, "close", 0),
        (1, "show", "a.dat")]),
    "a file that is open takes the place of one that is there": ("", [
        (0, "store", "b.dat", "old"), (1, "show", "b.dat"), (0, "open_to", 0, "a.dat", "w"), (0, "write", 0, "new"), (0, "rename", "a.dat", "b.dat"), (1, "show", "b.dat"), (1, "facts", "b.dat"), (1, "listing", "."),
        (0, "write", 0, "er"), (1, "show", "b.dat"), (1, "rename", "b.dat", "c.dat"), (0, "write", 0, "!"), (0, "close", 0), (0, "show", "c.dat"), (1, "show", "c.dat"), (1, "facts", "b.dat")]),
    "a file takes the place of one that another process has open": ("", [
        (0, "open_to", 0, "b.dat", "w"), (0, "write", 0, "lost"), (1, "store", "a.dat", "new"), (1, "rename", "a.dat", "b.dat"), (0, "write", 0, ", too"), (0, "show", "b.dat"), (0, "names_of", 0), (1, "show", "b.dat"),
        (0, "close", 0), (0, "show", "b.dat"), (1, "show", "b.dat"), (1, "listing", ".")]),
    "an open file takes the place of one that another process has open": ("", [
        (0, "open_to", 0, "b.dat", "w"), (0, "write", 0, "lost"), (1, "open_to", 0, "c.dat", "w"), (1, "write", 0, "third"), (1, "rename", "c.dat", "b.dat"), (0, "show", "b.dat"), (0, "close", 0), (1, "close", 0),
        (0, "show", "b.dat"), (1, "show", "b.dat")]),
    "a file that another process has open leaves the run": ("", [
        (0, "open_to", 0, "a.dat", "w"), (0, "write", 0, "one"), (1, "rename", "a.dat", "a.txt"), (1, "show", "a.txt"), (0, "facts", "a.dat"), (0, "write", 0, ", two"), (0, "close", 0), (1, "show", "a.txt"),
        (0, "listing", ".")]),
    "permissions and numbers of names": ("", [
        (0, "store", "a.dat", "one"), (0, "chmod", "a.dat", 0o640), (1, "facts", "a.dat"), (0, "link", "a.dat", "b.dat"), (1, "names", "a.dat"), (1, "chmod", "b.dat", 0o604), (0, "facts", "a.dat"), (0, "names", "b.dat"),
        (1, "unlink", "a.dat"), (0, "names", "b.dat"), (1, "facts", "b.dat"), (0, "open_to", 0, "b.dat", "a"), (0, "write", 0, "."), (1, "chmod", "b.dat", 0o600), (1, "facts", "b.dat"), (0, "close", 0),
        (1, "facts", "b.dat"), (1, "show", "b.dat")]),
    "what a link has led to is removed": ("", [
        (0, "store", "x.txt", "1"), (0, "symlink", "x.txt", "l.dat"), (0, "show", "l.dat"), (0, "unlink", "x.txt"), (0, "listing", "."), (1, "listing", "."), (0, "facts", "x.txt"), (1, "rmdir", "x.txt"),
        (1, "show", "l.dat"), (0, "shell", "find . -name 'x.*'"), (1, "mkdir", "x.txt"), (0, "rename", "x.txt", "y.txt"), (0, "listing", ".")]),
    "a directory with files in place is renamed": (", through: file", [
        (0, "mkdir", "d"), (0, "store", "d/a.dat", "1"), (0, "rename", "d", "e"), (1, "show", "e/a.dat"), (0, "show", "d/a.dat"), (1, "listing", "."), (1, "mkdir", "d"), (0, "listing", "d"), (0, "listing", "e")]),
    "a file leaves the run, and is published at the end": (", publish: exit", [
        (0, "store", "a.dat", "1"), (0, "rename", "a.dat", "a.txt"), (0, "show", "a.txt"), (0, "store", "b.dat", "2"), (0, "shell", "sed -i.bak s/2/3/ b.dat"), (0, "show", "b.dat"), (0, "show", "b.dat.bak"),
        (0, "listing", ".")]),
}

# What docs/design/names-and-places.md says is missing on other nodes.
MISSING_ON_NODES = ["another process writes in a file that is open", "a file that another process has open leaves the run", "permissions and numbers of names"]
if "SLUICE_VIRTUAL_NODES" in os.environ:
    CASES = {name: case for name, case in CASES.items() if name not in MISSING_ON_NODES}

clear_directory()
failed = []
for number, (name, (keys, calls)) in enumerate(CASES.items()):
    if only and not all(word in name for word in only):
        continue
    differential.KEYS = [keys]
    each = [(process, (function, tuple(arguments))) for process, function, *arguments in calls]
    names = NAMES[:3] if "identity" in keys else NAMES  # by its name, a file is found in each directory
    if not differential.compare(build, number, 0, WORKER, lambda seed: (each, names), status=0):
        failed.append(name)
expect(not failed, f"{len(failed)} of {len(CASES)} cases: " + "; ".join(failed))
