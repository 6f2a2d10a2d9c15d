#!/usr/bin/python3
"""looks.py BUILD CASE: who only looks at a file, as `stat` does, has not read it: it stays for the open that follows."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, case = sys.argv[1:3]
FILES, BYTES = 24, 300000
WRITES = f"for i in $(seq {FILES}); do head -c {BYTES} /dev/zero > a.$i; done"


def run(reads, ranks="", more="", staging="memory: 2MiB"):
    for name, text in (("write.sh", WRITES), ("read.py", reads)):
        with open(name, "w") as script:
            script.write(text + "\n")
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: looks\nstaging: {{prewarm: 0, {staging}}}\ncomponents:\n  a: {{command: bash write.sh}}\n  b: {{command: /usr/bin/python3 read.py{ranks}}}\n"
                   f"files:\n  - {{path: 'a.*', writer: a, readers: [b]{more}}}\n")
    return finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), 0)


def then_reads():
    """A program looks whether all files are there, and then reads them."""
    reads = (f"import os\nnames = [f'a.{{i}}' for i in range(1, {FILES} + 1)]\nassert all(os.path.exists(name) for name in names)\n"
             f"print(sum(len(open(name, 'rb').read()) for name in names) == {FILES * BYTES})")
    for ranks in ("", ", ranks: 1"):
        expect("True" in run(reads, ranks).all, "the bytes")


def looks_alone():
    """A program that does no more than look holds up nobody, with as little memory and no disk."""
    reads = f"import os\nprint(sum(os.stat(f'a.{{i}}').st_size for i in range(1, {FILES} + 1)) == {FILES * BYTES})"
    for ranks in ("", ", ranks: 1"):
        for more in ("", ", queue: 2, when-full: wait"):
            expect("True" in run(reads, ranks, more, "memory: 2MiB, spill: none").all, "the sizes")


def own_files():
    """What lies on the disk and is read gives up its place to the program's own files, although nobody writes any more."""
    files = 20  # the program keeps eight of them
    with open("write.sh", "w") as script:
        script.write(f"for i in $(seq {files}); do head -c 500000 /dev/zero > a.$i; done; touch written\n")
    with open("read.py", "w") as script:
        script.write("import os, time\nwhile not os.path.exists('written'): time.sleep(0.05)\n"
                     f"for i in range(1, {files} + 1):\n    with open(f'a.{{i}}', 'rb') as file: bytes = file.read()\n    with open('disk/own', 'ab') as own: own.write(bytes)\n    time.sleep(0.2)\n")
    with open("flow.yaml", "w") as flow:
        flow.write("version: 1\nname: looks\nstaging: {prewarm: 0, memory: 2MiB, spill: disk}\ncomponents:\n  a: {command: bash write.sh}\n  b: {command: /usr/bin/python3 read.py}\n"
                   "files:\n  - {path: 'a.*', writer: a, readers: [b]}\n")
    with harness.SmallDisk("disk", 16, may_keep=True):
        result = finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), 0)
        expect(os.path.getsize("disk/own") == files * 500000, "the program's own file")
    expect("stays free for other files" in result.all, "the notice")


if case == "own_files":
    harness.in_own_namespace()
clear_directory()
globals()[case]()
