#!/usr/bin/python3
"""follow.py BUILD PROGRAM CASE: files of PROGRAM (follow.c) that are read while they are written, under `sluice run`."""
import glob
import os
import re
import shutil
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import allow, call, clear_directory, expect, finish, is_logged, launch, wait_for_event, write_flow

build, program, case = sys.argv[1:4]


def run(publish, components, rules=(("*.nc", "model", ["analysis"]),), memory="1GiB", status=0, dead="", **environment):
    """Components: {name: (ranks, arguments)}. Rules: [(pattern, writer, readers, *keys)]. Returns the output.
    `dead`: words in the event log; the file "dead", for which a reader waits, is made when the log has
    them."""
    write_flow(program, components, [(*rule, "publish: " + publish) for rule in rules], "memory: " + memory)
    process = harness.start(build + "/bin/sluice", "run", "flow.yaml", environment=environment)
    if dead:
        wait_for_event(process, dead)
        allow("dead")
    return finish(process, status).all


two_readers = (("*.nc", "model", ["first", "second"]),)


def sync():
    for writers, readers in [(1, 1), (2, 3), (3, 1)]:
        run("sync", {"model": (writers, "write a.nc 30 1"), "first": (readers, "records a.nc 30"), "second": (2, "reopen a.nc 30")}, two_readers)


def write():
    for writers, readers in [(1, 1), (2, 3), (3, 1)]:
        run("write", {"model": (writers, "write a.nc 30"), "first": (readers, "rows a.nc 30"), "second": (2, "records a.nc 30")}, two_readers)


def write_filled():
    """In fill mode, and with records that are filled before they are put, gets wait for the values."""
    for through, writers, readers in [("memory", 1, 1), ("memory", 2, 3), ("burst-buffer", 2, 1)]:
        rules = [(*rule, "through: " + through) for rule in two_readers]
        run("write", {"model": (writers, "write a.nc 30"), "first": (readers, "rows a.nc 30"), "second": (2, "records a.nc 30")}, rules, FILL="1")


def write_reopened():
    run("write", {"model": (2, "write a.nc 30"), "first": (1, "reopen a.nc 30"), "second": (3, "rows a.nc 30")}, two_readers)


SYNC_ENDS = "ends with what was put before the last ncmpi_sync"


def sync_killed():
    run("sync", {"model": (2, "write a.nc 30 1 12"), "analysis": (2, "cut a.nc 30 12")}, status=137, dead=SYNC_ENDS)


def write_killed():
    run("write", {"model": (2, "write a.nc 30 0 12"), "analysis": (3, "rest a.nc 30 13")}, status=137)
    expect(is_logged("ends with what was put so far"), "the event")


def knot():
    output = run("write", {"one": (1, "knot a.nc 3 b.nc"), "two": (1, "knot b.nc 3 a.nc")}, (("a.nc", "one", ["two"]), ("b.nc", "two", ["one"])))
    expect("the knot is cut" in output, "nobody was told of the cycle")
    expect(is_logged("a cycle of waits: ") and is_logged("(variable rows)"), "the cycle is not named")


def little_memory():
    output = run("sync", {"model": (1, "fill a.nc 100"), "analysis": (1, "peek a.nc 1")}, memory="8MiB, spill: none")
    expect(is_logged("raise staging.memory") or "raise staging.memory" in output, "no advice")


def many_files():
    for publish, reader in [("sync", "records"), ("write", "rows")]:
        run(publish, {"model": (1, "write a%d.nc 4 1"), "analysis": (2, reader + " a%d.nc 4")}, memory="4MiB, retain: 0", FILES="12")


def spill():
    """Several times the memory. Readers see all of it while it is written."""
    for publish, reader in [("sync", "records"), ("write", "rows")]:
        shutil.rmtree("scratch", ignore_errors=True)
        os.makedirs("scratch")
        output = run(publish, {"model": (2, "write a.nc 30 1"), "first": (1, reader + " a.nc 30"), "second": (2, "reopen a.nc 30")}, two_readers,
                     memory="4MiB, spill: scratch", COLUMNS="20000")
        found = re.search(r"; ([\d.]+) MiB spilled to .*/scratch", output)
        expect(found and float(found[1]) > 4, "hardly anything was spilled")
        expect(os.listdir("scratch") == [], "something is left in the directory")


def keep():
    """The file on disk has the visible part of a step whose writer was killed."""
    for publish, syncs, records in [("sync", 1, 12), ("write", 0, 13)]:
        for leftover in glob.glob("a.nc*"):
            os.remove(leftover)
        reader = f"cut a.nc 30 {records}" if publish == "sync" else f"rest a.nc 30 {records}"
        run(publish, {"model": (2, f"write a.nc 30 {syncs} 12"), "analysis": (2, reader)}, (("*.nc", "model", ["analysis"], "keep: true"),), status=137,
            dead=SYNC_ENDS if publish == "sync" else "")
        expect(is_logged(f"the file {os.getcwd()}/a.nc has only the published data"), "the event log does not say so")
        expect(glob.glob("a.nc*") == ["a.nc"], f"files on the disk: {glob.glob('a.nc*')}")
        call("ncvalidator", "-q", "a.nc", status=0)
        expect(f"t = UNLIMITED ; // ({records} currently)" in call("ncdump", "-h", "a.nc", status=0).out, "the number of records")
        launch(2, program, "rest", "a.nc", "30", str(records), status=0)


clear_directory()
globals()[case]()
