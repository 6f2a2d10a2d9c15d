#!/usr/bin/python3
"""keep.py BUILD PROGRAM CASE [RULE]: kept files of PROGRAM (keep.c), compared with files that the program
writes directly. RULE: the key that makes the runtime write the files, by default "keep: true"."""
import filecmp
import glob
import os
import re
import shutil
import signal
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import call, clear_directory, descendants_named, expect, finish, is_logged, kill, launch, wait_for, wait_for_event

build, program, case = sys.argv[1:4]
RULE = sys.argv[4] if len(sys.argv) > 4 else "keep: true"


def write_flow(components, rules, *staging):
    """Components: {name: (ranks, commands)}. Rules: [(pattern, writer, reader, more)]."""
    harness.write_flow(program, components, [(pattern, writer, [reader], more) for pattern, writer, reader, more in rules], *staging)


def start(prefix=()):
    return harness.start(*prefix, build + "/bin/sluice", "run", "flow.yaml")


def run(status=0, prefix=()):
    return finish(start(prefix), status)


def is_there(process, *names):
    """Waits until one of the files is on disk."""

    def look():
        expect(process.poll() is None, "the run ended too early")
        return any(map(os.path.exists, names))

    wait_for(look, names)


def files_on_disk():
    """A good run leaves no logs."""
    return sorted(glob.glob("*.nc*"))


def directly(ranks, commands, *prefix):
    """Lets the program write the same files without a run, in direct/."""
    os.makedirs("direct")
    launch(ranks, *prefix, program, *commands.split(), cwd="direct", status=0)


def compare(name, is_same_bytes=True):
    expect(os.path.exists(name), f"{name} is not on disk")
    call("ncvalidator", "-q", name, status=0)
    differences = launch(1, "ncmpidiff", name, "direct/" + name)
    expect(differences.status == 0 and "DIFF" not in differences.all, f"{name} differs from the one that was written directly")
    if is_same_bytes:
        expect(filecmp.cmp(name, "direct/" + name, shallow=False), f"{name} has other bytes than the one that was written directly")


def pair(commands, names, ranks=2, is_same_bytes=True, staging=""):
    write_flow({"model": (ranks, commands), "analysis": (1, " ".join("read " + name for name in names))}, [("*.nc", "model", "analysis", RULE)], staging)
    run()
    expect(files_on_disk() == sorted(names), f"files on the disk: {files_on_disk()}")
    directly(ranks, commands)
    for name in names:
        compare(name, is_same_bytes)


def types():
    names = ["one.nc", "two.nc", "five.nc"]
    pair(" ".join(f"types {version} {name}" for version, name in zip((1, 2, 5), names)), names, ranks=3)


def overwrite():
    pair("overwrite 1 a.nc overwrite 5 b.nc", ["a.nc", "b.nc"], ranks=3)


def fill():
    pair("fill 1 a.nc fill 5 b.nc", ["a.nc", "b.nc"])


def layout():
    """Data begins where PnetCDF 1.15 puts it. An older library puts the same values elsewhere; ours, without
    a run, puts them in the same places."""
    commands, names = "layout a.nc empty b.nc", ["a.nc", "b.nc"]
    pair(commands, names, is_same_bytes=False)
    compare("b.nc")
    shutil.rmtree("direct")
    directly(2, commands, build + "/bin/sluice", "exec", "--")
    for name in names:
        compare(name)


def append():
    pair("append a.nc 8", ["a.nc"])


def stream():
    """More files than fit into memory: they wait for the disk."""
    names = [f"wave_{i}.nc" for i in range(6)]
    commands = "repeat 6 large wave_%d.nc 5"
    write_flow({"model": (2, commands), "analysis": (1, "repeat 6 read wave_%d.nc")}, [("wave_*.nc", "model", "analysis", RULE)], "memory: 20MiB", "spill: none")
    result = run()
    expect(re.search(r"wave_\*\.nc|wave_0\.nc", result.out), "the files are not in the summary")
    directly(2, commands)
    for name in names:
        compare(name)


def recycled():
    """A step that was read and recycled is read from its file."""
    write_flow({"model": (2, "repeat 6 large wave_%d.nc 5"), "analysis": (2, "repeat 6 check wave_%d.nc 5 check wave_0.nc 5")},
               [("wave_*.nc", "model", "analysis", "keep: true")], "memory: 13MiB", "retain: 0", "spill: none")
    run()
    expect(is_logged(f"analysis reads 'wave_0.nc' from the file {os.getcwd()}/wave_0.nc"), "the event log does not say where the data comes from")


