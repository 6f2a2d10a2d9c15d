#!/usr/bin/python3
"""little_memory.py BUILD CASE: scripts whose number of processes nobody knows, with little memory: what all of them have read gives up its memory."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, case = sys.argv[1:3]
PYTHON = "/usr/bin/python3"
BYTES, FILES = 300000, 10


def write_flow(scripts, rules, staging="memory: 4MiB, spill: none"):
    """`scripts`: the lines of each component's script for bash. Rules: (pattern, writer, readers, more keys)."""
    lines = ["version: 1", "name: test", f"staging: {{prewarm: 0, {staging}}}", "components:"]
    for name, script in scripts.items():
        with open(f"run_{name}.sh", "w") as file:
            file.write("set -e\n" + script + "\n")
        lines.append(f"  {name}: {{command: bash run_{name}.sh}}")
    lines += ["files:"] + [f'  - {{path: "{path}", writer: {writer}, readers: [{", ".join(readers)}]{more}}}' for path, writer, readers, more in rules]
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join(lines) + "\n")


def run(status=0):
    return finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), status)


def count(path):
    with open(path) as file:
        return int(file.read())


EACH = f"for i in $(seq {FILES}); do"
WRITES = f"{EACH} head -c {BYTES} /dev/zero > a.$i; done"


def diamond_rules(more=""):
    return [("a.*", "a", ["b", "c"], more), ("b.*", "b", ["d"], more), ("c.*", "c", ["d"], more)]


def diamond():
    """Two read what one writes, and one reads what both make of it: first all of the one, then all of the other."""
    last = f"for f in b c; do {EACH} cat $f.$i; done; done | wc -c > count"
    write_flow({"a": WRITES, "b": f"{EACH} cat a.$i > b.$i; done", "c": f"{EACH} cat a.$i > c.$i; done", "d": last}, diamond_rules())
    run()
    expect(count("count") == 2 * FILES * BYTES, "the bytes")


def diamond_of_shells():
    """The shells themselves read files, too: they are connected for the whole run, and wait for their commands."""
    write_flow({"a": "echo small > a.0\n" + WRITES, "b": f"read -r x < a.0\n{EACH} cat a.$i > b.$i; done", "c": f"{EACH} cat a.$i > c.$i; test -e a.$i || true; done",
                "d": f"{EACH} cat b.$i c.$i; test -e b.$i || true; done | wc -c > count"}, diamond_rules())
    run()
    expect(count("count") == 2 * FILES * BYTES, "the bytes")


def diamond_with_queues():
    """With queues, a writer waits for readers as well as for memory."""
    write_flow({"a": WRITES, "b": f"{EACH} cat a.$i > b.$i; done", "c": f"{EACH} cat a.$i > c.$i; done", "d": f"{EACH} cat b.$i c.$i; done | wc -c > count"},
               diamond_rules(", queue: 2"))
    run()
    expect(count("count") == 2 * FILES * BYTES, "the bytes")


def chain():
    """A pipeline of three, whose last program is one process of Python that starts a command for each file."""
    with open("last.py", "w") as file:
        file.write(f"import os, subprocess\nsum = 0\nfor i in range(1, {FILES} + 1): sum += len(subprocess.run(['cat', f'b.{{i}}'], stdout=subprocess.PIPE, check=True).stdout); os.path.exists(f'b.{{i}}')\n"
                   "print(sum)\n")
    write_flow({"a": WRITES, "b": f"{EACH} cat a.$i > b.$i; done", "d": f"{PYTHON} last.py > count"}, [("a.*", "a", ["b"], ""), ("b.*", "b", ["d"], "")], "memory: 2MiB, spill: none")
    run()
    expect(count("count") == FILES * BYTES, "the bytes")


def pool():
    """Workers of Python take a file each in turn; those without a file wait for one in a pipe."""
    with open("pool.py", "w") as file:
        file.write("import multiprocessing\ndef size(i):\n    with open(f'a.{i}', 'rb') as file: return len(file.read())\nif __name__ == '__main__':\n"
                   f"    with multiprocessing.Pool(3) as pool: print(sum(pool.map(size, range(1, {3 * FILES} + 1), chunksize=1)))\n")
    write_flow({"a": WRITES.replace(f"seq {FILES}", f"seq {3 * FILES}"), "b": f"{PYTHON} pool.py > count"}, [("a.*", "a", ["b"], "")], "memory: 2MiB, spill: none")
    run()
    expect(count("count") == 3 * FILES * BYTES, "the bytes")


