#!/usr/bin/python3
"""expose.py BUILD PROGRAM CASE: programs into which no library can be loaded read what PROGRAM (couple.c) writes, by `expose: true`."""
import filecmp
import os
import signal
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import allow, clear_directory, expect, finish, launch, wait_for

build, program, case = sys.argv[1:4]
SLUICE = build + "/bin/sluice"


def write_flow(writes, reader, more=", expose: true", rule="*.nc"):
    lines = ["version: 1", "name: test", "staging: {prewarm: 0}", "components:", f"  model: {{command: {program} {writes}, ranks: 2}}",
             f"  reader: {{command: {reader}}}", "files:", f'  - {{path: "{rule}", writer: model, readers: [reader]{more}}}']
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join(lines) + "\n")


def directly(writes):
    os.makedirs("direct", exist_ok=True)
    launch(2, program, *writes.split(), cwd="direct", status=0)


def make_static_copier():
    """`copier FROM TO END` waits for FROM, copies it, and then waits for END."""
    with open("copier.c", "w") as file:
        file.write("""#include <stdio.h>
#include <unistd.h>
int main(int argc, char** words) {
  FILE* from;
  while ((from = fopen(words[1], "rb")) == NULL) usleep(10000);
  FILE* to = fopen(words[2], "wb");
  for (int c; (c = getc(from)) != EOF;) putc(c, to);
  fclose(to);
  while (argc > 3 && access(words[3], F_OK) != 0) usleep(10000);
  return 0;
}
""")
    harness.call("gcc", "-static", "-O", "-o", "copier", "copier.c", status=0)


def links():
    return sorted(name for name in os.listdir(".") if os.path.islink(name))


def memory_of(name):
    return os.path.dirname(os.readlink(name))


def static_reader():
    """It reads the bytes that would be on disk; in the end there is no link, and nothing in memory."""
    make_static_copier()
    directly("write a.nc 100000")
    write_flow("write a.nc 100000 await end", "./copier a.nc copy end")
    process = harness.start(SLUICE, "run", "flow.yaml")
    wait_for(lambda: os.path.islink("a.nc") or process.poll() is not None, "the link")
    expect(process.poll() is None, "the run ended early")
    memory = memory_of("a.nc")
    expect(filecmp.cmp("a.nc", "direct/a.nc", shallow=False), "what the link leads to")
    expect(os.path.realpath("a.nc").startswith("/dev/shm/"), "where the link leads to")
    allow("end")
    finish(process, 0)
    expect(filecmp.cmp("copy", "direct/a.nc", shallow=False), "what the static program has read")
    expect(not os.path.lexists("a.nc") and not os.path.exists(memory), "something is left")


def newer_steps():
    """A link always leads to a whole file, which is the newest one some time; writers and readers of the run see the dataset behind it."""
    write_flow("write a.nc 3000 " * 8 + "write last.nc 10 await more write a.nc 5000 write b.nc 5 await end", "sh reader.sh")
    with open("reader.sh", "w") as file:
        file.write("set -e\ncat last.nc > /dev/null\nwc -c < a.nc > first\ncat b.nc > /dev/null\nwc -c < a.nc > second\nls *.nc > listed\ntouch seen\n")
    process = harness.start(SLUICE, "run", "flow.yaml")
    wait_for(lambda: os.path.islink("a.nc") or process.poll() is not None, "the link")
    older = open("a.nc", "rb")
    whole = os.fstat(older.fileno()).st_size
    wait_for(lambda: os.path.exists("first") and os.path.getsize("first"), "the reader's first look")
    allow("more")

    def is_newest():
        expect(process.poll() is None, "the run ended early")
        with open("a.nc", "rb") as file:
            data = file.read()
        expect(data[:3] == b"CDF" and len(data) in (whole, whole + 16000), f"a file of {len(data)} bytes")
        return len(data) == whole + 16000

    wait_for(is_newest, "the newer step")
    expect(len(older.read()) == whole, "what was open")
    wait_for(lambda: os.path.exists("seen"), "the reader")
    wait_for(lambda: links() == ["a.nc", "b.nc", "last.nc"], "all links")
    expect(len(os.listdir(memory_of("a.nc"))) == 3, "older steps are kept in memory")
    allow("end")
    finish(process, 0)
    with open("first") as first, open("second") as second, open("listed") as listed:
        expect(int(first.read()) == whole and int(second.read()) == whole + 16000, "what the component has read")
        expect(listed.read().split() == ["a.nc", "b.nc", "last.nc"], "the listing of the component")
    expect(not links(), "links are left")


def old_file():
    """A file that is there stays, and the run says why it is not replaced."""
    with open("a.nc", "w") as file:
        file.write("old\n")
    write_flow("write a.nc 10 write b.nc 10 await end", "sh -c 'cat b.nc > copy'")
    process = harness.start(SLUICE, "run", "flow.yaml")
    wait_for(lambda: os.path.islink("b.nc") or process.poll() is not None, "the link")
    allow("end")
    result = finish(process, 0)
    expect("a.nc is on disk from before the run, and stays" in result.all, "the reason")
    with open("a.nc") as file:
        expect(file.read() == "old\n", "the old file")
    expect(not links(), "links are left")


def killed():
    """Links go after a kill of the coordinator, of the components, and, with the next run, after a kill of everything."""
    write_flow("write a.nc 10 await end", "sh -c 'cat a.nc > copy; until test -e end; do sleep 0.1; done'")

    def begin():
        process = harness.start(SLUICE, "run", "flow.yaml")
        wait_for(lambda: os.path.islink("a.nc") or process.poll() is not None, "the link")
        expect(process.poll() is None, "the run ended early")
        return process, memory_of("a.nc")

    process, memory = begin()
    harness.kill(harness.descendants_named("couple", process.pid), signal.SIGKILL)
    allow("end")
    finish(process)
    expect(not os.path.lexists("a.nc") and not os.path.exists(memory), "after the end of the model")
    os.remove("end")
    process, memory = begin()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    wait_for(lambda: not os.path.lexists("a.nc") and not os.path.exists(memory), "the guardian")
    process, memory = begin()
    harness.kill_run(process)
    expect(os.path.islink("a.nc"), "the link that is left")
    allow("end")
    write_flow("write b.nc 10", "sh -c 'cat b.nc > copy'")
    finish(harness.start(SLUICE, "run", "flow.yaml"), 0)
    expect(not os.path.lexists("a.nc") and not os.path.exists(memory), "after the next run")


def check():
    """`sluice check` says what to do for a static program."""
    make_static_copier()
    write_flow("write a.nc 10", "./copier a.nc copy", more="")
    result = harness.call(SLUICE, "check", "flow.yaml", status=2)
    expect("statically linked" in result.all and "expose: true" in result.all, "what to do")
    write_flow("write a.nc 10", "./copier a.nc copy")
    harness.call(SLUICE, "check", "flow.yaml", status=0)
    # A script that starts such a program is as fit as others, so this is a note.
    with open("script.sh", "w") as file:
        file.write("# ./none of this counts\nfor end in end; do ./copier a.nc copy; done\n")
    for command in ("sh script.sh", "'sh -c \"./copier a.nc copy\"'"):
        write_flow("write a.nc 10", command, more="")
        result = harness.call(SLUICE, "check", "flow.yaml", status=0)
        expect(result.all.count("names './copier', which is statically linked") == 1 and "expose: true" in result.all, "the note")
        write_flow("write a.nc 10", command)
        expect("statically linked" not in harness.call(SLUICE, "check", "flow.yaml", status=0).all, "a note where the files are exposed")


clear_directory()
globals()[case]()
