#!/usr/bin/python3
"""pipelines.py BUILD PROGRAM: random pipelines and cycles of five components; PROGRAM is couple.c.

Each reads files of others and writes files for others, step by step, at its own pace, on one to three virtual nodes, with
little memory or much, through memory, burst buffers or files. Each number that is read follows from the name of its
file, and is checked. What is to stay on disk is read again without Sluice. SLUICE_TEST_RUNS: how many."""
import os
import random
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import clear_directory, expect, finish, launch, start, test_seed, write_flow

build, program = sys.argv[1:3]
COMPONENTS = 5


class Edge:
    """Files that one component writes at each step, and others read."""

    def __init__(self, dice, number, writer, readers):
        self.writer, self.readers = writer, readers
        self.name = f"e{number}"
        self.length = dice.choice([1, 10, 1000, 20000])
        self.key = dice.choice(["", "", "", "keep: true", "through: burst-buffer", "through: file"])

    def pattern(self):
        return self.name + "_%d.nc"

    def rule(self):
        return (self.name + "_*.nc", f"c{self.writer}", [f"c{reader}" for reader in self.readers], *([self.key] if self.key else []))


def make_edges(dice):
    edges = []
    for reader in range(1, COMPONENTS):
        for writer in dice.sample(range(reader), dice.choice([1, 1, min(2, reader)])):
            others = [other for other in range(writer + 1, COMPONENTS) if other > reader and dice.random() < 0.3]
            edges.append(Edge(dice, len(edges), writer, [reader, *others]))
    if dice.random() < 0.5:  # the first one reads what comes of its step
        edges.append(Edge(dice, len(edges), COMPONENTS - 1, [0]))
    return edges


def commands(dice, number, edges, steps):
    reads = [f"read {edge.pattern()} {edge.length}" for edge in edges if number in edge.readers]
    writes = [f"write {edge.pattern()} {edge.length}" for edge in edges if edge.writer == number]
    pause = [f"sleep {dice.choice([0, 0, 1, 5, 20])}"]
    work = writes + pause + reads if number == 0 else reads + pause + writes
    return f"repeat {steps} " + " ".join(work)


def run_one(dice, number):
    clear_directory()
    steps = dice.randrange(2, 9)
    edges = make_edges(dice)
    # a component that nobody reads from stops early now and then
    last = [all(edge.writer != number for edge in edges) for number in range(COMPONENTS)]
    components = {}
    for i in range(COMPONENTS):
        own_steps = steps - 1 if last[i] and dice.random() < 0.3 else steps
        components[f"c{i}"] = (dice.randrange(1, 4), commands(dice, i, edges, own_steps))
    staging = dice.choice([(), ("memory: 1MiB",), ("memory: 2MiB", "retain: 0")]) + dice.choice([(), ("matchers: 2",)])
    nodes = dice.choice("1123")
    write_flow(program, components, [edge.rule() for edge in edges], *staging)
    print(f"run {number}: {steps} steps, {nodes} nodes, {staging}")
    with open("flow.yaml") as flow:
        print(flow.read())
    finish(start(build + "/bin/sluice", "run", "flow.yaml", environment={"SLUICE_VIRTUAL_NODES": nodes}), 0)
    for edge in edges:
        if edge.key:
            launch(1, program, "repeat", str(steps), "read", edge.pattern(), str(edge.length), status=0)
    expect(not [name for name in os.listdir(".") if name.endswith((".sluice-partial", ".meta", ".data"))], "something is left")


def main():
    runs = int(os.environ.get("SLUICE_TEST_RUNS", "5"))
    dice = random.Random(test_seed())
    for number in range(runs):
        run_one(dice, number)


main()
