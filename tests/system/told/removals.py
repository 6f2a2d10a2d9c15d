#!/usr/bin/python3
"""removals.py BUILD CASE: a reader that removes what it has read."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish, text

build, case = sys.argv[1:3]


def run(writes, reads, more=""):
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join([
            "version: 1", "name: removals", "staging: {prewarm: 0}", "components:", f"  w: {{command: [sh, -c, '{writes}']}}", f"  r: {{command: [sh, -c, '{reads}']}}",
            "files:", f'  - {{path: "d/*.nc", writer: w, readers: [r]{more}}}'
        ]) + "\n")
    return finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), 0)


def whole_directory():
    """rm -r of a directory with files of the run that have been read, as on disk: they are no longer listed, and the directory goes."""
    run("mkdir -p d/e; echo 1 > d/a.nc; echo 2 > d/b.nc; echo 3 > d/e/c; echo x > go", "until test -e go; do sleep 0.1; done; cat d/a.nc d/b.nc > out; rm -r d; echo $? >> out; test -e d || echo gone >> out")
    expect(text("out") == "1\n2\n0\ngone\n", f"the reader: {text('out')}")


def one_name():
    """A name that was removed is not listed, until its writer makes it again. Another file stays."""
    run("mkdir -p d; echo 1 > d/a.nc; echo 2 > d/b.nc; echo x > go; until test -e removed; do sleep 0.1; done; echo 3 > d/a.nc; echo x > again",
        "until test -e go; do sleep 0.1; done; cat d/a.nc d/b.nc > out; rm d/a.nc; ls d >> out; rmdir d 2> /dev/null || echo full >> out; echo x > removed; until test -e again; do sleep 0.1; done; ls d >> out; cat d/a.nc >> out")
    expect(text("out") == "1\n2\nb.nc\nfull\na.nc\nb.nc\n3\n", f"the reader: {text('out')}")


def with_keep():
    """What the rule keeps on disk is not removed, and the run says why."""
    result = run("mkdir -p d; echo 1 > d/a.nc", "cat d/a.nc > out; rm -rf d 2>> out; echo $? >> out", ", keep: true")
    expect(text("out").endswith("1\n") and text("d/a.nc") == "1\n", f"the reader: {text('out')}")
    expect(harness.is_logged("the rule keeps it on disk"), "the event log does not say why: " + result.out)


clear_directory()
globals()[case]()
