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


def cut_any(dice):
    """Cuts a file of the logs' directory. It may have gone meanwhile."""
    names = [name for name in os.listdir("logs") if not name.startswith(".")]
    if not names: return False
    path = os.path.join("logs", dice.choice(sorted(names)))
    try:
        os.truncate(path, dice.choice([0, dice.randrange(1 + os.path.getsize(path))]))
    except FileNotFoundError:
        return False
    return True


def cut_once(dice):
    """A run whose logs are cut ends, with an error or without, and no process of it dies of a signal."""
    harness.clear_directory()
    os.mkdir("logs")
    steps, ranks = 30, dice.choice([1, 2])
    commands = f"repeat {steps} {{}} f%d.nc {dice.choice([2000, 300000])}"
    harness.write_flow(f"{BUILD}/bin/couple", {"model": (ranks, commands.format("write")), "analysis": (1, commands.format("read"))}, [("*.nc", "model", ["analysis"], "through: burst-buffer")], "spill: logs")
    run = harness.start(f"{BUILD}/bin/sluice", "run", "--log-dir", "log", "flow.yaml", environment={"SLUICE_VIRTUAL_NODES": dice.choice("12")})
    cuts = 0
    while run.poll() is None and cuts < 20:
        cuts += cut_any(dice)
        time.sleep(dice.uniform(0, 0.05))
    told = finish(run).all
    with open("log/events.log") as log:
        told += log.read()
    print(f"{cuts} cuts, exit status {run.returncode}", flush=True)
    expect(cuts > 0, "nothing was there to be cut")
    expect(not re.search(r"(?i)bus error|signal 7\b|SIGBUS", told), "a process has died of a file that was cut")


seed = harness.test_seed()
for turn in range(5):
    print(f"SLUICE_TEST_SEED={seed + turn}", flush=True)
    cut_once(random.Random(seed + turn))
