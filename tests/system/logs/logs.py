#!/usr/bin/python3
"""logs.py BUILD CASE: `sluice runs` and `sluice clean` beside runs that end, fail, go on and are killed."""
import atexit
import json
import os
import signal
import subprocess
import sys
import time

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, wait_for

build, case = sys.argv[1:3]
SLUICE = build + "/bin/sluice"


def sluice(*arguments, status=0, **options):
    done = subprocess.run([SLUICE, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=100, **options)
    expect(done.returncode == status, f"sluice {' '.join(arguments)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def flow(name, reader):
    with open(name + ".yaml", "w") as file:
        file.write(f"version: 1\nname: {name}\ncomponents:\n  model: {{command: sh -c 'echo 1 > a.dat'}}\n  reader: {{command: {reader}}}\n"
                   "files:\n  - {path: a.dat, writer: model, readers: [reader]}\n")
    return name + ".yaml"


def run(name, reader="cat a.dat", status=0, environment=None):
    sluice("run", "-q", flow(name, reader), status=status, env={**os.environ, **harness.MPI_ENVIRONMENT, **(environment or {})})


def runs(*where):
    """Those whose logs are here, by name."""
    found = json.loads(sluice("runs", "--json", *where))
    return [run for run in found if run["log_directory"].startswith(os.getcwd() + "/")]


def names(*where):
    return [run["name"] for run in runs(*where)]


def living():
    process = harness.start(SLUICE, "run", flow("living", "sh -c 'cat a.dat; sleep 1000'"))
    atexit.register(process.terminate)
    return process


def until_read():
    wait_for(lambda: any(run["name"] == "living" for run in runs()), "the run to be listed")
    wait_for(lambda: subprocess.run([SLUICE, "ls", "living"], capture_output=True).returncode == 0, "an answer of the run")


clear_directory()
if case == "states":
    run("well")
    run("bad", reader="sh -c 'cat a.dat; exit 5'", status=5)
    run("bare", environment={"SLUICE_RECORDS": "none"})
    process = living()
    until_read()
    found = {run["name"]: run for run in runs()}
    expect([found["well"][key] for key in ("state", "exit_status", "can_be_resumed")] == ["ended", 0, False], f"well: {found}")
    expect([found["bad"][key] for key in ("state", "exit_status", "can_be_resumed")] == ["failed", 5, True], f"bad: {found}")
    expect([found["living"][key] for key in ("state", "can_be_resumed")] == ["goes on", False], f"living: {found}")
    expect(found["living"].get("exit_status") is None and found["bare"]["log_bytes"] > 0, f"{found}")
    expect(names("bad.yaml") == ["bad"], "runs of one workflow")
    expect(names() == ["well", "bad", "bare", "living"], f"the oldest is first: {names()}")
    # No limit takes the log of what goes on, and a killed run can be resumed.
    text = sluice("clean", "--keep", "0", "--resumable")
    expect("3 logs removed" in text and names() == ["living"], text)
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(lambda: runs() and runs()[0]["state"] == "was killed", "the end of the run")
    expect(runs()[0]["can_be_resumed"], f"{runs()}")
    text = sluice("clean", "--keep", "0")
    expect("can be resumed; --resumable removes it" in text and names() == ["living"], text)
    expect("1 log removed" in sluice("clean", "--keep", "0", "--resumable") and not names(), "the last one")
elif case == "limits":
    for _ in range(4):
        run("well")
    run("other")
    os.mkdir(".sluice/mine")  # not a log
    logs = [run["log_directory"] for run in runs()]
    bytes_of_one = runs()[0]["log_bytes"]
    expect("5 logs would go" in sluice("clean", "--keep", "0", "-n") and len(runs()) == 5, "a dry run removes nothing")
    expect("0 logs removed" in sluice("clean", "--older-than", "1"), "all are new")
    sluice("clean", "well.yaml", "--keep", "3")
    expect([run["log_directory"] for run in runs()] == logs[1:], "the oldest of one workflow has gone")
    sluice("clean", "--at-most", str(sum(run["log_bytes"] for run in runs()[-2:]) + bytes_of_one // 2))
    expect([run["log_directory"] for run in runs()] == logs[3:], "as many as fit have stayed")
    old = time.time() - 3 * 86400
    journal = logs[3] + "/journal.tsv"
    before = harness.text(journal)
    begun = next(line for line in before.splitlines() if line.startswith("run\t")).split("\t")[4]  # nanoseconds
    with open(journal, "w") as file:
        file.write(before.replace(begun, str(int(old * 1e9))))
    sluice("clean", ".", "--older-than", "2")
    expect([run["log_directory"] for run in runs()] == logs[4:], "the one of three days ago has gone")
    sluice("clean", ".sluice", "--keep", "0")
    expect(not runs() and os.listdir(".sluice") == ["mine"], "what is no log stays")
elif case == "mistakes":
    expect("nothing says what goes" in sluice("clean", status=2), "no limit")
    expect("--keep is 'x'" in sluice("clean", "--keep", "x", status=2), "a number")
    expect("--at-most is '5 apples'" in sluice("clean", "--at-most", "5 apples", status=2), "a size")
    expect("no option '--all'" in sluice("clean", "--all", status=2), "an option")
    expect("there is no 'absent'" in sluice("runs", "absent", status=2), "a place")
    os.mkdir("elsewhere")
    with open("victim", "w") as file:
        file.write("stays")
    os.mkdir(".sluice")
    os.symlink(os.getcwd() + "/elsewhere", ".sluice/link-20260101-000000-1")
    with open("elsewhere/events.log", "w") as file:
        file.write("")
    os.mkdir(".sluice/real-20260101-000000-2")
    with open(".sluice/real-20260101-000000-2/events.log", "w") as file:
        file.write("")
    os.symlink("../../victim", ".sluice/real-20260101-000000-2/out")
    expect(names() == ["real"], f"a link is no log: {names()}")
    sluice("clean", "--keep", "0")
    expect(not names() and harness.text("victim") == "stays" and os.path.exists("elsewhere/events.log"), "what links lead to stays")
else:
    sys.exit(f"no case {case}")
