#!/usr/bin/python3
"""offered.py BUILD PROGRAM CASE: steps that are alike, so that the writer is offered the next ones; and something unusual in the middle. With PROGRAM
(offered.c), in the working directory."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect, launch, write_flow

build, program, case = sys.argv[1:4]
COUNT = 30
SIZES = [(1, 1), (2, 2), (3, 1)]


def run(writes="", reads="", sizes=(2, 2), keys=(), staging=(), status=0):
    clear_directory()
    writers, readers = sizes
    write_flow(program, {"model": (writers, f"write {COUNT} {writes}"), "viewer": (readers, f"read {COUNT} {reads}")}, [("s_*.nc", "model", ["viewer"], *keys)], *staging)
    return call(build + "/bin/sluice", "run", "flow.yaml", status=status)


def usual():
    for sizes in SIZES:
        run(sizes=sizes)


def shapes():
    for what in ("header", "more", "less", "redefine", "records"):
        run(what, what if what == "less" else "")


def names():
    for what in ("noclobber", "abort", "again", "reopen", "get"):
        run(what, what if what == "again" else "")


def groups():
    for what in ("two", "alone", "reverse"):
        run(what, sizes=(3, 2))


def readers():
    for what in ("twice", "late", "stop"):
        run("", what)
    result = run("", "end", status=None)
    expect("model finished" in result.err, "the writer did not go on")


def ends():
    """A writer ends anywhere: readers get the steps before as they were, and nothing wrong."""
    for rank in (0, 1):
        for point in ("create", "created", "defined", "put", "closed"):
            result = run(f"end:{rank}:{point}", "gone", status=None)
            expect("viewer finished" in result.err, f"the reader did not go on ({rank}, {point})")


def rules():
    run(keys=["publish: sync"])
    run(keys=["publish: write"])
    run(keys=["queue: 2", "when-full: wait"])
    run(keys=["queue: 2", "when-full: spill"])
    run("more", staging=["memory: 1MiB", "spill: none"])


def kept():
    run("header", keys=["keep: true"])
    for writer in (1, 2):
        launch(writer, program, "read", str(COUNT), status=0)


globals()[case]()
print("as expected")
