#!/usr/bin/env python3
"""Random workflows with random files: what their readers find must be what they find in files on disk.

    random_runs.py BUILD RANDOM_FILES RANDOM_FILES_SERIAL RUNS

Each run draws a workflow: programs of PnetCDF and of the C library, tools, copies in between, jobs, streams,
numbers of processes, what the data passes through, how much memory there is, nodes, matchers, queues and kept
files. The same files are written and read before, one after the other, on disk and by the C library alone.

SLUICE_TEST_SEED repeats all runs of a test, SLUICE_TEST_RUN="SEED.NUMBER" one of them. Some programs kill
themselves and are started again, and some whole runs are killed and resumed.
"""
import glob
import os
import random
import subprocess
import sys
import time

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect, finish, have_in_environment, repeat_runs, start, wait_for  # noqa: E402

BUILD, PARALLEL, SERIAL = sys.argv[1:4]
RUNS = int(os.environ.get("SLUICE_TEST_KILLS") or sys.argv[4])
SHOWN_BY = ["ncdump {0} > {1}.txt", "cp {0} {1}.bin; ncdump {1}.bin > {1}.txt; rm {1}.bin", "nccopy {0} {1}.bin; ncdump {1}.bin > {1}.txt; rm {1}.bin", "ncks --trd {0} > {1}.txt"]
COPIED_BY = ["nccopy {0} {1}", "cp {0} {1}", "ncks -h -O {0} {1}"]


class Program:
    """A component: a program of PnetCDF with so many ranks, or one of the C library (0). It reads or writes
    the files PREFIX0.nc, PREFIX1.nc, …"""

    has_jobs = False

    def __init__(self, name, ranks, plan, prefix, reads):
        self.name, self.ranks, self.plan, self.prefix, self.reads = name, ranks, plan, prefix, reads
        self.kill_at = plan.draw.randrange(1, 60) if plan.has_kills and plan.draw.random() < 0.6 else 0

    def arguments(self, prefix):
        return ["read" if self.reads else "write", str(self.plan.seed), str(self.plan.files), prefix, *([self.name] if self.reads else [])]

    def component(self):
        prefix = self.prefix[:-1] if self.plan.is_stream else self.prefix
        variables = [name + ": 1" for name in self.plan.variables()]
        if self.kill_at:
            variables += [f"KILL: {self.kill_at}", f"KILL_MARK: killed.{self.name}"]
        keys = [f"command: {[SERIAL if self.ranks == 0 else PARALLEL, *self.arguments(prefix)]}", f"ranks: {self.ranks}", "environment: {" + ", ".join(variables) + "}"]
        return keys + (["restarts: 1", "restart-delay: 10ms"] if self.kill_at else [])

    def run_on_disk(self):
        """By the C library, for all ranks: Debian's PnetCDF reads and writes some strided records wrongly."""
        for rank in range(max(self.ranks, 1) if self.reads else 1):
            variables = {"AS_RANK": str(rank), "AS_RANKS": str(max(self.ranks, 1)), **{name: "1" for name in self.plan.variables() if name != "STREAM"}}
            call(SERIAL, *self.arguments(self.prefix), status=0, environment=variables)


class Script:
    """A component that runs tools of the C library on each file. It writes PREFIX0.nc, … or NAME_0.txt, …"""

    def __init__(self, name, plan, source, prefix, work, has_jobs):
        self.name, self.ranks, self.plan, self.source, self.prefix, self.has_jobs = name, 0, plan, source, prefix, has_jobs
        self.work, self.reads = work, True

    def target(self, number):
        return f"{self.prefix}{number}.nc" if self.prefix else f"{self.name}_{number}"

    def lines(self):
        works = [self.work.format(f"{self.source}{i}.nc", self.target(i)) for i in range(self.plan.files)]
        if self.plan.is_killed:  # go on behind what is done
            works = [f"[ -e done.{self.target(i)} ] || {{ {work}; touch done.{self.target(i)}; }}" for i, work in enumerate(works)]
        return "; ".join(works)

    def component(self):
        if not self.has_jobs:
            return [f'command: [sh, -c, "set -e; {self.lines()}"]']
        # The number is what the name ends with.
        name = "n=${1##*_}; n=${n%.nc}; "
        work = self.work.format("$1", f"{self.prefix}$n.nc" if self.prefix else f"{self.name}_$n")
        return [f"command: [sh, -c, 'set -e; {name}{work}', sh, \"{{name}}\"]", f'for-each: "{self.source}*.nc"', f"at-most: {1 + self.plan.seed % 3}"]

    def run_on_disk(self):
        call("sh", "-c", "set -e; " + self.lines(), status=0)