def gone_on_with():
    """The writer itself reads what has gone from memory, and goes on in it."""
    names = [f"wave_{i}.nc" for i in range(4)]
    write_flow({"model": (2, " ".join(f"large {name} 5" for name in names) + " check wave_0.nc 5 touch wave_0.nc check wave_0.nc 5"), "analysis": (2, " ".join(f"check {name} 5" for name in names))},
               [("wave_*.nc", "model", "analysis", "keep: true")], "memory: 13MiB", "retain: 0", "spill: none")
    run()
    expect(is_logged(f"model continues 'wave_0.nc' from the file {os.getcwd()}/wave_0.nc"), "the event log does not say where the data comes from")
    directly(2, " ".join(f"large {name} 5" for name in names))
    for name in names:
        compare(name)


def spilled():
    """Steps that are partly on disk are drained like others."""
    os.makedirs("scratch")
    names = [f"wave_{i}.nc" for i in range(6)]
    write_flow({"model": (2, "repeat 6 large wave_%d.nc 5"), "analysis": (1, "repeat 6 check wave_%d.nc 5")}, [("wave_*.nc", "model", "analysis", "keep: true")],
               "memory: 8MiB", "spill: scratch")
    result = run()
    expect(re.search(r"MiB spilled to .*/scratch", result.out), "nothing was spilled")
    directly(2, "repeat 6 large wave_%d.nc 5")
    for name in names:
        compare(name)
    expect(os.listdir("scratch") == [], "something is left in the directory")


def interrupted_twice():
    """The second ^C ends a drain: its file is complete, or nothing is left of it."""
    write_flow({"model": (1, "large a.nc 400 sleep 30000"), "analysis": (1, "sleep 1")}, [("*.nc", "model", "analysis", "keep: true")], "memory: 1GiB")
    process = start()
    is_there(process, ".a.nc.sluice-partial", "a.nc")
    process.send_signal(signal.SIGINT)
    wait_for_event(process, "received SIGINT")
    process.send_signal(signal.SIGINT)
    finish(process, 130)
    expect(files_on_disk() in ([], ["a.nc"]), f"files on the disk: {files_on_disk()}")
    if files_on_disk():
        call("ncvalidator", "-q", "a.nc", status=0)


def existing():
    """An existing file stays unchanged until the new one is complete; a link stays a link."""
    os.makedirs("elsewhere")
    for name in ("a.nc", "elsewhere/b.nc"):
        with open(name, "w") as old:
            old.write("old")
    os.symlink("elsewhere/b.nc", "b.nc")
    pair("types 1 a.nc types 1 b.nc", ["a.nc", "b.nc"])
    expect(os.path.islink("b.nc") and not os.path.islink("elsewhere/b.nc"), "the link was replaced")


def variables():
    """A list of variables keeps these, their dimensions, and the global attributes."""
    commands = "types 5 a.nc"
    write_flow({"model": (2, commands), "analysis": (1, "read a.nc")}, [("*.nc", "model", "analysis", "keep: [\"record[45]\", scalar]")])
    run()
    directly(2, commands)
    call("ncvalidator", "-q", "a.nc", status=0)
    header = call("ncdump", "-h", "a.nc", status=0).out
    expect(re.findall(r"^\t(?:\w+) (\w+)(?:\(.*\))? ;", header, re.M) == ["record4", "record5", "scalar"], "other variables than were asked for")
    expect(":title" in header and "time = UNLIMITED" in header, "attributes or dimensions are missing")
    differences = launch(1, "ncmpidiff", "-v", "record4,record5,scalar", "a.nc", "direct/a.nc")
    expect(differences.status == 0 and "DIFF" not in differences.all, "the values differ")


def existence():
    """NC_NOCLOBBER and ncmpi_delete also regard the file on disk."""
    for name in ("old.nc", "older.nc"):
        with open(name, "w") as old:
            old.write("old")
    write_flow({"model": (2, "noclobber old.nc types 1 a.nc noclobber a.nc noclobber new.nc types 1 b.nc delete b.nc delete older.nc delete nothing.nc"), "analysis": (1, "read a.nc")},
               [("*.nc", "model", "analysis", RULE)])
    result = run()
    expect(re.findall(r"\] (\w+: \w+)", result.out) == ["noclobber: NC_EEXIST", "noclobber: NC_EEXIST", "noclobber: NC_NOERR", "delete: NC_NOERR", "delete: NC_NOERR", "delete: NC_ENOENT"],
           "other answers than with files")
    expect(files_on_disk() == ["a.nc", "new.nc", "old.nc"], f"files on the disk: {files_on_disk()}")


