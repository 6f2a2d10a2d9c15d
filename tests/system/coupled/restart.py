#!/usr/bin/python3
"""restart.py BUILD PROGRAM CASE NO_RUN_LOCKS: files from before the run, under `sluice run`, with PROGRAM (restart.c) in the working directory. NO_RUN_LOCKS is the library of no_run_locks.c."""
import glob
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect, launch, write_flow

build, program, case, no_run_locks = sys.argv[1:5]
KINDS = {"memory": [], "kept": ["keep: true"], "logs": ["through: burst-buffer"], "file": ["through: file"], "written": ["publish: write"]}
ON_DISK = {"kept", "logs", "file"}


def run(components, keys, *rules, status=0, environment=None):
    write_flow(program, components, [("r*.nc", "model", ["viewer"], *keys), *rules])
    return call(build + "/bin/sluice", "run", "flow.yaml", status=status, environment=environment)


def outside(commands):
    launch(2, program, *commands.split(), status=0)


def each_kind():
    """A file of 3 records from an earlier run, for each kind of rule."""
    for kind, keys in KINDS.items():
        clear_directory()
        outside("make r.nc 3")
        yield kind, keys


def read():
    """The writer reads the old file; a mere reader never gets it."""
    for _, keys in each_kind():
        run({"model": (2, "format r.nc 2 check r.nc 3 missing r-none.nc 0 missing r-none.nc 1"), "viewer": (2, "missing r.nc 0")}, keys)
        outside("check r.nc 3")


def go_on():
    """The writer adds records. Readers get all records, and so does the file, if one is kept."""
    for kind, keys in each_kind():
        run({"model": (3, "check r.nc 3 append r.nc 3 check r.nc 4 append r.nc 4 redefine r.nc 5 full r.nc 6"), "viewer": (2, "follow r.nc 6" if kind == "written" else "until r.nc 6")}, keys)
        outside("full r.nc 6" if kind in ON_DISK else "check r.nc 3")
        expect(sorted(glob.glob("r*")) == ["r.nc"], f"files that are left: {glob.glob('r*')}")


def alone():
    """Processes that continue the file separately lose no data of each other."""
    for kind, keys in each_kind():
        if kind == "file":
            continue  # they write to one file at the same time, as without a run
        # the readers wait for a file that is visible only when it is closed, whatever r.nc's rule says
        run({"model": (4, "alone r.nc 3 check r.nc 7 make go.nc 1"), "viewer": (2, "check go.nc 1 check r.nc 7")}, keys, ("go.nc", "model", ["viewer"]))
        outside("check r.nc 7" if kind in ON_DISK else "check r.nc 3")


def in_turn():
    """A process that is late finds the logs of others that have closed theirs: they are of its own run, even if the matcher has not locked them yet."""
    outside("make r.nc 3")
    run({"model": (4, "in_turn r.nc 3 check r.nc 7 make go.nc 1"), "viewer": (2, "check go.nc 1 check r.nc 7")}, KINDS["logs"], ("go.nc", "model", ["viewer"]), environment={"LD_PRELOAD": no_run_locks})
    outside("check r.nc 7")


clear_directory()
globals()[case]()
print("as expected")
