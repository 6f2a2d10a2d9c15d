#!/usr/bin/python3
"""trials_in_vain.py BUILD CASE: a trial may take hours, so what prevents its workflow file is told before; and what it has not found is told."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect, script, text

build, case = sys.argv[1:3]


def init(*words, status):
    return call(build + "/bin/sluice", "init", "--trial", *words, status=status).all


def file_is_there():
    """A workflow file that is there, and a place where none can be made: nothing is run. With --force, all is."""
    script("w.sh", "echo 1 > a.dat\ntouch ran")
    script("r.sh", "cat a.dat > copy")
    with open("flow.yaml", "w") as flow:
        flow.write("mine\n")
    said = init("./w.sh", "./r.sh", status=2)
    expect("flow.yaml exists" in said and "--force" in said and not os.path.exists("ran"), "it ran: " + said)
    said = init("-o", "missing/flow.yaml", "./w.sh", "./r.sh", status=2)
    expect("missing/flow.yaml could not be written" in said and "No such file or directory" in said and not os.path.exists("ran"), "it ran: " + said)
    expect(text("flow.yaml") == "mine\n", "the file is as it was")
    init("--force", "./w.sh", "./r.sh", status=0)
    expect(os.path.exists("ran") and "a.dat" in text("flow.yaml"), "with --force")


def nothing_is_exchanged():
    """Programs that have no file in common, and one that is alone."""
    script("w.sh", "echo 1 > a.dat")
    script("r.sh", "echo 2 > b.dat")
    script("c.sh", "cat a.dat > copy")
    for words in (("./w.sh", "./r.sh"), ("./w.sh",)):
        expect("there is nothing to couple" in init("--force", *words, status=0), " ".join(words))
    expect("nothing to couple" not in init("--force", "./w.sh", "./c.sh", status=0), "a file is exchanged")


clear_directory()
globals()[case]()
