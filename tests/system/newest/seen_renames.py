#!/usr/bin/python3
"""seen_renames.py BUILD CASE: who has been told that a file was renamed, linked or removed, and has another matcher, sees it at once: never what had the name before.
CASE: what the one that is told does: open, stat, list; of the writer's component, or a reader."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect

build, case = sys.argv[1:3]
TIMES = 60

# The one process changes names, the other one is told so through a pipe, looks, and tells what it has seen. `kind`: of change, {number: name: what has to be seen there}.
WORKER = """
import os, sys
role, times = sys.argv[1], int(sys.argv[2])
def store(name, text):
    with open(name, 'w') as file: file.write(text)
def swap(number):
    store('s%d.dat' % number, 'a')
    store('t%d.dat' % number, 'bb')
    import ctypes
    ctypes.CDLL(None).renameat2(-100, b's%d.dat' % number, -100, b't%d.dat' % number, 2)
def linked(number):
    store('l.tmp.dat', 'x' * (number % 50 + 1))
    if os.path.exists('l.dat'): os.unlink('l.dat')
    os.link('l.tmp.dat', 'l.dat')
    os.unlink('l.tmp.dat')
def moved_open(number):
    file = open('m.tmp.dat', 'w')
    file.write('x' * (number % 50 + 1))
    os.rename('m.tmp.dat', 'm.dat')
    file.close()
def renamed(number):
    store('r.tmp.dat', 'x' * (number % 50 + 1))
    os.rename('r.tmp.dat', 'r.dat')
def from_disk(number):
    store('d.tmp', 'x' * (number % 50 + 1))
    os.rename('d.tmp', 'd.dat')
def fresh(number):
    store('f.tmp.dat', 'x' * (number % 50 + 1))
    os.rename('f.tmp.dat', 'many/f%d.dat' % number)
def removed(number):
    store('many/g%d.dat' % number, 'x')
    os.unlink('many/g%d.dat' % number)
CHANGES = {'renamed': (renamed, 'r.dat', None), 'linked': (linked, 'l.dat', None), 'moved_open': (moved_open, 'm.dat', None), 'from_disk': (from_disk, 'd.dat', None), 'fresh': (fresh, 'many/f%d.dat', None),
           'removed': (removed, 'many/g%d.dat', 'none'), 'swap_first': (swap, 's%d.dat', 2), 'swap_second': (swap, 't%d.dat', 1)}
def look(how, name):
    if how == 'open':
        try:
            with open(name) as file: return len(file.read())
        except FileNotFoundError: return 'none'
    if how == 'stat':
        try: return os.stat(name).st_size
        except FileNotFoundError: return 'none'
    directory, name = os.path.split(name)
    return 1 if name in os.listdir(directory or '.') else 'none'
there, back = open('there', 'r+b', buffering=0), open('back', 'r+b', buffering=0)
if sys.argv[3] == 'reader': del CHANGES['removed']  # it would wait: the file may still come
for kind, (change, name, wanted) in CHANGES.items():
    for how in ('open', 'stat', 'list'):
        old = []
        for number in range(times):
            path = name % number if '%' in name else name
            if role == 'one':
                change(number)
                there.write(b'x')
                back.read(1)
                if how != 'list' and '%' in path and os.path.exists(path): os.unlink(path)
            else:
                there.read(1)
                expected = wanted if wanted else number % 50 + 1
                if how == 'list' and expected != 'none': expected = 1
                seen = look(how, path)
                if seen != expected: old.append((number, seen, expected))
                back.write(b'x')
        if role == 'other': print(kind, how, 'wrong %d of %d' % (len(old), times), old[:3], flush=True)
"""

clear_directory()
os.mkdir("many")
for name in ("there", "back"):
    os.mkfifo(name)
with open("worker.py", "w") as file:
    file.write(WORKER)
program = f"exec /usr/bin/python3 -B worker.py %s {TIMES} {case}"
looks = (program % "other") + " > out"
others = {"component": (looks, "true"), "reader": ("true", looks)}[case]
harness.script("writer.sh", f"if [ $OMPI_COMM_WORLD_RANK = 0 ]; then {program % 'one'}; fi\n{others[0]}")
harness.script("reader.sh", f"if [ $OMPI_COMM_WORLD_RANK = 0 ]; then exit; fi\n{others[1]}")
harness.write_flow("sh", {"writer": (2, "writer.sh"), "reader": (2, "reader.sh")}, [("*.dat", "writer", ["reader"])])
result = harness.call(build + "/bin/sluice", "run", "flow.yaml")
lines = harness.text("out").splitlines()
print("\n".join(lines))
expect(result.status == 0, f"status {result.status}")
expect(len(lines) == (24 if case == "component" else 21), "not all ways were tried")
wrong = [line for line in lines if " wrong 0 of " not in line]
expect(not wrong, "what had the name before was seen:\n" + "\n".join(wrong))
