#!/usr/bin/python3
"""layout.py BUILD CASE: a classic file that went by hyperslabs has, byte for byte, netCDF's own layout for who reads its bytes, and when it is kept."""
import os
import sys

from flows import PYTHON, run, script, write_flow  # before harness: it finds that
import harness
from harness import clear_directory

case = sys.argv[2]


def same_bytes(write, names):
    """What the command writes under Sluice is the same on disk: a copy made by a reader, and the kept file."""
    os.makedirs("disk")
    harness.call("sh", "-c", write, cwd="disk", status=0)
    write_flow(write + "\n: > end.nc", "cat end.nc\n" + "\n".join(f"cp {name} copy.{name}.txt" for name in names), more=", keep: true")
    run()
    for name in names:
        for mine in (name, f"copy.{name}.txt"):
            harness.call("cmp", mine, f"disk/{name}", status=0)


def shapes():
    """Fixed and growing variables, alone and together, in all classic formats. The sizes are multiples of 4, because netCDF writes fill values between variables, and here are zeros."""
    bodies = {
        "fixed": "dimensions: x = 4; y = 6; variables: char c(x); short s(y); double d(x, y); int i; :title = \"a\"; data: c = \"abc\"; s = 1, 2, 3, 4, 5; d = 1, 2, 3; i = 7;",
        "records": "dimensions: t = UNLIMITED; x = 4; variables: byte b(t, x); float f(t); short s(x); data: b = 1, 2, 3, 4, 5, 6; f = 1, 2; s = 1, 2, 3;",
        "one": "dimensions: t = UNLIMITED; x = 3; variables: byte b(t, x); data: b = 1, 2, 3, 4, 5, 6, 7, 8, 9;",
        "none": "dimensions: x = 3; :title = \"nothing else\";",
    }
    lines, names = [], []
    for name, body in bodies.items():
        for kind in ("classic", "64-bit-offset", "cdf5"):
            names.append(f"{name}.{kind}.nc")
            lines.append(f"printf '%s' 'netcdf {name} {{ {body} }}' | ncgen -k {kind} -o {names[-1]} -")
    same_bytes("\n".join(lines), names)


LATER = """
import ctypes, netCDF4, numpy
library = ctypes.CDLL('libnetcdf.so.19')
def ok(status): assert status == 0, status
def sizes(*numbers): return [ctypes.c_size_t(number) for number in numbers]
for name, numbers in (('spaced.nc', (1000, 4, 300, 4)), ('aligned.nc', (0, 512, 0, 1024)), ('plain.nc', (0, 4, 0, 4))):
    id, x, t, v = (ctypes.c_int() for _ in range(4))
    ok(library.nc_create(name.encode(), 0, ctypes.byref(id)))
    ok(library.nc_def_dim(id, b'x', ctypes.c_size_t(4), ctypes.byref(x)))
    ok(library.nc_def_dim(id, b't', ctypes.c_size_t(0), ctypes.byref(t)))
    ok(library.nc_def_var(id, b'fixed', 3, 1, ctypes.byref(x), ctypes.byref(v)))
    ok(library.nc_def_var(id, b'growing', 6, 2, (ctypes.c_int * 2)(t.value, x.value), ctypes.byref(v)))
    ok(library.nc__enddef(id, *sizes(*numbers)))
    ok(library.nc_put_vara_double(id, v, (ctypes.c_size_t * 2)(0, 0), (ctypes.c_size_t * 2)(2, 3), (ctypes.c_double * 6)(1, 2, 3, 4, 5, 6)))
    ok(library.nc_close(id))
    d = netCDF4.Dataset(name, 'a')
    d.title = 'a title that is longer than what was left of the header ' * 3
    d.createVariable('late', 'f4', ('t', 'x'))[1] = 5
    d.createVariable('later', 'i4', ('x',))[:] = 6
    d.close()
"""


def definitions():
    """Space and alignments that a program asks for by nc__enddef, and definitions that are made later."""
    with open("later.py", "w") as file:
        file.write(LATER)
    same_bytes(f"{PYTHON} {os.path.abspath('later.py')}", ("spaced.nc", "aligned.nc", "plain.nc"))


clear_directory()
{"shapes": shapes, "definitions": definitions}[case]()
