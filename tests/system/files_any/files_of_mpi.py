#!/usr/bin/python3
"""files_of_mpi.py BUILD PROGRAM CASE: files that programs with MPI write by the C library, or by MPI-IO, are read as the same bytes by others, and by PROGRAM (couple.c)
where they are CDF files."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, program, case = sys.argv[1:4]
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's modules


def run(writes, reads, rule="*.nc", ranks=2, reader="sh reader.sh", reader_ranks=None, more="", status=0, writer=None):
    """A Python program with MPI, and a script for the shell, or another reader."""
    for name, script in (("write.py", writes), ("reader.sh", "set -e\n" + reads)):
        with open(name, "w") as file:
            file.write(script + "\n")
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join([
            "version: 1", "name: test",
            f"staging: {{prewarm: 0{', matchers: ' + os.environ['SLUICE_TEST_MATCHERS'] if 'SLUICE_TEST_MATCHERS' in os.environ else ''}}}", "components:",
            f"  writer: {{command: {writer or PYTHON + ' write.py'}, ranks: {ranks}}}", f"  reader: {{command: {reader}{f', ranks: {reader_ranks}' if reader_ranks else ''}}}",
            "files:", f'  - {{path: "{rule}", writer: writer, readers: [reader]{more}}}'
        ]) + "\n")
    return finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), status)


def directly(ranks=2):
    """The same program without a run, in direct/."""
    os.makedirs("direct")
    harness.launch(ranks, PYTHON, "../write.py", cwd="direct", status=0)


def text(path):
    with open(path) as file:
        return file.read()


def expect_same(copy, original):
    with open(copy, "rb") as one, open("direct/" + original, "rb") as other:
        expect(one.read() == other.read(), f"{copy} has other bytes than {original}, written directly")


ONE_RANK = """
import os, sys
from mpi4py import MPI
import netCDF4, numpy
comm = MPI.COMM_WORLD
for step in range(3):
    total = comm.reduce(numpy.full(101, comm.rank + step, 'f8'))
    if comm.rank == 0:
        for name, kind in (('four%d.nc', 'NETCDF4'), ('classic%d.nc', 'NETCDF3_CLASSIC'), ('five%d.nc', 'NETCDF3_64BIT_DATA')):
            seed = 0.0
            for letter in name % step: seed = seed * 3 + ord(letter)
            with netCDF4.Dataset(name % step, 'w', format=kind) as file:
                file.createDimension('x', 101)
                file.createVariable('v', 'f8', ('x',))[:] = seed + numpy.arange(101) / 4
                file.total = total
            with netCDF4.Dataset(name % step, 'a') as file:
                file.title = 'again'
        with open('log.nc', 'a') as log:
            log.write(f'step {step}\\n')
comm.Barrier()
assert open('log.nc').read() == 'step 0\\nstep 1\\nstep 2\\n'  # each rank of the node sees it
assert os.stat('four1.nc').st_size > 0 and not os.path.exists('four9.nc')
comm.Barrier()
if comm.rank == 0:
    with open('part.tmp', 'w') as file: file.write('whole')
    os.rename('part.tmp', 'whole.nc')
    with open('gone.nc', 'w') as file: file.write('gone')
    os.unlink('gone.nc')
    assert not os.path.exists('gone.nc')
    open('done', 'w').close()
