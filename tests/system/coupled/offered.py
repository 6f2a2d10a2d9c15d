#!/usr/bin/python3
"""offered.py BUILD PROGRAM CASE: steps that are alike, so that the writer is offered the next ones; and something unusual in the middle. With PROGRAM
(offered.c), in the working directory."""
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.path.append(os.path.dirname(sys.path[0]))
from harness import clear_directory, expect, finish, kill, launch, processes_of, repeat_runs, start, wait_for, write_flow

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
    expect_nothing_refused()
    return result


def expect_nothing_refused():
    refused = [line for line in open("log/events.log") if re.search(": (open|close): ", line)]
    expect(not refused, f"the registry knows of something else: {refused}")


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
    run("slow", count=100)
    expect(requests() < 300, f"readers ask for steps that are being written: {requests()} messages for 100 files")
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


def ranks_of():
    """The processes of each component, which is the last argument: {name: [pid]}."""
    found = {}
    for pid, _, words in processes_of(program):
        found.setdefault(words[-2], []).append(pid)
    return found


def pause_and_kill(run, dice):
    """Stops single processes for a while, at any time. Then kills one rank or all ranks of one component, or of two, which are returned."""
    for _ in range(dice.randrange(6)):
        time.sleep(dice.uniform(0, 0.03))
        pids = sum(ranks_of().values(), [])
        stopped = dice.sample(pids, min(len(pids), 1))
        kill(stopped, signal.SIGSTOP)
        time.sleep(dice.choice([0.001, 0.02, 0.1]))
        kill(stopped, signal.SIGCONT)
    time.sleep(dice.uniform(0, 0.3))
    found = ranks_of()
    names = dice.sample([*found], min(len(found), dice.choice([1, 1, 1, 2])))
    for name in names:
        kill(dice.choice([found[name], [dice.choice(found[name])]]), signal.SIGKILL)
    return names


def kill_one_run(seed):
    """Writers and readers stop and die anywhere in steps that are offered: the others go on, with the right values."""
    print(f"SLUICE_TEST_RUN={seed}", flush=True)
    dice = random.Random(seed)
    clear_directory()
    sizes = {name: dice.choice([1, 1, 2, 3]) for name in ("model", "viewer", "second")}
    components = {name: (ranks, ("write 2000 usual " if name == "model" else "read 2000 ended ") + name) for name, ranks in sizes.items()}
    write_flow(program, components, [("s_*.nc", "model", ["viewer", "second"])], dice.choice(["memory: 1GiB", "memory: 4MiB"]), dice.choice(["retain: 0", ""]))
    run = start(SLUICE, "run", "--log-dir", "log", "flow.yaml")
    wait_for(lambda: run.poll() is not None or sum(map(len, ranks_of().values())) >= sum(sizes.values()), "all processes")
    killed = pause_and_kill(run, dice)
    result = finish(run)
    for name in sizes:
        expect(name in killed or f"{name} finished" in result.err, f"{name} did not go on without {killed}")
    expect("wrong data" not in result.all and "another step" not in result.all, "wrong values")
    expect_nothing_refused()


def random_kills():
    repeat_runs(kill_one_run, int(os.environ.get("SLUICE_TEST_KILLS", 4)))


globals()[case]()
print("as expected")
