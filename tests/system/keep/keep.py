#!/usr/bin/python3
"""keep.py BUILD PROGRAM CASE: files that are coupled and kept (PROGRAM: keep.c), compared with those that the program writes directly."""
import filecmp
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import time

build, program, case = sys.argv[1:4]
LIMIT_S = 60  # far more than any case needs: a hang ends here
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none"]
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
nodes = os.environ.pop("SLUICE_VIRTUAL_NODES", None)


def expect(condition, text):
    if not condition:
        sys.exit("FAILED: " + text)


def call(*words, directory="."):
    result = subprocess.run(words, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S)
    print(*words, result.stdout, sep="\n")
    return result


def write_flow(components, rules, staging=""):
    """Components as {name: (ranks, commands)}, rules as [(pattern, writer, reader, more)]."""
    matchers = os.environ.get("SLUICE_TEST_MATCHERS")
    staging = ", ".join(([f"matchers: {matchers}"] if matchers else []) + ([staging] if staging else []))
    with open("flow.yaml", "w") as flow:
        flow.write("version: 1\nname: keep\n" + (f"staging: {{{staging}}}\n" if staging else "") + "components:\n")
        for name, (ranks, commands) in components.items():
            flow.write(f"  {name}: {{command: {program} {commands}, ranks: {ranks}}}\n")
        flow.write("files:\n" + "".join(f"  - {{path: \"{pattern}\", writer: {writer}, readers: [{reader}], {more}}}\n" for pattern, writer, reader, more in rules))


