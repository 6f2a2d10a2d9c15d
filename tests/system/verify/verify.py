#!/usr/bin/python3
"""verify.py BUILD COUPLE VARY STEPS CASE: `sluice verify` runs a workflow through files and through memory, and compares."""
import os
import re
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import MPIRUN, call, clear_directory, expect, write_flow

build, couple, vary, steps, case = sys.argv[1:6]
sluice = build + "/bin/sluice"


def verify(*arguments, status):
    return call(sluice, "verify", *arguments, "run/flow.yaml", status=status)


def in_run(make):
    """Calls `make` in the directory of the workflow."""
    os.mkdir("run")
    os.chdir("run")
    make()
    os.chdir("..")


def pair_and_script():
    write_flow(couple, {"model": (2, "repeat 3 write step_%d.nc 1000"), "analysis": (3, "repeat 3 read step_%d.nc 1000 write out.nc 60")},
               [("step_*.nc", "model", ["analysis", "sums"])])
    with open("sums.sh", "w") as script:
        script.write("cat input step_0.nc step_1.nc step_2.nc | md5sum > sums.txt\n")
    add_component("sums", "sh sums.sh")
    with open("input", "w") as file:
        file.write("something\n")


def add_component(name, command, *keys):
    with open("flow.yaml") as file:
        text = file.read()
    with open("flow.yaml", "w") as file:
        file.write(text.replace("files:", f"  {name}: {{{', '.join((f'command: {command}', *keys))}}}\nfiles:"))


def write_steps(model, readers, modes, *keys, staging=()):
    """flow.yaml with a model that writes steps (steps.c). Readers: {name: (ranks, arguments)}."""
    write_flow(steps, {"model": (2, model), **readers}, [("placeholder", "model", ["model"], *keys)], *staging)
    with open("flow.yaml") as file:
        text = file.read()
    with open("flow.yaml", "w") as file:
        file.write(text.replace('path: "placeholder"', 'path: "s*.nc"').replace("readers: [model]", "readers: " + modes))


def latest_names():
    """What a reader of the latest has read in one run alone is no difference, and what it makes of it depends on time."""

    def make():
        write_steps("write s%d.nc 5 1000", {}, "{picture: latest}")
        add_component("picture", f"[sh, -c, 'if mkdir {os.getcwd()}/../once; then n=\"0 1\"; else n=\"0 2\"; fi; for i in $n; do cat s$i.nc; done | md5sum > sums.txt']")

    in_run(make)
    result = verify(status=0)
    for text in ("one component after the other", "read by the C library: 1 equal file, others depend on time", "depends on time: sums.txt: byte ", "files: 5 equal files", "have read other files in the two runs"):
        expect(text in result.out, "no " + text)


def equal():
    """PnetCDF programs and a script; the writers come first whatever their order in the workflow is. Nothing is left."""
    in_run(pair_and_script)
    before = sorted(os.listdir("run"))
    result = verify(status=0)
    for text in ("one component after the other", "model ", "through memory: ", "files: 5 equal files", "gets: 9 equal gets", "read by the C library: 3 equal files", "memory gave the same bytes as files"):
        expect(text in result.out, "no " + text)
    expect(sorted(os.listdir("run")) == before and os.listdir(".") == ["run"], "something is left")
    verify("--keep", status=0)
    expect(sorted(os.listdir(".")) == ["run", "run.verify-files", "run.verify-memory"], "the copies were not kept")
    verify(status=0)  # replaces them
    expect(os.listdir(".") == ["run"], "the copies are left")


def different():
    """The model writes something else each time: the file, the gets and the rank are told."""

    def make():
        write_flow(vary, {"model": (2, f"write a.nc {os.getcwd()}/../counter"), "analysis": (1, "read a.nc")}, [("a.nc", "model", ["analysis", "sums"])])
        add_component("sums", "[sh, -c, 'cat a.nc | wc -c > sums.txt']")

    in_run(make)
    result = verify(status=1)
    expect("different: sums, read by the C library: a.nc: other contents, " in result.out, "what a script has read")
    expect("different: a.nc: variable v, element 3,2: 107 and 1107; written by rank 1 of model" in result.out, "the file")
    expect("different: rank 0 of analysis, get 1 of a.nc: variable v, 0,0:4,5: other values" in result.out, "the get")
    expect("memory and files gave different bytes" in result.out and os.path.exists("run.verify-memory/a.nc"), "the copies")


