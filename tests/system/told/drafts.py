#!/usr/bin/python3
"""drafts.py BUILD CASE: rules that `sluice init` writes cover what the writer has written and nothing else, and old files are told of."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect, finish, is_logged, script, start, text, wait_for

build, case = sys.argv[1:3]
sluice = build + "/bin/sluice"


def init(*arguments, status=0):
    return call(sluice, "init", "--force", *arguments, status=status)


def patterns():
    return [line.split('"')[1] for line in text("flow.yaml").split("\n") if "- path:" in line]


def run_as_tried(outputs, inputs=()):
    """The run, from the same beginning, leaves the outputs that the trial has left, and no others."""
    before = {name: text(name) for name in outputs}
    kept = {"flow.yaml", "writer.sh", "reader.sh", *inputs}
    for directory, _, names in os.walk("."):
        for name in names:
            path = os.path.relpath(os.path.join(directory, name))
            if path not in kept and not path.startswith(".sluice"):
                os.remove(path)
    result = call(sluice, "run", "flow.yaml", status=0)
    expect({name: text(name) for name in outputs} == before, "the run gave other bytes than the trial")
    return result.all


def outputs_of_readers():
    """A reader's own files are no coupled ones, whatever their names."""
    script("writer.sh", "for i in 1 2 3; do echo $i > data_$i.nc; done\necho plain > plain.nc")
    script("reader.sh", "mkdir -p copy\ncat data_1.nc data_2.nc data_3.nc > data_mean.nc\ncp plain.nc copy/plain.nc\ncp data_1.nc copy/data_1.nc\ncat data_mean.nc > data_mean2.nc")
    told = init("--trial", "./writer.sh", "./reader.sh").out
    here = os.path.basename(os.getcwd())
    expect(sorted(patterns()) == [f"{here}/data_[0-9]*.nc", f"{here}/plain.nc"], f"the patterns are {patterns()}")
    told = run_as_tried(["data_mean.nc", "data_mean2.nc", "copy/plain.nc", "copy/data_1.nc"])
    expect("warning" not in told, "the run warns")


def narrow_patterns():
    """Neither does a rule cover an input that was there before, nor files of another rule."""
    for name in ("in_0.nc", "grid_77.nc"):
        with open(name, "w") as file:
            file.write("input " + name + "\n")
    script("writer.sh", "mkdir -p sub\nfor i in 1 2; do echo in $i > in_$i.nc; done\necho a > a.nc\necho suba > sub/a.nc\nfor i in 10 11; do echo $i > grid_$i.nc; done")
    script("reader.sh", "cat in_0.nc in_1.nc in_2.nc a.nc sub/a.nc grid_10.nc grid_11.nc grid_77.nc > all")
    init("--trial", "./writer.sh", "./reader.sh")
    call(sluice, "check", "flow.yaml", status=0)
    found = patterns()
    expect("in_*.nc" not in found and "a.nc" not in found and "grid_*.nc" not in found, f"the patterns are {found}")
    expect("sub/a.nc" in found and any(name.endswith("/a.nc") and name != "sub/a.nc" for name in found), f"the patterns are {found}")
    os.makedirs("sub", exist_ok=True)
    run_as_tried(["all"], ["in_0.nc", "grid_77.nc"])


def shared_changes():
    """What two programs change passes through the disk. What the writer alone uses may be covered."""
    script("writer.sh", "echo a > a.nc\necho 1 > step_1.nc\necho 2 > step_2.nc\necho 3 > step_3.nc")
    script("reader.sh", "cat a.nc step_1.nc step_3.nc > all\nsleep 0.1\necho b >> a.nc")
    result = init("--trial", "./writer.sh", "./reader.sh")
    expect("r" in result.out and "it changes 'a.nc', which writer writes" in result.out, "it is not told")
    expect(patterns() == ["step_*.nc", "a.nc"] and "through: file" in text("flow.yaml"), f"the patterns are {patterns()}")
    expect("# it also covers step_2.nc, which nobody read: with 'keep: true'" in text("flow.yaml"), "the comment")


