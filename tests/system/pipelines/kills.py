#!/usr/bin/python3
"""kills.py BUILD PROGRAM CASE: random pipelines of five components that are killed at random and started again; PROGRAM
is relay.c. What each component has computed of what it has read is compared with the same programs, run one after the
other through files. SLUICE_TEST_KILLS: how many runs."""
import filecmp
import os
import random
import signal
import sys
import time

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import allow, clear_directory, expect, finish, kill, processes_of

build, program, case = sys.argv[1:4]
COMPONENTS = 5


class Edge:
    """Files, or a stream, that one component writes and others read."""

    def __init__(self, dice, number, writer, readers):
        self.writer, self.readers = writer, readers
        is_stream = dice.random() < 0.4
        self.name = ("s" if is_stream else "e") + str(number)
        self.keys = [dice.choice(["", "", "keep: true", "through: burst-buffer", *([] if is_stream else ["through: file"])])]
        if is_stream:
            self.keys += ["steps: stream", *dice.choice([[], ["queue: 2", "when-full: wait"]])]

    def rule(self):
        return (self.name + (".nc" if self.name[0] == "s" else "_*.nc"), f"c{self.writer}", [f"c{reader}" for reader in self.readers], *filter(None, self.keys))


def make_edges(dice):
    """Each component but the first reads from one or two of those before it."""
    edges = []
    for reader in range(1, COMPONENTS):
        for writer in dice.sample(range(reader), dice.choice([1, 1, min(2, reader)])):
            edges.append(Edge(dice, len(edges), writer, [reader, *(other for other in range(reader + 1, COMPONENTS) if dice.random() < 0.2)]))
    return edges


def arguments(number, steps, length, edges, name_of):
    words = ["-" + name_of(edge) for edge in edges if number in edge.readers] + ["+" + name_of(edge) for edge in edges if edge.writer == number]
    return f"c{number} {steps} {length} " + " ".join(words)


def processes():
    """The ranks in this directory, with their parents: {component: {pid: parent}}."""
    found = {}
    for pid, parent, words in processes_of(program):
        found.setdefault(words[1], {})[pid] = parent
    return found


def victims(run, dice):
    """Some processes of one component, or of two: a rank, all ranks, or all with their launcher."""
    found, chosen = processes(), []
    for name in dice.sample([*found], min(len(found), dice.choice([1, 1, 2]))):
        ranks = [*found[name]]
        launchers = [*({*found[name].values()} - {1, run.pid})]
        chosen += dice.choice([[dice.choice(ranks)], ranks, [*launchers, *ranks]])
    return chosen


def kill_some(run, dice):
    """Kills until the run has ended; without `go`, it does not end before."""
    kills, wanted = 0, dice.randint(2, 8)
    while kills < wanted and run.poll() is None:
        time.sleep(dice.uniform(0, 0.7))
        found = victims(run, dice)
        kill(found, signal.SIGKILL)
        kills += bool(found)
    return kills


def compare(steps):
    expected = sorted(f"c{number}.{step:04d}" for number in range(COMPONENTS) for step in range(steps))
    for where in "results", "direct/results":
        expect(sorted(os.listdir(where)) == expected, f"{where}: {sorted(os.listdir(where))}")
    for name in expected:
        expect(filecmp.cmp("results/" + name, "direct/results/" + name, shallow=False), f"{name} has other numbers than through files")


def run_one(dice):
    clear_directory()
    os.makedirs("results")
    os.makedirs("direct/results")
    allow("direct/go")
    steps, length, edges = dice.randrange(3, 9), dice.choice([3, 1000, 20000]), make_edges(dice)
    more = ("restarts: 100", f"restart-delay: {dice.choice([0, 50, 400])}ms")
    components = {f"c{i}": (dice.randrange(0, 4), arguments(i, steps, length, edges, lambda edge: edge.name), *more) for i in range(COMPONENTS)}
    harness.write_flow(program, components, [edge.rule() for edge in edges], *dice.choice([(), ("memory: 1MiB",)]))
    with open("flow.yaml") as flow:
        print(flow.read(), flush=True)
    run = harness.start(build + "/bin/sluice", "run", "flow.yaml", environment={"SLUICE_VIRTUAL_NODES": dice.choice("112")})
    kills = kill_some(run, dice)
    allow("go")
    finish(run, 0)
    for i in range(COMPONENTS):
        harness.launch(1, program, *arguments(i, steps, length, edges, lambda edge: "e" + edge.name[1:]).split(), cwd="direct", status=0)
    compare(steps)
    return kills


def random_kills():
    seed, runs, kills = harness.test_seed(), int(os.environ.get("SLUICE_TEST_KILLS", 1)), 0
    for turn in range(runs):
        print(f"run {turn} of {runs}: SLUICE_TEST_SEED={seed + turn} SLUICE_TEST_KILLS=1", flush=True)
        kills += run_one(random.Random(seed + turn))
    print(f"{runs} runs, {kills} kills")


globals()[case]()
