#!/usr/bin/python3
"""restarts.py BUILD PROGRAM CASE: components that fail, and are started again, or end the run."""
import array
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import allow, call, clear_directory, expect, finish, is_logged, kill, wait_for_event

build, program, case = sys.argv[1:4]
sluice = build + "/bin/sluice"
STEPS = 10


def start(**options):
    return harness.start(sluice, "run", "flow.yaml", **options)


def shell_flow(components, files="[]"):
    """Components: {name: (script, *more keys)}."""
    lines = ["version: 1", "name: test", "staging: {prewarm: 0}", "components:"]
    for name, (script, *keys) in components.items():
        with open(name + ".sh", "w") as file:
            file.write(script + "\n")
        lines.append(f"  {name}: " + harness.mapping(f"command: [sh, {name}.sh]", *keys))
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join([*lines, "files: " + files]) + "\n")


def event_lines():
    found = []
    for directory, _, names in os.walk(".sluice"):
        if "events.log" in names:
            with open(os.path.join(directory, "events.log")) as log:
                found += [line.split(" ", 1)[1].strip() for line in log]
    return found


# Policies

FAILS_TWICE = "echo x >> starts; [ $(wc -l < starts) -ge 3 ] || exit 7"


def counted():
    """It fails twice, then it is fine: the run is, too."""
    shell_flow({"model": (FAILS_TWICE, "restarts: 3", "restart-delay: 10ms")})
    result = finish(start(), 0)
    expect("model exited with status 7" in result.all and "(restart 2 of 3)" in result.all, "the restarts are not told")
    expect("exited with status 0 after 2 restarts" in result.out and "test: finished" in result.out, "the summary")
    told = [line for line in event_lines() if line.startswith("model")]
    expect([bool(re.search(r"starts again in .* \(restart [12] of 3\)", line)) for line in told if "exited" in line] == [True, True, False], f"events: {told}")


def exhausted():
    """It fails more often than it may: its last status is that of the run."""
    shell_flow({"model": ("echo x >> starts; exit $((6 + $(wc -l < starts)))", "restarts: 2", "restart-delay: 0s"), "other": ("exit 0",)})
    result = finish(start(), 9)
    expect(re.search(r"model .*exited with status 9 after 2 restarts +<- failed first", result.out), "the summary")
    expect("other" in result.out and "failed: model failed" in result.out, "the verdict")


def stop():
    """The failure of one component stops the others, and the status is its own."""
    shell_flow({"model": ("until test -e go; do sleep 0.05; done; exit 3", "on-failure: stop"), "other": ("touch go; sleep 1000",), "later": ("sleep 1000", "restarts: 5")})
    result = finish(start(), 3)
    expect("which stops the run (on-failure: stop)" in result.all, "the reason is not told")
    expect("failed: model failed, and the run was stopped (exit status 3)" in result.out, "the verdict")
    expect("(restart" not in result.all, "a component that was stopped is started again")


def goes_on():
    """By default, and with `continue`, the others go on."""
    shell_flow({"model": ("exit 3", "on-failure: continue"), "other": ("until grep -rqF 'model exited with status 3' .sluice; do sleep 0.05; done; sleep 0.3; touch fine",)})
    finish(start(), 3)
    expect(os.path.exists("fine"), "the other component did not go on")


def stop_after_restarts():
    """`stop` counts when there are no restarts left. Then others that wait for theirs are not started."""
    shell_flow({"model": ("until test -e fails; do sleep 0.05; done; echo x >> starts; exit 4", "restarts: 1", "restart-delay: 0s", "on-failure: stop"), "other": ("exit 5", "restarts: 9", "restart-delay: 10min")})
    run = start()
    wait_for_event(run, "starts again in 10 min")
    allow("fails")
    result = finish(run, 4)
    with open("starts") as starts:
        expect(len(starts.readlines()) == 2, "the number of starts")
    expect(is_logged("other is not started any more"), "the end of the wait is not logged")


