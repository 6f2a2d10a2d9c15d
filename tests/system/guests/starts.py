#!/usr/bin/python3
"""starts.py BUILD CASE: what a program's start costs in a run."""
import os
import re
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import call, expect, text

build, case = sys.argv[1:3]

COUNTING = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
TRACEME, SYSCALL = 0, 24
def system_calls(command, environment):
    process = os.fork()
    if process == 0:
        libc.ptrace(TRACEME, 0, None, None)
        os.execve(command, [command], environment)
    os.waitpid(process, 0)
    stops = 0
    while True:
        libc.ptrace(SYSCALL, process, None, None)
        status = os.waitpid(process, 0)[1]
        if not os.WIFSTOPPED(status): return stops // 2
        stops += 1
with open('counted', 'w') as file: file.write('%d %d' % (system_calls('/bin/true', {}), system_calls('/bin/true', dict(os.environ))))
"""


def few_calls():
    """A program that touches no file of the run makes few system calls more than without the library, however many descriptors it might have."""
    with open("counting.py", "w") as file:
        file.write(COUNTING)
    harness.write_flow("/usr/bin/python3", {"writer": (0, "counting.py"), "reader": (0, "-c 0")}, [("*.dat", "writer", ["reader"])])
    call(build + "/bin/sluice", "run", "flow.yaml", status=0)
    without, within = map(int, text("counted").split())
    print(f"{without} system calls without the library, {within} with it")
    expect(10 < without < within < without + 120, f"{within} system calls")  # some 75


LISTING = """
import os, time
here = os.getcwd()
open('new.dat', 'w').write('x')  # the matcher knows this directory
os.mkdir('later')
for i in range(60):
    os.makedirs('other/%d' % i)
    open('other/%d/file' % i, 'w').close()
    assert os.listdir('other/%d' % i) == ['file'] == os.listdir('other/%d' % i)
assert 'new.dat' in os.listdir('.') and os.listdir('later') == []
open('later/last.dat', 'w').write('x')
assert os.listdir('later') == ['last.dat'] == os.listdir(here + '/later/')
"""


def listings():
    """A program that lists directories in which the run has no file asks nothing, as Python does when it starts. Where the run has a file, from its open on, it is listed."""
    with open("listing.py", "w") as file:
        file.write(LISTING)
    with open("reading.py", "w") as file:
        file.write("import os\nopen('later/last.dat').read()\nassert 'last.dat' in os.listdir('later')\n")
    harness.write_flow("/usr/bin/python3", {"writer": (0, "listing.py"), "reader": (0, "reading.py")}, [("*.dat", "writer", ["reader"])])
    call(build + "/bin/sluice", "run", "--log-dir", "log", "flow.yaml", status=0)
    asked = int(re.search(r"matcher 0 .*: (\d+) requests", text("log/events.log")).group(1))
    expect(asked < 40, f"the matcher got {asked} requests")  # of two for each listing it would be 300


harness.clear_directory()
globals()[case]()
