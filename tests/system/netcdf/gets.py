#!/usr/bin/python3
"""gets.py BUILD GETS CASE: programs that read element by element see what they see of the file on disk, by few gets."""
import os
import sys

from flows import run, same_lines, script, write_flow  # before harness: it finds that
import harness
from harness import clear_directory, expect

gets, case = sys.argv[2:4]


def elements():
    """Single elements and small blocks in any order, of several types in memory, with values that these cannot hold."""
    os.makedirs("disk")
    for kind in ("write", "write4"):
        harness.call("sh", "-ec", f"{gets} {kind} a.nc\n{gets} read a.nc > read", cwd="disk", status=0)
        write_flow(f"{gets} {kind} a.nc", f"{gets} read a.nc > read")
        row = next(line for line in run().all.splitlines() if line.startswith("a.nc")).split()
        same_lines("read", "disk/read", kind)
        expect(int(row[7]) < 20000, f"36,000 small gets are as many of the run: {row}")


WRITE = """
import netCDF4, os, time
d = netCDF4.Dataset('a.nc', 'w')
d.createDimension('t', None); v = d.createVariable('v', 'f8', ('t',)); v[0:50] = range(50)
for turn in range(3):
    v[turn] = 100 + turn
    d.sync()
    for i in range(9000):
        if os.path.exists(f'seen{turn}'): break
        time.sleep(0.01)
    else: raise SystemExit('the reader does not see it')
d.close()
"""
READ = """
import netCDF4
d = netCDF4.Dataset('a.nc')
for turn in range(3):
    def look(): return [float(d['v'][i]) for i in range(50)]
    while look()[turn] != 100.0 + turn:
        d.close()
        d = netCDF4.Dataset('a.nc')
    assert look() == [100.0 + i if i <= turn else float(i) for i in range(50)], turn
    open(f'seen{turn}', 'w').close()
"""


def changing():
    """Who has a file open that still changes gets its values as they are, also by many small gets."""
    write_flow(script("write.py", WRITE), script("read.py", READ), more=", publish: sync")
    run()


CASES = {"elements": elements, "changing": changing}
clear_directory()
CASES[case]()
