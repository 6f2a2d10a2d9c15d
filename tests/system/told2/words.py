#!/usr/bin/python3
"""words.py BUILD PROGRAM CASE: what check, run and the commands that look at runs say. PROGRAM has PnetCDF."""
import json
import os
import signal
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish, text, wait_for

build, program, case = sys.argv[1:4]
sluice = build + "/bin/sluice"


def write_flow(writes, reads, more="", name="heat"):
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join([
            "version: 1", f"name: {name}", "staging: {prewarm: 0}", "components:", f"  w: {{command: [sh, -c, '{writes}']}}", f"  r: {{command: [sh, -c, '{reads}']}}",
            "files:", f'  - {{path: "*.dat", writer: w, readers: [r]{more}}}'
        ]) + "\n")


def call(*words, status=0):
    result = finish(harness.start(sluice, *words), status)
    return result.out + result.err


def begun(log="log"):
    """A run whose components do nothing until they are told."""
    run = harness.start(sluice, "run", "--log-dir", log, "flow.yaml")
    wait_for(lambda: os.path.exists("w.begun") and os.path.exists("r.begun"), "the components have not begun")
    return run


def interrupted_before_it_began():
    """A run that is interrupted before its components have opened anything does not blame them."""
    write_flow("touch w.begun; sleep 100; echo 1 > a.dat", "touch r.begun; sleep 100; cat a.dat")
    run = begun()
    run.send_signal(signal.SIGTERM)
    result = finish(run, 143)
    for words in ("Likely causes", "matched no file", "is a reader of"):
        expect(words not in result.out + result.err, words)


def interrupted_after_a_component():
    """Who ended before the interruption had its time: it is told that it used no coupled file."""
    write_flow("touch w.begun", "touch r.begun; sleep 100; cat a.dat")
    run = harness.start(sluice, "run", "--log-dir", "log", "flow.yaml")
    wait_for(lambda: harness.is_logged("exited with status 0"), "the writer has not ended")
    run.send_signal(signal.SIGTERM)
    result = finish(run, 143)
    expect("component 'w' is named by a file rule, but has used no coupled file" in result.out + result.err, "the writer is not named")
    expect("component 'r'" not in result.out + result.err, "the reader is blamed")


def same_words_in_all_commands():
    """The name, the number, the file, the directory and the log directory of a run mean it, also where a directory has the run's name."""
    os.makedirs("fjord")
    write_flow("touch w.begun; echo 1 > a.dat; until test -e over; do sleep 0.1; done", "touch r.begun; cat a.dat; until test -e over; do sleep 0.1; done", name="fjord")
    run = begun("elsewhere")
    wait_for(lambda: "a.dat" in text("elsewhere/timeline.tsv"), "the timeline has no file")
    try:
        for words in ("fjord", str(run.pid), "flow.yaml", ".", os.getcwd(), "elsewhere"):
            expect("fjord" in call("status", words), f"status {words}")
            call("ls", words)
            call("attach", words, "--", "true")
            expect('"fjord"' in call("report", words, "--json"), f"report {words}")
            expect("a.dat" in call("graph", words) or "*.dat" in call("graph", words), f"graph {words}")
        expect("no run is called 'other'" in call("status", "other", status=2), "a wrong name")
    finally:
        open("over", "w").close()
    finish(run, 0)
    expect("a.dat" in call("report", "elsewhere", "--json"), "the report of a run that has ended")


def promises_to_the_c_library():
    """Before a run, check and run say what a rule promises and the C library's calls do not do."""
    said = "seems to write by the C library"
    for more, words in ((", through: burst-buffer", "saves such files when they are closed, and at an fsync"), (", publish: sync", "nothing is published then"),
                        (", publish: write", "not at each write")):
        write_flow("echo 1 > a.dat", "cat a.dat > b", more)
        expect(said in call("check", "flow.yaml") and words in call("check", "flow.yaml"), f"check{more}")
        result = call("run", "flow.yaml")
        expect(said in result and words in result, f"run{more}")
    write_flow("echo 1 > a.dat", "cat a.dat > b")
    expect(said not in call("check", "flow.yaml"), "there is nothing to say")
    write_flow(f"{program} x", "cat a.dat > b", ", publish: sync")
    expect(said not in call("check", "flow.yaml"), "the command names a program with PnetCDF")


def torn_records():
    """What a kill leaves of the records of a run: without the end of its last line, the report has all others."""
    write_flow("touch w.begun; echo 1 > a.dat", "touch r.begun; cat a.dat > b")
    call("run", "--log-dir", "log", "flow.yaml")
    for name in os.listdir("log"):
        path = os.path.join("log", name)
        with open(path, "rb") as file:
            whole = file.read()
        for torn in (whole[:-1], whole[:-5], whole + b"do\tread\tr\t", whole + b"\0" * 100, whole + b"\xff\xfe\n"):
            with open(path, "wb") as file:
                file.write(torn)
            expect("a.dat" in call("report", "log", "--json"), f"the report with a torn {name}")
            expect("*.dat" in call("graph", "log"), f"the graph with a torn {name}")
        with open(path, "wb") as file:
            file.write(whole)


def written_without_the_library():
    """A file that a program of the rule's writer has written to the disk is named; one from before the run is not."""
    os.makedirs("old", exist_ok=True)
    with open("old/z.dat", "w") as file:
        file.write("old\\n")
    write_flow("touch w.begun; echo 1 > a.dat; LD_PRELOAD= dd if=flow.yaml of=b.dat", "cat a.dat > c")
    result = finish(harness.start(sluice, "run", "--log-dir", "log", "flow.yaml"), 0)
    said = [line for line in (result.out + result.err).splitlines() if "was written to the disk during the run" in line]
    expect(any("/b.dat" in line for line in said) and not any("z.dat" in line or "/a.dat" in line for line in said), f"said: {said}")
    os.unlink("b.dat")
    write_flow("echo 1 > a.dat", "cat a.dat > c")
    expect("was written to the disk" not in call("run", "--log-dir", "log2", "flow.yaml"), "all is coupled")


def opened_files_count_once():
    """A process that opens a file of 100000 bytes five times, to read ten of them, counts as one that has opened 100000 bytes; a second process counts anew."""
    with open("look.py", "w") as file:
        file.write("for _ in range(5):\n    with open('a.dat', 'rb', buffering=0) as file: assert file.read(10) == b'0' * 10\n")
    write_flow("printf %0100000d 0 > a.dat", "/usr/bin/python3 look.py; cat a.dat > b; /usr/bin/python3 look.py")
    told = call("run", "--log-dir", "log", "flow.yaml").splitlines()
    heads, row = (next(line.split() for line in told if line.startswith(begin)) for begin in ("file  ", "a.dat  "))
    expect(heads[-2:] == ["opens", "opened"] and row[-3:] == ["11", "293", "KiB"], f"the summary: {heads} {row}")
    figures = json.loads(finish(harness.start(sluice, "report", "log", "--json"), 0).out)
    rule = figures["rules"][0]
    expect(rule["opened_bytes"] == 300000 and rule["opens"] == 11, f"three processes have opened {rule['opened_bytes']} bytes by {rule['opens']} opens")
    expect(rule["get_bytes"] == rule["gets"] == 0, f"nothing was got: {rule}")
    file = next(row for row in figures["files"] if row["name"].endswith("a.dat"))
    expect(file["opened_bytes"] == 300000 and file["get_bytes"] == 0, f"the file: {file}")
    expect("11 opens of files of 293 KiB" in call("graph", "log"), "the graph")


clear_directory()
globals()[case]()
