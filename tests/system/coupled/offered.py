#!/usr/bin/python3
"""offered.py BUILD PROGRAM CASE: steps that are alike, so that the writer is offered the next ones; and something unusual in the middle. With PROGRAM
(offered.c), in the working directory."""
import os
import re
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import clear_directory, expect, finish, launch, start, write_flow

build, program, case = sys.argv[1:4]
SLUICE = build + "/bin/sluice"
COUNT = 30
SIZES = [(1, 1), (2, 2), (3, 1)]


def begin(writes="", reads="", sizes=(2, 2), keys=(), staging=(), count=COUNT, others=()):
    """`others`: further components that read all files."""
    clear_directory()
    writers, readers = sizes
    rules = [("s_*.nc", "model", ["viewer", *others], *keys), ("t_*.nc", "model", ["viewer"]), ("answer.nc", "viewer", ["model"])]
    components = {"model": (writers, f"write {count} {writes}"), "viewer": (readers, f"read {count} {reads}")}
    components |= {name: (1, f"read {count}") for name in others}
    write_flow(program, components, rules, *staging)
    return start(SLUICE, "run", "--log-dir", "log", "flow.yaml")


def run(*settings, status=0, **more):
    result = finish(begin(*settings, **more), status)
    refused = [line for line in open("log/events.log") if re.search(": (create_offered|open_offered|publish|close_read): ", line)]
    expect(not refused, f"the registry knows of something else: {refused}")
    return result


def usual():
    for sizes in SIZES:
        run(sizes=sizes)


def shapes():
    for what in ("header", "more", "less", "redefine", "records"):
        run(what, what if what == "less" else "")
    run("longer", "longer")


def names():
    for what in ("noclobber", "abort", "again", "reopen", "get", "other"):
        run(what, what if what in ("again", "other") else "")


def groups():
    for what in ("two", "alone", "reverse"):
        run(what, sizes=(3, 2))


def readers():
    for what in ("twice", "late", "stop", "still"):
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


def waits():
    """While a step is open that was offered, its writer waits for its reader: nobody can act, and the wait ends."""
    run("asks", "asked")


def watched():
    """Others look at the run while steps are offered and taken."""
    process = begin(count=1500)
    seen = 0
    while process.poll() is None:
        asked = {"status": subprocess.run([SLUICE, "status", str(process.pid), "--json"], capture_output=True, text=True)}
        asked["ls"] = subprocess.run([SLUICE, "ls", str(process.pid)], capture_output=True, text=True)
        names = [line.split()[0] for line in asked["ls"].stdout.splitlines() if line.startswith("s_")]
        if not names:
            continue
        step = int(names[-1][2:6])
        asked["attach"] = subprocess.run([SLUICE, "attach", str(process.pid), "--", "ncdump", "-h", names[-1]], capture_output=True, text=True)
        if asked["attach"].returncode == 0:
            expect(f":step = {step} ;" in asked["attach"].stdout, f"the attached program sees another file than {names[-1]}: {asked['attach'].stdout}")
            seen += 1
    finish(process, 0)
    print(seen, "files were seen by an attached program")


def kept():
    run("header", keys=["keep: true"])
    for writer in (1, 2):
        launch(writer, program, "read", str(COUNT), status=0)


def requests():
    """How many messages the matcher has handled."""
    return sum(int(number) for number in re.findall(r"(\d+) requests", open("log/events.log").read()))


def read_ends():
    """A reader dies or is stopped anywhere: the writer goes on, and nothing is wrong."""
    for rank in (0, 1):
        for point in ("open", "opened", "got", "closed"):
            result = run("", f"end:{rank}:{point}", status=None)
            expect("model finished" in result.err, f"the writer did not go on ({rank}, {point})")
    for point in ("open", "opened", "got", "closed"):
        run("", f"pause:{point}")
        run(f"pause:created", "")


def reads():
    """Files are opened and closed without a message, by several groups of readers at once."""
    for sizes in SIZES:
        run("paced", "wait", sizes=sizes, count=100)
        print(requests(), "messages for 100 files")
    for writes in ("", "paced"):
        run(writes, "each", sizes=(2, 2), count=60)
        run(writes, "each", sizes=(1, 3), count=60)
        run(writes, "pairs", sizes=(1, 3), count=60)
    run("", "twice", count=100)
    run("", sizes=(2, 2), count=100, others=["second", "third"])
    run("", "end", status=None, others=["second"])
    for what in ("again", "longer", "abort", "reopen", "alone", "reverse", "two"):
        run(what, what if what in ("again", "longer") else "", sizes=(3, 1), count=60)
    run("", count=300, staging=["memory: 2MiB"])


globals()[case]()
print("as expected")
