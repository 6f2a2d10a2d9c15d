#!/usr/bin/python3
"""coupled.py BUILD PROGRAM CASE: coupled flows of PROGRAM (couple.c) in the working directory, under `sluice run`."""
import glob
import os
import re
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import allow, call, clear_directory, expect, finish, wait_for_event

build, program, case = sys.argv[1:4]
THROUGH = os.environ.get("SLUICE_TEST_THROUGH", "memory")


def write_flow(components, rules, *staging):
    harness.write_flow(program, components, [(*rule, "through: " + THROUGH) for rule in rules], *staging)


def start(*arguments):
    return harness.start(build + "/bin/sluice", "run", *arguments, "flow.yaml")


def run(*arguments, status=0, on_disk=(), awaited=()):
    """`awaited`: pairs of words in the event log, and a file for which a component waits. The file is made
    when the log has the words."""
    process = start(*arguments)
    for words, name in awaited:
        wait_for_event(process, words)
        allow(name)
    result = finish(process, status)
    files = sorted(glob.glob("**/*.nc", recursive=True))
    if THROUGH == "memory":
        expect(files == sorted(on_disk), f"files on the disk: {files}, expected: {on_disk}")
    else:
        expect(set(on_disk) <= set(files), f"files on the disk: {files}, expected {on_disk} and those of the rules")
        for file in files[:10]:
            call("ncvalidator", "-q", file, status=0)
    return result


def figures(result, name):
    """[steps, put, puts, got, gets, waited] of a line of the summary."""
    for line in result.out.splitlines():
        if line.startswith(name + "  "):
            return re.split(r"  +", line[len(name):].strip())
    sys.exit(f"FAILED: no line of the summary for {name}")


def pair():
    for writers, readers in [(1, 1), (3, 2), (2, 3)]:
        write_flow({"model": (writers, "write a.nc 100000"), "analysis": (readers, "read a.nc 100000")}, [("*.nc", "model", ["analysis"])])
        result = run()
        expect(figures(result, "a.nc")[:5] == ["1", "781 KiB", str(writers), "781 KiB", str(readers)], "the figures")


def reader_first():
    write_flow({"model": (2, "await reader write a.nc 1000"), "analysis": (2, "read a.nc 1000")}, [("*.nc", "model", ["analysis"])])
    run("--notice-after", "1", awaited=[("waits for 'a.nc' from model", "reader")])


def writer_gone():
    write_flow({"model": (2, "write a.nc 1000 write b.nc 10"), "analysis": (2, "await end read b.nc 10 read a.nc 1000 read b.nc 10")}, [("*.nc", "model", ["analysis"])])
    run(awaited=[("model exited with status 0", "end")])


def pipeline():
    write_flow({"one": (2, "repeat 5 write a%d.nc 3000"), "two": (3, "repeat 5 read a%d.nc 3000 write b%d.nc 500"), "three": (1, "repeat 5 read b%d.nc 500 write c%d.nc 10"),
                "four": (2, "repeat 5 read c%d.nc 10")}, [("a*.nc", "one", ["two"]), ("b*.nc", "two", ["three"]), ("c*.nc", "three", ["four"])])
    run()


def fan_out():
    write_flow({"model": (2, "write a.nc 1000 write b.nc 2000"), "left": (1, "read a.nc 1000 read b.nc 2000"), "right": (2, "read b.nc 2000 read a.nc 1000")},
               [("*.nc", "model", ["left", "right"])])
    run()


def shared_reads():
    """The data that the processes of a node read comes to the node once, with any number of matchers. Half of
    the file is on the node already."""
    steps, numbers = 6, 16384
    write_flow({"model": (4, f"repeat {steps} write a%d.nc {numbers} write b%d.nc {2 * numbers} read done%d.nc 4"),
                "left": (4, f"repeat {steps} whole a%d.nc {numbers} halve b%d.nc {2 * numbers}"),
                "right": (4, f"repeat {steps} halve b%d.nc {2 * numbers} whole a%d.nc {numbers} write done%d.nc 4")},
               [("[ab]*.nc", "model", ["left", "right"]), ("done*.nc", "right", ["model"])])
    run("--log-dir", "log")
    with open("log/events.log", encoding="utf-8") as events:
        fetched = [int(kib) for kib in re.findall(r"matcher \d+ \(node.*; (\d+) KiB of data fetched from other nodes", events.read())]
    nodes = int(os.environ.get("SLUICE_VIRTUAL_NODES", "1"))
    needed = steps * nodes * 2 * numbers * 8 * (nodes - 1) // nodes
    expect(sum(fetched) * 1024 == needed, f"fetched by each matcher: {fetched} KiB, needed: {needed // 1024} KiB")


