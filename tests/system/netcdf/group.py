#!/usr/bin/python3
"""group.py BUILD PROGRAM CASE: ranks that have netCDF-4 datasets together (nc_create_par) do what they do on disk, and pass hyperslabs."""
import os
import sys

from flows import PYTHON, run, same_lines, script, write_flow  # before harness: it finds that
import harness
from harness import clear_directory, expect

program, case = sys.argv[2:4]


def same_as_on_disk(writers, readers):
    """All calls of all ranks return and give the same, and ncdump, which is another program, too."""
    directory = f"disk{writers}to{readers}"
    os.makedirs(directory)
    harness.launch(writers, program, "write", "a.nc", cwd=directory, status=0)
    harness.launch(readers, program, "read", "a.nc", cwd=directory, status=0)
    harness.call("sh", "-c", "ncdump a.nc > dump && ncdump -h a.nc > head", cwd=directory, status=0)
    write_flow("", "", writer=f"{program} write a.nc, ranks: {writers}", reader=f"{program} read a.nc, ranks: {readers}")
    run()
    for kind, ranks in (("write", writers), ("read", readers)):
        for rank in range(ranks):
            same_lines(f"{kind}.{rank}", f"{directory}/{kind}.{rank}", f"{kind} by rank {rank} of {ranks}")
    write_flow("", "ncdump a.nc > dump\nncdump -h a.nc > head\ncp a.nc image.out\nncdump -n a image.out > image", writer=f"{program} write a.nc, ranks: {writers}")
    run()
    for own, on_disk in (("dump", "dump"), ("head", "head"), ("image", "dump")):
        same_lines(own, f"{directory}/{on_disk}", f"what ncdump says of the {own}")
    expect(not os.path.exists("a.nc"), "a coupled file is on disk")


def decompositions():
    """Three ranks for two, and two for three."""
    same_as_on_disk(3, 2)
    same_as_on_disk(2, 3)


LIVE_READ = """
import netCDF4, time
while True:
    d = netCDF4.Dataset('a.nc')
    if 'v' in d.variables: break
    d.close(); time.sleep(0.01)
for i in range(3):
    while len(d.dimensions['t']) <= i: time.sleep(0.01)
    assert d['v'][i].tolist() == [1000 * i + x / 4 for x in range(180)], d['v'][i]
    open(f'seen{i}', 'w').close()
"""


def live():
    """With publish: sync, a serial reader sees each record that the ranks have synced, while they wait for it."""
    write_flow("", "", writer=f"{program} live a.nc, ranks: 3", reader=script("read.py", LIVE_READ), more=", publish: sync")
    run()


def types():
    """Ranks put values of user types and several growing dimensions, each its part, as on disk; HDF5 takes no strings from them there either."""
    os.makedirs("disk")
    harness.launch(3, program, "types", "a.nc", cwd="disk", status=0)
    harness.call("sh", "-c", "ncdump a.nc > dump", cwd="disk", status=0)
    write_flow("", "ncdump a.nc > dump\ncp a.nc image.out\nncdump -n a image.out > image", writer=f"{program} types a.nc, ranks: 3")
    run()
    for rank in range(3):
        same_lines(f"types.{rank}", f"disk/types.{rank}", f"rank {rank}")
    for own in ("dump", "image"):
        same_lines(own, "disk/dump", f"what ncdump says of the {own}")


CASES = {each.__name__: each for each in (decompositions, live, types)}
clear_directory()
CASES[case]()