def interrupted():
    """A signal during the delay ends the run."""
    shell_flow({"model": ("exit 4", "restarts: 9", "restart-delay: 10min")})
    run = start()
    wait_for_event(run, "starts again in 10 min")
    run.send_signal(signal.SIGINT)
    finish(run, 130)


def waits():
    """Readers wait while the writer is started again, and are told when it is not."""
    files = '[{path: "*.txt", writer: model, readers: [analysis]}]'
    shell_flow({"model": ("test -e again || { touch again; exit 1; }; until test -e go; do sleep 0.05; done; echo fine > a.txt; exit 2", "restarts: 1"), "analysis": ("cat a.txt && ! cat b.txt",)}, files)
    run = harness.start(sluice, "run", "--notice-after", "1", "flow.yaml")
    wait_for_event(run, "analysis waits for 'a.txt'")
    wait_for_event(run, "(restart 1 of 1)")
    allow("go")
    result = finish(run, 2)
    expect("[analysis] fine" in result.out, "what was read")
    expect("'b.txt' will not be published: its writer model exited with status 2" in result.all, "the reason")


def reader_gone():
    """A reader that is gone for good releases what it has not read; `keep` still writes it to its file."""
    shell_flow({"model": ("for i in 0 1 2 3; do head -c 400000 /dev/zero | tr '\\0' $i > a$i.txt; done",), "analysis": ("exit 3", "restarts: 2", "restart-delay: 0s")},
               '[{path: "a?.txt", writer: model, readers: [analysis], keep: true}]')
    with open("flow.yaml") as flow:
        text = flow.read()
    with open("flow.yaml", "w") as flow:
        flow.write(text.replace("prewarm: 0", "prewarm: 0, memory: 1MiB, spill: none"))
    finish(start(), 3)
    for i in range(4):
        with open(f"a{i}.txt") as file:
            expect(file.read() == str(i) * 400000, f"a{i}.txt")


def leftovers():
    """Processes that an earlier start has left do not disturb the next one."""
    shell_flow({"model": ("test -e pid && exit 0; sleep 1000 & echo $! > pid; exit 1", "restarts: 1", "restart-delay: 0s")})
    finish(start(), 0)
    with open("pid") as file:
        pid = int(file.read())
    lines = event_lines()
    expect(not harness.is_alive(pid), "it is still there")
    expect(not any("killing process" in line for line in lines), "it was there until the end of the run")


def files():
    """Programs that write and read by the C library, one after the other, killed by themselves at each byte."""
    script = "for i in 0 1 2 3 4 5; do test -e done.$i && continue; {{ printf half; test -e died.$i || {{ touch died.$i; kill -9 $$; }}; echo whole; }} > a$i.txt; touch done.$i; done"
    reader = "for i in 0 1 2 3 4 5; do test -e seen.$i && continue; exec 3< a$i.txt; test -e stopped.$i || { touch stopped.$i; kill -9 $$; }; cat <&3 > part; mv part seen.$i; exec 3<&-; done"
    shell_flow({"model": (script.replace("{{", "{").replace("}}", "}"), "restarts: 9", "restart-delay: 10ms"), "analysis": (reader, "restarts: 9", "restart-delay: 10ms")},
               '[{path: "a?.txt", writer: model, readers: [analysis]}]')
    finish(start(), 0)
    for i in range(6):
        with open(f"seen.{i}") as file:
            expect(file.read() == "halfwhole\n", f"what was read of a{i}.txt")


# Kills

def check_results(length):
    for step in range(STEPS):
        with open(f"results/{step:04d}", "rb") as file:
            found = array.array("d", file.read())
        expect(found == array.array("d", [step * 1000003.0 + i / 4 for i in range(length)]), f"the numbers of step {step}")
    expect(len(os.listdir("results")) == STEPS, "too many results")


