#!/usr/bin/python3
"""follow.py BUILD PROGRAM CASE: files of PROGRAM (follow.c) that are read while they are written, under `sluice run`."""
import os
import subprocess
import sys

build, program, case = sys.argv[1:4]
LIMIT_S = 100  # far more than any case needs: a hang ends here


def expect(condition, text):
    if not condition:
        sys.exit("FAILED: " + text)


def run(publish, components, rules=(("*.nc", "model", ["analysis"]),), memory="1GiB", status=0, **environment):
    """Components as {name: (ranks, arguments)}, rules as [(pattern, writer, readers)]. Gives what was printed."""
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: follow\nstaging: {{memory: {memory}, matchers: {os.environ.get('SLUICE_TEST_MATCHERS', 1)}}}\ncomponents:\n")
        for name, (ranks, arguments) in components.items():
            flow.write(f"  {name}: {{command: {program} {arguments}, ranks: {ranks}}}\n")
        flow.write("files:\n" + "".join(f"  - {{path: \"{pattern}\", writer: {writer}, readers: [{', '.join(readers)}], publish: {publish}}}\n" for pattern, writer, readers in rules))
    process = subprocess.Popen([build + "/bin/sluice", "run", "flow.yaml"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env=dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **environment))
    try:
        output, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        subprocess.run(["ps", "-ef", "--forest"])
        process.kill()
        sys.exit("HANG: the run did not end")
    print(output, f"=> {process.returncode}", sep="\n")
    expect(process.returncode == status, f"exit status {process.returncode}, expected {status}")
    return output


two_readers = (("*.nc", "model", ["first", "second"]),)


def sync():
    for writers, readers in [(1, 1), (2, 3), (3, 1)]:
        run("sync", {"model": (writers, "write a.nc 30 1"), "first": (readers, "records a.nc 30"), "second": (2, "reopen a.nc 30")}, two_readers)


def write():
    for writers, readers in [(1, 1), (2, 3), (3, 1)]:
        run("write", {"model": (writers, "write a.nc 30"), "first": (readers, "rows a.nc 30"), "second": (2, "records a.nc 30")}, two_readers)


def write_reopened():
    run("write", {"model": (2, "write a.nc 30"), "first": (1, "reopen a.nc 30"), "second": (3, "rows a.nc 30")}, two_readers)


def sync_killed():
    output = run("sync", {"model": (2, "write a.nc 30 1 12"), "analysis": (2, "cut a.nc 30 12")}, status=137)
    expect("ends with what was put before the last ncmpi_sync" in output or logged("ends with what was put before the last ncmpi_sync"), "the event")


def write_killed():
    run("write", {"model": (2, "write a.nc 30 0 12"), "analysis": (3, "rest a.nc 30 13")}, status=137)
    expect(logged("ends with what was put so far"), "the event")


def logged(words):
    found = subprocess.run(["grep", "-rlF", words, "."], capture_output=True, text=True).stdout
    return bool(found)


def knot():
    output = run("write", {"one": (1, "knot a.nc 3 b.nc"), "two": (1, "knot b.nc 3 a.nc")}, (("a.nc", "one", ["two"]), ("b.nc", "two", ["one"])))
    expect("the knot is cut" in output, "nobody was told of the cycle")
    expect(logged("a cycle of waits: ") and logged("(variable rows)"), "the cycle is not named")


def little_memory():
    output = run("sync", {"model": (1, "fill a.nc 100"), "analysis": (1, "peek a.nc 1")}, memory="8MiB")
    expect(logged("raise staging.memory") or "raise staging.memory" in output, "no advice")


def many_files():
    for publish, reader in [("sync", "records"), ("write", "rows")]:
        run(publish, {"model": (1, "write a%d.nc 4 1"), "analysis": (2, reader + " a%d.nc 4")}, memory="4MiB, retain: 0", FILES="12")


globals()[case]()
