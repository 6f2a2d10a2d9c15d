#!/usr/bin/python3
"""cut_logs.py BUILD: files that others cut while processes of a run have mapped them."""
import os
import random
import re
import sys
import time

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import expect, finish

BUILD = sys.argv[1]


def logs(suffix=""):
    return sorted(os.path.join("logs", name) for name in os.listdir("logs") if not name.startswith(".") and name.endswith(suffix))


def size_of(path):
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


def start(writer, ranks, reader, nodes):
    harness.clear_directory()
    os.mkdir("logs")
    harness.write_flow("env", {"model": (ranks, writer), "analysis": (1, reader)}, [("*.nc", "model", ["analysis"], "through: burst-buffer")], "spill: logs")
    return harness.start(f"{BUILD}/bin/sluice", "run", "--log-dir", "log", "flow.yaml", environment={"SLUICE_VIRTUAL_NODES": nodes})


def end(run):
    """The run has ended, and nobody of it by the signal."""
    told = finish(run).all
    with open("log/events.log") as log:
        told += log.read()
    expect(not re.search(r"(?i)bus error|signal 7\b|SIGBUS", told), "a process has died of a file that was cut")
    return told


def cut_while_mapped():
    """The log of a process that puts small rows all the time is cut: the next put is an error."""
    for suffix in ".meta", ".data", "":
        run = start(f"{BUILD}/bin/burst_writer wave.nc -2000000 0", 1, "sleep 0", "1")
        harness.wait_for(lambda: any(size_of(path) > 1 << 20 for path in logs(".data")), "the first puts")
        for path in logs(suffix): os.truncate(path, 0)
        told = end(run)
        expect("NC_EIO" in told, f"a log that was cut is no error: {suffix}")
        expect(run.returncode != 0, "a success")


def cut_any(dice):
    """Cuts a file of the logs' directory to any size. It may have gone meanwhile."""
    try:
        path = dice.choice(logs())
        os.truncate(path, dice.choice([0, dice.randrange(1 + os.path.getsize(path))]))
        return True
    except (IndexError, FileNotFoundError):
        return False


def cut_at_random(dice):
    couple, length = f"{BUILD}/bin/couple repeat 30", dice.choice([2000, 300000])
    run = start(f"{couple} write f%d.nc {length}", dice.choice([1, 2]), f"{couple} read f%d.nc {length}", dice.choice("12"))
    cuts = 0
    while run.poll() is None and cuts < 20:
        time.sleep(dice.uniform(0, 0.2))
        cuts += cut_any(dice)
    end(run)
    print(f"{cuts} cuts, exit status {run.returncode}", flush=True)
    expect(cuts > 0, "nothing was there to be cut")


cut_while_mapped()
seed = harness.test_seed()
for turn in range(4):
    print(f"SLUICE_TEST_SEED={seed + turn}", flush=True)
    cut_at_random(random.Random(seed + turn))
