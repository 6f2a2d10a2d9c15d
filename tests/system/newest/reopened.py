#!/usr/bin/python3
"""reopened.py BUILD PROGRAM CASE: a process opens a name of a stream, many others, and the first name again by another call: it gets the same step, and never the next
one. PROGRAM is reopen_stream.c."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect, is_logged, text

build, program, case = sys.argv[1:4]
OTHERS = [f"o{i}.dat" for i in range(12)]


def read(steps, more, expected):
    with open("write.py", "w") as file:
        file.write("def write(name, data):\n    with open(name, 'w') as file: file.write(data)\n"
                   f"write('a.dat', 'first')\nfor name in {OTHERS}: write(name, 'other')\n" + "write('a.dat', 'second')\n" * (steps - 1))
    with open("flow.yaml", "w") as flow:
        flow.write("version: 1\nname: test\nstaging: {prewarm: 0}\ncomponents:\n  model: {command: /usr/bin/python3 write.py}\n"
                   f"  reader: {{command: sh -c 'exec {program} a.dat {' '.join(OTHERS)} > out', start: when-done{more}}}\n"
                   "files:\n  - {path: '*.dat', writer: model, readers: [reader], steps: stream}\n")
    call(build + "/bin/sluice", "run", "--log-dir", "log", "flow.yaml", status=0)
    expect(text("out").splitlines() == expected, f"the reader has read {text('out')}")


def gone():
    """A step that all have read, and that is not the newest, has gone; that is told."""
    read(2, ", ranks: 1", ["first", "Input/output error"])
    expect(is_logged("the step that it has opened before is gone"), "the event log says nothing of it")


CASES = {
    "the_newest": lambda: read(1, ", ranks: 1", ["first", "first"]),
    "with_a_later_one": lambda: read(2, "", ["first", "first"]),
    "gone": gone,
}

clear_directory()
CASES[case]()