def ping_pong():
    write_flow({"one": (2, "repeat 20 write a%d.nc 100 read b%d.nc 100"), "two": (2, "repeat 20 read a%d.nc 100 write b%d.nc 100")},
               [("a*.nc", "one", ["two"]), ("b*.nc", "two", ["one"])])
    run()


def own_file():
    write_flow({"model": (2, "write a.nc 1000 read a.nc 1000 read a.nc 1000")}, [("*.nc", "model", ["model"])])
    run()


def unnamed_file():
    write_flow({"model": (2, "write a.nc 1000 write ordinary.nc 100 read ordinary.nc 100"), "analysis": (1, "read a.nc 1000 write other.nc 10")}, [("a.nc", "model", ["analysis"])])
    run(on_disk=["ordinary.nc", "other.nc"])
    call("ncdump", "-h", "ordinary.nc", status=0)


def serial():
    write_flow({"model": (0, "write a.nc 1000"), "analysis": (0, "read a.nc 1000")}, [("*.nc", "model", ["analysis"])])
    run()


def directories():
    os.makedirs("here/out")
    os.makedirs("there")
    write_flow({"model": (2, "write out/a.nc 1000 write ./out/../out/b.nc 10", "directory: here"),
                "analysis": (2, f"read ../here/out/a.nc 1000 read {os.getcwd()}/here/out//b.nc 10", "directory: there")}, [("out/*.nc", "model", ["analysis"])])
    run()


def missing():
    write_flow({"model": (2, "write a.nc 1000"), "analysis": (2, "read a.nc 1000 missing b.nc missing b.nc")}, [("*.nc", "model", ["analysis"])])
    result = run()
    expect(re.search(r"b\.nc.*model", result.err), "the reason is not told")


def never_written():
    write_flow({"model": (1, "await reader"), "analysis": (2, "missing a.nc"), "late": (1, "await end missing a.nc")}, [("*.nc", "model", ["analysis", "late"])])
    run("--notice-after", "1", awaited=[("waits for 'a.nc' from model", "reader"), ("model exited with status 0", "end")])


def wait_notice():
    write_flow({"model": (1, "await notice write a.nc 10"), "analysis": (2, "read a.nc 10")}, [("*.nc", "model", ["analysis"])])
    result = run("--notice-after", "2", awaited=[("waits for 'a.nc' from model", "notice")])
    expect(re.search(r"\[sluice\] analysis.* waits for .*a\.nc.*model.* \(\d+ s\)", result.err), "the wait is not told")


def late_ranks():
    """The event log names the processes that are in a collective create or open, and those that are missing.
    In the first call by a communicator, MPI_Comm_dup waits for them; later calls wait elsewhere."""
    write_flow({"model": (2, "write a.nc 10 late model.go write b.nc 10"), "viewer": (3, "late viewer.go read a.nc 10 read b.nc 10")}, [("*.nc", "model", ["viewer"])])
    result = run("--notice-after", "3", awaited=[("1 of 3 processes of viewer is in open of a.nc", "viewer.go"), ("1 of 2 processes of model is in create of b.nc", "model.go")])
    expect(re.search(r"\[sluice\] 1 of 3 processes of viewer is in open of a\.nc; ranks 1, 2 are not, since \d+ s", result.err), "who is missing in the open is not told")
    expect(re.search(r"\[sluice\] 1 of 2 processes of model is in create of b\.nc; rank 1 is not, since \d+ s", result.err), "who is missing in the create is not told")
    expect(len(re.findall(r"\[sluice\] \d of ", result.err)) == 2, "nothing else is told")


def writer_fails():
    write_flow({"model": (2, "write a.nc 10 kill 11"), "analysis": (2, "read a.nc 10 missing b.nc say survived")}, [("*.nc", "model", ["analysis"])])
    result = run(status=139)
    expect("[analysis] survived" in result.out, "the reader did not go on")
    expect("model was killed by signal 11 (SIGSEGV)" in result.err, "the signal is not told")


def reader_fails():
    write_flow({"model": (2, "write a0.nc 1000 await failure repeat 20 write b%d.nc 1000"), "analysis": (2, "read a0.nc 1000 exit 6")}, [("*.nc", "model", ["analysis"])])
    result = run(status=6, awaited=[("analysis exited with status 6", "failure")])
    expect("model finished" in result.err, "the writer did not go on")


def little_memory():
    write_flow({"model": (2, "repeat 40 write a%d.nc 500000"), "analysis": (2, "repeat 40 read a%d.nc 500000")}, [("*.nc", "model", ["analysis"])], "memory: 16MiB", "spill: none")
    result = run()
    peak = re.search(r"at most ([\d.]+) (\S+) staged of 16.0 MiB", result.out)
    expect(peak and (peak[2] == "KiB" or float(peak[1]) <= 16), f"the peak of memory: {peak and peak[0]}")