def cycle():
    """Programs that read each other's files run beside each other in both runs."""
    in_run(lambda: write_flow(couple, {"left": (2, "write a.nc 100 read b.nc 100 write c.nc 100"), "right": (1, "read a.nc 100 write b.nc 100 read c.nc 100")},
                              [("a.nc", "left", ["right"]), ("b.nc", "right", ["left"]), ("c.nc", "left", ["right"])]))
    result = verify(status=0)
    expect("with opens that wait (the components read each other's files)" in result.out and "gets: 4 equal gets" in result.out, "the first run")


def members():
    """An ensemble is one component of the run through files, with all its members."""

    def make():
        for i in range(3):
            os.mkdir(f"m{i}")
        with open("flow.yaml", "w") as flow:
            flow.write(f"""version: 1
components:
  mean: {{command: {couple} read m0/out.nc 50 read m1/out.nc 50 read m2/out.nc 50 write mean.nc 9, ranks: 2}}
  model: {{command: "{couple} write out.nc 50", ranks: 1, instances: 3, at-most: 2, directory: "m{{instance}}"}}
files:
  - {{path: "m{{instance}}/out.nc", writer: model, readers: [mean]}}
""")

    in_run(make)
    result = verify(status=0)
    expect("(model " in result.out and ", mean " in result.out and "files: 4 equal files" in result.out, "the runs")


def fails():
    """A component that fails ends it, with what it said and its status."""
    in_run(lambda: write_flow(couple, {"model": (1, "write a.nc 10"), "analysis": (1, "read a.nc 10 exit 7")}, [("a.nc", "model", ["analysis"])]))
    result = verify(status=7)
    expect("failed with status 7 in analysis" in result.err and "verify-output.txt" in result.err, "the failure")


def stream():
    """Each step that a reader takes is compared, by PnetCDF and by the C library, and of a reader of every second step, too."""

    def make():
        write_steps("write s%d.nc 3 500 write s.nc 6 1000", {"analysis": (3, "drain s.nc"), "archive": (1, "drain s.nc")}, "{analysis: all, archive: 2, sums: all}", "steps: stream")
        add_component("sums", "sh sums.sh")
        with open("sums.sh", "w") as script:
            script.write("while cat s.nc >copy; do md5sum <copy; done >sums.txt\nrm copy\n")

    in_run(make)
    result = verify("--keep", status=0)
    for text in ("with opens that wait (its readers go through the steps of s*.nc)", "gets: 21 equal gets\n", "read by the C library: 6 equal files\n", "memory gave the same bytes as files\n"):
        expect(text in result.out, f"no {text} in {result.out}")
    steps_there = sorted(name for name in os.listdir("run.verify-files") if name.startswith("s.nc.step-"))
    expect(steps_there == [f"s.nc.step-{i}" for i in range(1, 7)], f"the steps of the run through files: {steps_there}")
    expect(len(open("run.verify-files/sums.txt").readlines()) == 6, "what the script has read")


def stream_differs():
    """A step of a stream with other contents is told by its number, with who wrote it."""
    in_run(lambda: write_flow(vary, {"model": (2, f"write a.nc {os.getcwd()}/../counter"), "analysis": (1, "read a.nc")}, [("a.nc", "model", ["analysis"], "steps: stream")]))
    result = verify(status=1)
    expect("rank 0 of analysis, get 1 of a.nc.step-1: variable v, 0,0:4,5: other values; the first of them was written by rank 0 of model" in result.out, "the get")


def latest_stream():
    """A reader of the latest takes some of the steps. Those that it has taken in both runs are compared."""
    in_run(lambda: write_steps("write s.nc 30 1000", {"picture": (2, "sleep 5 drain s.nc")}, "{picture: latest}", "steps: stream"))
    result = verify(status=0)
    expect(re.search(r"gets: \d+ equal gets", result.out) and "different" not in result.out, "the gets")
    if "others depend on time" in result.out:
        expect("memory gave the same bytes as files, but for what depends on time" in result.out, "the end")


