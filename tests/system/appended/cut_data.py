#!/usr/bin/python3
"""cut_data.py BUILD CASE: data logs that another program cuts while they are written."""
import glob
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import expect, finish, wait_for

build, case = sys.argv[1:3]
ROWS = 40


def all_are_put():
    """Of two processes."""
    return all(os.path.exists(f"told.{rank}") and open(f"told.{rank}").read().strip() == str(ROWS) for rank in range(2))


def cut(write):
    """`write`: starts the program, which has put all rows, and closes the file when it may. Returns what it says."""
    harness.clear_directory()
    os.mkdir("logs")
    harness.allow("hold")
    run = write([f"{build}/bin/burst_writer", "wave.nc", f"-{ROWS}", "0"])
    wait_for(all_are_put, "the puts")
    data = sorted(glob.glob("logs/*.data"))
    expect(len(data) == 2, f"logs: {data}")
    os.truncate(data[0], 4096 + 40 if os.path.getsize(data[0]) > 5000 else 600)  # and the rest of that page is there
    os.remove("hold")
    told = finish(run).all
    expect(run.returncode != 0 and "NC_EIO" in told, "a log that was cut is no error")
    return told


def of_a_workflow():
    """A data log of a workflow that is cut within the page that is written: the close is an error, and readers do not get zeros."""

    def write(command):
        harness.write_flow("env", {"model": (2, " ".join(command)), "analysis": (1, "sleep 0")}, [("*.nc", "model", ["analysis"], "through: burst-buffer")], "spill: logs")
        return harness.start(f"{build}/bin/sluice", "run", "--log-dir", "log", "flow.yaml")

    cut(write)
    expect(not os.path.exists("wave.nc"), "a file was made of a log that was cut")


def of_a_program():
    """A data log of a program alone that is cut: the flush at the close is an error."""
    cut(lambda command: harness.start(*harness.MPIRUN, "2", *command, environment={"PNETCDF_HINTS": "nc_burst_buf=enable;nc_burst_buf_dirname=logs"}))


globals()[case]()