def without_trial():
    """A rule for data files that two commands name. Where there are none, the user has to write the names: a guess would cover files of readers."""
    for name in ("model", "post", "plot"):
        script(name, ":")
    with open("mesh.nc", "w") as file:
        file.write("input")
    init("./model mesh.nc --out=x out.nc", "./post mesh.nc out.nc dir/mean.nc", "./plot dir/mean.nc picture.png")
    expect(sorted(patterns()) == ["dir/mean.nc", "out.nc"], f"the patterns are {patterns()}")
    expect("writer: model\n    readers: [post]" in text("flow.yaml") and "writer: post\n    readers: [plot]" in text("flow.yaml"), "writers and readers")
    call(sluice, "check", "flow.yaml", status=0)
    init("./model --out=a.nc", "sh -c './post a.nc > b.nc'", "sh -c 'cd . && ./plot <b.nc; ./plot --in=c.nc'")
    expect(sorted(patterns()) == ["a.nc", "b.nc"], f"the patterns are {patterns()}")
    init("./model", "./post")
    for command in ("check", "run"):
        told = call(sluice, command, "flow.yaml", status=2).err
        expect("'path' in file rule 1 is still ???: write which files the writer writes and the readers read" in told and "sluice init --trial" in told, "the mistake")


def left_files():
    """The files of a trial that no run writes are named, and removed where that is asked for, but not those from before."""
    for remove in ((), ("--remove",)):
        clear_directory()
        with open("old.nc", "w") as file:
            file.write("before\n")
        script("writer.sh", "for i in 1 2 3 4 5 6; do echo $i > s$i.nc; done\necho new > old.nc\necho tmp > x\nmv x moved.nc")
        script("reader.sh", "cat s?.nc old.nc moved.nc > result")
        told = init("--trial", *remove, "./writer.sh", "./reader.sh").out
        names = "7 files of the trial that the rules cover: moved.nc, s1.nc, s2.nc, s3.nc, s4.nc and 2 more"
        expect(("removed " if remove else "the trial has left ") + names in told, "the names")
        expect(os.path.exists("old.nc") and os.path.exists("result"), "too much was removed")
        expect(os.path.exists("s1.nc") == os.path.exists("moved.nc") == (not remove), "the files of the trial")
    expect("--remove has no effect" in init("--remove", "./writer.sh", status=2).err, "without a trial")


def old_files():
    """`check` names files that are there under a rule before the run, unless the run replaces them."""
    os.makedirs("run/out")
    for name in ("a_1.nc", "a_2.nc", "a_3.nc", "a_4.nc", "run/out/b.nc", "elsewhere.nc"):
        with open(name, "w") as file:
            file.write("old")
    for keys, is_told in (("", True), (", keep: true", False), (", through: file", False)):
        with open("flow.yaml", "w") as flow:
            flow.write("version: 1\ncomponents:\n  w: {command: 'true', directory: run}\n  r: {command: 'true'}\nfiles:\n"
                       f'  - {{path: "a_*.nc", writer: w, readers: [r]{keys}}}\n  - {{path: "out/b.nc", writer: w, readers: [r]{keys}}}\n')
        told = call(sluice, "check", "flow.yaml", status=0).err
        expect(("note: old files are on the disk under 'a_*.nc': a_1.nc, a_2.nc, a_3.nc and 1 more. A run passes" in told) == is_told, f"a_*.nc{keys}")
        expect(("under 'out/b.nc': run/out/b.nc." in told) == is_told and "elsewhere" not in told, f"b.nc{keys}")


def output_is_looked_for():
    """Who looks first whether his output is there waits, and is told why; who waits for the next number is not."""
    script("writer.sh", "echo 1 > a_1.nc\nuntil test -e done; do sleep 0.05; done\necho 2 > a_2.nc")
    script("reader.sh", "cp a_1.nc copy.nc")
    with open("flow.yaml", "w") as flow:
        flow.write('version: 1\ncomponents:\n  w: {command: ./writer.sh}\n  r: {command: ./reader.sh}\n  s: {command: cat a_1.nc a_2.nc}\nfiles:\n  - {path: "*.nc", writer: w, readers: [r, s]}\n')
    run = start(sluice, "run", "--log-dir", "log", "--notice-after", "5", "flow.yaml")
    words = "r waits for 'copy.nc' from w (no file of such a name has been published so far. If r makes it itself, and looks first whether it is there, give it a name that '*.nc' does not cover)"
    wait_for(lambda: run.poll() is not None or is_logged(words), "the notice")
    wait_for(lambda: run.poll() is not None or is_logged("s waits for 'a_2.nc' from w ("), "the other notice")
    open("done", "w").close()
    told = finish(run, 0).all
    expect(words in told and "s waits for 'a_2.nc' from w (no file" not in told, "the notices")
    expect("A program that looks first whether its output is there (cp, NCO) has waited for it until 'w' had ended. Give the files of 'r' another name" in told, "the warning")
    expect("If r makes this file itself, give it a name that '*.nc' does not cover" in told, "the event")


clear_directory()
globals()[case]()
