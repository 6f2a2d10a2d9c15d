#!/usr/bin/python3
"""changed.py BUILD CALLS CASE: netCDF programs open datasets again, to change or to read what they have written, and do what they do on disk."""
import os
import subprocess
import sys

from flows import PYTHON, compile_model, run, same_lines, script, write_flow  # before harness: it finds that
import harness
from harness import clear_directory, expect, text

build, calls, case = sys.argv[1:4]
# The last file of a writer: a reader that has it sees all that was written before.
END = "printf 'netcdf end { dimensions: x = 1; }' | ncgen -o end.nc -\n"
LOOK = "ncdump -h end.nc > /dev/null\n"


def same_dump(writes, name="a.nc", more=""):
    """The shell's lines write the file under Sluice and on disk: ncdump says the same."""
    os.makedirs("disk")
    with open("disk/write.sh", "w") as file:
        file.write("set -e\n" + writes)
    harness.call("sh", "-c", f"sh write.sh && ncdump {name} > dump", cwd="disk", status=0)
    write_flow(writes + END, LOOK + f"ncdump {name} > dump", more=more)
    result = run()
    expect(not os.path.exists(name), "a coupled file is on disk")
    same_lines("dump", "disk/dump", "what ncdump says")
    return result


APPEND = """
import netCDF4, numpy
d = netCDF4.Dataset('a.nc', 'w', format=FORMAT); d.title = 'first'
d.createDimension('t', None); d.createDimension('x', 5)
d.createVariable('v', 'f8', ('t', 'x'), fill_value=-1)[0:2] = numpy.arange(10).reshape(2, 5); d.createVariable('w', 'i2', ('x',))[:] = 7
d.close()
for i in range(3):
    d = netCDF4.Dataset('a.nc', 'a'); n = len(d.dimensions['t']); assert n == 2 + 2 * i, n
    assert d['w'][0] == (7 if i == 0 else i - 1) and d['v'][1, 2] == 7
    d['v'][n + 1, 1:4] = i * 10; d['w'][0] = i
    d.close()
d = netCDF4.Dataset('a.nc', 'r+')
d.title = 'a longer title, for which definitions are opened again'; d.createVariable('late', 'f4', ('t',)); d.createVariable('fixed', 'i4', ('x',))[2] = 3
d.renameVariable('w', 'u')
d.close()
"""


def python():
    """Python's netCDF4 appends records, attributes and variables to what it has closed."""
    with open("append.py", "w") as file:
        file.write("import sys\nFORMAT = sys.argv[1]\n" + APPEND)
    for kind in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"):
        os.path.isdir("disk") and subprocess.run(["rm", "-r", "disk"], check=True)
        same_dump(f"{PYTHON} {os.path.abspath('append.py')} {kind}\n")


def nco():
    """NCO adds variables of another file, and changes attributes and names in place."""
    cdl = "printf 'netcdf a { dimensions: t = UNLIMITED; x = 3; variables: double v(t, x); v:units = \"m\"; data: v = 1, 2, 3, 4, 5, 6; }' | ncgen -k %s -o %s -\n"
    same_dump(cdl % ("cdf5", "a.nc") + "ncap2 -h -O -s 'w=v*2' a.nc other.txt\nncks -h -A -v w other.txt a.nc\nncatted -h -a units,v,o,c,kilometre a.nc\nncrename -h -v v,u a.nc\n")


FORTRAN = """
program model
  use netcdf
  implicit none
  integer :: id, x, t, v, i, n
  call ok(nf90_create('a.nc', nf90_64bit_offset, id))
  call ok(nf90_def_dim(id, 'x', 3, x))
  call ok(nf90_def_dim(id, 't', nf90_unlimited, t))
  call ok(nf90_def_var(id, 'v', nf90_real, (/ x, t /), v))
  call ok(nf90_close(id))
  do i = 1, 4
    call ok(nf90_open('a.nc', nf90_write, id))
    call ok(nf90_inquire_dimension(id, t, len=n))
    if (n /= i - 1) stop 2
    call ok(nf90_put_var(id, v, (/ 1., 2., 3. /) * i, start=(/ 1, i /), count=(/ 3, 1 /)))
    call ok(nf90_close(id))
  end do
"""


def fortran():
    """A netCDF-Fortran model opens its file again for each record."""
    compile_model(FORTRAN)
    same_dump(os.path.abspath("model") + "\n")


LIVE_WRITE = """
import netCDF4, os, time
d = netCDF4.Dataset('a.nc', 'w', format='NETCDF3_CLASSIC'); d.createDimension('t', None); d.createVariable('v', 'f8', ('t',)); d.close()
d = netCDF4.Dataset('a.nc', 'a')
for i in range(3):
    d['v'][i] = i + 1
    d.sync()
    while not os.path.exists(f'seen{i}'): time.sleep(0.01)
d.close()
"""
LIVE_READ = """
import netCDF4, time
for i in range(3):
    while True:
        d = netCDF4.Dataset('a.nc'); values = d['v'][:].tolist(); d.close()
        if len(values) > i: break
        time.sleep(0.01)
    assert values == [1, 2, 3][:i + 1], values
    open(f'seen{i}', 'w').close()
"""


