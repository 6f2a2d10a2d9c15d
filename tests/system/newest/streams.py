#!/usr/bin/python3
"""streams.py BUILD READER CASE: a process reads very many names of a stream by the C library; READER is read_stream.c."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect

build, reader, case = sys.argv[1:4]


def read(names, limit, held, most_images):
    """The reader gets each name by both opens, and keeps few images."""
    with open("write.py", "w") as file:
        file.write(f"for index in range({names}):\n    open(f'step_{{index:04}}.dat', 'w').write(f'{{index}}'.ljust(4096))\n")
    with open("flow.yaml", "w") as flow:
        flow.write("version: 1\nname: test\ncomponents:\n  model: {command: /usr/bin/python3 write.py}\n"
                   f"  reader: {{command: sh -c '{reader} {names} {limit} {held} > out'}}\n"
                   "files:\n  - {path: 'step_*.dat', writer: model, readers: [reader], steps: stream}\n")
    result = harness.finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"))
    with open("out") as file:
        words = file.read().split()
    expect(words[:1] == ["images"] and int(words[1]) <= most_images, f"the reader says: {' '.join(words)}\n{result.out}")


CASES = {
    # Both the images that are known and those of visits: 8 each.
    "many_names": lambda: read(1000, 1024, 0, 16),
    "few_descriptors": lambda: read(100, 40, 0, 16),
    "held_names": lambda: read(100, 1024, 30, 16),
}

clear_directory()
CASES[case]()
