#!/usr/bin/python3
"""similar_names.py BUILD CASE: a rule that matched no file is told with the file of the run that is probably meant."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect

build, case = sys.argv[1:3]


def told(pattern, made, more=""):
    """The warning of a run whose writer makes the file."""
    clear_directory()
    directory = os.path.dirname(made)
    command = (f"mkdir -p {directory}; " if directory else "") + f"echo 1 > {made}"
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: similar\ncomponents:\n  w: {{command: [sh, -c, '{command}']}}\n  r: {{command: [sh, -c, 'true']}}\n"
                   f"files:\n  - {{path: '{pattern}', writer: w, readers: [r]}}\n{more}")
    said = call(build + "/bin/sluice", "run", "flow.yaml", status=0).all
    return [line for line in said.splitlines() if "matched no file" in line and f"'{pattern}'" in line][0]


def names():
    """Another case, ending or directory, an archive, and a slip."""
    for pattern, made in (("A.dat", "a.dat"), ("a.data", "a.dat"), ("a.dat", "a.dat.gz"), ("out_*.nc", "OUT_01.nc"), ("out/*.nc", "out/day1/x.nc"), ("results/a.nc", "result/a.nc"),
                          ("temperature.nc", "temprature.nc"), ("ocean_*.nc", "ocean_1.nc4")):
        line = told(pattern, made)
        expect(os.path.abspath(made) + " was written during the run, and no rule covers it" in line, f"{pattern}, {made}: {line}")


def others():
    """Files of other names, of other rules, and from before the run are not meant."""
    for pattern, made in (("out/*", "a.dat"), ("a.nc", "b.nc"), ("*.nc", "x.txt"), ("a.nc", "ab.txt"), ("a.nc", ".a.nc")):
        expect("was written during" not in told(pattern, made), f"{pattern}, {made}")
    expect("was written during" not in told("A.dat", "a.dat", "  - {path: a.dat, writer: w, readers: [r], keep: true}\n"), "a file of another rule")
    with open("a.data", "w") as old:
        old.write("old")
    os.utime("a.data", (1, 1))
    os.rename("a.data", "../kept.data")
    clear_directory()
    os.rename("../kept.data", "a.data")
    with open("flow.yaml", "w") as flow:
        flow.write("version: 1\nname: similar\ncomponents:\n  w: {command: 'true'}\n  r: {command: 'true'}\nfiles:\n  - {path: a.dat, writer: w, readers: [r]}\n")
    expect("was written during" not in call(build + "/bin/sluice", "run", "flow.yaml", status=0).all, "a file from before the run")


clear_directory()
globals()[case]()
