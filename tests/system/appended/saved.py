#!/usr/bin/python3
"""saved.py BUILD CASE: what fsync saves of files by the C library under a rule with 'through: burst-buffer'."""
import glob
import os
import random
import signal
import sys
import time

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import expect, finish, text, wait_for

build, case = sys.argv[1:3]
sluice = build + "/bin/sluice"
PYTHON = "/usr/bin/python3"


def write_flow(writer, reader="open('a.dat').close()", more="", staging=""):
    os.makedirs("logs", exist_ok=True)
    for name, lines in (("writer.py", writer), ("reader.py", reader)):
        with open(name, "w") as file:
            file.write(lines)
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join([
            "version: 1", "name: test", f"staging: {{prewarm: 0, spill: logs{staging}}}", "components:", f"  writer: {{command: {PYTHON} writer.py}}", f"  reader: {{command: {PYTHON} reader.py}}", "files:",
            f'  - {{path: "*.dat", writer: writer, readers: [reader], through: burst-buffer{more}}}'
        ]) + "\n")


def start(*options):
    return harness.start(sluice, "run", "--log-dir", "log", *options, "flow.yaml")


def contents(path):
    with open(path, "rb") as file:
        return file.read()


GROWING = """
import os, time
record = os.urandom(1 << 20)
with open('a.dat', 'wb', 0) as file:
    for i in range(16):
        file.write(record)
        os.pwrite(file.fileno(), b'%04d' % i, 0)
        os.fsync(file.fileno())
    open('synced', 'w')
    time.sleep(60)
"""


def written_by_matchers(run):
    """Bytes, by system calls."""
    written = 0
    for pid in harness.descendants_named("sluice-matcher", run.pid):
        with open(f"/proc/{pid}/io") as facts:
            written += int(dict(line.split(": ") for line in facts)["wchar"])
    return written


def a_sync_writes_what_has_changed():
    """Syncs of a file that grows write what was added and changed to the disk, and no longer the whole file each time."""
    for more in "", ", publish: sync":
        harness.clear_directory()
        write_flow(GROWING, more=more)
        run = start()
        wait_for(lambda: os.path.exists("synced"), "the syncs")
        written, saved = written_by_matchers(run), sum(map(os.path.getsize, glob.glob("logs/*.sluice-saved")))
        harness.kill_run(run)
        expect(more or 16 << 20 < written < 20 << 20, f"written: {written}")  # steps become files besides
        expect(16 << 20 < saved < 20 << 20 and glob.glob("logs/*.1.sluice-saved"), f"saved{more}: {saved} in {os.listdir('logs')}")
        finish(harness.start(sluice, "recover", "logs"), 0)
        expect(os.path.getsize("a.dat") == 16 << 20 and contents("a.dat")[:4] == b"0015", "the file")


def a_sync_without_a_change_keeps_what_was_saved():
    """With `publish: sync`, a sync of an unchanged file makes no step, and leaves what was saved of the one before."""
    write_flow(GROWING.replace("    open(", "        os.fsync(file.fileno())\n    open(", 1), more=", publish: sync")
    run = start()
    wait_for(lambda: os.path.exists("synced"), "the syncs")
    harness.kill_run(run)
    finish(harness.start(sluice, "recover", "logs"), 0)
    expect(os.path.getsize("a.dat") == 16 << 20 and contents("a.dat")[:4] == b"0015", "the file")


# Random changes of a file, each of them followed by a sync. The test repeats them, and knows what the file was.
CHANGES = """
import mmap, os, random
def change(file, dice):
    size = os.fstat(file.fileno()).st_size
    for _ in range(dice.randint(1, 4)):
        how = dice.choice(['append', 'append', 'over', 'cut', 'hole', 'map'])
        data = bytes([dice.randrange(256)]) * dice.randint(1, 200000)
        if how == 'append': os.pwrite(file.fileno(), data, size)
        if how == 'over': os.pwrite(file.fileno(), data, dice.randrange(size + 1))
        if how == 'cut': os.ftruncate(file.fileno(), dice.randrange(size + 1))
        if how == 'hole': os.ftruncate(file.fileno(), size + len(data))
        size = os.fstat(file.fileno()).st_size
        if how == 'map' and size > 0:
            with mmap.mmap(file.fileno(), size) as memory:
                at = dice.randrange(size)
                memory[at:at + len(data)] = data[:size - at]
"""
CHANGING = CHANGES + """
import signal
dice = random.Random(int(open('seed').read()))
with open('a.dat', 'w+b', 0) as file, open('known', 'ab', 0) as known:
    for i in range(100000):
        change(file, dice)
        os.fsync(file.fileno())
        known.write(b'x')
"""