"""


def one_rank():
    """Rank 0 of a program with mpi4py writes netCDF files and text, as most scripts do."""
    names = [f"{kind}{step}.nc" for kind in ("four", "classic", "five") for step in range(3)]
    result = run(ONE_RANK, "until test -e done; do sleep 0.1; done\n" + "\n".join(f"cp {name} copy.{name}" for name in names) +
                 f"\ncat log.nc whole.nc > all\ntest ! -e gone.nc\n{PYTHON} -c \"import netCDF4; assert netCDF4.Dataset('four2.nc').title == 'again'\"")
    expect(not any(name.endswith(".nc") and not name.startswith("copy") for name in os.listdir(".")), "a file is on disk: " + result.all)
    expect(text("all") == "step 0\nstep 1\nstep 2\nwhole", "the text: " + text("all"))
    directly()
    for name in names:
        if not name.startswith("four"):
            expect_same("copy." + name, name)
    clear_directory()
    run(ONE_RANK, "", reader=f"{program} " + " ".join(f"read {name} 101" for name in names if not name.startswith("four")), reader_ranks=2)


def each_rank():
    """Each rank writes a file of its own, again and again."""
    writes = ("from mpi4py import MPI\nrank = MPI.COMM_WORLD.rank\nfor i in range(20):\n    with open(f'rank{rank}_{i}.nc', 'w') as file: file.write(f'{rank} {i}\\n' * 1000)\n"
              "    if i % 5 == 0: MPI.COMM_WORLD.Barrier()")
    run(writes, "for rank in 0 1 2; do i=0; while [ $i -lt 20 ]; do cp rank${rank}_$i.nc copy.rank${rank}_$i.nc; i=$((i + 1)); done; done", ranks=3)
    directly(3)
    for name in os.listdir("direct"):
        expect_same("copy." + name, name)


MPI_IO = """
from mpi4py import MPI
import numpy
comm = MPI.COMM_WORLD
for step in range(3):
    file = MPI.File.Open(comm, f'raw{step}.nc', MPI.MODE_CREATE | MPI.MODE_RDWR)
    file.Write_at_all(comm.rank * 80000, numpy.full(10000, comm.rank + step, 'f8'))
    file.Close()
"""


def mpi_io():
    """All ranks of a node write one file by MPI-IO, as parallel HDF5 does: it is published when the last one has closed it."""
    run(MPI_IO, "for i in 0 1 2; do cp raw$i.nc copy$i; done", ranks=3)
    expect(not os.path.exists("raw0.nc"), "raw0.nc is on disk")
    directly(3)
    for step in range(3):
        expect_same(f"copy{step}", f"raw{step}.nc")


def beside_pnetcdf():
    """A component whose program writes by PnetCDF, and looks for its files by the C library, writes as ever."""
    run("", "cat a.nc > /dev/null\ncat b.nc > /dev/null", writer=f"{program} write a.nc 1000 write b.nc 1000")
    run("", "", writer=f"{program} write a.nc 1000 write b.nc 1000", reader=f"{program} read a.nc 1000 read b.nc 1000", reader_ranks=2)
    expect(not os.path.exists("a.nc"), "a.nc is on disk")


def killed():
    """A rank that is killed publishes nothing, and readers are told."""
    writes = ("import os, signal\nfrom mpi4py import MPI\nopen('whole.nc', 'w').write('whole')\nMPI.COMM_WORLD.Barrier()\nif MPI.COMM_WORLD.rank == 0:\n"
              "    half = open('half.nc', 'w'); half.write('half'); half.flush(); os.kill(os.getpid(), signal.SIGKILL)\nMPI.COMM_WORLD.Barrier()")
    run(writes, "cat whole.nc > copy\ncat half.nc && exit 1\ntrue", status=None)
    expect(text("copy") == "whole", "what was closed")
    expect(harness.is_logged("half.nc' is not published") and harness.is_logged("was killed before it had closed it"), "the event log does not say why")


def several_nodes():
    """Processes of several nodes, or of several matchers, cannot write one file so: the open fails, and the event log says what to do."""
    writes = ("from mpi4py import MPI\ncomm = MPI.COMM_WORLD\nif comm.rank == 0: file = open('a.nc', 'w')\ncomm.Barrier()\ntry:\n    if comm.rank == 1: open('a.nc', 'w')\n"
              "    assert comm.rank == 0\nexcept PermissionError:\n    pass\ncomm.Barrier()\nif comm.rank == 0: file.write('whole'); file.close()\ncomm.Barrier()\ntry:\n"
              "    if comm.rank == 1: open('a.nc', 'a')\n    assert comm.rank == 0\nexcept PermissionError:\n    pass\n")
    run(writes, "cat a.nc > copy")
    expect(text("copy") == "whole", "what rank 0 has written")
    expect(harness.is_logged("'a.nc' is written by the C library (or MPI-IO) in processes of different nodes or matchers"), "the event log does not say why")


clear_directory()
globals()[case]()
