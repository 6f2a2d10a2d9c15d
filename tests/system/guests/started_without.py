#!/usr/bin/python3
"""started_without.py BUILD CASE: the event log names programs that are started without Sluice's library."""
import os
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, case = sys.argv[1:3]
TOLD = "is started with an environment without LD_PRELOAD"


def run(writes, reads):
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: guests\nstaging: {{prewarm: 0}}\ncomponents:\n  w: {{command: [sh, -c, '{writes}']}}\n  r: {{command: [sh, -c, '{reads}']}}\nfiles:\n  - {{path: '*.dat', writer: w, readers: [r]}}\n")
    finish(harness.start(build + "/bin/sluice", "run", "--log-dir", "log", "flow.yaml"), 0)
    return "".join(open(os.path.join("log", name)).read() for name in os.listdir("log") if os.path.isfile(os.path.join("log", name)))


def by_exec():
    """`env -i`, and a shell that has removed the variable."""
    log = run("echo data > a.dat", "cat a.dat > read; env -i cat a.dat; unset LD_PRELOAD; /bin/cat a.dat; true")
    expect(open("read").read() == "data\n", "the other command reads the file")
    expect(" cat " + TOLD in log and "/bin/cat " + TOLD in log, "the event log: " + log)


def by_spawn():
    """Python starts a program with an environment of its own."""
    with open("start.py", "w") as script:
        script.write("import os, subprocess\nsubprocess.run(['cat', 'a.dat'], env={'PATH': os.environ['PATH']})\npid = os.posix_spawn('/bin/ls', ['ls'], {})\nos.waitpid(pid, 0)\n"
                     "subprocess.run(['cat', 'a.dat'], stdout=open('read', 'w'), check=True)\n")
    log = run("echo data > a.dat", "python3 start.py")
    expect(open("read").read() == "data\n", "the other command reads the file")
    expect("cat " + TOLD in log and "/bin/ls " + TOLD in log, "the event log: " + log)


def others():
    """Who hands on the environment, and who adds a library, is not told."""
    log = run("echo data > a.dat", "env LD_PRELOAD=libm.so.6:$LD_PRELOAD cat a.dat > read; env A=1 cat a.dat")
    expect(open("read").read() == "data\n" and TOLD not in log, "the event log: " + log)


clear_directory()
globals()[case]()