def what_was_synced_last_survives_kills():
    """Whoever is killed at whatever moment: 'sluice recover' makes the file as it was at its last fsync, or at the one that was under way, whatever was changed before."""
    exec(CHANGES, globals())
    dice = random.Random(harness.test_seed())
    for victim in "writer", "matcher", "all", "all", "matcher", "writer":
        harness.clear_directory()
        with open("seed", "w") as file:
            file.write(str(dice.randrange(1 << 30)))
        more = dice.choice(["", "", ", publish: sync"])
        write_flow(CHANGING, more=more, staging=f", matchers: {dice.choice([1, 2])}")
        run = start()
        wait_for(lambda: os.path.exists("known") and os.path.getsize("known") > 3, "the syncs")
        time.sleep(dice.random())
        everybody = [*harness.descendants(run.pid), run.pid]
        victims = {"writer": [pid for pid, _, words in harness.processes_of(PYTHON) if "writer.py" in words], "matcher": harness.descendants_named("sluice-matcher", run.pid)[:1], "all": everybody}[victim]
        expect(victims, "nobody to kill")
        harness.kill(victims, signal.SIGKILL)
        finish(run)
        wait_for(lambda: not any(map(harness.is_alive, everybody)), "the end of all processes")
        finish(harness.start(sluice, "recover", "logs"), 0)
        known, found = os.path.getsize("known"), contents("a.dat")
        changes = random.Random(int(text("seed")))
        with open("wanted", "w+b", 0) as wanted:
            for _ in range(known):
                change(wanted, changes)
            is_last = contents("wanted") == found
            change(wanted, changes)
            expect(is_last or contents("wanted") == found, f"{victim}{more}: not as at sync {known}, nor as at the next one")
        print(f"{victim}{more}: after sync {known}{'' if is_last else ' and the next one'}", flush=True)


DYING = """
import os, signal, sys, time
is_first = not os.path.exists('again')
with open('a.dat', 'w+b' if is_first else 'r+b', 0) as file:
    file.seek(0, 2)
    if is_first:
        file.write(b'one ')
        os.fsync(file.fileno())
        file.write(b'two ')
        os.fsync(file.fileno())
        file.write(b'three ')
        open('synced', 'w')
        time.sleep(60)
    file.write(b'four')
"""


def kill_after_syncs():
    write_flow(DYING, "open('got', 'w').write(open('a.dat').read())")
    run = start()
    wait_for(lambda: os.path.exists("synced"), "the syncs")
    harness.kill_run(run)
    harness.allow("again")


def a_run_that_is_resumed_goes_on_from_the_last_sync():
    """`sluice run --resume` puts what was saved where the file was, and says so; the program goes on in it."""
    kill_after_syncs()
    told = finish(start("--resume"), 0).all
    expect("there as at the last fsync: 'a.dat'" in told, "it is not told")
    expect(text("got") == text("a.dat") == "one two four", f"read: {text('got')}")
    expect(not glob.glob("logs/*.sluice-saved"), "what was saved is left")


def a_run_that_is_resumed_leaves_a_file_that_is_there():
    """Where there is a file at the path, `sluice run --resume` leaves it and what was saved, and says what to do."""
    kill_after_syncs()
    with open("a.dat", "w") as file:
        file.write("zero ")
    told = finish(start("--resume"), 0).all
    expect("not taken, because there is a file: 'a.dat'" in told and "sluice recover" in told, "it is not told")
    expect(text("got") == "zero four", f"read: {text('got')}")
    expect(len(glob.glob("logs/*.sluice-saved")) == 1, "what was saved has gone")


harness.clear_directory()
globals()[case]()
