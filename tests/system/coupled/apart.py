#!/usr/bin/python3
"""apart.py BUILD PROGRAM CASE: readers whose processes come one after another, or skip files, with little
memory. Unread data stays, on disk if necessary. Also waits that look like a cycle, and end. PROGRAM is
couple.c."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import allow, clear_directory, expect, finish, is_logged, wait_for_event

build, program, case = sys.argv[1:4]
MIB = 131072  # numbers in a MiB


def write_flow(components, rules, *staging):
    harness.write_flow("", components, rules, *staging)


def start(*options):
    return harness.start(build + "/bin/sluice", "run", *options, "flow.yaml")


def run(status=0, *options):
    return finish(start(*options), status).all


def shell(text):
    return f"sh -c '{text}'"


def each_for_itself():
    """The second process starts when the first has read everything."""
    write_flow({"model": (2, f"{program} repeat 8 write a%d.nc {5 * MIB}"), "analysis": (2, f"{program} alone repeat 8 whole a%d.nc {5 * MIB}")},
               [("*.nc", "model", ["analysis"])], "memory: 16MiB")
    expect("spilled to " + os.getcwd() in run(), "nothing was spilled beside the workflow file")
    expect(sorted(name for name in os.listdir(".") if name != "flow.yaml") == [".sluice"], "something is left")


def twice():
    """A script runs its reader twice, with ranks and without."""
    reads = f"{program} repeat 8 whole a%d.nc {5 * MIB}"
    write_flow({"model": (2, f"{program} repeat 8 write a%d.nc {5 * MIB}"), "analysis": (0, shell(f"{reads} && {reads}"))},
               [("*.nc", "model", ["analysis"])], "memory: 16MiB")
    run()


def left_out():
    """Of six files the reader reads the first and the last; the writer goes on."""
    for ranks in (1, 0):
        write_flow({"model": (2, f"{program} repeat 6 write f%d.nc {6 * MIB}"), "analysis": (ranks, f"{program} whole f0.nc {6 * MIB} whole f5.nc {6 * MIB}")},
                   [("*.nc", "model", ["analysis"])], "memory: 8MiB")
        run()


def goes_at_once():
    """A step that all ranks of the reader have closed is recycled before the next one. In lock-step, writer
    and reader need the memory of few steps, and no disk."""
    steps = range(16)
    write_flow({"model": (2, program + "".join(f" write a{i}.nc {MIB} read b{i}.nc 10" for i in steps)),
                "analysis": (2, program + "".join(f" read a{i}.nc {MIB} write b{i}.nc 10" for i in steps))},
               [("a*.nc", "model", ["analysis"]), ("b*.nc", "analysis", ["model"])], "memory: 8MiB")
    expect("spilled to" not in run(), "steps stay that nobody needs")


def no_disk():
    """Without a disk, a put fails when no process can free memory for it. The error says which component
    holds what."""
    write_flow({"model": (1, f"{program} write a.nc {6 * MIB} overflow b.nc {6 * MIB}"), "viewer": (1, f"{program} unwritten b.nc whole a.nc {6 * MIB}")},
               [("*.nc", "model", ["viewer"])], "memory: 8MiB", "spill: none")
    run()
    expect(is_logged("viewer has not read 'a.nc'; it waits for 'b.nc' from model"), "the log does not tell who holds the memory")
    expect(is_logged("staging.spill"), "no advice")


def end_of_suspicion():
    """An apparent cycle is reported; then the file comes."""
    process = start()
    wait_for_event(process, "this may be a cycle of waits")
    allow("told")
    expect("this may be a cycle of waits" in finish(process, 0).all, "it is in the event log alone")


def no_cycle():
    """Another process of the component later writes the awaited file. The wait is reported, and nothing
    fails."""
    write_flow({"model": (1, f"{program} read b.nc 10 write a.nc 10"), "analysis": (0, shell(f"{program} read a.nc 10 & (until test -e told; do sleep 0.05; done; {program} write b.nc 10) & wait"))},
               [("a.nc", "model", ["analysis"]), ("b.nc", "analysis", ["model"])])
    end_of_suspicion()


def thread():
    """Another thread writes it."""
    write_flow({"model": (1, f"{program} read b.nc 10 write a.nc 10"), "analysis": (1, f"{program} beside told b.nc 10 read a.nc 10")},
               [("a.nc", "model", ["analysis"]), ("b.nc", "analysis", ["model"])])
    end_of_suspicion()


def real_cycle():
    """No other process can act: with ranks, as a plain command, and in a shell that waits for its only child."""
    waiting = f"{program} missing a.nc write b.nc 10"
    for ranks, command in ((2, waiting), (0, waiting), (0, shell(f"{waiting}; true"))):
        write_flow({"model": (2, f"{program} missing b.nc write a.nc 10"), "analysis": (ranks, command)},
                   [("a.nc", "model", ["analysis"]), ("b.nc", "analysis", ["model"])])
        expect("a cycle of waits: " in run(), "the cycle is not named")


clear_directory()
globals()[case]()
