#!/usr/bin/python3
"""overwrites.py BUILD OVERWRITES CASE: what is put again and again into a file that stays open takes the memory of the file, not that of all puts."""
import re
import sys

from flows import run, script, write_flow  # before harness: it finds that
from harness import clear_directory, expect

program, case = sys.argv[2:4]


def expect_staged(result, most_mib):
    """The run tells how much memory segments had at most."""
    found = re.search(r"memory: at most ([\d.]+) (\w+) staged", result.all)
    expect(found is not None, "the run says how much was staged")
    mib = float(found[1]) * {"B": 2**-20, "KiB": 2**-10, "MiB": 1, "GiB": 2**10}[found[2]]
    expect(mib <= most_mib, f"{mib} MiB staged, and {most_mib} MiB at most are expected")


WRITE = """
import netCDF4, numpy, sys
d = netCDF4.Dataset('a.nc', 'w', format=sys.argv[1])
d.createDimension('x', 100000); d.createDimension('y', 10); d.createDimension('t', None)
v = d.createVariable('v', 'f8', ('x',)); w = d.createVariable('w', 'f4', ('y', 'x')); s = d.createVariable('s', 'i4', ()); r = d.createVariable('r', 'f8', ('t', 'x'))
for i in range(300):
    v[:] = numpy.arange(100000) + i
    w[i % 10, :] = i
    if i % 10 == 0: w[:, 5:] = -i
    if i % 50 == 3: w[2:7, 100:30000:3] = 0.5 + i
    s[...] = i
    r[0, :] = 2 * i
    r[i % 3, 7] = i
    if i % 20 == 9: d.sync()
    if i % 100 == 50: assert v[10] == 10 + i and s[...] == i and w[i % 10, 7] == (i if i % 10 else -i), i
d.close()
"""
READ = """
import netCDF4, numpy
v = numpy.arange(100000) + 299
w = numpy.zeros((10, 100000)); r = numpy.zeros((3, 100000))
d = netCDF4.Dataset('a.nc'); mine = [numpy.ma.filled(d[n][:], 0) for n in 'vwr']
assert (mine[0] == v).all() and d['s'][...] == 299
for i in range(300):
    w[i % 10, :] = i
    if i % 10 == 0: w[:, 5:] = -i
    if i % 50 == 3: w[2:7, 100:30000:3] = 0.5 + i
    r[0, :] = 2 * i
    r[i % 3, 7] = i
assert (mine[1] == w).all()
assert (mine[2] == r).all(), [(mine[2][i, 7], r[i, 7]) for i in range(3)]
"""


def netcdf():
    """A program of netCDF with one file for the whole run puts 500 MiB: whole variables, rows, parts across them, a scalar, a record, by sync and gets in between."""
    for kind in ("NETCDF3_64BIT_DATA", "NETCDF4"):
        write_flow("", "", writer=script("write.py", WRITE) + " " + kind, reader=script("read.py", READ))
        expect_staged(run(), 60)


ELEMENTS = """
import netCDF4
d = netCDF4.Dataset('a.nc', 'w', format='NETCDF3_CLASSIC'); d.createDimension('x', 50); v = d.createVariable('v', 'f8', ('x',))
for i in range(100):
    for x in range(50): v[(7 * x) % 50] = i + x / 64
d.close()
"""


def elements():
    """Single elements, again and again: neither the data nor the table of requests grows with the puts."""
    write_flow("", "", writer=script("write.py", ELEMENTS), reader=script("read.py", "import netCDF4\nv = netCDF4.Dataset('a.nc')['v']\nassert all(v[(7 * x) % 50] == 99 + x / 64 for x in range(50))\n"))
    expect_staged(run(), 0.1)


def ranks():
    """Ranks of PnetCDF, with collective and posted puts into each other's parts."""
    write_flow("", "", writer=f"{program} write 200, ranks: 2", reader=f"{program} read 200, ranks: 2")
    expect_staged(run(), 25)  # 128 MB are put


def nodes():
    """The same, where the ranks are on two nodes: nothing takes the place of a put there."""
    write_flow("", "", writer=f"{program} write 40, ranks: 2", reader=f"{program} read 40, ranks: 2")
    run()


def synced():
    """With publish: sync, a reader has what was synced, whatever the writer has put since."""
    write = ("import netCDF4, os, time\nd = netCDF4.Dataset('a.nc', 'w', format='NETCDF3_CLASSIC'); d.createDimension('x', 1000); v = d.createVariable('v', 'i4', ('x',))\n"
             "for i in range(20): v[:] = i\nd.sync()\nfor i in range(100, 120): v[:] = i\nopen('put', 'w').close()\nwhile not os.path.exists('seen'): time.sleep(0.01)\nd.close()\n")
    read = ("import netCDF4, os, time\nd = netCDF4.Dataset('a.nc')\nwhile not os.path.exists('put'): time.sleep(0.01)\n"
            "assert (netCDF4.Dataset('a.nc')['v'][:] == 19).all()\nassert (d['v'][:] == 19).all()\nopen('seen', 'w').close()\n")
    write_flow("", "", writer=script("write.py", write), reader=script("read.py", read), more=", publish: sync")
    run()


CASES = {"netcdf": netcdf, "elements": elements, "ranks": ranks, "nodes": nodes, "synced": synced}
clear_directory()
CASES[case]()
