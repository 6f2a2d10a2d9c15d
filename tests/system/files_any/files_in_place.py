#!/usr/bin/python3
"""files_in_place.py BUILD PROGRAM CASE: with `through: file`, programs write by the C library, or by MPI-IO, on the disk itself, on any number of nodes. Others read the files by the
C library, or by PROGRAM (couple.c), when the last process has closed them."""
import os
import re
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish, text

build, program, case = sys.argv[1:4]
PYTHON = "/usr/bin/python3"


def write_flow(writes, reads, rule="*.nc", more="", reader="sh reader.sh", reader_ranks=None, ranks=None, options=""):
    """A Python program (`ranks`) or a script writes; a script or `reader` reads."""
    with open("write.py" if ranks else "writer.sh", "w") as file:
        file.write((writes if ranks else "set -e\n" + writes) + "\n")
    with open("reader.sh", "w") as file:
        file.write("set -e\n" + reads + "\n")
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join([
            "version: 1", "name: test", f"staging: {{prewarm: 0{', matchers: ' + os.environ['SLUICE_TEST_MATCHERS'] if 'SLUICE_TEST_MATCHERS' in os.environ else ''}}}", "components:",
            f"  writer: {{command: {PYTHON + ' write.py' if ranks else 'sh writer.sh'}{f', ranks: {ranks}' if ranks else ''}{options}}}",
            f"  reader: {{command: {reader}{f', ranks: {reader_ranks}' if reader_ranks else ''}}}", "files:",
            f'  - {{path: "{rule}", writer: writer, readers: [reader], through: file{more}}}'
        ]) + "\n")


def start(*options):
    return harness.start(build + "/bin/sluice", "run", *options, "flow.yaml")


def run(status=0):
    return finish(start(), status)


def directly(ranks):
    """The same program without a run, in direct/."""
    os.makedirs("direct")
    harness.launch(ranks, PYTHON, "../write.py", cwd="direct", status=0)


def expect_same(copy, original):
    with open(copy, "rb") as one, open(original, "rb") as other:
        expect(one.read() == other.read(), f"{copy} has other bytes than {original}")


SLOW = """
import sys, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
for step in range(3):
    with open(f'rank{comm.rank}_{step}.nc', 'w') as file:
        file.write(f'begin of {step}\\n')
        file.flush()
        time.sleep(0.2)
        file.write(f'end of {step} by {comm.rank}\\n')
"""


def waits():
    """Readers wait for the last close, and find what the writer has left on the disk."""
    write_flow(SLOW, "for step in 0 1 2; do for rank in 0 1; do cat rank${rank}_$step.nc; done; done > all\n! cat rank7_0.nc 2> /dev/null", ranks=2)
    run()
    expect(text("all") == "".join(f"begin of {step}\nend of {step} by {rank}\n" for step in range(3) for rank in range(2)), "the text:\n" + text("all"))
    expect(os.path.exists("rank1_2.nc"), "the file is not on disk")


SHELL = """
sleep 0.3
echo one > a.nc
(echo two; sleep 0.3; sh -c 'echo three') > 'b c.nc'
echo four > d.nc; sleep 0.1; echo five >> d.nc
printf whole > part.tmp; mv part.tmp e.nc
install -m 640 /etc/passwd f.nc
truncate -s 100 g.nc
ncgen -o h.nc text.cdl
test -s a.nc && cat a.nc > /dev/null
touch last.nc
"""


def shell():
    """Redirections that a child inherits, appending, a temporary name, and tools. A reader may remove what it has read, as on disk."""
    with open("text.cdl", "w") as file:
        file.write("netcdf h { dimensions: x = 3 ; variables: double v(x) ; data: v = 1, 2, 3 ; }\n")
    write_flow(SHELL, "cat a.nc > a\ncat 'b c.nc' > b\ncat last.nc\ncat d.nc > d\ncp e.nc e\ncp f.nc f\nstat -c %a f.nc > mode\nstat -c %s g.nc > size\nncdump -v v h.nc > h\nrm a.nc\necho more >> d.nc")
    run()
    expect(text("a") == "one\n" and text("b") == "two\nthree\n", "redirected: " + text("a") + text("b"))
    expect(text("d") == "four\nfive\n" and text("e") == "whole" and text("size") == "100\n" and text("mode") == "640\n", "the others")
    expect_same("f", "/etc/passwd")
    expect("v = 1, 2, 3" in text("h"), "netCDF")
    expect(not os.path.exists("a.nc") and text("d.nc") == "four\nfive\nmore\n", "what the reader has changed")


