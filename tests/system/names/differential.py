"""Sequences of calls that several processes make, one after the other, on disk and coupled: each result has to be the same, and so has what a reader finds at the end."""
import os
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness

KEYS = ["", ", keep: true", ", publish: exit", ", through: file"]

# Carries out what it is told, a line each, and answers with a line. A test puts its functions before it.
LOOP = """
for line in sys.stdin:
    name, arguments = eval(line)
    try: result = (globals().get(name) or getattr(os, name))(*arguments)
    except OSError as error: result = errno.errorcode.get(error.errno, error.errno)
    except KeyError: result = 'closed'
    except (ValueError, OverflowError) as error: result = str(error)
    print(repr(result), flush=True)
"""

# The workers are clients of all matchers, or on all nodes, as ranks of an MPI program are.
MASTER = """
import os, subprocess, sys
workers = {}
for line in open('calls.py'):
    number, call = eval(line)
    if number not in workers:
        place = {'OMPI_COMM_WORLD_RANK': number % 2 * 32 + number, 'OMPI_COMM_WORLD_SIZE': 64, 'OMPI_COMM_WORLD_LOCAL_RANK': number}
        environment = {**os.environ, **{name: str(value) for name, value in place.items()}}
        workers[number] = subprocess.Popen([sys.executable, '-B', 'worker.py'], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    workers[number].stdin.write(repr(call) + '\\n')
    workers[number].stdin.flush()
    print(number, call, workers[number].stdout.readline().strip(), flush=True)
for worker in workers.values():
    worker.stdin.close()
    worker.wait()
"""

READER = "for file in $(cat .run/names); do echo $file $(cat $file 2>&1 | sed 's/.*: //'); done"


def prepare(directory, worker, calls, names):
    os.makedirs(directory + "/.run")
    for name, text in (("worker.py", worker + LOOP), ("master.py", MASTER), ("calls.py", "".join(f"{call!r}\n" for call in calls)), ("r.sh", READER), (".run/names", "\n".join(names) + "\n")):
        with open(f"{directory}/{name}", "w") as file:
            file.write(text)


def output(directory):
    return [line for name in ("w.out", "r.out") for line in open(f"{directory}/{name}", errors="replace").read().split("\n")]


def compare(build, number, seed, worker, calls_of, covered=("*.dat", "out/*"), status=None):
    """Whether the sequence of the seed gives the same on disk and coupled. `calls_of(seed)`: (process, (function, arguments)) for each call, and all names. Tells what differs."""
    on_disk, coupled = f"disk{number}", f"coupled{number}"
    keys = KEYS[seed % len(KEYS)]
    matchers = os.environ.get("SLUICE_TEST_MATCHERS")
    for directory in (on_disk, coupled):
        prepare(directory, worker, *calls_of(seed))
    for command in ("/usr/bin/python3 master.py > w.out 2>&1", "sh r.sh > r.out 2>&1"):
        subprocess.run(command, shell=True, cwd=on_disk, stdin=subprocess.DEVNULL)
    with open(coupled + "/.run/flow.yaml", "w") as flow:
        flow.write("version: 1\nname: names\nstaging: {prewarm: 0" + (", matchers: " + matchers if matchers else "") + "}\ncomponents:\n  w: {directory: .., command: [sh, -c, '/usr/bin/python3 master.py > w.out 2>&1']}\n"
                   "  r: {directory: .., command: [sh, -c, 'sh r.sh > r.out 2>&1; true'], start: when-done}\n"
                   "files:\n" + "".join(f"  - {{path: '{path}', writer: w, readers: [r]{keys}}}\n" for path in covered))
    result = harness.call(build + "/bin/sluice", "run", "--log-dir", ".run/log", ".run/flow.yaml", cwd=coupled)
    expected, found = output(on_disk), output(coupled)
    for place, (one, two) in enumerate(zip(expected, found)):
        if one != two:
            print("\n".join(expected[max(0, place - 400):place]))
            print(f"--- SLUICE_TEST_SEED={seed}, rule keys '{keys}'\n--- on disk: {one}\n--- coupled: {two}", flush=True)
            return False
    return len(expected) == len(found) and (status is None or result.status == status)
