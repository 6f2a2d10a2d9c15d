#!/usr/bin/python3
"""trials_of_mpi.py BUILD PROGRAM MPI CASE: `sluice init --trial` sees how often PROGRAM (parallel.c) closes a file by MPI-IO, and writes the key. MPI: openmpi or mpich."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import call, clear_directory, expect, script, text

build, program, mpi, case = sys.argv[1:5]
sluice = build + "/bin/sluice"
LAUNCH = " ".join(harness.MPIRUN if mpi == "openmpi" else ("mpirun.mpich", "-n"))


def rule_of(writer, reader):
    call(sluice, "init", "--force", "--trial", writer, reader, status=0)
    return text("flow.yaml").split("- path: ")[1]


def once():
    """However many ranks open a file together, it is closed once."""
    script("reader.sh", "cat all0.w all1.w all2.w > copy")
    for ranks in (1, 2, 4):
        for _ in range(5):  # ranks open in any order
            clear = [name for name in os.listdir(".") if name.endswith(".w")]
            for name in clear:
                os.remove(name)
            expect("publish" not in rule_of(f"{LAUNCH} {ranks} {program} raw files", "./reader.sh"), f"{ranks} ranks close it once")


def again():
    """Who opens it again has to be waited for. With the key, the reader gets what it got in the trial."""
    script("reader.sh", "cat again.w > copy")
    for ranks, key in ((1, "close:3"), (2, "exit"), (4, "exit")):
        clear_directory()
        script("reader.sh", "cat again.w > copy")
        rule = rule_of(f"{LAUNCH} {ranks} {program} raw again", "./reader.sh")
        expect(f"publish: {key}  # parallel_{mpi} opened a file again, and closed it 3 times" in rule, f"{ranks} ranks: {rule}")
        with open("copy", "rb") as copy:
            before = copy.read()
        os.remove("again.w")
        os.remove("copy")
        told = call(sluice, "run", "flow.yaml", status=0).all
        with open("copy", "rb") as copy:
            expect(copy.read() == before and "a part" not in told, "the run gave other bytes than the trial")


def commands():
    """Several commands go on in it, one after the other."""
    script("writer.sh", f"for i in 1 2; do {LAUNCH} 2 {program} raw again; done")
    script("reader.sh", "cat again.w > copy")
    expect("publish: exit  # writer opened a file again, and closed it 6 times" in rule_of("./writer.sh", "./reader.sh"), "6 times")


clear_directory()
globals()[case]()