def hyperslabs():
    """A CDF file of a serial program is read by PnetCDF on two ranks, and the other way round."""
    write_flow("import netCDF4, numpy, time\nfor name in ('five.nc', 'again.nc'):\n    time.sleep(0.2)\n    seed = 0.0\n    for letter in name: seed = seed * 3 + ord(letter)\n"
               "    with netCDF4.Dataset(name, 'w', format='NETCDF3_64BIT_DATA') as file:\n        file.createDimension('x', 101)\n"
               "        file.createVariable('v', 'f8', ('x',))[:] = seed + numpy.arange(101) / 4", "", ranks=1, reader=f"{program} read five.nc 101 read again.nc 101", reader_ranks=2)
    run()
    clear_directory()
    write_flow("", "ncdump -h a.nc > head\ncp b.nc b", reader="sh reader.sh")
    with open("flow.yaml") as file:
        flow = file.read().replace("sh writer.sh", f"{program} write a.nc 1000 write b.nc 1000").replace("command: " + program, "ranks: 2, command: " + program)
    with open("flow.yaml", "w") as file:
        file.write(flow)
    run()
    expect("double v(x)" in text("head"), "the header: " + text("head"))
    expect_same("b", "b.nc")


MPI_IO = """
import time
from mpi4py import MPI
import numpy
comm = MPI.COMM_WORLD
for step in range(3):
    file = MPI.File.Open(comm, f'raw{step}.nc', MPI.MODE_CREATE | MPI.MODE_RDWR)
    file.Write_at_all(comm.rank * 80000, numpy.full(10000, comm.rank + step, 'f8'))
    if comm.rank == step: time.sleep(0.3)
    file.Close()
    with open('log.nc', 'a') as log: log.write(f'{comm.rank} {step}\\n')
comm.Barrier()
if comm.rank == 0: open('done.nc', 'w').close()
"""


def mpi_io():
    """All ranks, of whatever node, write one file by MPI-IO, and add lines to one text."""
    write_flow(MPI_IO, "for i in 0 1 2; do cp raw$i.nc copy$i; done\ncat done.nc log.nc | sort > lines", ranks=3)
    result = run()
    directly(3)
    for step in range(3):
        expect_same(f"copy{step}", f"direct/raw{step}.nc")
    expect(text("lines") == "".join(f"{rank} {step}\n" for rank in range(3) for step in range(3)), "the text: " + text("lines"))
    # One file is one step, whatever the number of matchers.
    expect(re.search(r"^raw1\.nc +1 +234 KiB +\d+ +0 B +0 +0 +[\d.]+ s +[1-9] ", result.all, re.MULTILINE), "the table of files: " + result.all)


PARALLEL_HDF5 = """
import os
from mpi4py import MPI
import h5py, numpy
comm = MPI.COMM_WORLD
for step in range(3):
    with h5py.File(f'field{step}.h5', 'w', driver='mpio', comm=comm) as file:
        v = file.create_dataset('v', (1000 * comm.size,), 'f8')
        v[1000 * comm.rank:1000 * (comm.rank + 1)] = numpy.arange(1000) + comm.rank + step
        file.attrs['step'] = step
"""


def parallel_hdf5():
    """All ranks write one file by HDF5 with MPI-IO, on whatever nodes."""
    harness.need_parallel_h5py()
    write_flow(PARALLEL_HDF5, "for i in 0 1 2; do cp field$i.h5 copy$i; h5dump field$i.h5 > dump$i; done", rule="*.h5", ranks=4)
    run()
    directly(4)
    for step in range(3):
        expect_same(f"copy{step}", f"direct/field{step}.h5")