class Plan:
    """A random workflow."""

    def __init__(self, seed):
        draw = self.draw = random.Random(seed)
        self.seed = draw.randrange(1 << 30)
        self.files = draw.choice([1, 3, 6, 10])
        self.is_stream = draw.random() < 0.15
        self.has_format4 = not self.is_stream and draw.random() < 0.1
        self.has_kills = not self.is_stream and draw.random() < 0.3
        self.is_put_once = not self.is_stream and draw.random() < 0.3
        self.is_reopened = not self.is_stream and not self.has_kills and not self.is_put_once and draw.random() < 0.2
        self.is_killed = not self.is_stream and not self.has_kills and not self.is_reopened and draw.random() < 0.3
        self.rules, self.components = [], []
        for i in range(draw.choice([1, 1, 2])):
            self.add_chain(f"w{i}")
        self.nodes = draw.choice([1, 1, 1, 2])
        self.staging = [f"memory: {draw.choice(['2MiB', '8MiB', '64MiB', '256MiB'])}", "prewarm: 0", f"matchers: {draw.choice([1, 1, 2])}"]
        if draw.random() < 0.2:
            self.staging += ["copy-threads: 2"]
        if draw.random() < 0.2:
            self.staging += ["retain: 0"]
        self.when_done = {each.name for each in self.components if each.reads and not each.has_jobs and (self.is_reopened or draw.random() < 0.15)}
        if self.when_done:  # nobody frees memory meanwhile
            self.rules = [(*rule, [key for key in keys if not key.startswith(("queue", "when-full"))]) for *rule, keys in self.rules]

    def variables(self):
        named = {"STREAM": self.is_stream, "FORMAT4": self.has_format4, "ONCE": self.is_put_once, "REOPEN": self.is_reopened}
        return [name for name, is_set in named.items() if is_set]

    def ranks(self):
        return 0 if self.has_format4 else self.draw.choice([0, 1, 2, 3])

    def add_chain(self, name):
        """A writer, maybe a copy of each file, and readers of the files or of the copies."""
        draw = self.draw
        writer = Program(name, self.ranks(), self, name + "_", reads=False)
        self.components.append(writer)
        readers = self.add_readers(name, name + "_")
        if not self.is_stream and not self.is_reopened and not self.is_killed and draw.random() < 0.3:
            copier = Script(name + "copy", self, name + "_", name + "copy_", draw.choice(COPIED_BY), draw.random() < 0.5)
            self.components.append(copier)
            readers.append(copier)
            self.add_rule(copier, self.add_readers(name + "copy", name + "copy_"))
        self.add_rule(writer, readers)

    def add_readers(self, name, source):
        draw, readers = self.draw, []
        for i in range(draw.choice([1, 1, 2])):
            if not self.is_stream and draw.random() < 0.25:
                readers.append(Script(f"r{i}_{name}", self, source, None, draw.choice(SHOWN_BY), not self.is_reopened and draw.random() < 0.4))
            else:
                readers.append(Program(f"r{i}_{name}", self.ranks(), self, source, reads=True))
        self.components += readers
        return readers

    def add_rule(self, writer, readers):
        draw = self.draw
        through = draw.choice(["memory"] * 6 + ["burst-buffer", "file", "subfiles", "blobs"])
        if (any(each.ranks == 0 for each in [writer, *readers]) and through in ("subfiles", "blobs")) or (self.is_stream and through in ("file", "subfiles", "blobs")):
            through = "memory"
        if self.has_format4 and through == "burst-buffer":
            through = "memory"
        keys = [f"through: {through}"]
        if through == "memory" and not self.is_stream and draw.random() < 0.3:
            keys.append("keep: true")
        if self.is_stream:
            keys.append("steps: stream")
        if self.is_put_once and through in ("memory", "burst-buffer"):
            keys.append(f"publish: {draw.choice(['close', 'write'])}")
        if draw.random() < 0.2:
            keys.append("identity: name")
        if draw.random() < 0.2:
            keys.append("replay: off")
        if draw.random() < 0.2:
            keys.append("partition: variable")
        if through == "memory" and "publish: write" not in keys and draw.random() < 0.2:
            keys += [f"queue: {draw.choice([1, 2, 3])}", f"when-full: {draw.choice(['wait', 'spill'])}"]
        self.rules.append((writer, readers, keys))

    def flow(self):
        lines = ["version: 1", "name: random", "staging: {" + ", ".join(self.staging) + "}", "components:"]
        for each in self.components:
            keys = each.component() + (["start: when-done"] if each.name in self.when_done else [])
            lines.append(f"  {each.name}: {{" + ", ".join(keys) + "}")
        lines.append("files:")
        for writer, readers, keys in self.rules:
            pattern = writer.prefix[:-1] + ".nc" if self.is_stream else writer.prefix + "*.nc"
            names = ", ".join(reader.name for reader in readers)
            lines.append("  - {" + ", ".join([f'path: "{pattern}"', f"writer: {writer.name}", f"readers: [{names}]", *keys]) + "}")
        return "\n".join(lines) + "\n"

    def kept(self):
        """The prefixes of the files that an ordinary program finds on disk afterwards."""
        return [writer.prefix for writer, _, keys in self.rules if not self.is_stream and any(key in keys for key in ("keep: true", "through: burst-buffer", "through: file"))]

    def may_leave(self, name):
        return any(name.startswith(prefix) for prefix in self.kept()) or any("subfiles" in keys[0] or "blobs" in keys[0] or "burst" in keys[0] for _, _, keys in self.rules)