def live():
    """With publish: sync readers see each record that was put and synced after the file was opened again, while it is open."""
    write_flow(script("write.py", LIVE_WRITE), script("read.py", LIVE_READ), more=", publish: sync")
    run()


def random_calls(*seeds):
    """Right and wrong calls in a dataset that is open for writing again return and give the same as on disk."""
    os.makedirs("disk")
    lines = ""
    for seed in seeds:
        lines += "".join(f"{calls} {kind} a{seed}.nc {seed} > {kind}.{seed}\n" for kind in ("write", "append", "read"))
    harness.call("sh", "-c", lines, cwd="disk", status=0)
    write_flow("\n".join(line for line in lines.splitlines() if " read " not in line) + "\n" + END, LOOK + "\n".join(line for line in lines.splitlines() if " read " in line))
    run()
    for seed in seeds:
        for kind in ("write", "append", "read"):
            same_lines(f"{kind}.{seed}", f"disk/{kind}.{seed}", f"{kind} of seed {seed}")


def other_steps():
    """What is no CDF step is changed by its bytes: netCDF-4, a file that a copy has made, and one from before the run."""
    with open("before.py", "w") as file:
        file.write("import netCDF4\nd = netCDF4.Dataset('old.nc', 'w', format='NETCDF3_CLASSIC'); d.title = 'old'; d.close()\n")
    harness.call(PYTHON, "before.py", status=0)
    write = script("write.py", "import netCDF4\nfor name in ('four.nc', 'old.nc'):\n    if name == 'four.nc':\n        d = netCDF4.Dataset(name, 'w'); d.title = 'old'; d.close()\n"
                   "    d = netCDF4.Dataset(name, 'a'); assert d.title == 'old'; d.title = 'new'; d.close()\nnetCDF4.Dataset('end.nc', 'w', format='NETCDF3_CLASSIC').close()\n")
    read = script("read.py", "import netCDF4\nnetCDF4.Dataset('end.nc')\nfor name in ('four.nc', 'old.nc'): assert netCDF4.Dataset(name).title == 'new', name\n")
    write_flow(write, read)
    run()


def open_twice():
    """A program opens what it has open for writing, as ncap2 does: what was synced is there, and the file is whole when both are closed."""
    twice = ("import netCDF4\nfor kind in ('NETCDF3_CLASSIC', 'NETCDF4'):\n    d = netCDF4.Dataset('a.nc', 'w', format=kind); d.createDimension('t', None); v = d.createVariable('v', 'f8', ('t',)); v[0] = 1; d.sync()\n"
             "    e = netCDF4.Dataset('a.nc'); assert e['v'][:].tolist() == [1]\n    e.close(); v[1] = 2; e = netCDF4.Dataset('a.nc'); d.close(); e.close()\n    assert netCDF4.Dataset('a.nc')['v'][:].tolist() == [1, 2]\n")
    aborted = ("import ctypes\nctypes.CDLL('libnetcdf.so.19', ctypes.RTLD_GLOBAL); library = ctypes.CDLL(None); id = ctypes.c_int()\n"
               "d = netCDF4.Dataset('a.nc', 'w', format='NETCDF3_CLASSIC'); d.createDimension('t', None); v = d.createVariable('v', 'f8', ('t',)); v[0] = 1; d.sync()\n"
               "assert library.nc_open(b'a.nc', 0, ctypes.byref(id)) == 0 and library.nc_abort(id) == 0\n"
               "v[1] = 2; d.close(); assert netCDF4.Dataset('a.nc')['v'][:].tolist() == [1, 2]\n")
    os.makedirs("more")
    with open("more/twice.py", "w") as file:
        file.write(twice + aborted)
    same_dump(f"{PYTHON} {os.path.abspath('more/twice.py')}\nncgen -k cdf5 -o b.nc - << 'END'\nnetcdf b {{ dimensions: t = 2; variables: double v(t); data: v = 1, 2; }}\nEND\nncap2 -h -O -s 'u=v*2' b.nc c.nc\n", name="c.nc")


def later_closes():
    """Rules whose readers wait for a later close go by bytes: a reader gets what was appended."""
    append = ("import netCDF4\nd = netCDF4.Dataset('a.nc', 'w', format='NETCDF3_CLASSIC'); d.createDimension('t', None); d.createVariable('v', 'f8', ('t',))[0] = 1; d.close()\n"
              "d = netCDF4.Dataset('a.nc', 'a'); d['v'][1] = 2; d.close()\n")
    for publish in ("exit", "close:2"):
        write_flow(script("write.py", append), script("read.py", "import netCDF4\nassert netCDF4.Dataset('a.nc')['v'][:].tolist() == [1, 2]\n"), more=f", publish: {publish}")
        run()


CASES = {"open_twice": open_twice, "later_closes": later_closes, "python": python, "nco": nco, "fortran": fortran, "live": live, "other_steps": other_steps}
clear_directory()
if case.startswith("calls"):
    random_calls(*range(int(case[5:]), int(case[5:]) + 6))
else:
    CASES[case]()
