#!/usr/bin/python3
"""files_parallel.py BUILD PROGRAM MPI FORM CASE: the ranks of PROGRAM (parallel.c) write files together; they belong to several matchers or nodes. Readers get the same bytes as
without a run. MPI: openmpi or mpich."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, program, mpi, form, case = sys.argv[1:6]
LAUNCH = harness.MPIRUN if mpi == "openmpi" else ("mpirun.mpich", "-n")
NOTICE = "is written by MPI-IO, and this run has several matchers or nodes"


def directly(mode, ranks):
    """The same program without a run, in direct/."""
    os.makedirs("direct")
    harness.call(*LAUNCH, str(ranks), program, form, mode, cwd="direct", status=0)


def run(mode, ranks, reads, more="", status=0):
    with open("reader.sh", "w") as file:
        file.write("set -e\n" + reads + "\n")
    matchers = f", matchers: {os.environ['SLUICE_TEST_MATCHERS']}" if "SLUICE_TEST_MATCHERS" in os.environ else ""
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join([
            "version: 1", "name: test", f"staging: {{prewarm: 0{matchers}}}", "components:", f"  writer: {{command: {program} {form} {mode}, ranks: {ranks}}}",
            "  reader: {command: sh reader.sh}", "files:", f'  - {{path: "*.w", writer: writer, readers: [reader]{more}}}'
        ]) + "\n")
    return finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), status)


def contents(path):
    """HDF5 notes the time in a file, so its data is compared."""
    if form == "raw":
        with open(path, "rb") as file:
            return file.read()
    return harness.call("h5dump", "-d", "v", path, status=0).out.split("\n", 1)[1]


def expect_same(copy, original):
    expect(contents(copy) == contents("direct/" + original), f"{copy} has other contents than {original}, written directly")


def files(more=""):
    """All ranks write one file after the other. The terminal says once that they are on the disk."""
    for ranks in (2, 4):
        clear_directory()
        result = run("files", ranks, "for i in 0 1 2; do cp all$i.w copy$i; done", more)
        expect(result.all.count(NOTICE) == 1, "the notice is not there once")
        directly("files", ranks)
        for step in range(3):
            expect_same(f"copy{step}", f"all{step}.w")
            expect_same(f"all{step}.w", f"all{step}.w")


def kept():
    """The files are where `keep` wants them. Logs of the burst buffer have none of them."""
    files(", keep: true")
    files(", through: burst-buffer")


def again():
    """All ranks write one file again and again."""
    run("again", 3, "until test $(od -An -td4 -N4 again.w) = 2; do sleep 0.1; done\ncp again.w copy")
    directly("again", 3)
    expect_same("copy", "again.w")


def update():
    """One rank begins a file, all ranks change it together, and another one goes on in it. What a former run has left there does not matter."""
    with open("base.w", "w") as file:
        file.write("of a former run\n" * 10)
    run("update", 3, "until tail -n 1 base.w | grep -q 'the end$'; do sleep 0.1; done\ncp base.w copy")
    directly("update", 3)
    expect_same("copy", "base.w")


def own():
    """Each rank writes a file of its own by MPI-IO."""
    run("own", 3, "for i in 0 1 2; do cp own$i.w copy$i; done")
    directly("own", 3)
    for rank in range(3):
        expect_same(f"copy{rank}", f"own{rank}.w")


def killed():
    """A rank that is killed spoils the file, whichever matcher it has."""
    run("killed", 3, "cat half.w && exit 1\ntrue", status=None)
    expect(harness.is_logged("half.w' is not published"), "the event log does not say why")


def refused():
    """A file that is not there is not there for any rank."""
    run("refused", 3, "true")
    expect(not os.path.exists("none.w"), "none.w is there")


clear_directory()
globals()[case]()
