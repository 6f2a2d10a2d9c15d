"""wait_runs: runs of scripts that wait for each other, some at a time."""
import os

import harness
from harness import expect, finish

AT_ONCE = 3
RULES = [("a.dat", "a", "b"), ("b.dat", "b", "a")]


def write_flow(scripts, rules, more=""):
    lines = ["version: 1", "name: waits", "staging: {prewarm: 0}", "components:"]
    for name, text in scripts.items():
        with open(name + ".sh", "w") as script:
            script.write(text + "\n")
        lines.append(f"  {name}: {{command: bash {name}.sh}}")
    lines += ["files:"] + [f"  - {{path: '{path}', writer: {writer}, readers: [{readers}]{more}}}" for path, writer, readers in rules]
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join(lines) + "\n")


def run_each(build, environment, ways, check):
    """`ways`: {directory: (scripts, rules)}. Some runs at a time. `check` gets the result of each, in its directory."""
    failed, names = [], list(ways)
    for i in range(0, len(names), AT_ONCE):
        runs = []
        for name in names[i:i + AT_ONCE]:
            os.mkdir(name)
            os.chdir(name)
            write_flow(*ways[name])
            runs.append((name, harness.start(build + "/bin/sluice", "run", "flow.yaml", environment=environment)))
            os.chdir("..")
        for name, process in runs:
            result = finish(process)
            os.chdir(name)
            failed += [] if check(result) else [name]
            os.chdir("..")
    expect(not failed, "these went wrong: " + ", ".join(failed))


def ends_as_cycle(result):
    return "a cycle of waits" in result.all


def goes_on(result):
    return result.status == 0 and os.path.getsize("end") > 0
