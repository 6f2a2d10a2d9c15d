#!/usr/bin/python3
"""merge.py SLUICE GOLDEN CASE: runs `sluice merge` in the working directory on the golden files with subfiles; checks what a user sees and what is left."""
import glob
import os
import shutil
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect

sluice, golden, case = sys.argv[1:4]


def merge(*arguments):
    return call(sluice, "merge", *arguments)


def dump(path, *options):
    return call("ncdump", *options, path, status=0).out


def no_partial():
    expect(not glob.glob(".*.sluice-partial"), "a partial file is left")


def whole():
    for number in "1", "5":
        done = merge(f"ok_cdf{number}.nc", f"out{number}.nc")
        expect(done.status == 0 and done.out == "" and " merged " in done.err, f"status {done.status}: {done.err}")
        call("ncvalidator", "-q", f"out{number}.nc", status=0)
        expect(dump(f"out{number}.nc", "-k").strip() == ("classic" if number == "1" else "cdf5"), "another format")
        text = dump(f"out{number}.nc")
        expect("_PnetCDF" not in text.replace("par_dim_id", "").replace("across:_PnetCDF", ""), "attributes of subfiling are left")
        expect("int grid(y, x)" in text and "63, 64, 65, 66, 67, 68, 69 ;" in text and "line = 0, 1, 2, 3, 4, 5, 6 ;" in text, text)
    no_partial()


def existing():
    open("out.nc", "w").write("mine")
    done = merge("ok_cdf5.nc", "out.nc")
    expect(done.status == 2 and "--force" in done.err, f"status {done.status}: {done.err}")
    expect(open("out.nc").read() == "mine", "the file was touched")
    done = merge("--force", "--quiet", "--format", "2", "-j", "3", "ok_cdf5.nc", "out.nc")
    expect(done.status == 0 and done.err == "", f"status {done.status}: {done.err}")
    expect(dump("out.nc", "-k").strip() == "64-bit offset", "another format")
    done = merge("out.nc", "again.nc")
    expect(done.status == 2 and "ordinary file" in done.err, f"status {done.status}: {done.err}")
    no_partial()


def mistakes():
    for arguments in [], ["ok_cdf5.nc"], ["ok_cdf5.nc", "a", "b"], ["--format", "3", "ok_cdf5.nc", "a"], ["-j", "0", "ok_cdf5.nc", "a"], ["--what", "ok_cdf5.nc", "a"]:
        done = merge(*arguments)
        expect(done.status == 2 and "MASTER OUT" in done.err, f"{arguments}: status {done.status}: {done.err}")
    expect(merge("--help").status == 0, "--help")
    os.remove("ok_cdf5.nc.subfile_1.nc")
    done = merge("ok_cdf5.nc", "a")
    expect(done.status == 3 and "ok_cdf5.nc.subfile_1.nc" in done.err, f"status {done.status}: {done.err}")
    done = merge("ok_cdf1.nc", "no/such/directory/a")
    expect(done.status == 3 and "no/such/directory" in done.err, f"status {done.status}: {done.err}")
    expect(not os.path.exists("a"), "a result is left")
    no_partial()


clear_directory()
for path in glob.glob(golden + "/*.nc"):
    shutil.copy(path, ".")
globals()[case]()
