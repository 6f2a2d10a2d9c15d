"""check_files.py CASE EVERY_KIND LIBRARY: ordinary files of our library (preloaded), checked with tools of
others."""
import glob
import os
import sys

import netCDF4
import numpy

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect, launch

CASE, EVERY_KIND, LIBRARY = sys.argv[1:]
FORMATS = {1: "NETCDF3_CLASSIC", 2: "NETCDF3_64BIT_OFFSET", 5: "NETCDF3_64BIT_DATA"}
KINDS = 3  # fixed, record, scalar
REAL_DATA = sorted(glob.glob("/usr/share/ferret-vis/data/*.cdf")) + sorted(glob.glob("/usr/share/ferret-vis/data/*.nc"))


def run(*command, ranks=0, ours=False):
    """Returns the standard output. With `ranks` under mpirun, with our library preloaded or not."""
    if not ranks:
        return call(*command, status=0, environment={"LD_PRELOAD": LIBRARY} if ours else {}).out
    return launch(ranks, *(["-x", "LD_PRELOAD=" + LIBRARY] if ours else []), *command, status=0).out


def same_content(one, other):
    """Compares with two tools: PnetCDF's and netCDF's."""
    report = run("ncmpidiff", one, other, ranks=2)
    expect("DIFF" not in report, f"{one} and {other} differ:\n{report}")
    dumps = [run("ncdump", "-n", "x", path) for path in (one, other)]
    expect(dumps[0] == dumps[1], f"ncdump tells {one} from {other}")


def expected(shape, varid):
    return ((7 * numpy.arange(int(numpy.prod(shape)), dtype="i8") + 3 * varid) % 100).reshape(shape)


def written_by_us():
    """Our files are those that Debian's libpnetcdf writes, and valid."""
    for version in FORMATS:
        stock = f"stock_{version}.nc"
        run(EVERY_KIND, "write", stock, str(version), ranks=2)
        for ranks in (1, 2, 4):
            ours = f"ours_{version}_{ranks}.nc"
            run(EVERY_KIND, "write", ours, str(version), ranks=ranks, ours=True)
            run("ncvalidator", "-q", ours)
            same_content(ours, stock)
            # Not byte by byte: between variables PnetCDF leaves whatever was in its memory.
            expect(os.path.getsize(ours) == os.path.getsize(stock), f"{ours} and {stock} are not of the same size")
            run(EVERY_KIND, "check", ours, str(version), ranks=2)
            check_with_python(ours)


def check_with_python(path):
    with netCDF4.Dataset(path) as data:
        data.set_auto_mask(False)
        for varid, variable in enumerate(data.variables.values()):
            if variable.name == "unwritten":
                expect((variable[:] == netCDF4.default_fillvals["i4"]).all(), f"{path}: unwritten is not filled")
            elif variable.name == "text":
                expect((variable[0] == b"h").all() and (variable[1:] == b"\0").all(), f"{path}: text is wrong")
            else:
                expect((variable[...] == expected(variable.shape, varid)).all(), f"{path}: {variable.name} is wrong")


def written_by_python():
    """Files of Python's netCDF4 can be read, redefined and extended."""
    types = ["i1", "i2", "i4", "f4", "f8", "u1", "u2", "u4", "i8", "u8"]
    for version, format_name in FORMATS.items():
        path = f"python_{version}.nc"
        with netCDF4.Dataset(path, "w", format=format_name) as data:
            for name, length in (("time", None), ("level", 3), ("row", 11), ("column", 37)):
                data.createDimension(name, length)
            for i, kind in enumerate(types[: 10 if version == 5 else 5]):
                for varid, (name, dimensions) in enumerate(
                    [(f"fixed_{i}", ("level", "row", "column")), (f"record_{i}", ("time", "row", "column")), (f"scalar_{i}", ())]
                ):
                    variable = data.createVariable(name, kind, dimensions)
                    shape = [5 if d == "time" else len(data.dimensions[d]) for d in dimensions]
                    variable[...] = expected(shape, KINDS * i + varid)
        for ranks in (1, 3):
            run(EVERY_KIND, "check", path, str(version), ranks=ranks, ours=True)


def written_by_tools():
    """Files of ncgen, nccopy and Debian's libpnetcdf are read as that library reads them."""
    for version, kind in ((1, "classic"), (2, "64-bit offset"), (5, "cdf5")):
        path = f"stock_{version}.nc"
        run(EVERY_KIND, "write", path, str(version), ranks=2)
        for ranks in (1, 2, 4):
            run(EVERY_KIND, "check", path, str(version), ranks=ranks, ours=True)
        with open(f"stock_{version}.cdl", "w", encoding="utf-8") as text:
            text.write(run("ncdump", path))
        run("ncgen", "-k", kind, "-o", f"ncgen_{version}.nc", f"stock_{version}.cdl")
        run("nccopy", "-k", kind, path, f"nccopy_{version}.nc")
        for copy in (f"ncgen_{version}.nc", f"nccopy_{version}.nc"):
            expect(run("ncmpidump", copy, ours=True) == run("ncmpidump", copy), f"{copy} is read differently")
            run(EVERY_KIND, "check", copy, str(version), ranks=2, ours=True)


def real_data():
    """PnetCDF's own tools read the files of ferret-datasets through our library."""
    expect(REAL_DATA, "ferret-datasets is not installed")
    for path in REAL_DATA:
        name = os.path.basename(path)
        expect(run("ncmpidump", "-h", path, ours=True) == run("ncmpidump", "-h", path), f"the header of {path} is read differently")
        if os.path.getsize(path) < 6e6:
            expect(run("ncmpidump", path, ours=True) == run("ncmpidump", path), f"{path} is read differently")
        run("nccopy", "-k", "classic", path, name)
        for ranks in (1, 3):
            report = run("ncmpidiff", path, name, ranks=ranks, ours=True)
            expect("DIFF" not in report, f"{path} differs from its copy:\n{report}")
        os.remove(name)


clear_directory()
globals()[CASE]()