def killed():
    """A writer that is killed publishes nothing; what it has written stays on the disk."""
    write_flow("import os, signal\nfrom mpi4py import MPI\nif MPI.COMM_WORLD.rank == 0: open('whole.nc', 'w').write('whole')\nMPI.COMM_WORLD.Barrier()\nif MPI.COMM_WORLD.rank == 1:\n"
               "    half = open('half.nc', 'w'); half.write('half'); half.flush(); os.kill(os.getpid(), signal.SIGKILL)\nMPI.COMM_WORLD.Barrier()",
               "cat whole.nc > copy\ncat half.nc && exit 1\ntrue", ranks=2)
    run(None)
    expect(text("copy") == "whole" and text("half.nc") == "half", "what was closed")
    expect(harness.is_logged("half.nc' is not published") and harness.is_logged("was killed before it had closed it"), "the event log does not say why")


SAME_NUMBERS = """
import os, signal
first = os.open('one/a.nc', os.O_WRONLY | os.O_CREAT)
second = os.open('two/b.nc', os.O_WRONLY | os.O_CREAT)
assert os.fstat(first).st_ino == os.fstat(second).st_ino and os.fstat(first).st_dev != os.fstat(second).st_dev
os.write(first, b'half')
os.write(second, b'whole')
os.close(second)
os.kill(os.getpid(), signal.SIGKILL)
"""


def same_numbers():
    """Files of two file systems with the same number: one that was closed in order is published although its process was killed with the other one open."""
    harness.in_own_namespace()
    for _ in range(5):
        with harness.SmallDisk("one", 1, may_keep=True), harness.SmallDisk("two", 1, may_keep=True):
            with open("numbers.py", "w") as file:
                file.write(SAME_NUMBERS)
            write_flow(f"{PYTHON} numbers.py || true\nsleep 0.5", "cat two/b.nc > whole\n! cat one/a.nc 2> /dev/null", rule="*.nc")
            run(3)
            expect(text("whole") == "whole", "the text")
            expect(harness.is_logged("one/a.nc' is not published") and not harness.is_logged("two/b.nc' is not published"), "what the event log says")


RENAMED_OVER = """
import os, time
def write(name, text):
    with open(name, 'w') as file: file.write(text)

# Over a file that is being written.
with open('a.nc', 'w') as old:
    old.write('old, and longer than the new one')
    old.flush()
    write('other.tmp', 'new')
    number = os.stat('other.tmp').st_ino
    os.rename('other.tmp', 'a.nc')
    assert os.stat('a.nc').st_ino == number and not os.path.exists('other.tmp')
    old.write(', and more')
# Over one that a reader holds.
write('b.nc', 'first, and longer than the second')
while not os.path.exists('held'): time.sleep(0.01)
write('other.tmp', 'second')
os.rename('other.tmp', 'b.nc')
write('moved', '')
# Renamed before it is closed.
with open('other.tmp', 'w') as late:
    late.write('part ')
    late.flush()
    os.rename('other.tmp', 'c.nc')
    time.sleep(0.3)
    late.write('whole')
# From another name of the rule, that is published and that is being written.
write('d.nc', 'one')
os.rename('d.nc', 'e.nc')
with open('d.nc', 'w') as late:
    late.write('half ')
    late.flush()
    os.rename('d.nc', 'f.nc')
    late.write('whole')
assert not os.path.exists('d.nc')
# To its own name, and not over what is there.
os.rename('a.nc', 'a.nc')
# From a file in memory, over one that is being written.
with open('g.nc', 'w') as old:
    old.write('old, and longer than the new one')
    old.flush()
    write('g.txt', 'memory')
    os.rename('g.txt', 'g.nc')
    old.write(', and more')
assert [open(f'{name}.nc').read() for name in 'abcefg'] == ['new', 'second', 'part whole', 'one', 'half whole', 'memory']
"""