def staged():
    """Staged memory is only a little more than the data, also in the first step of a kind."""
    lengths = [1_200_000, 200_000, 1_500_000, 70_000]
    write_flow({"model": (2, " ".join(f"write a{i}.nc {length}" for i, length in enumerate(lengths))),
                "analysis": (2, f"read a{len(lengths) - 1}.nc {lengths[-1]} " + " ".join(f"read a{i}.nc {length}" for i, length in enumerate(lengths[:-1])))},
               [("*.nc", "model", ["analysis"])])
    result = run()
    peak = re.search(r"at most ([\d.]+) MiB staged", result.out)
    put_mib = 8 * sum(lengths) / 2**20
    expect(peak and 0.9 * put_mib < float(peak[1]) < 1.1 * put_mib + 2, f"{put_mib:.1f} MiB were put, and {peak and peak[0]}")


def prewarmed():
    for prewarm, made in [("16MiB", "16384"), ("0", None)]:
        for wait_ms in [1500, 6000, 24000]:  # the thread that makes memory ahead has a low priority, so a busy machine delays it
            # Nothing reports when all memory is made; the end of the run logs how much was made.
            write_flow({"model": (2, f"sleep {wait_ms} write a.nc 500000"), "analysis": (2, "read a.nc 500000")}, [("*.nc", "model", ["analysis"])], "memory: 64MiB",
                       f"prewarm: {prewarm}")
            clear = run("--log-dir", "log-" + prewarm)
            expect(figures(clear, "a.nc")[0] == "1", "the figures")
            with open(f"log-{prewarm}/events.log", encoding="utf-8") as events:
                found = re.search(r"made (\d+) KiB of memory ahead; (\d+) KiB were given out warm", events.read())
            if (found and found[1]) == made:
                break
        expect((found and found[1]) == made, f"what was made ahead: {found and found[0]}")
        expect(found is None or int(found[2]) >= 4000, f"what was used of it: {found and found[0]}")


def prewarmed_by_the_former_run():
    made = []
    for _ in range(2):
        write_flow({"model": (2, "write a.nc 500000"), "analysis": (2, "read a.nc 500000")}, [("*.nc", "model", ["analysis"])], "memory: 64MiB", "huge-pages: auto")
        run()
        with open(max(glob.glob(".sluice/*/events.log"), key=os.path.getmtime), encoding="utf-8") as events:
            text = events.read()
        found = re.search(r"made (\d+) KiB of memory ahead", text)
        expect((found is None) == ("have small pages" in text), "memory is made ahead where it has huge pages")
        made.append(int(found[1]) if found else 0)
    expect(made in ([0, 0], [32768, made[1]]) and made[1] in range(0 if made[0] == 0 else 4000, 16384), f"by the limit, then by what the former run has used: {made}")


def pages():
    """Segments with huge pages, if the system has them, and with small ones. The programs check what they
    read."""
    told = {}
    for wish in ["auto", "off"]:
        write_flow({"model": (2, "write a.nc 2000000 write b.nc 2000000"), "analysis": (2, "read a.nc 2000000 read b.nc 2000000")}, [("*.nc", "model", ["analysis"])],
                   f"huge-pages: {wish}")
        clear = run("--log-dir", "log-" + wish)
        expect([figures(clear, name)[0] for name in ["a.nc", "b.nc"]] == ["1", "1"], "the figures")
        expect("pages" not in clear.all and "ahead" not in clear.all, "pages and memory made ahead are told only by --verbose")
        with open(f"log-{wish}/events.log", encoding="utf-8") as events:
            text = events.read()
        told[wish] = re.search(r"matcher 0: large segments have (huge|small) pages", text)
        expect(told[wish], "the kind of pages is told")
        is_ahead = "of memory ahead" in text
        expect(is_ahead == (told[wish][1] == "huge"), "memory is made ahead where it has huge pages")
    expect(told["off"][1] == "small", "the workflow said off")


def many_files():
    write_flow({"model": (2, "repeat 200 write a%d.nc 100"), "analysis": (2, "repeat 200 read a%d.nc 100")}, [("*.nc", "model", ["analysis"])])
    expect(figures(run(), "*.nc")[0:2] == ["(200 files)", "200"], "the figures of all files in one line")


def two_runs():
    write_flow({"model": (2, "repeat 10 write a%d.nc 1000"), "analysis": (2, "repeat 10 read a%d.nc 1000")}, [("*.nc", "model", ["analysis"])])
    for process in [start("--log-dir", f"log{i}") for i in range(2)]:
        finish(process, 0)


clear_directory()
globals()[case]()
print("as expected")
