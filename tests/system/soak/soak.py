#!/usr/bin/python3
"""soak.py BUILD PROGRAM KIND (SECONDS | STEPS"s"): a run of very many steps, whose processes must not grow.
soak.py draw PICTURE TABLE...: a picture of the tables of several runs.

Samples the memory and the descriptors of each process of the run, the entries of its directories and the bytes of its
log, and the time. Between the middle of the run and its end, nothing may grow by more than its allowance. Writes samples.csv
and, where matplotlib is there, soak.svg. KIND is `names` (a new name for each step), `stream` (one name) or `large`
(files of 1 MiB). The allowance of the matcher for a file that is over is 160 bytes."""
import os
import sys
import time

sys.path.append(os.path.dirname(sys.path[0]))
from harness import clear_directory, descendants, expect, finish, start, wait_for, write_flow

MIB = 1 << 20
ALLOWED = {"memory": 4 * MIB, "descriptors": 20, "entries": 20, "log": 24 * MIB}
PAST_FILE = 160  # bytes of the matcher's memory, for the last 400,000 files
KINDS = {"names": ("s%d.nc", "s*.nc", 16, ()), "stream": ("s.nc", "s.nc", 16, ("steps: stream",)), "large": ("s%d.nc", "s*.nc", 131072, ())}


def steps():
    try:
        with open("steps.read") as file:
            steps.seen = max(steps.seen, int(file.read()))
    except (OSError, ValueError):  # it is being written
        pass
    return steps.seen


steps.seen = 0


def memory_and_descriptors(pid):
    """The private memory in bytes, and the number of descriptors; None: it has ended."""
    try:
        with open(f"/proc/{pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return int(fields["RssAnon"].split()[0]) * 1024, len(os.listdir(f"/proc/{pid}/fd"))
    except (OSError, KeyError):
        return None


def program_of(pid):
    with open(f"/proc/{pid}/comm") as file:
        return file.read().strip()


def log_bytes():
    return sum(entry.stat().st_size for entry in os.scandir("log") if entry.is_file())


def sample(processes):
    row = {"steps": steps()}
    for name, pid in processes.items():
        found = memory_and_descriptors(pid)
        if found is None:
            return None
        row[name + " memory"], row[name + " descriptors"] = found
    row["directory entries"] = len(os.listdir("."))
    row["shared memory entries"] = len(os.listdir("/dev/shm"))
    row["log"] = log_bytes()
    return row


def allowance(what, of_steps):
    allowed = ALLOWED[what.split()[-1]]
    return allowed + PAST_FILE * min(of_steps, 400_000) if what == "sluice-matcher memory" else allowed


def find_growth(rows):
    """What is larger at the end than after half of the steps."""
    first = next(row for row in rows if row["steps"] >= rows[-1]["steps"] / 2)
    last = rows[-1]
    for what in last:
        if what in ("steps", "seconds"):
            continue
        growth = last[what] - first[what]
        print(f"{what:32} {first[what]:>12} {last[what]:>12}")
        if growth > allowance(what, last["steps"] - first["steps"]):
            yield f"{what} grew by {growth} between steps {first['steps']} and {last['steps']}"


def write_table(rows):
    with open("samples.csv", "w") as file:
        file.write(",".join(rows[0]) + "\n")
        for row in rows:
            file.write(",".join(map(str, row.values())) + "\n")


def read_table(path):
    with open(path) as file:
        names, *lines = [line.strip().split(",") for line in file]
    return {name: [float(line[i]) for line in lines] for i, name in enumerate(names)}


def per_step_ms(table):
    """Milliseconds a step between samples that are some seconds apart: (steps, times)."""
    apart = max(1, len(table["steps"]) // 200, 10)
    samples = [*zip(table["steps"], table["seconds"])][::apart]
    found = [(end, (later - earlier) * 1e3 / (end - begin)) for (begin, earlier), (end, later) in zip(samples, samples[1:]) if end > begin]
    return [*zip(*found)] or [[], []]


def draw(picture, *tables):
    """A column for each table: memory, descriptors with directory entries, and the time of a step."""
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(3, len(tables), figsize=(6 * len(tables), 8), squeeze=False, layout="tight")
    for column, path in enumerate(tables):
        table = read_table(path)
        rows = {"private memory, MiB": (" memory", MIB), "descriptors, entries": ((" descriptors", " entries"), 1)}
        for place, (label, (ends, unit)) in zip(axes[:, column], rows.items()):
            for what in filter(lambda name: name.endswith(ends), table):
                place.plot(table["steps"], [value / unit for value in table[what]], label=what.removesuffix(" memory"))
            place.set_ylabel(label)
            place.legend(fontsize="small")
        axes[2][column].plot(*per_step_ms(table))
        axes[2][column].set_ylabel("time of a step, ms")
        axes[2][column].set_xlabel("steps")
        axes[0][column].set_title(os.path.basename(os.path.dirname(os.path.abspath(path))))
        for place in axes[:, column]:
            place.set_ylim(bottom=0)
    figure.savefig(picture)


def main():
    build, program, kind, amount = sys.argv[1:5]
    pattern, rule, length, keys = KINDS[kind]
    clear_directory()
    write_flow(program, {"model": (1, f"write {pattern} {length}"), "analysis": (1, f"read {pattern}")}, [(rule, "model", ["analysis"], "queue: 16", "when-full: wait", *keys)])
    run = start(build + "/bin/sluice", "run", "--quiet", "--log-dir", "log", "flow.yaml")
    wait_for(lambda: steps() > 0 or run.poll() is not None, "the first step")
    processes = {"sluice": run.pid}
    for pid in descendants(run.pid):
        name = program_of(pid)
        if name == "sluice-matcher":
            processes[name] = pid
        elif name == "soak":
            with open(f"/proc/{pid}/cmdline") as words:
                processes["model" if "write" in words.read() else "analysis"] = pid
    expect(set(processes) == {"sluice", "sluice-matcher", "model", "analysis"}, f"processes: {processes}")
    begin = time.monotonic()
    rows = []
    is_over = (lambda: steps() >= int(amount[:-1])) if amount.endswith("s") else (lambda: time.monotonic() - begin > float(amount))
    while not is_over():
        row = sample(processes)
        if row is None:
            break
        rows.append({"seconds": round(time.monotonic() - begin, 3), **row})
        time.sleep(0.5)
    with open("stop", "w"):
        pass
    finish(run, 0)
    write_table(rows)
    draw("soak.svg", "samples.csv")
    per_step = (time.monotonic() - begin) / max(rows[-1]["steps"], 1)
    print(f"{rows[-1]['steps']} steps, {per_step * 1e3:.2f} ms a step")
    growth = list(find_growth(rows))
    expect(not growth, "; ".join(growth))


draw(*sys.argv[2:]) if sys.argv[1] == "draw" else main()