def no_directory():
    write_flow({"model": (2, "types 1 nowhere/a.nc types 1 b.nc"), "analysis": (1, "read nowhere/a.nc read b.nc")}, [("*.nc", "model", "analysis", RULE)])
    result = run(status=3)
    expect(re.search(r"'nowhere/a\.nc' could not be written to disk.*/nowhere/\.a\.nc\.sluice-partial.*No such file", result.err), "the error does not say which file and why")
    expect(re.search(r"failed: 1 file could not be written", result.out) and "nowhere/a.nc" in result.out, "the summary does not say so")
    expect(files_on_disk() == ["b.nc"], f"files on the disk: {files_on_disk()}")


def full_disk():
    """A limit on file sizes stands for a full disk: the small file is written, the large one is not, and
    nothing is left of it. (Open MPI's own files need 4 MiB, and no segment of these writers is larger than
    8.)"""
    write_flow({"model": (2, "large a.nc 12 types 1 b.nc"), "analysis": (1, "read a.nc read b.nc")}, [("*.nc", "model", "analysis", RULE)])
    result = run(status=3, prefix=("prlimit", "--fsize=9000000"))
    expect(re.search(r"'a\.nc'.*\.a\.nc\.sluice-partial.*File too large", result.err), "the error does not say which file and why")
    expect(files_on_disk() == ["b.nc"], f"files on the disk: {files_on_disk()}")


def writer_dies():
    """Complete steps are kept, others are not."""
    write_flow({"model": (2, "types 1 a.nc kill 9"), "analysis": (1, "read a.nc")}, [("*.nc", "model", "analysis", RULE)])
    run(status=137)
    directly(2, "types 1 a.nc")
    compare("a.nc")


def matcher_killed():
    """Killed during a drain: the file does not exist, and no other is taken for it."""
    write_flow({"model": (1, "large a.nc 400"), "analysis": (1, "sleep 1")}, [("*.nc", "model", "analysis", RULE)], "memory: 1GiB")
    for _ in range(10):
        process = start()
        is_there(process, ".a.nc.sluice-partial", "a.nc")
        kill(descendants_named("sluice-matcher", process.pid), signal.SIGKILL)
        result = finish(process)
        if not os.path.exists("a.nc"):
            break
        call("ncvalidator", "-q", "a.nc", status=0)  # it was complete too early: that is correct, but tests nothing
        os.remove("a.nc")
    expect(result.status == 3 and "matcher was killed" in result.err, "the reason is not told")
    expect(os.path.exists(".a.nc.sluice-partial"), "the drain was never met in its middle")
    # The next run that writes the file removes the partial file.
    run()
    call("ncvalidator", "-q", "a.nc", status=0)
    expect(files_on_disk() == ["a.nc"], f"files on the disk: {files_on_disk()}")


def two_runs():
    """Two runs write the same file at the same time. The file is always complete and from one of them, and
    nothing else is left."""
    sizes = (60, 70)
    for size in sizes:
        os.makedirs(f"direct{size}")
        launch(2, program, "large", "a.nc", str(size), cwd=f"direct{size}", status=0)
    for _ in range(2):
        runs = []
        for size in sizes:
            write_flow({"model": (2, f"large a.nc {size}"), "analysis": (1, "sleep 1")}, [("*.nc", "model", "analysis", RULE)], "memory: 512MiB")
            os.rename("flow.yaml", f"flow{size}.yaml")
            runs.append(harness.start(build + "/bin/sluice", "run", f"flow{size}.yaml", "--log-dir", f"logs{size}"))
        for each in runs:
            finish(each, 0)
        expect(any(filecmp.cmp("a.nc", f"direct{size}/a.nc", shallow=False) for size in sizes), "the file is neither run's")
        expect(files_on_disk() == ["a.nc"], f"files on the disk: {files_on_disk()}")


def interrupted():
    """^C once: complete steps still go to their files."""
    write_flow({"model": (1, "large a.nc 100 sleep 30000"), "analysis": (1, "sleep 1")}, [("*.nc", "model", "analysis", RULE)], "memory: 1GiB")
    process = start()
    is_there(process, ".a.nc.sluice-partial", "a.nc")
    process.send_signal(signal.SIGINT)
    finish(process, 130)
    call("ncvalidator", "-q", "a.nc", status=0)
    expect(not os.path.exists(".a.nc.sluice-partial"), "something is left")


clear_directory()
globals()[case]()
