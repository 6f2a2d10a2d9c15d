#!/usr/bin/python3
"""together.py BUILD CASE: several processes of a component have one netCDF file, as they have it on disk; and programs that end with an open one."""
import sys

from flows import compile_model, run, script, write_flow  # before harness: it finds that
from harness import clear_directory

KINDS = ("NETCDF3_64BIT_DATA", "NETCDF4")
MAKE = ("import netCDF4, os, subprocess, sys\nd = netCDF4.Dataset('a.nc', 'w', format='KIND'); d.createDimension('t', None)\n"
        "v = d.createVariable('v', 'f8', ('t',)); v[0:3] = [0, 1, 2]\n")
SHOW = "import netCDF4\nassert netCDF4.Dataset('a.nc')['v'][:].tolist() == VALUES, netCDF4.Dataset('a.nc')['v'][:]\n"


def write_pair(kind, writes, values, more=""):
    write_flow("", "", writer=script("write.py", MAKE.replace("KIND", kind) + writes), reader=script("read.py", SHOW.replace("VALUES", str(values))), more=more)


FORKED = """
import multiprocessing, netCDF4, os
d = netCDF4.Dataset('a.nc'); v = d['v']
def value(i): return float(v[i])
with multiprocessing.get_context('fork').Pool(2) as pool: assert pool.map(value, range(3)) == [0, 1, 2]
child = os.fork()
if child == 0:
    assert d.filepath().endswith('a.nc') and len(d.dimensions['t']) == 3 and v[1:].tolist() == [1, 2]
    d.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert v[:].tolist() == [0, 1, 2]
d.close()
"""


def forked_readers():
    """Forked children read what their parent has opened, which goes on with it."""
    for kind in KINDS:
        write_flow("", "", writer=script("write.py", MAKE.replace("KIND", kind) + "d.close()\n"), reader=script("read.py", FORKED))
        run()


def forked_writers():
    """A forked child that ends leaves alone what its parent writes."""
    for kind in KINDS:
        write_pair(kind, "child = os.fork()\nif child == 0: sys.exit(0)\nassert os.waitpid(child, 0)[1] == 0\nv[3] = 3\nd.close()\n", [0, 1, 2, 3])
        run()


CHANGE = "import netCDF4\\ne = netCDF4.Dataset('a.nc', 'r+'); assert e['v'][1] == 5; e['v'][3] = 7; e.close()"


def one_after_another():
    """Who would change a file that another process writes waits until that has closed it, and has all that was put."""
    for kind in KINDS:
        write_pair(kind, f"other = subprocess.Popen([sys.executable, '-c', \"{CHANGE}\"])\nv[1] = 5\nd.close()\nassert other.wait() == 0\n", [0, 5, 2, 7], more=", publish: close")
        with open("read.py", "w") as file:
            file.write("import netCDF4, time\nwhile netCDF4.Dataset('a.nc')['v'][:].tolist() != [0, 5, 2, 7]: time.sleep(0.01)\n")
        run()


OPEN = """
program model
  use netcdf
  implicit none
  integer :: file, x, v
  call ok(nf90_create('a.nc', MODE, file))
  call ok(nf90_def_dim(file, 't', nf90_unlimited, x))
  call ok(nf90_def_var(file, 'v', nf90_double, [x], v))
  call ok(nf90_enddef(file))
  call ok(nf90_put_var(file, v, [0d0, 1d0, 2d0]))
  call ok(nf90_sync(file))
"""


def left_open():
    """A program that ends without a close has written its file."""
    for mode in ("nf90_64bit_data", "nf90_netcdf4"):
        compile_model(OPEN.replace("MODE", mode))
        write_flow("", "", writer="./model", reader=script("read.py", SHOW.replace("VALUES", "[0, 1, 2]")))
        run()


CASES = {"forked_readers": forked_readers, "forked_writers": forked_writers, "one_after_another": one_after_another, "left_open": left_open}
clear_directory()
CASES[sys.argv[2]]()