def outputs(directory):
    found = {}
    for path in sorted(glob.glob(os.path.join(directory, "*.[0-9]*.[0-9]")) + glob.glob(os.path.join(directory, "*.txt"))):
        with open(path) as file:
            found[os.path.basename(path)] = file.read()
    return found


def difference(wanted, found):
    for name, text in wanted.items():
        if name not in found:
            return f"{name} is missing"
        for line, (one, other) in enumerate(zip(text.splitlines(), found[name].splitlines()), 1):
            if one != other:
                return f"{name}:{line}: on disk '{one}', in the run '{other}'"
        if text != found[name]:
            return f"{name}: another number of lines"
    return None


def read_all(plan, prefix):
    """What the C library finds in files on disk."""
    Program("kept", 0, plan, prefix, reads=True).run_on_disk()
    found = {name: text for name, text in outputs(".").items() if name.startswith("kept.")}
    for name in found:
        os.remove(name)
    return found


def has_started():
    """Whether a run has started a component: before that there is nothing to resume."""
    return subprocess.run("grep -qs ^started .sluice/*/journal.tsv", shell=True).returncode == 0


def run_flow(plan):
    """Runs the workflow. One that is killed is resumed until it ends."""
    command = [os.path.join(BUILD, "bin/sluice"), "run", "flow.yaml"]
    variables = {"SLUICE_RANDOM_RUN": str(plan.seed), **({} if plan.nodes == 1 else {"SLUICE_VIRTUAL_NODES": str(plan.nodes)})}
    for _ in range(plan.draw.choice([1, 1, 2, 3]) if plan.is_killed else 0):
        run = start(*command, environment=variables)
        wait_for(lambda: run.poll() is not None or has_started(), "the start of the first component")
        time.sleep(plan.draw.uniform(0.01, 1.5))
        run.kill()
        status = finish(run).status
        if status == 0:
            return
        if "--resume" not in command:
            command.insert(2, "--resume")
        wait_for(lambda: not have_in_environment("SLUICE_RANDOM_RUN", plan.seed), "the processes of the killed run")
    call(*command, status=0, environment=variables)


def one_run(seed):
    print(f"== SLUICE_TEST_RUN={seed}", flush=True)
    plan = Plan(seed)
    clear_directory()
    os.mkdir("disk")
    os.mkdir("run")
    with open("run/flow.yaml", "w") as file:
        file.write(plan.flow())
    print(plan.flow(), flush=True)
    os.chdir("disk")
    writers = [writer for writer, _, _ in plan.rules]
    writers.sort(key=lambda each: each.reads)  # a copier reads what another one has written
    for each in writers + [each for each in plan.components if each not in writers]:
        each.run_on_disk()
    wanted = outputs(".")
    os.chdir("../run")
    run_flow(plan)
    wrong = difference(wanted, outputs("."))
    expect(wrong is None, f"SLUICE_TEST_RUN={seed}: {wrong}")
    left = [name for name in glob.glob("*.nc*") if not plan.may_leave(name)]
    expect(not left, f"SLUICE_TEST_RUN={seed}: left on disk: {left}")
    for prefix in plan.kept():
        found = read_all(plan, prefix)
        os.chdir("../disk")
        wrong = difference(read_all(plan, prefix), found)
        os.chdir("../run")
        expect(wrong is None, f"SLUICE_TEST_RUN={seed}: kept files: {wrong}")
    os.chdir("..")


repeat_runs(one_run, RUNS)
