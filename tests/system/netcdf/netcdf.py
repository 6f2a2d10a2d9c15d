#!/usr/bin/python3
"""netcdf.py BUILD COUPLE CALLS RANKS CASE: programs of netCDF's own interface do what they do on disk, and couple with others."""
import os
import subprocess
import sys

from flows import BYTES, PYTHON, SLUICE, compile_model, run, same_lines, script, write_flow  # before harness: it finds that
import harness
from harness import clear_directory, expect, text

build, couple, calls, ranks, case = sys.argv[1:6]


def calls_case(*seeds):
    """Right and wrong calls of netCDF-C in a random order return and give the same as on disk, to the writer and to the reader."""
    os.makedirs("disk")
    for seed in seeds:
        for kind in ("write", "read"):
            with open(f"disk/{kind}.{seed}", "w") as out:
                subprocess.run([calls, kind, f"calls{seed}.nc", str(seed)], stdout=out, cwd="disk", check=True)
    lines = {kind: "\n".join(f"{calls} {kind} calls{seed}.nc {seed} > {kind}.{seed}" for seed in seeds) for kind in ("write", "read")}
    write_flow(lines["write"], lines["read"])
    run()
    for seed in seeds:
        for kind in ("write", "read"):
            same_lines(f"{kind}.{seed}", f"disk/{kind}.{seed}", f"{kind} of seed {seed}")
        expect(not os.path.exists(f"calls{seed}.nc"), "a coupled file is on disk")


def to_pnetcdf():
    """What ncgen writes by netCDF is read by a PnetCDF program on four ranks."""
    kinds = {"one.nc": "classic", "two.nc": "64-bit-offset", "five.nc": "64-bit-data"}
    lines = [f"ncgen -k {kind} -o {name} {harness.cdl(name, 1001)}" for name, kind in kinds.items()]
    reads = " ".join(f"read {name} 1001 whole {name} 1001 halve {name} 1001" for name in kinds)
    write_flow("\n".join(lines), "", reader=f"{couple} {reads}, ranks: 4")
    run()


WRITE = """
import netCDF4, numpy
d = netCDF4.Dataset('a.nc', 'w', format='NETCDF3_64BIT_DATA')
d.title = 'a title'; d.numbers = numpy.arange(5, dtype='i2')
d.createDimension('t', None); d.createDimension('x', 7)
v = d.createVariable('temperature', 'f4', ('t', 'x'), fill_value=-5); v.units = 'K'
w = d.createVariable('number', 'i4', ('x',)); w[:] = numpy.arange(7) * 3
for i in range(4): v[i, :] = numpy.arange(7) + 10 * i
v[5, 2:5] = 99
assert v[2, 3] == 23 and v.shape == (6, 7), v.shape
w[::2] = -1
d.close()
"""
READ = """
import netCDF4, numpy, xarray
d = netCDF4.Dataset('a.nc')
v = d['temperature']
assert d.data_model == 'NETCDF3_64BIT_DATA' and d.filepath() == 'a.nc', (d.data_model, d.filepath())
assert d.title == 'a title' and v.units == 'K' and v.shape == (6, 7) and len(d.dimensions['t']) == 6
assert v[:, 2].tolist() == [2, 12, 22, 32, None, 99], v[:, 2]
assert v[3, ::3].tolist() == [30, 33, 36] and v[5].mask.tolist() == [True] * 2 + [False] * 3 + [True] * 2
assert d['number'][:].tolist() == [-1, 3, -1, 9, -1, 15, -1]
d.close()
s = xarray.open_dataset('a.nc')
assert float(s.temperature[1].sum()) == 91 and int(s.number[1]) == 3, s
"""


def python_pairs():
    """Python's netCDF4 writes; netCDF4, xarray, ncdump and ncks read by hyperslabs, and netCDF4 by the bytes of the image, all the same."""
    tools = "ncdump a.nc > dump\nncks -v number a.nc out.txt && ncdump -v number out.txt > ks"
    os.makedirs("direct")
    harness.call(PYTHON, "-c", WRITE, cwd="direct", status=0)
    harness.call("sh", "-c", tools, cwd="direct", status=0)
    write_flow(script("write.py", WRITE), script("read.py", READ) + "\n" + tools)
    run()
    expect(text("dump") == text("direct/dump"), "what ncdump says")
    expect(text("ks").split("data:")[1] == text("direct/ks").split("data:")[1], "what ncks copies")
    write_flow(script("write.py", WRITE), script("read.py", READ), reader_key=BYTES)
    run()
    write_flow(script("write.py", WRITE), script("read.py", READ), writer_key=BYTES)
    run()


FORTRAN = """
program model
  use netcdf
  implicit none
  integer :: id, x, t, v, i
  call ok(nf90_create('a.nc', nf90_clobber, id))
  call ok(nf90_def_dim(id, 'x', 3, x))
  call ok(nf90_def_dim(id, 't', nf90_unlimited, t))
  call ok(nf90_def_var(id, 'v', nf90_double, (/ x, t /), v))
  call ok(nf90_put_att(id, v, 'units', 'm'))
  call ok(nf90_enddef(id))
  do i = 1, 4
    call ok(nf90_put_var(id, v, (/ 1d0, 2d0, 3d0 /) * i, start=(/ 1, i /), count=(/ 3, 1 /)))
    call ok(nf90_sync(id))
  end do
  call ok(nf90_close(id))
"""


