#!/usr/bin/python3
"""costs.py BUILD PROGRAM CASE: costs that must not grow with the number of files or steps. PROGRAM is
couple.c, append_many.c for cases that append, or open_many.c for open_at_once."""
import glob
import itertools
import os
import re
import struct
import sys
import time

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, descendants_named, expect, finish

build, program, case = sys.argv[1:4]
LOGGED = 800  # steps: more than the descriptors of a process


def open_files(pid):
    """The number of descriptors of a process; 0 when it has ended."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def mappings(pid):
    try:
        with open(f"/proc/{pid}/maps") as lines:
            return sum(1 for _ in lines)
    except OSError:
        return 0


def descriptors(*keys):
    """Eight processes write 200 files before any is read. No process may have more than 256 descriptors."""
    harness.write_flow(program, {"model": (8, "repeat 200 write a%d.nc 100"), "analysis": (1, "read a199.nc 100 repeat 200 read a%d.nc 100")}, [("*.nc", "model", ["analysis"], *keys)])
    process = harness.start("sh", "-c", f"ulimit -n 256; exec {build}/bin/sluice run flow.yaml")
    most = {"sluice-matcher": [0, 0], os.path.basename(program): [0, 0]}
    while process.poll() is None:
        for name, counts in most.items():
            for pid in descendants_named(name, process.pid):
                counts[:] = max(counts[0], open_files(pid)), max(counts[1], mappings(pid))
        time.sleep(0.1)  # between two looks
    finish(process, 0)
    print(most)
    expect(0 < most["sluice-matcher"][0] < 100, "descriptors of the matcher: " + str(most))
    expect(most["sluice-matcher"][1] < 400 and most[os.path.basename(program)][1] < 1200, "mappings: " + str(most))


def logged_descriptors():
    descriptors("through: burst-buffer")


def open_at_once():
    """A process has 3000 small files open at once, more than PnetCDF allows. Each takes 12 KiB: a control block,
    a chunk of the request table, and a data segment."""
    harness.write_flow(program, {"writer": (1, "write 3000"), "reader": (1, "read 3000")}, [("many_*.nc", "writer", ["reader"])], "memory: 48MiB")
    output = finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), 0).all
    expect(not re.search(r"[1-9][\d.]* .iB spilled", output), "it did not stay in memory")


def append(steps, same, writers, readers, *keys):
    harness.write_flow(program, {"writer": (writers, f"write {steps} {same}"), "reader": (readers, f"read {steps}")}, [("history.nc", "writer", ["reader"], *keys)], "memory: 16MiB")
    output = finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), 0).all
    expect(not re.search(r"[1-9][\d.]* .iB spilled", output), "it did not stay in memory")


def logged_append():
    """The steps of one group go on in its logs: names, mappings and descriptors do not grow with them."""
    keys = {"writer": (1, f"write {LOGGED} {LOGGED}"), "reader": (2, f"read {LOGGED}")}
    harness.write_flow(program, keys, [("history.nc", "writer", ["reader"], "through: burst-buffer")])
    run = harness.start("sh", "-c", f"ulimit -n 256; exec {build}/bin/sluice run flow.yaml")
    most_names, counts = 0, []
    for look in itertools.count():
        if run.poll() is not None:
            break
        most_names = max(most_names, len(glob.glob("history.nc_*")))
        if look % 20 == 0:  # this look takes longer, and the writer needs half a second
            counts.append(sum(mappings(pid) for pid in descendants_named(os.path.basename(program), run.pid)))
        time.sleep(0.005)  # between two looks
    finish(run, 0)
    print(most_names, max(counts))
    expect(0 < most_names <= 5, f"{most_names} files of logs")
    expect(max(counts) < 1700, f"{max(counts)} mappings")
    with open("history.nc", "rb") as file:
        records, = struct.unpack(">i", file.read()[4:8])
    expect(records == LOGGED, f"{records} records in the file")


def same_group():
    """2000 steps add 250 KiB of data. Earlier each step took 128 KiB more for each process."""
    append(2000, 2000, 2, 2)


def other_groups():
    append(600, 40, 3, 2)


def kept():
    append(600, 600, 2, 1, "keep: true")
    with open("history.nc", "rb") as file:
        contents = file.read()
    records, = struct.unpack(">i", contents[4:8])
    expect(records == 600, f"{records} records in the file")
    values = struct.unpack(f">{600 * 16}d", contents[-600 * 128:])
    expect(all(values[i] == i // 16 * 100 + i % 16 for i in range(600 * 16)), "other values in the file")


clear_directory()
globals()[case]()
