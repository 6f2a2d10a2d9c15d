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


SEEN = """
def other(lines): return subprocess.run([sys.executable, '-c', 'import netCDF4, os, sys\\n' + lines], check=True)
assert os.path.getsize('a.nc') > 0 and 'a.nc' in os.listdir('.')
other("assert os.access('a.nc', os.R_OK) and 'a.nc' in os.listdir('.') and not os.path.exists('b.nc')")
show = "assert netCDF4.Dataset('a.nc')['v'][:].tolist() == VALUES, netCDF4.Dataset('a.nc')['v'][:]"
if 'KIND' == 'NETCDF4': d.sync()
other(show.replace('VALUES', '[0, 1, 2]'))
v[3] = 3; v[1] = 5
if 'KIND' == 'NETCDF4': d.sync()
other(show.replace('VALUES', '[0, 5, 2, 3]'))
e = netCDF4.Dataset('b.nc', 'w', format='KIND'); assert os.path.exists('b.nc'); e.close()
d.close()
"""


def seen():
    """The writer's component finds what is open for writing, with all that was put; a netCDF-4 file with all that was put before the last sync, as on disk."""
    for kind in KINDS:
        for publish in ("close", "sync", "write"):
            write_pair(kind, SEEN.replace("KIND", kind), [0, 5, 2, 3], more=f", publish: {publish}")
            with open("read.py", "w") as file:
                file.write("import netCDF4\nnetCDF4.Dataset('b.nc')\n" + SHOW.replace("VALUES", "[0, 5, 2, 3]"))
            run()


CHANGE = "import netCDF4\\ne = netCDF4.Dataset('a.nc', 'MODE'); assert e['v'][1] == 5; e['v'][3] = 7; e.close()"


def one_after_another():
    """Who would change a file that another process writes waits until that has closed it, and has all that was put."""
    for kind in KINDS:
        for mode in ("r+", "a"):
            write_pair(kind, f"other = subprocess.Popen([sys.executable, '-c', \"{CHANGE.replace('MODE', mode)}\"])\nv[1] = 5\nd.close()\nassert other.wait() == 0\n", [0, 5, 2, 7], more=", publish: close")
            with open("read.py", "w") as file:
                file.write("import netCDF4, time\nwhile netCDF4.Dataset('a.nc')['v'][:].tolist() != [0, 5, 2, 7]: time.sleep(0.01)\n")
            run()


WAITS = "c = subprocess.run([sys.executable, '-c', \"import netCDF4\\ne = netCDF4.Dataset('a.nc', 'r+'); e['v'][3] = 7; e.close()\"]); assert c.returncode != 0\nv[1] = 5\nd.close()\n"


def waits_for_changer():
    """A program that waits for another one, which would change the file that it has open, goes on: the other one has an error, as HDF5 gives it on disk."""
    for kind in KINDS:
        write_pair(kind, WAITS, [0, 5, 2])
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
    """A program that ends without a close has written its file, also one that has ended MPI."""
    with_mpi = OPEN.replace("  call ok(nf90_create", "  call mpi_init(x)\n  call ok(nf90_create") + "  call mpi_finalize(x)\n"
    for compiler, program, ranks in (("gfortran", OPEN, ""), ("mpif90", with_mpi, "ranks: 1")):
        for mode in ("nf90_64bit_data", "nf90_netcdf4"):
            compile_model(program.replace("MODE", mode), compiler)
            write_flow("", "", writer="./model", writer_key=ranks, reader=script("read.py", SHOW.replace("VALUES", "[0, 1, 2]")))
            run()


CASES = {"forked_readers": forked_readers, "forked_writers": forked_writers, "one_after_another": one_after_another, "seen": seen, "waits_for_changer": waits_for_changer, "left_open": left_open}
clear_directory()
CASES[sys.argv[2]]()