def followed():
    """Of a file that is read while it is written, what was read in both runs is compared. The rest is said not to be proven."""

    def make():
        os.mkdir("go")
        open("go/a.nc", "w").close()
        write_flow(couple, {"model": (2, "grow a.nc 4000"), "analysis": (2, "keep a.nc release a.nc")}, [("a.nc", "model", ["analysis"], "publish: sync")])

    in_run(make)
    result = verify(status=0)
    expect("through files, one component after the other" in result.out and "files: 1 equal file" in result.out, "the runs")
    is_proven = "memory gave the same bytes as files\n" in result.out
    expect(is_proven != ("not proven: what analysis reads of 'a.nc' while model writes it" in result.out), "what is proven: " + result.out)


def c_library():
    """Programs that use the C library wait for each other in the run through files, too, and so do jobs for their files."""

    def make():
        write_flow(couple, {"model": (2, "write a.nc 100 read c.nc 100")}, [("a.nc", "model", ["first"]), ("b.txt", "first", ["second"]), ("c.nc", "second", ["model", "each"])])
        add_component("first", "sh first.sh")
        add_component("second", "sh second.sh")
        add_component("each", "[cp, '{file}', copy]", "for-each: c.nc")
        with open("first.sh", "w") as script:
            script.write("set -e\n{ wc -c <a.nc; echo more; } >b.txt\n")
        with open("second.sh", "w") as script:
            script.write("set -e\ncat b.txt >seen\n" + f"{' '.join(MPIRUN)} 1 {couple} write c.nc 100\n")

    in_run(make)
    result = verify(status=0)
    expect("with opens that wait (each runs for each file)" in result.out, "the first run")
    for text in ("read by the C library: 3 equal files", "gets: 2 equal gets", "memory gave the same bytes as files\n"):
        expect(text in result.out, f"no {text} in {result.out}")


def for_both():
    """A reader that opens its files for reading and writing, as Fortran's libraries do, and for reading alone where that is refused, has read the same in both runs."""

    def make():
        write_flow(couple, {"model": (2, "write a.nc 100")}, [("a.nc", "model", ["reader"])])
        add_component("reader", "python3 both.py")
        with open("both.py", "w") as script:
            script.write("try:\n    file = open('a.nc', 'r+b')\nexcept PermissionError:\n    file = open('a.nc', 'rb')\nopen('seen', 'wb').write(file.read())\n")

    in_run(make)
    result = verify(status=0)
    for text in ("one component after the other", "read by the C library: 1 equal file", "memory gave the same bytes as files\n"):
        expect(text in result.out, f"no {text} in {result.out}")


def refused():
    """What cannot be done says why; other people's directories are not replaced."""
    in_run(lambda: write_flow(couple, {"model": (1, "write a.nc 10"), "analysis": (1, "read a.nc 10")}, [("a.nc", "model", ["analysis"])]))
    result = verify("--in", "nowhere", status=2)
    expect("'--in' names" in result.err or "--in names" in result.err, "the directory")
    os.makedirs("run.verify-files/mine")
    result = verify(status=3)
    expect("run.verify-files" in result.err and os.path.isdir("run.verify-files/mine"), "a directory was replaced")
    os.mkdir("elsewhere")
    verify("--in", "elsewhere", status=0)
    expect(os.listdir("elsewhere") == [], "the copies are left")


def uncoupled():
    """A workflow that couples nothing by mistake says so beside the result."""
    in_run(lambda: write_flow(couple, {"model": (1, "write a.nc 10 write b.nc 10"), "analysis": (1, "read b.nc 10")}, [("b.nc", "model", ["analysis"]), ("d.nc", "model", ["analysis"])]))
    result = verify(status=0)
    expect("warning: " in result.out and "d.nc" in result.out, "the warning of the run")


clear_directory()
globals()[case]()
