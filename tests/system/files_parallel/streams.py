#!/usr/bin/python3
"""streams.py BUILD PROGRAM MPI FORM CASE: PROGRAM (parallel.c) writes a stream by MPI-IO, in a run of several matchers or nodes. MPI: openmpi or mpich."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish, is_logged

build, program, mpi, form, case = sys.argv[1:6]
REFUSAL = "again.w' cannot be opened: it is written by MPI-IO, its rule has 'steps: stream'"


def run(ranks):
    harness.write_flow(program, {"writer": (ranks, f"{form} again")}, [("*.w", "writer", ["reader"], "steps: stream")])
    with open("flow.yaml") as flow:
        text = flow.read().replace("files:\n", "  reader: {command: sh reader.sh}\nfiles:\n")
    with open("flow.yaml", "w") as flow:
        flow.write(text)
    with open("reader.sh", "w") as script:
        script.write("n=0\nwhile cp again.w copy.$n; do n=$((n + 1)); done\n")
    return finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"))


def several_ranks():
    """Ranks of several matchers share no file of a stream. All their opens fail, also the first one, so no rank waits for another that has given up."""
    for ranks in (2, 4):
        clear_directory()
        result = run(ranks)
        expect(result.status != 0, "the run is a success")
        expect(is_logged(REFUSAL) and is_logged("'matchers: 1'"), "the event log does not say what to do")
        expect(result.all.count(REFUSAL) == 1, "the terminal does not say why, once")
        expect(not os.path.exists("copy.0") and not os.path.exists("again.w"), "there is a step, or a file on disk")


def one_rank():
    """A program of one rank has one matcher, so the stream is in memory, and has all steps."""
    result = run(1)
    expect(result.status == 0, "the run has failed")
    expect(not is_logged(REFUSAL), "it is refused")
    expect(sorted(name for name in os.listdir(".") if name.startswith("copy.")) == ["copy.0", "copy.1", "copy.2"], "the reader has not got the three steps")


clear_directory()
globals()[case]()