def renamed_over():
    """A file that is renamed to the name of one that is open takes its place, and whoever has that open keeps it: no file is a mix of two."""
    with open("renamed.py", "w") as file:
        file.write(RENAMED_OVER)
    write_flow(f"trap 'touch done' EXIT\n{PYTHON} renamed.py", "exec 3< b.nc\ntouch held\ncat c.nc > c\nuntil test -e moved; do sleep 0.05; done\ncat <&3 > held.b\nuntil test -e done; do sleep 0.05; done\nfor i in a b e f g; do cat $i.nc > $i; done\n! cat d.nc 2> /dev/null\n"
               "! cat g.txt 2> /dev/null")
    with open("flow.yaml", "a") as flow:
        flow.write("  - {path: '*.txt', writer: writer, readers: [reader]}\n")
    result = run()
    expect(harness.is_logged("another file was renamed to its name while it was open"), "the event: " + result.all)
    expect(text("held.b") == "first, and longer than the second", "what the reader holds: " + text("held.b"))
    for name, wanted in zip("abcefg", ("new", "second", "part whole", "one", "half whole", "memory")):
        expect(text(name) == wanted, f"{name}: {text(name)}")
    expect(not [name for name in os.listdir() if ".renamed-" in name], "what is left: " + str(os.listdir()))


def renamed_by_tools():
    """mv, and programs that write to a temporary name, as often as they like, with publish: exit and close:2, over files from before the run and read-only ones."""
    with open("a.nc", "w") as file:
        file.write("from before the run\n")
    writes = ("exec 3<> a.nc\nexec 3>&-\necho one > tmp\nmv tmp a.nc\necho two > tmp\nmv -f tmp a.nc\necho three > tmp\nmv -n tmp a.nc\ntest -e tmp\nsed -i s/two/four/ a.nc\n"
              "install -m 444 a.nc b.nc\necho five > tmp\nchmod 444 tmp\nmv -f tmp b.nc")
    for publish in ("", ", publish: exit", ", publish: 'close:2'"):
        write_flow(f"{writes}\ntouch done", "until test -e done; do sleep 0.05; done\ncat b.nc > b\ncat a.nc > a", more=publish)
        run()
        expect(text("a") == "four\n" and text("b") == "five\n", publish + ": " + text("a") + text("b"))
        os.remove("done")


def looked():
    """Who opens a file for writing and changes nothing makes no step; errors are those of the disk."""
    write_flow("echo whole > a.nc\nexec 3<> a.nc\nexec 3>&-\n! echo x 2> /dev/null > none/b.nc\nset -C\n! echo x 2> /dev/null > a.nc\ncat a.nc > own\nrm a.nc\n! test -e a.nc\n"
               "echo second > c.nc\nexec 3<> c.nc\nexec 3>&-", "cat c.nc > c\n! cat a.nc 2> /dev/null")
    result = run()
    expect(text("own") == "whole\n" and text("c") == "second\n", "the text")
    expect("2 files" in result.all or "c.nc" in result.all, result.all)


def no_leases():
    """Where the kernel does not tell who writes, as on network file systems, the processes' own word counts."""
    if os.geteuid() != 0:
        print("SKIPPED: needs root, to have files of another user")
        sys.exit(77)
    write_flow(MPI_IO, "for i in 0 1 2; do cp raw$i.nc copy$i; done\ncat done.nc log.nc | sort > lines", ranks=3)
    for name in ("raw0.nc", "raw1.nc", "raw2.nc", "log.nc"):
        open(name, "w").close()
        os.chown(name, 65534, 65534)
    finish(harness.start("setpriv", "--bounding-set=-lease", "--inh-caps=-lease", build + "/bin/sluice", "run", "flow.yaml"), 0)
    directly(3)
    for step in range(3):
        expect_same(f"copy{step}", f"direct/raw{step}.nc")
    expect(text("lines") == "".join(f"{rank} {step}\n" for rank in range(3) for step in range(3)), "the text: " + text("lines"))


clear_directory()
globals()[case]()
