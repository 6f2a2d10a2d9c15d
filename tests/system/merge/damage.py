#!/usr/bin/python3
"""damage.py BUILD PROGRAM CASE: invalid subfiles and blob files. `sluice merge` and open refuse them, and
name the files. PROGRAM is tests/system/coupled/couple.c, with our library preloaded. Needs a directory of
its own."""
import glob
import os
import shutil
import signal
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import call, clear_directory, expect, launch

build, program, case = sys.argv[1:4]
LENGTH = "30000"  # numbers of 8 bytes
LAYOUTS = {"nc_num_subfiles=3": "a.nc.subfile_{}.nc", "sluice_layout=blob;nc_num_subfiles=3": "a.nc.{:04}"}
if os.path.exists(build + "/lib/libsluice_hdf5.so"):
    LAYOUTS["sluice_layout=blob-process;nc_num_subfiles=3"] = "a.nc.{:04}"


def couple(hints, *commands, status=0):
    return launch(3, "-x", f"LD_PRELOAD={build}/lib/libsluice_pnetcdf.so", program, *commands, status=status, environment={"PNETCDF_HINTS": hints})


def refused(name, what):
    """Both refuse it, with the file's name and a word about the fault. Nothing is left."""
    merged = call(build + "/bin/sluice", "merge", "a.nc", "whole.nc", status=3)
    opened = couple("", "read", "a.nc", LENGTH, status=None)
    for result in merged, opened:
        expect(result.status != 0 and name in result.all and what in result.all, f"no word of {name} and '{what}': {result.all}")
    expect(not glob.glob("whole.nc*"), "a result is left")


def accepted():
    call(build + "/bin/sluice", "merge", "--force", "a.nc", "whole.nc", status=0)
    os.remove("whole.nc")
    couple("", "read", "a.nc", LENGTH)


def each_layout():
    for hints, names in LAYOUTS.items():
        print("LAYOUT", hints)
        clear_directory()
        couple(hints, "write", "a.nc", LENGTH)
        yield hints, names


def pipes():
    """A pipe in place of a file does not make anything wait."""
    for _, names in each_layout():
        for name in names.format(1), names.format(0), "a.nc":
            os.rename(name, "kept")
            os.mkfifo(name)
            refused(name, "pipe")
            os.remove(name)
            os.rename("kept", name)
        accepted()


def exchanged():
    """Exchanged files. HDF5 files know their own contents, so their order does not matter."""
    for hints, names in each_layout():
        for first, second in (0, 1), (1, 2):
            swap(names.format(first), names.format(second))
            if "process" in hints:
                accepted()
            else:
                refused(names.format(first), "sluice_file" if "layout" in hints else "subfile_index")
            swap(names.format(first), names.format(second))
        accepted()


def cut():
    """Files that are shorter than their data: by a number, by a byte, by half, completely."""
    for hints, names in each_layout():
        for name, sizes in {names.format(0): [-8], names.format(2): [-1, 0.5, 0.001]}.items():
            shutil.copy(name, "kept")
            whole = os.path.getsize(name)
            for size in sizes:
                os.truncate(name, whole + size if size < 0 else int(whole * size))
                refused(name, "truncated" if "process" in hints else "" if size == 0.001 else "cut short")
                shutil.copy("kept", name)
            os.remove("kept")
        accepted()


def interrupted():
    """A signal ends a merge at once, and nothing is left."""
    couple("nc_num_subfiles=2", "write", "a.nc", "4000000")
    for number in signal.SIGTERM, signal.SIGINT:
        for delay in 0.0, 0.02, 0.05:
            merge = harness.start(build + "/bin/sluice", "merge", "-j", "1", "a.nc", "whole.nc")
            try:
                merge.wait(timeout=delay)
            except subprocess.TimeoutExpired:
                merge.send_signal(number)
            status = harness.finish(merge).status
            expect(status in (0, 128 + number, -number), f"exit status {status}")
            expect(glob.glob("whole.nc*") == (["whole.nc"] if status == 0 else []), f"left: {glob.glob('whole.nc*')}")
            if status == 0:
                os.remove("whole.nc")


def swap(first, second):
    os.rename(first, "kept")
    os.rename(second, first)
    os.rename("kept", second)


clear_directory()
globals()[case]()
