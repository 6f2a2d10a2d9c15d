#!/usr/bin/python3
"""identity.py BUILD PROGRAM FARM CASE: which paths are one file, with PROGRAM (couple.c) and FARM (farm.c) in the working directory, under `sluice run`."""
import glob
import os
import re
import shutil
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import allow, clear_directory, expect, finish, wait_for_event, write_flow

build, program, farm, case = sys.argv[1:5]
KINDS = {"memory": [], "kept": ["keep: true"], "logs": ["through: burst-buffer"], "file": ["through: file"]}


def run(components, rules, *arguments, status=0, of=program, awaited=()):
    """Returns the output and the event log. `awaited`: pairs of words in the event log, and a file for which
    a component waits. The file is made when the log has the words."""
    shutil.rmtree("log", ignore_errors=True)
    write_flow(of, components, rules)
    process = harness.start(build + "/bin/sluice", "run", "--log-dir", "log", *arguments, "flow.yaml")
    for words, name in awaited:
        wait_for_event(process, words)
        allow(name)
    result = finish(process, status)
    with open("log/events.log", encoding="utf-8") as events:
        return result, events.read()


def files():
    return sorted(glob.glob("**/*.nc", recursive=True))


def same_name():
    """Files with one name in three directories are three files, for readers and on disk."""
    three = [("d1/x.nc", 1000), ("d2/x.nc", 2000), ("./d3/../d3/x.nc", 3000)]
    for kind, keys in KINDS.items():
        clear_directory()
        for i in range(1, 4):
            os.mkdir(f"d{i}")
        result, _ = run({"model": (2, " ".join(f"write {name} {length}" for name, length in three)), "viewer": (2, " ".join(f"read {name} {length}" for name, length in three))},
                        [("*.nc", "model", ["viewer"], *keys)])
        expect(all(re.search(rf"^d{i}/x\.nc  +1  ", result.out, re.M) for i in range(1, 4)), "the lines of the summary")
        expect(files() == ([] if kind == "memory" else [f"d{i}/x.nc" for i in range(1, 4)]), f"files on the disk: {files()}")
        for i, file in enumerate(files()):
            expect(os.path.getsize(file) > 8000 * (i + 1), f"{file} is of another size")
        expect(not glob.glob("**/*.meta", recursive=True) and not glob.glob("**/*.data", recursive=True), "logs are left")


def changed_directory():
    """Ranks that work in separate directories."""
    for kind, keys in KINDS.items():
        clear_directory()
        for i in range(3):
            os.mkdir(f"d{i}")
        run({"model": (3, "write"), "viewer": (3, "read")}, [("*.nc", "model", ["viewer"], *keys)], of=farm)
        expect(files() == ([] if kind == "memory" else [f"d{i}/x.nc" for i in range(3)]), f"files on the disk: {files()}")


def links():
    """Every path to a file means that file: by a link to a directory, by a link to the file, and by paths
    that the pattern matches or not."""
    for kind, writer in [("memory", "write run/out.nc 1000"), ("kept", "write newest/out.nc 1000"), ("logs", "write first/out.nc 1000")]:
        clear_directory()
        os.makedirs("run")
        os.symlink("run", "newest")
        os.mkdir("first")
        os.symlink("../run/out.nc", "first/out.nc")
        readers = {"linked": (2, "read newest/out.nc 1000"), "whole": (1, f"read {os.getcwd()}/newest/../run/out.nc 1000"), "file": (1, "read first/out.nc 1000"),
                   "there": (1, "read out.nc 1000", "directory: newest")}
        run({"model": (2, writer), **readers}, [("run/out.nc", "model", list(readers), *KINDS[kind])])
        expect(os.path.islink("first/out.nc"), "the link has gone")
        found = [name for name in files() if name.startswith("run/")]
        expect(found == ([] if kind == "memory" else ["run/out.nc"]), f"files on the disk: {found}")



def by_name():
    """Components in different directories, with one file name. A second path with that name is refused, and
    not taken for the first."""
    for keys in [KINDS["memory"], KINDS["logs"]]:
        clear_directory()
        for name in ["here", "there", "here/other"]:
            os.makedirs(name)
        rules = [("*.nc", "model", ["viewer"], "identity: name", *keys)]
        viewer = {"viewer": (2, "read x.nc 1000", "directory: there")}
        run({"model": (2, "write x.nc 1000 write x.nc 1000", "directory: here"), **viewer}, rules)
        _, events = run({"model": (2, "write x.nc 1000 invalid other/x.nc invalid-open other/x.nc write y.nc 10", "directory: here"), **viewer}, rules)
        here = re.escape(os.getcwd()) + "/here"
        expect(re.search(rf"model cannot create 'x.nc': `identity: name` in the rule makes one file of {here}/other/x.nc and {here}/x.nc .*'\*/x.nc'", events),
               "the event log does not tell the two files apart")
        expect(not os.path.exists("here/other/x.nc"), "the second file was written")


def told():
    """A reader waits for a file whose name is right but whose directory is not. It is told where the file was
    published, and what to do."""
    for name in ["here", "there"]:
        os.mkdir(name)
    result, events = run({"model": (2, "write x.nc 1000 await ../told", "directory: here"), "viewer": (2, "missing x.nc", "directory: there")}, [("*.nc", "model", ["viewer"])],
                         "--notice-after", "1", awaited=[("waits for 'there/x.nc' from model", "told")])
    hint = r"\(it has published 'here/x.nc'\. .*set `identity: name`"
    expect(re.search(r"viewer.* waits for 'there/x.nc' from model " + hint, result.err), "it is not told while it waits")
    expect(re.search(r"viewer cannot open 'there/x.nc': .*" + hint, events), "it is not told in the end")


clear_directory()
globals()[case]()
print("as expected")