def stream_of_one_name():
    """Each script writes one name again and again: who opens it while the file before waits for memory does nothing either, so the waits for memory end with an error that says what helps, and not never."""
    copies = {name: f"{EACH} cat a > {name}; done" for name in "bc"}
    last = f"for f in b c; do {EACH} cat $f || true; done; done | wc -c > count"
    write_flow({"a": f"{EACH} head -c {BYTES} /dev/zero > a; done", **copies, "d": last}, [("a", "a", ["b", "c"], ", steps: stream"), ("b", "b", ["d"], ", steps: stream"), ("c", "c", ["d"], ", steps: stream")],
               "memory: 2MiB, spill: none")
    result = finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"))
    expect(count("count") > 0 and (result.status != 0 or "is removed" in result.all or "no memory is left" in result.all), "it is told")


def looked_at_first():
    """A script looks at some files, and reads them later: between its commands no process is connected, and nothing is given up."""
    write_flow({"a": WRITES, "b": f"stat a.1 a.2 a.3 > facts\nsleep 2\n{EACH} cat a.$i; done | wc -c > count"}, [("a.*", "a", ["b"], "")], "memory: 2MiB, spill: none")
    run()
    expect(count("count") == FILES * BYTES, "the bytes")


def read_twice():
    """A script reads all files twice, and no shell tells that it has not found them the second time: the run does, and says what helps."""
    write_flow({"a": WRITES, "b": f"{EACH} cat a.$i > first.$i; done\n{EACH} cat a.$i; done | wc -c > count"}, [("a.*", "a", ["b"], "")], "memory: 2MiB, spill: none")
    result = run(3)
    expect(count("count") < FILES * BYTES, "some are gone")
    expect("b cannot open 'a." in result.all and "raise staging.memory" in result.all and " lost: " in result.all, "the run says so")


def looked_at_while_ranks_wait():
    """A script looks at the files of a program one by one; a rank of the program waits for memory, and the other one inside MPI, where nobody sees that it waits. What the script has looked at is given up for the next file."""
    write_flow({"a": "", "b": "stat a.1; stat a.2; stat a.3; stat a.4"}, [("a.*", "a", ["b"], "")], "memory: 2MiB, spill: none")
    with open("flow.yaml") as flow:
        text = flow.read()
    with open("flow.yaml", "w") as flow:
        flow.write(text.replace("a: {command: bash run_a.sh}", f"a: {{command: {build}/bin/uneven_puts 4 {2 * BYTES}, ranks: 2}}"))
    run()


def missed(again):
    """A script looks at some files, and waits for another one, for which they are given up; then it looks for them by `again`, and does not open what it does not find."""
    last = FILES - 1
    write_flow({"a": WRITES, "b": f"stat a.1 a.2 a.3 > facts\ncat a.{last} > last\n{again} | wc -c > count"}, [("a.*", "a", ["b"], "")], "memory: 2MiB, spill: none")
    result = run(3)
    expect(count("count") < 3 * BYTES, "some are gone")
    expect("raise staging.memory" in result.all and " lost: " in result.all, "the run says so")


def missed_by_stat():
    missed("for i in 1 2 3; do if [ -e a.$i ]; then cat a.$i; fi; done")


def missed_by_name():
    missed("for f in a.[123]; do if [ \"$f\" != 'a.[123]' ]; then cat $f; fi; done")


def read_again():
    """One process that opens again what it has read goes on with that, and nothing is missing."""
    with open("again.py", "w") as file:
        file.write(f"sum = 0\nfor i in range(1, {FILES} + 1):\n    for j in range(max(1, i - 3), i + 1):\n        with open(f'a.{{j}}', 'rb') as file: sum += len(file.read())\nprint(sum)\n")
    write_flow({"a": WRITES, "b": f"{PYTHON} again.py > count"}, [("a.*", "a", ["b"], "")], "memory: 2MiB, spill: none")
    run()
    expect(count("count") == (4 * FILES - 6) * BYTES, "the bytes")


def reserve():
    """A Python reader keeps up with its model, on a disk that is smaller than the reserve: its own files find room there, and the run says which key helps."""
    with open("read.py", "w") as file:
        file.write("for i in range(1, 41):\n    with open(f'a.{i}', 'rb') as file: bytes = file.read()\n    with open('disk/own', 'ab') as own: own.write(bytes[:200000])\n    open(f'read.{i}', 'w').close()\n")
    pause = "[ $i -lt 3 ] || until [ -e read.$((i - 2)) ]; do sleep 0.02; done; "
    write_flow({"a": f"for i in $(seq 40); do {pause}head -c 400000 /dev/zero > a.$i; done", "b": f"{PYTHON} read.py"}, [("a.*", "a", ["b"], "")], "memory: 2MiB, spill: disk")
    with harness.SmallDisk("disk", 10, may_keep=True):
        result = run()
        expect(os.path.getsize("disk/own") == 40 * 200000, "the reader's own file")
    expect("stays free for other files" in result.all and "`ranks: 1`" in result.all, "the notice")


if case == "reserve":
    harness.in_own_namespace()
clear_directory()
globals()[case]()