def processes_of(word):
    """The processes of the component in this directory, with their parents: {pid: parent}."""
    found, here = {}, os.getcwd()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as line, open(f"/proc/{pid}/stat") as stat:
                words = line.read().split("\0")
                if words[0] == program and words[1] == word and os.readlink(f"/proc/{pid}/cwd") == here:
                    found[int(pid)] = int(stat.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass
    return found


def victims(run, dice, words):
    """Some processes of a component: one, all, all with their launcher, or the launcher alone."""
    found = processes_of(dice.choice(words))
    if not found:
        return []
    processes, launchers = [*found], [*({*found.values()} - {1, run.pid})]
    return dice.choice([[dice.choice(processes)], processes, [*launchers, *processes], launchers or processes])


def processes_as_text():
    return subprocess.run(["ps", "-eo", "pid,ppid,etimes,stat,wchan:20,args", "--forest"], capture_output=True, text=True, check=True).stdout


def kill_at_random(dice, words):
    """One run, whose components are killed a few times."""
    clear_directory()
    os.mkdir("results")
    length = dice.choice([3, 3000, 30000])
    ranks = {word: dice.choice([0, 1, 2, 3]) for word in ("write", "read")}
    keys = dice.choice(["", "keep: true", "through: burst-buffer", "through: file"])
    staging = dice.choice([(), ("memory: 1MiB",), ("memory: 1MiB", "spill: none")])
    nodes = dice.choice(["1", "2"])
    more = ("restarts: 100", f"restart-delay: {dice.choice([0, 50, 400])}ms")
    print(f"length {length}, ranks {ranks}, {keys or 'memory'}, {staging}, {nodes} nodes, {more}", flush=True)
    harness.write_flow(program, {word: (ranks[word], f"{word} {STEPS} {length}", *more) for word in ("write", "read")}, [("wave_*.nc", "write", ["read"], keys)], *staging)
    run = start(environment={"SLUICE_VIRTUAL_NODES": nodes})
    kills, wanted = 0, dice.randint(1, 5)
    allowed = dice.randint(1, wanted)
    last = time.monotonic()
    while kills < wanted and run.poll() is None:
        if kills == allowed:
            allow("go")  # without it, the last step is not written
        time.sleep(dice.uniform(0, 0.7))
        found = victims(run, dice, words)
        last = time.monotonic() if found else last
        expect(time.monotonic() - last < 100, "no process to kill for 100 s; the processes are:\n" + processes_as_text())
        kills += bool(found)
        kill(found, signal.SIGKILL)
    allow("go")
    finish(run, 0)
    check_results(length)
    expect(not [name for name in os.listdir() if name.endswith(".meta")], "burst-buffer logs are left")
    if keys:
        call(*harness.MPIRUN, "1", program, "check", str(STEPS), str(length), status=0, environment={"LD_PRELOAD": ""})
    return kills


def killed_early():
    """Processes that are killed before they have put anything leave no burst-buffer log. Nobody else knows of it then."""
    os.mkdir("results")
    allow("go")
    components = {"write": (2, f"die {STEPS} 3000", "restarts: 1", "restart-delay: 10ms"), "read": (1, f"read {STEPS} 3000")}
    harness.write_flow(program, components, [("wave_*.nc", "write", ["read"], "through: burst-buffer")])
    finish(start(), 0)
    check_results(3000)
    expect(os.path.exists("died"), "nothing was killed")
    left = [name for name in os.listdir() if name.endswith((".meta", ".data", ".header"))]
    expect(not left, f"burst-buffer logs are left: {left}")


def random_kills(words, usual):
    """SLUICE_TEST_KILLS is the number of runs."""
    seed = harness.test_seed()
    runs = int(os.environ.get("SLUICE_TEST_KILLS", usual))
    kills = 0
    for turn in range(runs):
        print(f"run {turn} of {runs}: SLUICE_TEST_SEED={seed + turn} SLUICE_TEST_KILLS=1", flush=True)
        kills += kill_at_random(random.Random(seed + turn), words)
    print(f"{runs} runs, {kills} kills")


cases = {
    "killed_early": killed_early,
    "killed_readers": lambda: random_kills(["read"], 4),
    "killed_writers": lambda: random_kills(["write"], 4),
    "killed_both": lambda: random_kills(["write", "read"], 4),
}
clear_directory()
cases[case]() if case in cases else globals()[case]()
