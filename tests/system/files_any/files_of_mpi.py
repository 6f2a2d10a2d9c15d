#!/usr/bin/python3
"""files_of_mpi.py BUILD PROGRAM CASE [RECORDS]: files that programs with MPI write by the C library, or by MPI-IO, are read as the same bytes by others, and by PROGRAM (couple.c)
where they are CDF files."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish, text

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


PARALLEL_HDF5 = """
from mpi4py import MPI
import h5py, numpy, sys
if not h5py.get_config().mpi: sys.exit(77)
comm = MPI.COMM_WORLD
for step in range(3):
    with h5py.File(f'field{step}.h5', 'w', driver='mpio', comm=comm) as file:
        v = file.create_dataset('v', (comm.size * 1000,), 'f8')
        v[comm.rank * 1000:(comm.rank + 1) * 1000] = numpy.arange(1000) + comm.rank + step
        w = file.create_dataset('group/w', (comm.size, 50), 'i4', chunks=(1, 50))
        with w.collective:
            w[comm.rank, :] = comm.rank * 100 + numpy.arange(50)
        file.attrs['step'] = step
"""
PARALLEL_HDF5_READER = """
from mpi4py import MPI
import h5py, numpy
comm = MPI.COMM_WORLD
for step in range(3):
    with h5py.File(f'field{step}.h5', 'r', driver='mpio', comm=comm) as file:
        assert file.attrs['step'] == step and (file['v'][1000 * comm.rank:1000 * (comm.rank + 1)] == numpy.arange(1000) + comm.rank + step).all()
        assert (file['group/w'][2] == 200 + numpy.arange(50)).all()
"""


def parallel_hdf5():
    """All ranks write one file by HDF5 with MPI-IO: serial programs read the same bytes, and parallel ones the same values."""
    harness.need_parallel_h5py()
    run(PARALLEL_HDF5, "for i in 0 1 2; do cp field$i.h5 copy$i; h5dump field$i.h5 > dump$i; done", rule="*.h5", ranks=3)
    expect(not os.path.exists("field0.h5"), "field0.h5 is on disk")
    directly(3)
    for step in range(3):
        expect_same(f"copy{step}", f"field{step}.h5")
        expect(text(f"dump{step}") == harness.call("h5dump", f"field{step}.h5", cwd="direct", status=0).out, "h5dump's text differs")
    with open("read.py", "w") as file:
        file.write(PARALLEL_HDF5_READER)
    run(PARALLEL_HDF5, "", rule="*.h5", ranks=3, reader=f"{PYTHON} read.py", reader_ranks=2)


def fortran():
    """A Fortran program with MPI writes by its own library: files of ranks, records of one file, text, a namelist, a stream. Another one reads them without saying that it
    only reads, so its library first opens them for both."""
    records = sys.argv[4]
    with open("reader.sh", "w") as file:
        file.write("set -e\nfor i in 1 2 3; do cp shared_$i.w copy.shared_$i; for r in 0 1 2; do cp own_${i}_$r.w copy.own_${i}_$r; done; done\n"
                   "for name in log stream setting; do cp $name.w copy.$name; done\nuntil test -e done; do sleep 0.1; done\ntest ! -e gone.w\n")
    with open("flow.yaml", "w") as flow:
        flow.write(f"""version: 1
staging: {{prewarm: 0}}
components:
  writer: {{command: {records} write, ranks: 3}}
  reader: {{command: {records} read, ranks: 2}}
  copies: {{command: sh reader.sh}}
files:
  - {{path: "log.w", writer: writer, readers: [reader, copies], publish: "close:2"}}
  - {{path: "*.w", writer: writer, readers: [reader, copies]}}
""")
    result = finish(harness.start(build + "/bin/sluice", "run", "--verbose", "flow.yaml"), 0)
    expect(not [name for name in os.listdir(".") if name.endswith(".w")], "a file is on disk")
    expect("cannot change" not in result.all, "the reader is told that it cannot change what it reads")
    os.makedirs("direct")
    harness.launch(3, records, "write", cwd="direct", status=0)
    for name in os.listdir("direct"):
        if name.endswith(".w"):
            expect_same("copy." + name[:-2], name)


def killed():
    """A rank that is killed publishes nothing, and readers are told."""
    writes = ("import os, signal\nfrom mpi4py import MPI\nopen('whole.nc', 'w').write('whole')\nMPI.COMM_WORLD.Barrier()\nif MPI.COMM_WORLD.rank == 0:\n"
              "    half = open('half.nc', 'w'); half.write('half'); half.flush(); os.kill(os.getpid(), signal.SIGKILL)\nMPI.COMM_WORLD.Barrier()")
    run(writes, "cat whole.nc > copy\ncat half.nc && exit 1\ntrue", status=None)
    expect(text("copy") == "whole", "what was closed")
    expect(harness.is_logged("half.nc' is not published") and harness.is_logged("was killed before it had closed it"), "the event log does not say why")


def several_nodes():
    """Processes of several nodes cannot write one file at once: the open fails, and the event log says what to do. One may go on in what another has closed."""
    writes = ("from mpi4py import MPI\ncomm = MPI.COMM_WORLD\nif comm.rank == 0: file = open('a.nc', 'w')\ncomm.Barrier()\ntry:\n    if comm.rank == 1: open('a.nc', 'w')\n"
              "    assert comm.rank == 0\nexcept PermissionError:\n    pass\ncomm.Barrier()\nif comm.rank == 0: file.write('whole'); file.close()\ncomm.Barrier()\n"
              "if comm.rank == 1:\n    with open('a.nc', 'a') as file: file.write(', and more')\ncomm.Barrier()\nif comm.rank == 0: print(open('a.nc').read(), flush=True)\n")
    result = run(writes, "cat a.nc > copy")
    expect("[writer] whole, and more" in result.out + result.err, "what rank 0 finds when both have written")
    expect(harness.is_logged("'a.nc' is written by the C library (or MPI-IO) in processes of different nodes"), "the event log does not say why")


def several_matchers():
    """Ranks of one node, whose data has several matchers, write one file together, and see what each other writes."""
    writes = ("import os\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\nif comm.rank == 0: file = open('a.nc', 'w')\ncomm.Barrier()\nif comm.rank == 1: file = open('a.nc', 'a')\n"
              "for rank in range(2):\n    if comm.rank == rank: file.write(f'rank {rank} '); file.flush()\n    comm.Barrier()\n    assert os.stat('a.nc').st_size == 7 * (rank + 1)\n"
              "    assert open('a.nc').read().endswith(f'{rank} ')\n    comm.Barrier()\nfile.close()\n")
    run(writes, "cat a.nc > copy")
    expect(text("copy") == "rank 0 rank 1 ", "what the reader has got: " + text("copy"))


clear_directory()
globals()[case]()