def fortran():
    """A netCDF-Fortran model writes, and ncdump gives what it gives of its file on disk."""
    compile_model(FORTRAN)
    harness.call("sh", "-c", "mkdir direct && cd direct && ../model && ncdump a.nc > dump", status=0)
    write_flow("./model", "ncdump a.nc > dump")
    run()
    expect(text("dump") == text("direct/dump"), "what ncdump says")


LIVE_WRITE = """
import netCDF4, os, time
d = netCDF4.Dataset('a.nc', 'w', format='NETCDF3_CLASSIC')
d.createDimension('t', None); d.createDimension('x', 3)
v = d.createVariable('v', 'f8', ('t', 'x'))
for i in range(3):
    v[i, :] = i + 1
    d.sync()
    while not os.path.exists(f'seen{i}'): time.sleep(0.01)
d.close()
"""
LIVE_READ = """
import netCDF4, time
d = netCDF4.Dataset('a.nc')
for i in range(3):
    while len(d.dimensions['t']) <= i:
        d.sync()
        time.sleep(0.01)
    assert d['v'][i].tolist() == [i + 1.0] * 3, d['v'][:]
    other = netCDF4.Dataset('a.nc'); assert len(other.dimensions['t']) == i + 1; other.close()
    open(f'seen{i}', 'w').close()
d.close()
"""


def live():
    """With publish: sync a reader that has the file open sees each record that the writer has synced, while the writer waits for it."""
    write_flow(script("write.py", LIVE_WRITE), script("read.py", LIVE_READ), more=", publish: sync")
    run()


def from_pnetcdf():
    """Steps of a PnetCDF program on two ranks are read by Python, by hyperslabs."""
    read = script("read.py", "import netCDF4\nd = netCDF4.Dataset('a.nc')\nv = d['v'][:]\nassert d['v'].shape == (501,) and (v[1:] - v[:-1] == 0.25).all(), v\nassert d['v'][10:100:9].tolist() == v[10:100:9].tolist()\n")
    write_flow("", read, writer=f"{couple} write a.nc 501, ranks: 2")
    run()


def by_bytes():
    """With `netcdf: bytes` files go by their bytes, without a key by hyperslabs. Either way netCDF-4 and files that are changed are as on disk."""
    write = script("write.py", "import netCDF4\nd = netCDF4.Dataset('four.nc', 'w')\ng = d.createGroup('g')\ng.createDimension('x', 3)\ng.createVariable('v', str, ('x',))[0] = 'text'\nd.close()\n"
                   "d = netCDF4.Dataset('three.nc', 'w', format='NETCDF3_CLASSIC')\nd.title = 'old'\nd.close()\nd = netCDF4.Dataset('three.nc', 'a')\nd.title = 'new'\nd.close()\n")
    read = script("read.py", "import netCDF4, time\nassert netCDF4.Dataset('four.nc')['g/v'][0] == 'text'\nwhile netCDF4.Dataset('three.nc').title != 'new': time.sleep(0.01)\n")
    for more in ("", ", netcdf: bytes"):
        write_flow(write, read, more=more)
        result = run()
        expect(("opened" in result.out) == bool(more), f"what was opened by the C library, with '{more}'")


LARGE_WRITE = """
import netCDF4, resource
d = netCDF4.Dataset('a.nc', 'w', format='NETCDF3_64BIT_DATA')
d.createDimension('x', 4000000000); d.createDimension('t', None)
v = d.createVariable('v', 'f8', ('x',)); r = d.createVariable('r', 'f8', ('t', 'x'))
v[3999999999] = 7
r[1, 5] = 8
d.late = 'x' * 10000; w = d.createVariable('w', 'f8', ('x',)); w[0] = 9
d.close()
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1000000
"""
LARGE_READ = """
import netCDF4, resource
d = netCDF4.Dataset('a.nc')
assert d['v'][3999999990:][-1] == 7 and d['r'][1, 5] == 8 and d['w'][0] == 9 and len(d.late) == 10000 and d['w'].shape == (4000000000,)
d.close()
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1000000
"""


def large():
    """Variables that are larger than the memory of the machine cost what is put into them, also when definitions follow."""
    write_flow(script("write.py", LARGE_WRITE), script("read.py", LARGE_READ))
    run()


def mpi_ranks():
    """In programs with MPI each rank has its own datasets by serial netCDF, as a group of one."""
    write_flow("", "", writer=f"{ranks} write, ranks: 3", reader=f"{ranks} read, ranks: 2")
    run()


def kept():
    """With keep: true the file on disk has the values and the attributes that the program's netCDF would have written."""
    os.makedirs("direct")
    harness.call(PYTHON, "-c", WRITE, cwd="direct", status=0)
    write_flow(script("write.py", WRITE), script("read.py", READ), more=", keep: true")
    run()
    same = "ncdump a.nc > dump && cd direct && ncdump a.nc > dump && ncvalidator -q ../a.nc"
    harness.call("sh", "-c", same, status=0)
    expect(text("dump") == text("direct/dump"), "what ncdump says of the file")