def start(prefix=()):
    environment = dict(os.environ, SLUICE_VIRTUAL_NODES=nodes) if nodes else None
    return subprocess.Popen([*prefix, build + "/bin/sluice", "run", "flow.yaml"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


class Result:
    def __init__(self, process):
        try:
            self.out, self.err = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            subprocess.run(["ps", "-ef", "--forest"])
            process.kill()
            sys.exit("HANG: the run did not end")
        self.status = process.returncode
        print(self.out, self.err, f"=> {self.status}", sep="\n")


def run(status=0, prefix=()):
    result = Result(start(prefix))
    expect(result.status == status, f"exit status {result.status}, expected {status}")
    return result


def files_on_disk():
    return sorted(glob.glob("*.nc*"))


def directly(ranks, commands):
    """What the program does without Sluice, in direct/."""
    os.makedirs("direct")
    result = call(*MPIRUN, "-n", str(ranks), program, *commands.split(), directory="direct")
    expect(result.returncode == 0, "the program fails by itself")


def compare(name, is_same_bytes=True):
    expect(os.path.exists(name), f"{name} is not on disk")
    expect(call("ncvalidator", "-q", name).returncode == 0, f"{name} is no valid file")
    differences = call(*MPIRUN, "-n", "1", "ncmpidiff", name, "direct/" + name)
    expect(differences.returncode == 0 and "DIFF" not in differences.stdout, f"{name} differs from the one that was written directly")
    if is_same_bytes:
        expect(filecmp.cmp(name, "direct/" + name, shallow=False), f"{name} has other bytes than the one that was written directly")


def pair(commands, names, ranks=2, is_same_bytes=True, staging="", keep="true"):
    write_flow({"model": (ranks, commands), "analysis": (1, " ".join("read " + name for name in names))}, [("*.nc", "model", "analysis", f"keep: {keep}")], staging)
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
    pair("layout a.nc empty b.nc", ["a.nc", "b.nc"])


def append():
    pair("append a.nc 8", ["a.nc"])


def stream():
    """More files than memory has room for: they wait for the disk."""
    names = [f"wave_{i}.nc" for i in range(6)]
    commands = "repeat 6 large wave_%d.nc 5"
    write_flow({"model": (2, commands), "analysis": (1, "repeat 6 read wave_%d.nc")}, [("wave_*.nc", "model", "analysis", "keep: true")], "memory: 20MiB")
    result = run()
    expect(re.search(r"wave_\*\.nc|wave_0\.nc", result.out), "the files are not in the summary")
    directly(2, commands)
    for name in names:
        compare(name)


def existing():
    """A file that is there stays as it is until the new one is complete; a link stays a link."""
    os.makedirs("elsewhere")
    for name in ("a.nc", "elsewhere/b.nc"):
        with open(name, "w") as old:
            old.write("old")
    os.symlink("elsewhere/b.nc", "b.nc")
    pair("types 1 a.nc types 1 b.nc", ["a.nc", "b.nc"])
    expect(os.path.islink("b.nc") and not os.path.islink("elsewhere/b.nc"), "the link was replaced")


def variables():
    """A list of variables: these, their dimensions, the global attributes."""
    commands = "types 5 a.nc"
    write_flow({"model": (2, commands), "analysis": (1, "read a.nc")}, [("*.nc", "model", "analysis", "keep: [\"record[45]\", scalar]")])
    run()
    directly(2, commands)
    expect(call("ncvalidator", "-q", "a.nc").returncode == 0, "it is no valid file")
    call("ncdump", "-h", "a.nc")
    header = subprocess.run(["ncdump", "-h", "a.nc"], stdout=subprocess.PIPE, text=True, check=True).stdout
    expect(re.findall(r"^\t(?:\w+) (\w+)(?:\(.*\))? ;", header, re.M) == ["record4", "record5", "scalar"], "other variables than were asked for")
    expect(":title" in header and "time = UNLIMITED" in header, "attributes or dimensions are missing")
    differences = call(*MPIRUN, "-n", "1", "ncmpidiff", "-v", "record4,record5,scalar", "a.nc", "direct/a.nc")
    expect(differences.returncode == 0 and "DIFF" not in differences.stdout, "the values differ")


def existence():
    """NC_NOCLOBBER and ncmpi_delete mind the file on disk as well."""
    for name in ("old.nc", "older.nc"):
        with open(name, "w") as old:
            old.write("old")
    write_flow({"model": (2, "noclobber old.nc types 1 a.nc noclobber a.nc noclobber new.nc types 1 b.nc delete b.nc delete older.nc delete nothing.nc"), "analysis": (1, "read a.nc")},
               [("*.nc", "model", "analysis", "keep: true")])
    result = run()
    expect(re.findall(r"\] (\w+: \w+)", result.out) == ["noclobber: NC_EEXIST", "noclobber: NC_EEXIST", "noclobber: NC_NOERR", "delete: NC_NOERR", "delete: NC_NOERR", "delete: NC_ENOENT"],
           "other answers than with files")
    expect(files_on_disk() == ["a.nc", "new.nc", "old.nc"], f"files on the disk: {files_on_disk()}")


def no_directory():
    write_flow({"model": (2, "types 1 nowhere/a.nc types 1 b.nc"), "analysis": (1, "read a.nc read b.nc")}, [("*.nc", "model", "analysis", "keep: true")])
    result = run(status=3)
    expect(re.search(r"'a\.nc'.*nowhere/a\.nc.*No such file", result.err), "the error does not say which file and why")
    expect(re.search(r"failed: 1 file could not be written", result.out) and "nowhere/a.nc" in result.out, "the summary does not say so")
    expect(files_on_disk() == ["b.nc"], f"files on the disk: {files_on_disk()}")


def full_disk():
    """A limit on files stands for a disk without room: the small file is written, the large one is not, and nothing is left of it.
    (Open MPI's own files need 4 MiB, and no segment of these writers is larger than 8.)"""
    write_flow({"model": (2, "large a.nc 12 types 1 b.nc"), "analysis": (1, "read a.nc read b.nc")}, [("*.nc", "model", "analysis", "keep: true")])
    result = run(status=3, prefix=("prlimit", "--fsize=9000000"))
    expect(re.search(r"'a\.nc'.*a\.nc\.partial.*File too large", result.err), "the error does not say which file and why")
    expect(files_on_disk() == ["b.nc"], f"files on the disk: {files_on_disk()}")


def writer_dies():
    """What was complete is kept, what was not is not."""
    write_flow({"model": (2, "types 1 a.nc kill 9"), "analysis": (1, "read a.nc")}, [("*.nc", "model", "analysis", "keep: true")])
    run(status=137)
    directly(2, "types 1 a.nc")
    compare("a.nc")


def matcher_killed():
    """In the middle of a drain: the file is not there, and no other is taken for it."""
    write_flow({"model": (1, "large a.nc 400"), "analysis": (1, "sleep 1")}, [("*.nc", "model", "analysis", "keep: true")], "memory: 1GiB")
    process = start()
    limit = time.monotonic() + LIMIT_S
    while not os.path.exists("a.nc.partial"):
        expect(process.poll() is None and time.monotonic() < limit, "the drain did not begin")
    for line in subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(process.pid)], stdout=subprocess.PIPE, text=True).stdout.splitlines():
        if "sluice-matcher" in line:
            os.kill(int(line.split()[0]), signal.SIGKILL)
    result = Result(process)
    expect(result.status == 3, f"exit status {result.status}")
    expect("matcher was killed" in result.err, "the reason is not told")
    expect(not os.path.exists("a.nc"), "half of the file is taken for the file")
    os.remove("a.nc.partial")


def interrupted():
    """^C once: what is complete still goes to its file."""
    write_flow({"model": (1, "large a.nc 100 sleep 30000"), "analysis": (1, "sleep 1")}, [("*.nc", "model", "analysis", "keep: true")], "memory: 1GiB")
    process = start()
    limit = time.monotonic() + LIMIT_S
    while not os.path.exists("a.nc.partial") and not os.path.exists("a.nc"):
        expect(process.poll() is None and time.monotonic() < limit, "the drain did not begin")
    process.send_signal(signal.SIGINT)
    result = Result(process)
    expect(result.status == 130, f"exit status {result.status}")
    expect(call("ncvalidator", "-q", "a.nc").returncode == 0, "the file is not there")
    expect(not os.path.exists("a.nc.partial"), "something is left")


if __name__ == "__main__":
    for leftover in glob.glob("*") + glob.glob(".sluice"):
        shutil.rmtree(leftover) if os.path.isdir(leftover) and not os.path.islink(leftover) else os.remove(leftover)
    globals()[case]()
