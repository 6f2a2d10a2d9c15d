#!/usr/bin/python3
"""background.py BUILD CASE: processes that a component leaves in the background use its files, and hold nobody up for ever."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, case = sys.argv[1:3]

# As daemon(3): in a session of its own, and without any descriptor of its parents.
DAEMON = """
import os, sys, time
if os.fork() > 0: os._exit(0)
os.setsid()
if os.fork() > 0: os._exit(0)
for number in range(200):
    try: os.close(number)
    except OSError: pass
for number in range(3): os.open('/dev/null', os.O_RDWR)
time.sleep(float(sys.argv[1]))
with open(sys.argv[2], 'w') as file: file.write('of a daemon\\n')
"""


def run(writes, reads):
    with open("daemon.py", "w") as program:
        program.write(DAEMON)
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: guests\nstaging: {{prewarm: 0}}\ncomponents:\n  w: {{command: [sh, -c, '{writes}']}}\n  r: {{command: [sh, -c, '{reads}']}}\nfiles:\n  - {{path: '*.dat', writer: w, readers: [r]}}\n")
    return finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), 0)


def writer():
    """A process in the background, which does not have the component's output, writes a file after its parent's end."""
    run("(sleep 1; echo late > a.dat) > /dev/null 2>&1 &", "cat a.dat > read")
    expect(open("read").read() == "late\n", "the reader waits for it")


def reader():
    """A process in the background reads a file that is published after its parent's end."""
    run("sleep 1; echo late > a.dat", "(cat a.dat > read) > /dev/null 2>&1 &")
    expect(open("read").read() == "late\n", "it reads the file")


def daemon():
    """A daemon writes a file."""
    run("python3 daemon.py 1 a.dat", "cat a.dat > read")
    expect(open("read").read() == "of a daemon\n", "the reader waits for it")


def lasting():
    """A daemon that never ends does not hold up the run, and the run says what it leaves."""
    result = run("echo whole > a.dat; python3 daemon.py 1000 b.dat", "cat a.dat > read; cat b.dat; true")
    expect(open("read").read() == "whole\n" and "in the background" in result.all, "the run ends with a notice")


def run_jobs(command, files):
    with open("daemon.py", "w") as program:
        program.write(DAEMON)
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: guests\nstaging: {{prewarm: 0}}\ncomponents:\n  w: {{command: [sh, -c, 'for i in {files}; do echo $i > a$i.dat; done']}}\n"
                   f"  j: {{command: [sh, -c, '{command}', sh, '{{file}}'], for-each: 'a*.dat', at-most: 2}}\nfiles:\n  - {{path: 'a*.dat', writer: w, readers: [j]}}\n")
    return finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), 0)


def job():
    """The same of a job: its file is there for the processes that it has left."""
    run_jobs("(sleep 1; cat $1 > copy.$(basename $1)) > /dev/null 2>&1 &", "1 2 3")
    for number in (1, 2, 3):
        expect(open(f"copy.a{number}.dat").read() == f"{number}\n", "the job reads its file")


def lasting_job():
    """A daemon of a job does not hold up the run, and the run says what it leaves."""
    result = run_jobs("cat $1 > copy; python3 daemon.py 1000 never", "1")
    expect(open("copy").read() == "1\n" and "in the background" in result.all, "the run ends with a notice")


clear_directory()
globals()[case]()
