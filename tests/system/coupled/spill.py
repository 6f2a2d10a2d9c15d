#!/usr/bin/python3
"""spill.py BUILD PROGRAM CASE: coupled runs of PROGRAM (couple.c) with staging.spill: more data than memory,
full disks, kills."""
import os
import re
import shutil
import signal
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import descendants, expect, finish, is_logged, kill, users_of, wait_for

build, program, case = sys.argv[1:4]
MIB = 131072  # numbers in a MiB


def write_flow(model, analysis, memory="4MiB", spill="scratch", model_ranks=3, analysis_ranks=2):
    harness.write_flow(program, {"model": (model_ranks, model), "analysis": (analysis_ranks, analysis)}, [("*.nc", "model", ["analysis"])],
                       "memory: " + memory, "spill: " + spill)


def start(command="run"):
    return harness.start(build + "/bin/sluice", command, "flow.yaml")


def run(status=0):
    return finish(start(), status).all


def scratch():
    shutil.rmtree("scratch", ignore_errors=True)
    os.makedirs("scratch")


def small_disk(mib):
    shutil.rmtree("scratch", ignore_errors=True)
    return harness.SmallDisk("scratch", mib)


def spilled_mib(output):
    found = re.search(r"; ([\d.]+) MiB spilled to .*/scratch", output)
    return float(found[1]) if found else 0


def many_files():
    """Eight times the memory, all written before the reader comes. Gets of later steps are replayed from
    disk."""
    scratch()
    write_flow(f"repeat 32 write a%d.nc {MIB}", f"read a31.nc {MIB} repeat 31 read a%d.nc {MIB}")
    output = run()
    expect(spilled_mib(output) > 20, "hardly anything was spilled")
    figures = re.split(r"  +", re.search(r"\*\.nc.*32 files\).*", output)[0].strip())
    expect(int(figures[-2]) >= 32, "nothing was replayed: " + str(figures))
    expect(is_logged(".nc' goes on in "), "the event log does not tell")
    expect(os.listdir("scratch") == [], "something is left in the directory")


def large_file():
    """A put larger than all memory. The reader is late, so that more data is on disk when it comes."""
    scratch()
    write_flow(f"write a.nc {32 * MIB} write b.nc {5 * MIB}", f"sleep 500 read a.nc {32 * MIB} read b.nc {5 * MIB} read a.nc {32 * MIB}")
    expect(spilled_mib(run()) > 28, "hardly anything was spilled")


def keeps_up():
    """Steps that were read return their disk space: far more data passes than fits on the disk."""
    with small_disk(12):
        # The last of each four comes first, so that the writer is further ahead than memory allows.
        reads = " ".join(f"read a{four + i}.nc {MIB}" for four in range(0, 60, 4) for i in (3, 0, 1, 2))
        write_flow(f"repeat 60 write a%d.nc {MIB}", reads, memory="2MiB")
        expect(spilled_mib(run()) > 12, "the disk was not used again")


def full_disk():
    """A put that fits neither in memory nor on disk fails, and nothing else. Published data is read, and
    later data is written."""
    with small_disk(6):
        write_flow(f"write a.nc {3 * MIB} overflow b.nc {20 * MIB} write c.nc {3 * MIB}", f"read a.nc {3 * MIB} read c.nc {3 * MIB}", memory="2MiB", model_ranks=2)
        output = run()
        expect(spilled_mib(output) > 0, "nothing was spilled")
        expect(is_logged("raise staging.memory or free space in staging.spill"), "no advice")


def waits_for_readers():
    """Memory and disk are full of data that a slow reader has not read yet: the writer waits."""
    with small_disk(6):
        write_flow(f"repeat 24 write a%d.nc {MIB}", f"repeat 24 read a%d.nc {MIB} sleep 60", memory="2MiB", model_ranks=2)
        run()


def everything_killed():
    scratch()
    # The reader sleeps until it is killed.
    write_flow(f"repeat 32 write a%d.nc {MIB}", f"sleep 60000 repeat 32 read a%d.nc {MIB}")
    process = start()
    wait_for(lambda: users_of("scratch"), "spilled segments")
    kill([process.pid, *descendants(process.pid)], signal.SIGKILL)
    process.communicate()
    wait_for(lambda: not users_of("scratch"), "the processes' ends")
    expect(os.listdir("scratch") == [], "something is left in the directory")


def missing_directory():
    shutil.rmtree("scratch", ignore_errors=True)
    write_flow("write a.nc 10", "read a.nc 10")
    for command in ("check", "run"):
        expect(re.search(r"flow.yaml:3:\d+: staging.spill cannot be used: ", finish(start(command), 2).all), "the mistake is not named")
    # A directory in which no files can be made. On another node only its matcher can notice that.
    write_flow("write a.nc 10", "read a.nc 10", spill="/proc")
    expect("staging.spill cannot be used: " in finish(start("check"), 2).all, "the mistake is not named")


def missing_on_a_node():
    """The directory exists for the matcher of one node, and not for the other one's: a matcher of this test
    hides it."""
    scratch()
    for folder in ("bin", "lib"):
        os.makedirs("alone/" + folder, exist_ok=True)
    shutil.copy(build + "/bin/sluice", "alone/bin")
    for library in ("libsluice_pnetcdf.so", "libsluice_preload.so"):
        shutil.copy(build + "/lib/" + library, "alone/lib")
    with open("alone/bin/sluice-matcher", "w") as matcher:
        matcher.write(f"""#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 1 ] && exec unshare -m sh -c 'mount -t tmpfs -o ro none scratch && exec {build}/bin/sluice-matcher "$@"' sluice-matcher "$@"
exec {build}/bin/sluice-matcher "$@"
""")
    os.chmod("alone/bin/sluice-matcher", 0o755)
    write_flow("write a.nc 10", "read a.nc 10")
    result = finish(harness.start("alone/bin/sluice", "run", "flow.yaml", environment={"SLUICE_VIRTUAL_NODES": "2"}), 3)
    expect(re.search(r"scratch.*Read-only file system", result.all), "the reason is not told")
    expect("[model]" not in result.all, "a component was started")


if case in ("missing_on_a_node", "keeps_up", "full_disk", "waits_for_readers"):
    harness.in_own_namespace()
globals()[case]()