THREE_WRITE = """
import netCDF4
for i in range(3):
    d = netCDF4.Dataset(NAME, 'w', format='NETCDF3_CLASSIC'); d.createDimension('t', None)
    d.createVariable('v', 'f8', ('t',))[:] = [1, 2, i]
    d.close()
"""
THREE_READ = """
import netCDF4
for i in range(3): assert netCDF4.Dataset(NAME)['v'][:].tolist() == [1, 2, i]
"""


def rules():
    """Burst-buffer logs, streams, files that are there, and removed ones."""
    for more, name in ((", through: burst-buffer", "'a%d.nc' % i"), (", steps: stream", "'a.nc'")):
        write_flow(script("write.py", THREE_WRITE.replace("NAME", name)), script("read.py", THREE_READ.replace("NAME", name)), more=more)
        run()
    anew = ("import netCDF4, os\ndef make(**more):\n    d = netCDF4.Dataset('a.nc', 'w', format='NETCDF3_CLASSIC', **more); d.close()\nmake()\n"
            "try: make(clobber=False)\nexcept OSError as error: assert error.errno == -35, error\nelse: raise SystemExit('made again')\n"
            "os.remove('a.nc')\nassert not os.path.exists('a.nc')\nmake(clobber=False)\n")
    write_flow(script("write.py", anew), script("read.py", "import netCDF4\n"))
    run()


KILLED = """
import netCDF4, os, signal, time
d = netCDF4.Dataset('a.nc', 'w', format='NETCDF3_CLASSIC'); d.createDimension('t', None)
v = d.createVariable('v', 'f8', ('t',))
v[0] = 5
d.sync()
while not os.path.exists('seen'): time.sleep(0.01)
v[1] = 6
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed():
    """A writer that is killed leaves to its readers what it has synced, and in burst-buffer logs all that it has put."""
    read = "import netCDF4\nd = netCDF4.Dataset('a.nc')\nassert d['v'][:].tolist() == [5]\nopen('seen', 'w').close()\nd.sync()\nassert netCDF4.Dataset('a.nc')['v'][:].tolist() == [5]\n"
    write_flow(script("write.py", KILLED), script("read.py", read), more=", publish: sync")
    run(status=137)
    write_flow(script("write.py", KILLED.replace("while not os.path.exists('seen'): time.sleep(0.01)\n", "")), script("read.py", "import netCDF4\nnetCDF4.Dataset('a.nc')\n"),
               more=", through: burst-buffer")
    run(status=None)
    harness.call(SLUICE, "recover", ".", status=0)
    harness.call(PYTHON, "-c", "import netCDF4\nassert netCDF4.Dataset('a.nc')['v'][:].tolist() == [5, 6]", status=0)


MIXED_WRITE = """
import multiprocessing, netCDF4, threading
def make(i):
    d = netCDF4.Dataset(f'a{i}.nc', 'w', format='NETCDF3_CLASSIC'); d.createDimension('t', None)
    d.createVariable('v', 'f8', ('t',))[:] = [i] * 1000
    d.close()
notes = open('notes.nc', 'w'); notes.write('begin\\n'); notes.flush()
make(0)
with multiprocessing.Pool(2) as pool: pool.map(make, range(1, 5))
lock = threading.Lock()  # netCDF is not made for threads: without it, one run in ten ends by SIGSEGV on disk, too
def make_alone(i):
    with lock: make(i)
threads = [threading.Thread(target=make_alone, args=(i,)) for i in range(5, 9)]
for thread in threads: thread.start()
for thread in threads: thread.join()
notes.write('end\\n'); notes.close()
"""
MIXED_READ = """
import multiprocessing, netCDF4, os
def look(i): return float(netCDF4.Dataset(f'a{i}.nc')['v'][:].sum())
assert open('notes.nc').read() == 'begin\\nend\\n'
assert look(0) == 0
with multiprocessing.Pool(2) as pool: assert pool.map(look, range(9)) == [1000.0 * i for i in range(9)]
assert open('a3.nc', 'rb').read(3) == b'CDF' and os.path.exists('a4.nc')
try: netCDF4.Dataset('never.nc')
except FileNotFoundError: pass
else: raise SystemExit('there is never.nc')
"""


def processes():
    """Forked children, threads one after the other, and files by the C library beside netCDF in one process; a file that never comes is none."""
    write_flow(script("write.py", MIXED_WRITE), script("read.py", MIXED_READ))
    run()


CASES = {"processes": processes, "rules": rules, "killed": killed, "large": large, "mpi_ranks": mpi_ranks, "kept": kept, "to_pnetcdf": to_pnetcdf, "from_pnetcdf": from_pnetcdf, "python_pairs": python_pairs, "fortran": fortran, "live": live, "by_bytes": by_bytes}
clear_directory()
if case.startswith("calls"):
    calls_case(*(range(int(case[5:]), int(case[5:]) + 6)))
else:
    CASES[case]()
