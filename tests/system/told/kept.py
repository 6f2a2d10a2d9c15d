#!/usr/bin/python3
"""kept.py BUILD PROGRAM CASE: what a run tells of variables that `keep` names and that no file has. PROGRAM is couple.c."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import MPIRUN, call, clear_directory, expect

build, program, case = sys.argv[1:4]


def run(writes, keep, reads="cat a.nc > /dev/null"):
    for name, lines in (("writer.sh", writes), ("reader.sh", reads)):
        with open(name, "w") as file:
            file.write("set -e\n" + lines + "\n")
    with open("flow.yaml", "w") as flow:
        flow.write("version: 1\nname: test\nstaging: {prewarm: 0}\ncomponents:\n  writer: {command: sh writer.sh}\n  reader: {command: sh reader.sh}\n"
                   f'files:\n  - {{path: "*.nc", writer: writer, readers: [reader], keep: {keep}}}\n')
    return call(build + "/bin/sluice", "run", "flow.yaml", status=0).all


def cdl(name, variables):
    with open(name + ".cdl", "w") as file:
        file.write(f"netcdf {name} {{ dimensions: x = 2; variables: {variables} }}")
    return f"ncgen -o {name}.nc {name}.cdl"


def header(name):
    return call("ncdump", "-h", name, status=0).out


def names():
    """Each name that matches nothing is told at the first step, with the nearest name."""
    first = cdl("a", 'float T(x); T:standard_name = "air_temperature"; float U(x); float wind_u(x); float pressure(x);')
    told = run(first, '[temperature, U, presure, "zz*"]')
    expect(told.count("'a.nc' has no variable 'temperature' (did you mean 'T'?), 'presure' (did you mean 'pressure'?), 'zz*'. It has the variables T, U, wind_u, pressure. "
                      "'keep' of the rule '*.nc' names what stays on disk. Correct 'keep'") == 1, "the names")
    expect("float U(x)" in header("a.nc") and "float T" not in header("a.nc"), "the file")
    for keep in ("[T, U]", '["wind_*"]', "true", '["*"]'):
        told = run(first, keep)
        expect("has no variable" not in told, keep + " is right, and was complained of")


def empty():
    """A file that is kept without any variable is told of, also where it is a later one; once a rule."""
    first, second, third = (cdl(name, variables) for name, variables in (("a", "float T(x);"), ("b", "float q(x);"), ("c", "float r(x);")))
    told = run(f"{first}\n{second}\n{third}", "[T]", "cat c.nc > /dev/null")
    expect("'b.nc' has no variable 'T'. It has the variable q." in told and "the file that is kept has no data" in told, "the second file")
    expect("'a.nc' has no" not in told and "'c.nc' has no" not in told, "told of others")
    told = run(first, "[temp]")
    expect("'a.nc' has no variable 'temp'. It has the variable T." in told and "the file that is kept has no data" in told, "the first file")
    with open("empty.cdl", "w") as file:
        file.write("netcdf a { }")
    told = run("ncgen -o a.nc empty.cdl", "[T]")
    expect("It has no variables." in told, "a file without variables")


def by_puts():
    """The same of PnetCDF programs."""
    told = run(" ".join(MPIRUN) + f" 2 {program} write a.nc 10", "[vv]")
    expect("'a.nc' has no variable 'vv' (did you mean 'v'?). It has" in told, "the name")


def other_formats():
    """A file of another format is kept as a whole, and the run says so."""
    told = run("ncgen -k nc4 -o a.nc " + cdl("a", "float T(x);").split()[-1], "[T]", "cat a.nc > copy")
    expect("all of 'a.nc' is kept, although 'keep' of the rule '*.nc' lists variables" in told, "the event")
    with open("a.nc", "rb") as kept, open("copy", "rb") as copy:
        expect(kept.read() == copy.read(), "the file")


clear_directory()
globals()[case]()
