#!/usr/bin/python3
"""counts.py BUILD CASE: what a replayed step of 64 KiB costs in messages and system calls, by pattern (bench/patterns), under strace. No times."""
import argparse
import importlib.machinery
import importlib.util
import os
import pathlib
import shutil
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import MPI_ENVIRONMENT, expect

build, case = sys.argv[1:3]
path = str(pathlib.Path(__file__).parents[3] / "bench" / "patterns")
loader = importlib.machinery.SourceFileLoader("patterns", path)
patterns = importlib.util.module_from_spec(importlib.util.spec_from_loader("patterns", loader))
sys.dont_write_bytecode = True
loader.exec_module(patterns)

STEPS = 800  # three quarters of them are counted: by then all reads are offered, and most segments are known
# The programs wait for each other by futexes, and MPI by yields and looks at its own descriptors. With an open a process finds out what a name means.
EXPECTED = ("futex", "sched_yield", "epoll_wait", "poll", "getcwd", "readlink")


def calls(pattern, ranks):
    options = argparse.Namespace(build=pathlib.Path(build), program=None, bytes=65536, memory="512MiB, retain: 0")
    programs, matcher = patterns.calls_of(options, pattern, ranks, STEPS)
    print(pattern, f"{ranks}+{ranks}", "programs:", {call: round(n, 2) for call, n in programs.items()}, "matcher:", {call: round(n, 2) for call, n in matcher.items()}, flush=True)
    return programs


def expect_none(pattern):
    """A process creates or opens one file in a step, and sends nothing. Now and then somebody asks for further offers, hears of a new segment, or looks whether
    the matcher is alive."""
    for ranks in (1, 2):
        processes = 2 * ranks
        programs = calls(pattern, ranks)
        for call in ("getcwd", "readlink"):
            expect(programs.get(call, 0) <= 1.1 * processes, f"{pattern}, {ranks}+{ranks}: {call} more than once for each open")
        sent = programs.get("sendmsg", 0)
        expect(sent <= 0.1 * processes, f"{pattern}, {ranks}+{ranks}: the programs send {sent:.2f} messages a step")
        others = sum(n for call, n in programs.items() if call not in EXPECTED)
        expect(others <= 1.5 * processes, f"{pattern}, {ranks}+{ranks}: {others:.2f} other system calls a step")


def in_turn():
    expect_none("in turn")


def ahead():
    """The writer is 50 steps ahead of the reader."""
    expect_none("50 ahead")


if shutil.which("strace") is None or not os.path.exists(build + "/bin/bench_patterns"):
    print("skipped: strace or bench_patterns, which needs netCDF with PnetCDF, is missing")
    sys.exit(77)
os.environ.update(MPI_ENVIRONMENT)
globals()[case]()
print("as expected")
