"""field.py MPI LIBRARY write|read NAME NUMBERS PROCESSES: a Python program that uses PnetCDF by an extension. MPI: mpi4py starts MPI, or the extension does."""
import ctypes
import sys

mpi, library, action, name = sys.argv[1:5]
numbers, processes = map(int, sys.argv[5:7])
if mpi == "mpi4py":
    from mpi4py import MPI
field = ctypes.CDLL(library)
comm = MPI.COMM_WORLD.py2f() if mpi == "mpi4py" else field.field_start()
if field.field_size(comm) != processes:
    sys.exit(f"{field.field_size(comm)} processes in place of {processes}")
status = {"write": field.field_write, "read": field.field_read}[action](comm, name.encode(), numbers)
if mpi != "mpi4py":
    field.field_end()
sys.exit(f"{action} {name}: {status}" if status else 0)
