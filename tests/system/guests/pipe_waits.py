#!/usr/bin/python3
"""pipe_waits.py BUILD CASE: scripts whose processes wait for each other by pipes, children and semaphores, while others wait for files. It is a cycle of waits only where nobody can ever wake anybody."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
import wait_runs
from harness import clear_directory
from wait_runs import RULES, ends_as_cycle, goes_on

build, case = sys.argv[1:3]
harness.LIMIT_S = 300  # a proof takes long on a busy machine

# Each way: the scripts of a and b. a makes a.dat, and reads b.dat; b makes b.dat, and reads a.dat.
PLAIN = "cat a.dat > b.dat"
CYCLES = {
    "redirected": ("cat b.dat > a.dat", PLAIN),
    "substitutions": ("x=$(cat b.dat) && echo $x > a.dat", "x=$(cat a.dat) && echo $x > b.dat"),
    "pipeline": ("x=$(cat b.dat); echo $x > a.dat", "cat a.dat | wc -c > b.dat"),
    "long_pipeline": ("cat b.dat | tr a b | sort | tee copy | wc -c > a.dat", "sort a.dat | uniq | head -n 3 > b.dat"),
    "loop": ("cat b.dat | while read -r line; do echo $line; done > a.dat", "while read -r line; do echo $line; done < a.dat > b.dat"),
    "coprocess": ("coproc cat b.dat; read -r x <&${COPROC[0]}; echo $x > a.dat", PLAIN),
    "process_substitutions": ("cat b.dat | tee >(wc -c > size) >(wc -l > lines) > a.dat", "cat <(cat a.dat) > b.dat"),
    "background": ("cat b.dat > copy & sleep 0.1 & wait -n; wait; cp copy a.dat", "(cat a.dat > b.dat) & wait"),
    "sleep_first": ("sleep 1 | cat b.dat > a.dat", PLAIN),
    "traps": ("trap 'rm -f copy' EXIT TERM INT; cat b.dat > copy; cp copy a.dat", "trap 'echo over' EXIT; x=$(cat a.dat); echo $x > b.dat"),
    "arguments": ("echo b.dat | xargs -n 1 -P 2 cat > a.dat", "find . -maxdepth 0 -exec cat a.dat ';' > b.dat"),
    "python": ("python3 ../read.py b.dat a.dat", PLAIN),
    "pool": ("python3 ../pool.py b.dat a.dat", PLAIN),
}
READ = """import subprocess, sys
bytes = subprocess.run(['cat', sys.argv[1]], stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
open(sys.argv[2], 'wb').write(bytes)
"""
POOL = """import multiprocessing, sys
def size(path): return len(open(path, 'rb').read())
if __name__ == '__main__':
    with multiprocessing.Pool(3) as pool: sizes = pool.map(size, sys.argv[1:2])
    open(sys.argv[2], 'w').write(str(sizes))
"""
# Here somebody goes on after some seconds: no file may be missing. Each way: scripts, and rules.
GOES_ON = {
    "one_of_two": ({"a": "sleep 5; echo x > x.dat", "b": "(cat x.dat > copy; cp copy z.dat) & cat y.dat > end; wait", "c": "cat z.dat > copy2; cp copy2 y.dat"},
                   [("x.dat", "a", "b"), ("z.dat", "b", "c"), ("y.dat", "c", "b")]),
    "computes": ({"a": "(cat b.dat > end) & i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done | cat; echo 1 > a.dat; wait", "b": PLAIN}, RULES),
    "writes_late": ({"a": "(cat b.dat > end) & (sleep 3; echo 1) | cat > a.dat; wait", "b": PLAIN}, RULES),
    "timed": ({"a": "(cat b.dat > end) & exec 9<> <(:); read -r -t 3 x <&9; echo 1 > a.dat; wait", "b": PLAIN}, RULES),
    "named_pipe": ({"a": "mkfifo pipe; touch made; (cat b.dat > end) & cat pipe > a.dat; wait", "b": "cat a.dat > b.dat", "c": "until test -e made; do sleep 0.1; done; sleep 3; echo 1 > pipe; echo 1 > c.dat"},
                   RULES + [("c.dat", "c", "a")]),
    "opened_from_outside": ({"a": "mkfifo pipe; env -i setsid sh -c 'sleep 3; echo late > pipe' > log 2>&1 & exec 9<pipe; (cat b.dat > end) & cat <&9 > a.dat; wait", "b": PLAIN}, RULES),
    "held_from_outside": ({"a": "(cat b.dat > end) & env -i setsid sh -c '(sleep 3; echo late) &' 2> log | cat > a.dat; wait", "b": PLAIN}, RULES),
    "select": ({"a": "(cat b.dat > end) & python3 -c 'import select, os; r, w = os.pipe(); select.select([r], [], [], 3)'; echo 1 > a.dat; wait", "b": PLAIN}, RULES),
    "signal": ({"a": "trap 'echo 1 > a.dat' USR1; (cat b.dat > end) & (sleep 3; kill -USR1 $$) & wait; wait; wait", "b": PLAIN}, RULES),
    "socket": ({"a": "(cat b.dat > end) & python3 -c 'import os, socket, time; r, w = socket.socketpair(); os.fork() or (time.sleep(3), w.send(b\"x\"), os._exit(0)); r.recv(1)'; echo 1 > a.dat; wait", "b": PLAIN}, RULES),
}


def run_each(ways, check):
    wait_runs.run_each(build, environment, ways, check)


def run_cycles(ways):
    for name, text in (("read.py", READ), ("pool.py", POOL)):
        with open(name, "w") as script:
            script.write(text)
    run_each({name: ({"a": a, "b": b}, RULES) for name, (a, b) in ways.items()}, ends_as_cycle)


def cycles():
    """Nobody can act: the run ends, and names the cycle."""
    run_cycles(CYCLES)


def cycles_of_nodes():
    """The same where the run has several nodes."""
    run_cycles({name: CYCLES[name] for name in ("redirected", "pipeline", "pool")})


def cycles_of_mpi():
    """Programs with MPI that a script starts, and that wait."""
    mpirun = " ".join(harness.MPIRUN)
    run_cycles({"alone": (f"{mpirun} 1 cat b.dat > a.dat", PLAIN), "piped": (f"x=$({mpirun} 2 cat b.dat); echo $x > a.dat", f"{mpirun} 1 cat a.dat | cat > b.dat")})


def no_cycles():
    """Somebody goes on by himself, or by somebody whom the run does not know."""
    run_each(GOES_ON, goes_on)


def queues():
    """Where the bound of a queue would hold up everybody, the queue grows: all files are read."""
    each = "for i in $(seq 5); do"
    copies = {"a": f"{each} echo $i > a.$i; done", "b": f"{each} cat a.$i > b.$i; done", "c": f"{each} cat a.$i > c.$i; done"}
    rules = [("a.[0-9]*", "a", "b, c"), ("b.[0-9]*", "b", "d"), ("c.[0-9]*", "c", "d")]
    orders = {"one_branch_first": f"for f in b c; do {each} cat $f.$i; done; done", "backwards": "for i in $(seq 5 -1 1); do cat b.$i c.$i; done", "in_turn": f"{each} cat c.$i b.$i; done"}
    run_each({name: ({**copies, "d": reads + " | wc -l > end"}, rules, ", queue: 2, when-full: wait") for name, reads in orders.items()},
             lambda result: result.status == 0 and harness.text("end").strip() == "10")


clear_directory()
environment = {**harness.MPI_ENVIRONMENT, **({"SLUICE_VIRTUAL_NODES": "2"} if case.endswith("_of_nodes") else {})}
globals()[case]()
