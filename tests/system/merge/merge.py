#!/usr/bin/python3
"""merge.py SLUICE GOLDEN CASE: runs `sluice merge` in the working directory on the golden files with subfiles; checks what a user sees and what is left."""
import glob
import os
import shutil
import subprocess
import sys

sluice, golden, case = sys.argv[1:4]


def expect(condition, text):
    if not condition:
        sys.exit("FAILED: " + text)


def merge(*arguments):
    return subprocess.run([sluice, "merge", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def dump(path, *options):
    return subprocess.run(["ncdump", *options, path], capture_output=True, text=True, check=True).stdout


def no_partial():
    expect(not glob.glob("*.partial"), "a partial file is left")


def whole():
    for number in "1", "5":
        done = merge(f"ok_cdf{number}.nc", f"out{number}.nc")
        expect(done.returncode == 0 and done.stdout == "" and " merged " in done.stderr, f"status {done.returncode}: {done.stderr}")
        subprocess.run(["ncvalidator", "-q", f"out{number}.nc"], check=True)
        expect(dump(f"out{number}.nc", "-k").strip() == ("classic" if number == "1" else "cdf5"), "another format")
        text = dump(f"out{number}.nc")
        expect("_PnetCDF" not in text.replace("par_dim_id", "").replace("across:_PnetCDF", ""), "attributes of subfiling are left")
        expect("int grid(y, x)" in text and "63, 64, 65, 66, 67, 68, 69 ;" in text and "line = 0, 1, 2, 3, 4, 5, 6 ;" in text, text)
    no_partial()


def existing():
    open("out.nc", "w").write("mine")
    done = merge("ok_cdf5.nc", "out.nc")
    expect(done.returncode == 2 and "--force" in done.stderr, f"status {done.returncode}: {done.stderr}")
    expect(open("out.nc").read() == "mine", "the file was touched")
    done = merge("--force", "--quiet", "--format", "2", "-j", "3", "ok_cdf5.nc", "out.nc")
    expect(done.returncode == 0 and done.stderr == "", f"status {done.returncode}: {done.stderr}")
    expect(dump("out.nc", "-k").strip() == "64-bit offset", "another format")
    done = merge("out.nc", "again.nc")
    expect(done.returncode == 2 and "ordinary file" in done.stderr, f"status {done.returncode}: {done.stderr}")
    no_partial()


def mistakes():
    for arguments in [], ["ok_cdf5.nc"], ["ok_cdf5.nc", "a", "b"], ["--format", "3", "ok_cdf5.nc", "a"], ["-j", "0", "ok_cdf5.nc", "a"], ["--what", "ok_cdf5.nc", "a"]:
        done = merge(*arguments)
        expect(done.returncode == 2 and "MASTER OUT" in done.stderr, f"{arguments}: status {done.returncode}: {done.stderr}")
    expect(merge("--help").returncode == 0, "--help")
    os.remove("ok_cdf5.nc.subfile_1.nc")
    done = merge("ok_cdf5.nc", "a")
    expect(done.returncode == 3 and "ok_cdf5.nc.subfile_1.nc" in done.stderr, f"status {done.returncode}: {done.stderr}")
    done = merge("ok_cdf1.nc", "no/such/directory/a")
    expect(done.returncode == 3 and "no/such/directory" in done.stderr, f"status {done.returncode}: {done.stderr}")
    expect(not os.path.exists("a"), "a result is left")
    no_partial()


for path in glob.glob("*"):
    os.remove(path)
for path in glob.glob(golden + "/*.nc"):
    shutil.copy(path, ".")
{"whole": whole, "existing": existing, "mistakes": mistakes}[case]()
