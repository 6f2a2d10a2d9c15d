#!/usr/bin/python3
"""locks.py BUILD CASE: programs lock coupled files. The run orders writers and readers, so no reader's lock makes a writer fail."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, case = sys.argv[1:3]
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's modules
BEGIN = """
import fcntl, os, sys, time
def tell(name): open(name, 'w').close()
def wait(name):
    while not os.path.exists(name): time.sleep(0.02)
def can_lock(call, file, kind):
    try: call(file, kind | fcntl.LOCK_NB)
    except BlockingIOError: return False
    return True
"""


def run(writes, reads, rule, more):
    for name, script in (("write.py", writes), ("read.py", reads)):
        with open(name, "w") as file:
            file.write(BEGIN + script)
    harness.write_flow(PYTHON, {"writer": (1, "write.py"), "reader": (1, "read.py")}, [(rule, "writer", ["reader"], more)])
    return finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), 0)


def each_rule(writes, reads, rule="*.nc"):
    for more in ("through: file", "", "keep: true"):
        clear_directory()
        run(writes, reads, rule, more)


def hdf5():
    """HDF5 locks each file that it opens. A reader keeps the file open while its writer goes on in it."""
    each_rule(
        """
import netCDF4
with netCDF4.Dataset('a.nc', 'w') as file:
    file.createDimension('t', None)
    file.createVariable('v', 'i4', ('t',))[:] = [1, 2]
wait('opened')
with netCDF4.Dataset('a.nc', 'a') as file: file['v'][2:4] = [3, 4]
tell('changed')
wait('opened again')
with netCDF4.Dataset('a.nc', 'a') as file: assert file['v'][:].tolist() == [1, 2, 3, 4]
tell('done')
""", """
import netCDF4
file = netCDF4.Dataset('a.nc')
assert file['v'][:2].tolist() == [1, 2]
tell('opened')
wait('changed')
other = netCDF4.Dataset('a.nc')
tell('opened again')
wait('done')
""")


def calls():
    """Each call that locks, on a file that the writer has open again."""
    each_rule(
        """
with open('a.nc', 'w') as file: file.write('first')
wait('locked')
with open('a.nc', 'r+') as file:
    assert can_lock(fcntl.flock, file, fcntl.LOCK_EX) and can_lock(fcntl.lockf, file, fcntl.LOCK_EX)
    tell('written')
    wait('locked again')
""", """
file = open('a.nc')
assert can_lock(fcntl.flock, file, fcntl.LOCK_SH) and can_lock(fcntl.lockf, file, fcntl.LOCK_SH)
assert can_lock(fcntl.flock, file, fcntl.LOCK_EX)
tell('locked')
wait('written')
assert can_lock(fcntl.flock, file, fcntl.LOCK_SH) and can_lock(fcntl.lockf, file, fcntl.LOCK_SH)
fcntl.flock(file, fcntl.LOCK_UN)
try: fcntl.lockf(file, fcntl.LOCK_EX)
except OSError: pass
else: sys.exit('a lock for writing on a descriptor for reading')
tell('locked again')
""")


def others():
    """Files that no rule covers have locks as ever, and so have those that the writer's own processes write."""
    each_rule(
        """
def fails_in_child(path):
    child = os.fork()
    if child == 0:
        with open(path, 'r+') as mine: os._exit(0 if not can_lock(fcntl.flock, mine, fcntl.LOCK_EX) and not can_lock(fcntl.lockf, mine, fcntl.LOCK_EX) else 1)
    return os.waitpid(child, 0)[1] == 0
with open('a.nc', 'w') as file, open('other.txt', 'w') as other:
    for each in (file, other): fcntl.flock(each, fcntl.LOCK_EX); fcntl.lockf(each, fcntl.LOCK_EX)
    assert fails_in_child('a.nc') and fails_in_child('other.txt')
    tell('locked')
    wait('tried')
""", """
wait('locked')
with open('other.txt', 'r+') as other:
    assert not can_lock(fcntl.flock, other, fcntl.LOCK_SH) and not can_lock(fcntl.lockf, other, fcntl.LOCK_SH)
tell('tried')
open('a.nc').close()
""")


clear_directory()
globals()[case]()
