#!/usr/bin/python3
"""through.py BUILD PROGRAM CASE: what only coupled files on disk show (through: file, subfiles, blobs), with PROGRAM (couple.c) in the working directory, under
`sluice run`."""
import glob
import os
import re
import shutil
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import allow, call, clear_directory, expect, finish, wait_for_event, write_flow

build, program, case = sys.argv[1:4]


def run(through, components, rules, status=0, awaited=()):
    """Components as {name: (ranks, commands, directory)}, rules as [(pattern, writer, readers)]. Gives the output, and the event log.
    `awaited`: pairs of what the event log must say, and the file that is made then, for which a component waits."""
    shutil.rmtree("log", ignore_errors=True)
    write_flow(program, {name: (ranks, commands, "directory: " + directory) for name, (ranks, commands, directory) in components.items()},
               [(*rule, "through: " + through) for rule in rules])
    process = harness.start(build + "/bin/sluice", "run", "--log-dir", "log", "--notice-after", "1", "flow.yaml")
    for words, name in awaited:
        wait_for_event(process, words)
        allow(name)
    result = finish(process, status)
    with open("log/events.log") as events:
        return result.out, events.read()


def directories():
    """A reader in another directory reads the file that the writer wrote, not one of the same name of its own."""
    for through in ["file", "subfiles", "blobs"]:
        os.makedirs("here/out", exist_ok=True)
        os.makedirs("there/out", exist_ok=True)
        run(through, {"model": (3, "write out/a.nc 1000", "here"), "analysis": (2, "read out/a.nc 1000", "there"), "serial": (0, "read out/a.nc 1000", ".")},
            [("out/*.nc", "model", ["analysis", "serial"], "identity: name")])
        expect(os.listdir("there/out") == [], "there is something where the reader runs")
        shutil.rmtree("here")


def rewritten():
    """A writer does not touch a file that somebody reads, and readers do not see it before it is whole again.
    The writer waits for both readers; then `right` closes and waits for the writer, which waits for `left`."""
    for through in ["file", "subfiles", "blobs"] if "SLUICE_VIRTUAL_NODES" not in os.environ else ["file"]:
        run(through, {"model": (2, "write a.nc 1000 read left.nc 10 read right.nc 10 half b.nc write a.nc 2000 write c.nc 10", "."),
                      "left": (2, "keep a.nc write left.nc 10 await left.go release a.nc until a.nc 2000", "."),
                      "right": (1, "keep a.nc write right.nc 10 await right.go release a.nc read c.nc 10 read a.nc 2000", ".")},
            [("[abc].nc", "model", ["left", "right"]), ("left.nc", "left", ["model"]), ("right.nc", "right", ["model"])], status=3,  # of b.nc
            awaited=[("has open for reading", "right.go"), ("right waits for 'c.nc' from model", "left.go")])
        os.remove("left.go"), os.remove("right.go")


def knot():
    """A writer waits for a reader to close, which waits for the writer: both are told, with names."""
    out, events = run("file", {"model": (2, "write a.nc 1000 read seen.nc 10 refused a.nc say survived", "."),
                               "analysis": (2, "keep a.nc write seen.nc 10 missing b.nc release a.nc", ".")},
                      [("[ab].nc", "model", ["analysis"]), ("seen.nc", "analysis", ["model"])])
    expect("[model] survived" in out, "the writer did not go on")
    expect(re.search(r"a cycle of waits: .*'a.nc', which analysis has open for reading", events), "the cycle is not named")


def killed():
    """A writer that dies in mid-step: its file is not read, not even as what it was before; it stays on the disk."""
    for through in ["file", "subfiles", "blobs"]:
        for before, after in [("", "")] * (through == "file") + [("write a.nc 1000 read seen.nc 10", "read a.nc 1000 write seen.nc 10")]:
            out, events = run(through, {"model": (2, before + " half a.nc kill 9 sleep 100000", "."), "analysis": (2, after + " gone a.nc say survived", ".")},
                              [("a.nc", "model", ["analysis"]), ("seen.nc", "analysis", ["model"])], status=137)
            expect("[analysis] survived" in out, "the reader did not go on")
            expect(re.search(r"the step of 'a.nc' was discarded: .*the part of " + re.escape(os.getcwd()) + r"/a.nc that it has written is kept", events),
                   "the event log does not say what happened")
            expect(os.path.exists("a.nc"), "the file is gone")


def subfiles():
    """As many subfiles as the program asks for, else two on one node; one for each of three nodes."""
    for hints, nodes, expected in [("", 1, 2), ("nc_num_subfiles=5", 1, 5), ("", 3, 3)]:
        os.environ.update({"PNETCDF_HINTS": hints, "SLUICE_VIRTUAL_NODES": str(nodes)})
        run("subfiles", {"model": (3, "write a.nc 1000", "."), "analysis": (2, "read a.nc 1000", ".")}, [("a.nc", "model", ["analysis"])])
        found = sorted(glob.glob("a.nc*"))
        expect(found == ["a.nc"] + [f"a.nc.subfile_{i}.nc" for i in range(expected)], f"files: {found}")
        call(build + "/bin/sluice", "merge", "--force", "a.nc", "whole.nc", status=0)
        for path in found:
            os.remove(path)


def blobs():
    """A file with blobs, and one ordinary file out of them."""
    run("blobs", {"model": (3, "write a.nc 1000", "."), "analysis": (2, "read a.nc 1000", ".")}, [("a.nc", "model", ["analysis"])])
    found = sorted(glob.glob("a.nc*"))
    expect(found == ["a.nc", "a.nc.0000"], f"files: {found}")
    call(build + "/bin/sluice", "merge", "a.nc", "whole.nc", status=0)
    call("ncvalidator", "-q", "whole.nc", status=0)


clear_directory()
globals()[case]()
print("as expected")
