#!/usr/bin/python3
"""random_names.py BUILD RUNS: random calls on names and descriptors by several processes, one after the other, on disk and coupled: each result, listing, fact and byte
has to be the same, and so has what a reader finds at the end. Not compared are numbers of names, and what is on disk of a file of the run that somebody has open."""
import os
import random
import sys

sys.path.append(sys.path[0])
import differential
from harness import clear_directory, expect, test_seed

build, runs = sys.argv[1], int(sys.argv[2])
PROCESSES, CALLS = 3, 120

# Carries out what it is told, a line each, and answers with a line.
WORKER = """
import ctypes, errno, os, stat, sys
libc = ctypes.CDLL(None, use_errno=True)
opened = {}
def rename2(old, new, flags):
    if libc.renameat2(-100, old.encode(), -100, new.encode(), flags) != 0: raise OSError(ctypes.get_errno(), '')
def show(name):
    with open(name, 'rb') as file: return file.read()
def facts(name, follow=True):
    found = os.stat(name, follow_symlinks=follow)
    return stat.filemode(found.st_mode), found.st_size if stat.S_ISREG(found.st_mode) else 0
def start(slot, name, flags): opened[slot] = os.open(name, flags, 0o644)
def write(slot, data): return os.write(opened[slot], data)
def size(slot, length): return os.ftruncate(opened[slot], length)
def own(slot): return os.fstat(opened[slot]).st_size
def end(slot): os.close(opened.pop(slot))
def twice(slot, other): opened[other] = os.dup(opened[slot])
def times(name): os.utime(name, (10 ** 9, 10 ** 9)); return os.stat(name).st_mtime
def listing(name): return sorted(each for each in os.listdir(name) if not each.startswith('.') and not each.endswith(('.sh', '.py', '.out')))
def tree():
    return [(directory, sorted(below), sorted(listing(directory))) for directory, below, files in os.walk('.') if '/.' not in directory]
"""


def calls_of(seed):
    """The sequence. It follows which descriptors each process has, and nothing else."""
    chance = random.Random(seed)
    makes_directories = seed % 2 == 0  # a file of the run and a directory cannot be exchanged
    covered = ["a.dat", "b.dat", "c.dat", "d/a.dat", "d/b.dat", "e/a.dat", "out/x", "out/y"]
    others = ["x.txt", "y.txt", "d/x.txt", "e/z.txt"]
    directories = ["d", "e", "out", "f"]
    calls = [(0, ("mkdir", (name,))) for name in directories[:3]]
    slots = [{} for _ in range(PROCESSES)]
    for _ in range(CALLS):
        process = chance.randrange(PROCESSES)
        own = slots[process]
        is_open = any(slots)
        name, other = chance.choice(covered + others), chance.choice(covered + others)
        kind = chance.randrange(100)
        if kind < 22 and len(own) < 3:
            slot = max(own, default=0) + 1
            flags = chance.choice([os.O_WRONLY, os.O_RDWR, os.O_WRONLY]) | chance.choice([os.O_CREAT, os.O_CREAT | os.O_TRUNC, os.O_CREAT | os.O_APPEND, os.O_CREAT | os.O_EXCL, os.O_TRUNC, 0])
            calls += [(process, ("start", (slot, name, flags)))]
            own[slot] = name  # whether it succeeds or not
        elif kind < 40 and own:
            calls.append((process, ("write", (chance.choice(list(own)), bytes([97 + chance.randrange(26)]) * chance.randrange(1, 9)))))
        elif kind < 50 and own:
            slot = chance.choice(list(own))
            calls.append((process, ("end", (slot,))))
            own.pop(slot)
        elif kind < 53 and own:
            calls.append((process, chance.choice([("size", (chance.choice(list(own)), chance.randrange(20))), ("own", (chance.choice(list(own)),))])))
        elif kind < 66:
            if is_open and (name in covered) != (other in covered):
                continue  # what is on disk of an open file
            call = chance.choice([("rename", (name, other)), ("rename", (name, other)), ("rename2", (name, other, chance.choice([0, 1]))), ("link", (name, other))])
            if call[0] == "link" and (name in covered) != (other in covered):
                continue
            calls.append((process, call))
        elif kind < 69 and (name in covered) == (other in covered) and not makes_directories:
            calls.append((process, ("rename2", (name, other, 2))))
        elif kind < 73:
            directory, target = chance.choice(directories), chance.choice(directories)
            if not is_open:
                calls.append((process, chance.choice([("rename", (directory, target)), ("rmdir", (directory,)), ("mkdir", (directory,))])))
        elif kind < 78:
            calls.append((process, ("unlink", (name,))))
        elif kind < 81:
            calls.append((process, chance.choice([("mkdir" if makes_directories else "rmdir", (name,)), ("rmdir", (name,)), ("mkfifo", (chance.choice(covered[:3]) + ".none/x",))])))
        elif kind < 84:
            calls.append((process, chance.choice([("truncate", (name, chance.randrange(9))), ("chmod", (name, chance.choice([0o600, 0o640, 0o755]))), ("times", (name,))])))
        elif kind < 92:
            calls.append((process, chance.choice([("facts", (name,)), ("access", (name, os.F_OK)), ("show", (name,)), ("facts", (name, False))])))
        else:
            calls.append((process, chance.choice([("tree", ()), ("listing", (chance.choice(directories),))])))
    for process, own in enumerate(slots):
        calls += [(process, ("end", (slot,))) for slot in own]
    return calls + [(0, ("tree", ()))], covered + others


clear_directory()
first = test_seed(1)
failed = [seed for number, seed in enumerate(range(first, first + runs)) if not differential.compare(build, number, seed, WORKER, calls_of)]
expect(not failed, f"{len(failed)} of {runs} sequences differ; their seeds: {failed}")
