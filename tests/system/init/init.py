#!/usr/bin/python3
"""init.py BUILD PROGRAM CASE: `sluice init` writes a workflow for programs as users type them; PROGRAM is couple.c."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import MPIRUN, call, clear_directory, expect

build, program, case = sys.argv[1:4]
sluice = build + "/bin/sluice"
WRITER = " ".join([*MPIRUN, "2", program])


def flow():
    with open("flow.yaml") as file:
        return file.read()


def init(*arguments, status=0):
    return call(sluice, "init", *arguments, status=status)


def run():
    call(sluice, "check", "flow.yaml", status=0)
    return call(sluice, "run", "flow.yaml", status=0)


def trial():
    """The files that one program wrote and another one read are coupled, and no others."""
    os.mkdir("parts")
    with open("mask.py", "w") as script:  # as Fortran's libraries open files where the program does not say what for
        script.write("try:\n    file = open('parts/mask.nc', 'r+b')\nexcept PermissionError:\n    file = open('parts/mask.nc', 'rb')\nopen('mask.copy', 'wb').write(file.read())\n")
    with open("sum.sh", "w") as script:
        script.write("#!/bin/sh\nset -e\npython3 mask.py\nfor i in 0 1 2; do cat step_$i.nc; done > whole\ncat sum.sh > /dev/null\n")
    os.chmod("sum.sh", 0o755)
    writer = f"{WRITER} repeat 3 write step_%d.nc 100 write parts/mask.nc 10 write own.nc 10 read own.nc 10"
    init("--trial", writer, "./sum.sh")
    text = flow()
    for expected in ('path: "step_*.nc"', 'path: "parts/mask.nc"', "# 3 files: step_0.nc, step_1.nc, step_2.nc", "ranks: 2", "writer: couple", "readers: [sum]"):
        expect(expected in text, f"no {expected}")
    expect("when-done" not in text, "the readers begin late")
    rules = text.partition("files:")[2]
    expect("own.nc" not in rules and "whole" not in rules and rules.count("- path") == 2, "too many rules")
    for name in ("step_0.nc", "step_1.nc", "step_2.nc", "parts/mask.nc"):
        os.remove(name)
    with open("whole", "rb") as file:
        before = file.read()
    run()
    expect(not os.path.exists("step_0.nc") and not os.path.exists("parts/mask.nc"), "coupled files are on the disk")
    with open("whole", "rb") as file:
        expect(file.read() == before, "the run gave other bytes than the trial")


def chain():
    """Three programs; the one in the middle renames what it has made."""
    with open("middle.sh", "w") as script:
        script.write("#!/bin/sh\nset -e\ncat a.nc > b.tmp\nmv b.tmp b.nc\n")
    with open("last.sh", "w") as script:
        script.write("#!/bin/sh\nexec cat b.nc > last.copy\n")
    for name in ("middle.sh", "last.sh"):
        os.chmod(name, 0o755)
    init("--trial", f"{WRITER} write a.nc 100", "./middle.sh", "./last.sh")
    text = flow()
    expect('path: "a.nc"' in text and 'path: "b.nc"' in text and "b.tmp" not in text, "the rules")
    os.remove("a.nc"), os.remove("b.nc")
    run()


def untried():
    """Without a trial, data files that two commands name have a rule; else there is one to be filled in."""
    init(f"{WRITER} write a.nc 100", f"{WRITER} read a.nc 100")
    text = flow()
    expect('path: "a.nc"' in text and "writer: couple\n" in text and "readers: [couple-2]" in text, "the rule")
    run()
    again = init(f"{program} write a.nc 1", status=2)
    expect("flow.yaml exists" in again.err, "it says nothing of the file that is there")
    init("--force", f"{program} write a.nc 1")
    expect("ranks: 1  # the number of MPI processes" in flow(), "an MPI program has no ranks")


def mistakes():
    for arguments, text in ((["./nothing here"], "nothing"), (["cat x | cat"], "|"), ([""], "it is empty"), (["mpirun -n 2"], "no program behind the options"), ([], "no command was given")):
        result = init(*arguments, status=2)
        expect(text in result.err, f"{arguments}: {result.err}")
        expect(not os.path.exists("flow.yaml"), "a workflow was written")
    result = init("--trial", f"{program} missing a.nc", "sh -c 'exit 7'", status=2)
    expect("sh ended with status 7" in result.err and not os.path.exists("flow.yaml"), "a failed trial")


clear_directory()
globals()[case]()
