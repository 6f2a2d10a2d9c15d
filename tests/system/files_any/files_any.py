#!/usr/bin/python3
"""files_any.py BUILD PROGRAM CASE: files that PROGRAM (couple.c) writes in a run are read by programs that know nothing of PnetCDF, as the bytes that PROGRAM
writes without a run."""
import filecmp
import os
import shutil
import struct
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import call, clear_directory, expect, finish, launch, wait_for_event

build, program, case = sys.argv[1:4]
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's modules


def write_flow(writes, script, rule="*.nc", more="", staging="prewarm: 0", reader="command: sh reader.sh"):
    """A model that writes, and a reader that is a script for the shell."""
    with open("reader.sh", "w") as file:
        file.write("set -e\n" + script + "\n")
    lines = ["version: 1", "name: test", f"staging: {{{staging}}}", "components:", f"  model: {{command: {program} {writes}, ranks: 2}}",
             f"  reader: {{{reader}}}", "files:", f'  - {{path: "{rule}", writer: model, readers: [reader]{more}}}']
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join(lines) + "\n")


def run(status=0, *arguments):
    result = finish(harness.start(build + "/bin/sluice", "run", *arguments, "flow.yaml"), status)
    return result


def directly(writes):
    """What the program writes without a run, in direct/."""
    os.makedirs("direct")
    launch(2, program, *writes.split(), cwd="direct", status=0)
    for name in os.listdir("direct"):  # under a name that no rule covers
        shutil.copy("direct/" + name, "direct/" + name + ".expected")


def expect_same(copy, original):
    expect(filecmp.cmp(copy, "direct/" + original, shallow=False), f"{copy} has other bytes than {original}, written directly")


def expect_uncoupled_output(copy, *command):
    """What a tool has printed in the run is what it prints of the file that was written directly."""
    with open(copy) as file:
        expect(file.read() == call(*command, cwd="direct", status=0).out, f"{copy} differs")


def tools():
    """Each tool reads what the file on disk would have."""
    writes = "write a.nc 100000"
    directly(writes)
    script = ["cp a.nc copy.cp", "cat a.nc > copy.cat", "md5sum a.nc > sums", "dd if=a.nc of=copy.dd bs=1000 2> dd.err", "test -f a.nc", "wc -c < a.nc > size"]
    has_netcdf4 = call(PYTHON, "-c", "import netCDF4").status == 0
    if shutil.which("ncdump"):
        script += ["ncdump a.nc > dump", "ncdump -h a.nc > header", "ncdump -k a.nc > kind"]
    if shutil.which("nccopy"):
        script += ["nccopy a.nc copied"]
    if shutil.which("ncks"):
        script += ["ncks -O -h a.nc picked"]
    if has_netcdf4:
        with open("sum.py", "w") as file:
            file.write("import netCDF4, sys\nprint(repr(float(netCDF4.Dataset('a.nc')['v'][:].sum())))\n")
        script += [f"{PYTHON} sum.py > sum"]
    write_flow(writes, "\n".join(script))
    run()
    expect(not os.path.exists("a.nc"), "a.nc is on disk")
    for copy in ("copy.cp", "copy.cat", "copy.dd"):
        expect_same(copy, "a.nc")
    expect_uncoupled_output("sums", "md5sum", "a.nc")
    with open("size") as size:
        expect(int(size.read()) == os.path.getsize("direct/a.nc"), "the size")
    if shutil.which("ncdump"):
        expect_uncoupled_output("dump", "ncdump", "a.nc")
        expect_uncoupled_output("header", "ncdump", "-h", "a.nc")
        expect_uncoupled_output("kind", "ncdump", "-k", "a.nc")
    if shutil.which("nccopy"):
        call("nccopy", "a.nc", "copied", cwd="direct", status=0)
        expect_same("copied", "copied")
    if shutil.which("ncks"):
        call("ncks", "-O", "-h", "a.nc", "picked", cwd="direct", status=0)
        expect_same("picked", "picked")
    if has_netcdf4:
        expect_uncoupled_output("sum", PYTHON, "../sum.py")


def waits_for_writer():
    writes = "await go write a.nc 1000"
    directly("write a.nc 1000")
    write_flow(writes, "cat a.nc > copy")
    process = harness.start(build + "/bin/sluice", "run", "--notice-after", "1", "flow.yaml")
    wait_for_event(process, "waits for 'a.nc' from model")
    harness.allow("go")
    finish(process, 0)
    expect_same("copy", "a.nc")


def never_comes():
    """As with files on disk: it is not there. The event log has the reason."""
    write_flow("write b.nc 10", "cat a.nc > copy 2> text && exit 1\ncat text\ntest -e a.nc && exit 1\ncat b.nc > copy")
    result = run()
    expect("No such file" in result.all, "cat does not say that there is no file")
    expect(harness.is_logged("'a.nc'"), "the event log does not name the file")


def cycle():
    """Two scripts that wait for each other's files: both opens fail, and the cycle is named. Also where each has a file open for another command."""
    for script in ("cat b.txt || touch told.a; echo x > a.txt", "exec 9< first.txt; cat b.txt || touch told.a; echo x > a.txt"):
        with open("flow.yaml", "w") as flow:
            flow.write(f"version: 1\nname: test\ncomponents:\n  a: {{command: [sh, -c, '{script}']}}\n  b: {{command: [sh, -c, 'echo 1 > first.txt; cat a.txt || touch told.b; echo x > b.txt']}}\nfiles:\n"
                       "  - {path: a.txt, writer: a, readers: [b]}\n  - {path: b.txt, writer: b, readers: [a]}\n  - {path: first.txt, writer: b, readers: [a]}\n")
        result = run()
        expect(os.path.exists("told.a") or os.path.exists("told.b"), "no open has failed")
        expect("a cycle of waits: " in result.all, "the cycle is not named")
        for name in ("told.a", "told.b"):
            if os.path.exists(name):
                os.remove(name)


def sequence():
    writes = "repeat 20 write a%d.nc 3000"
    directly(writes)
    write_flow(writes, "i=0\nwhile [ $i -lt 20 ]; do cp a$i.nc copy$i; i=$((i + 1)); done")
    run()
    for i in range(20):
        expect_same(f"copy{i}", f"a{i}.nc")


def many():
    """Each file has an image, and the matcher has 256 descriptors."""
    write_flow("repeat 600 write a%d.nc 30", "i=0\nwhile [ $i -lt 600 ]; do cp a$i.nc copy$i; i=$((i + 1)); done\ncp a3.nc again")
    finish(harness.start("sh", "-c", f"ulimit -n 256; exec {build}/bin/sluice run flow.yaml"), 0)
    directly("repeat 600 write a%d.nc 30")
    for i in range(600):
        expect_same(f"copy{i}", f"a{i}.nc")
    expect_same("again", "a3.nc")


def blank():
    os.makedirs("out of")
    os.makedirs("direct/out of")
    launch(2, program, "write", "out of/a b.nc", "1000", cwd="direct", status=0)
    write_flow("write 'out of/a b.nc' 1000", "cp 'out of/a b.nc' copy")
    run()
    expect_same("copy", "out of/a b.nc")


def glob():
    """A rule with wildcards in a directory; what it does not cover is on disk, and so are directories."""
    writes = "write wave_1.nc 500 write wave_22.nc 700"
    directly(writes)
    with open("wave_x.txt", "w") as file:
        file.write("on disk\n")
    os.makedirs("wave_dir.nc")
    write_flow(writes, 'ls -d wave_dir.nc\ncat wave_x.txt > text\ncp wave_1.nc copy1\ncp "$PWD/wave_22.nc" copy2\ncat ./wave_1.nc > copy3', "wave_[a-z0-9]*.nc")
    run()
    expect_same("copy1", "wave_1.nc")
    expect_same("copy2", "wave_22.nc")
    expect_same("copy3", "wave_1.nc")
    expect(filecmp.cmp("text", "wave_x.txt", shallow=False), "an ordinary file")


def descriptors():
    """Offsets, sizes, times, mmap and threads, and forked children, are as with a file."""
    with open("look.py", "w") as file:
        file.write("""
import mmap, os, threading, time
before = os.stat('a.nc')
data = open('a.nc', 'rb').read()
with open('a.nc', 'rb') as one, open('a.nc', 'rb') as two:
    assert one.read(10) == two.read(10) == data[:10]
    assert os.fstat(one.fileno()).st_ino == before.st_ino and os.fstat(one.fileno()).st_dev == before.st_dev
    one.seek(0, 2)
    assert one.tell() == before.st_size == len(data)
    assert mmap.mmap(one.fileno(), 0, prot=mmap.PROT_READ)[:] == data
assert abs(before.st_mtime - time.time()) < 1000
assert os.path.isfile('a.nc') and os.access('a.nc', os.R_OK) and not os.access('a.nc', os.W_OK)
assert os.stat('b.nc').st_ino != before.st_ino
directory = os.open('.', os.O_RDONLY)
assert os.read(os.open('a.nc', os.O_RDONLY, dir_fd=directory), 4) == data[:4]
read = []
threads = [threading.Thread(target=lambda: read.append(open('a.nc', 'rb').read())) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert read == [data] * 8
os.closerange(3, 1000)  # as daemons do
assert open('a.nc', 'rb').read() == data
child = os.fork()
if child == 0:
    os._exit(0 if open('b.nc', 'rb').read(3) == b'CDF' else 1)
assert os.waitpid(child, 0)[1] == 0
many = [open('a.nc', 'rb') for _ in range(200)]
assert all(file.read() == data for file in many)
try:
    os.open('a.nc', os.O_RDONLY | os.O_DIRECTORY)
    assert False
except NotADirectoryError:
    pass
""")
    write_flow("write a.nc 5000 write b.nc 10", f"{PYTHON} look.py")
    run()


def shell():
    """A redirection is opened by the shell and inherited."""
    writes = "write a.nc 1000"
    directly(writes)
    write_flow(writes, "cat < a.nc > copy\n[ -r a.nc ]\n[ -s a.nc ]")
    run()
    expect_same("copy", "a.nc")


def stands_aside():
    """Without a rule for it, and for its writer, a file is an ordinary one."""
    with open("mine.nc", "w") as file:
        file.write("mine\n")
    write_flow("write a.nc 10", "cat mine.nc > copy\ncat a.nc > other", "a.nc")
    run()
    expect(filecmp.cmp("copy", "mine.nc", shallow=False), "an ordinary file")


def little_memory():
    """Files that have been read make room for those that come; those that have not are kept."""
    writes = "repeat 20 write a%d.nc 100000"
    directly(writes)
    write_flow(writes, "i=0\nwhile [ $i -lt 20 ]; do cp a$i.nc copy$i; i=$((i + 1)); done", staging="prewarm: 0, memory: 4MiB, spill: none")
    run()
    for i in range(20):
        expect_same(f"copy{i}", f"a{i}.nc")


def burst_buffer():
    writes = "write a.nc 5000"
    directly(writes)
    write_flow(writes, "cp a.nc copy\nncdump -h a.nc > header", more=", through: burst-buffer")
    run()
    expect_same("copy", "a.nc")


def slow_removals():
    """The matcher needs longer than --end-timeout to remove the logs. The run waits, because each log that is gone is progress."""
    writes = "repeat 40 write a%d.nc 1000"
    directly(writes)
    write_flow(writes, "for i in $(seq 0 39); do cp a$i.nc copy$i; done", more=", through: burst-buffer")
    process = harness.start("/usr/bin/env", f"LD_PRELOAD={sys.argv[4]}", "SLUICE_TEST_SLOW_UNLINK_MS=100", build + "/bin/sluice", "run", "--end-timeout", "2", "flow.yaml")
    finish(process, 0)
    for i in range(40):
        expect_same(f"copy{i}", f"a{i}.nc")
    expect(harness.is_logged("removes burst-buffer logs"), "no progress was told: the removals were not slow")


def kept():
    """The image and the file that is kept have the same bytes; an old file of that name is not read."""
    writes = "write a.nc 5000"
    directly(writes)
    with open("a.nc", "w") as file:
        file.write("old\n")
    write_flow(writes, "cp a.nc copy", more=", keep: true")
    run()
    expect_same("copy", "a.nc")
    expect_same("a.nc", "a.nc")


def variables():
    """Of a rule that keeps some of the variables a reader gets all."""
    writes = "write a.nc 5000"
    directly(writes)
    write_flow(writes, "cp a.nc copy", more=", keep: [w]")
    run()
    expect_same("copy", "a.nc")


def spilled():
    """Neither the data nor its image finds room in memory: both go to the disk."""
    os.makedirs("scratch")
    writes = "repeat 3 write a%d.nc 1000000"
    directly(writes)
    write_flow(writes, "for i in 0 1 2; do cp a$i.nc copy$i; cat a$i.nc > again$i; done", staging="prewarm: 0, memory: 4MiB, spill: scratch")
    run()
    for i in range(3):
        expect_same(f"copy{i}", f"a{i}.nc")
        expect_same(f"again{i}", f"a{i}.nc")
    expect(os.listdir("scratch") == [], "something is left in the spill directory")


def model_ahead():
    """The model has filled the memory before the reader comes, and there is no disk: the images that are needed go beyond the limit, and the event log says so."""
    writes = "repeat 20 write a%d.nc 100000"
    directly(writes)
    with open("copy.py", "w") as file:
        file.write("""
import os, shutil, time
while not os.path.exists('go'):
    time.sleep(0.05)
for i in range(20):
    shutil.copyfile(f'a{i}.nc', f'copy{i}')
""")
    write_flow(writes, f"exec {PYTHON} copy.py", staging="prewarm: 0, memory: 4MiB, spill: none")
    process = harness.start(build + "/bin/sluice", "run", "--notice-after", "1", "flow.yaml")
    wait_for_event(process, "waits for memory to write")
    harness.allow("go")
    finish(process, 0)
    for i in range(20):
        expect_same(f"copy{i}", f"a{i}.nc")
    expect(harness.is_logged("beyond the limit for 'a0.nc'"), "the event log does not tell that the limit was exceeded")


def growing():
    """publish: sync: each open gives what was synced last; publish: close follows."""
    directly("write a.nc 1000")
    os.makedirs("go")
    script = "cp a.nc first\ntouch go/a.nc\nuntil cmp -s a.nc direct/a.nc.expected; do sleep 0.05; done\ncp a.nc copy"
    write_flow("grow a.nc 1000", script, rule="a.nc", more=", publish: sync")
    run()
    expect_same("copy", "a.nc")
    with open("first", "rb") as first, open("direct/a.nc", "rb") as whole:
        first, whole = first.read(), whole.read()
    expect(len(first) == len(whole) and first != whole, "the first state is no part of the file")
    fill = struct.pack(">d", 9.9692099683868690e+36)
    begin = len(whole) - 8 * 1000
    for i in range(1000):
        value = first[begin + 8 * i:begin + 8 * i + 8]
        expect(value == fill or value == whole[begin + 8 * i:begin + 8 * i + 8], f"element {i} is neither what was put nor the fill value")
    expect(first[begin:begin + 8 * 200] == whole[begin:begin + 8 * 200], "what was synced is missing")


def complete_only():
    """publish: write: a program that reads a file waits until all of it is there."""
    directly("write a.nc 1000")
    os.makedirs("go")
    write_flow("grow a.nc 1000", "cp a.nc copy", rule="a.nc", more=", publish: write")
    process = harness.start(build + "/bin/sluice", "run", "--notice-after", "1", "flow.yaml")
    wait_for_event(process, "to read it as a file")
    harness.allow("go/a.nc")
    finish(process, 0)
    expect_same("copy", "a.nc")


def changes():
    """A reader may remove and move a file, but not change it: others may read it still."""
    directly("write a.nc 5000")
    with open("change.py", "w") as file:
        file.write("""import errno, os
def fails(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except OSError as error:
        return error.errno
assert fails(open, "a.nc", "r+b") == fails(open, "a.nc", "ab") == fails(open, "a.nc", "wb") == errno.EACCES
assert fails(os.truncate, "a.nc", 10) == errno.EACCES
open("other", "w").write("text")
assert fails(os.rename, "other", "a.nc") == errno.EACCES and os.path.exists("other")
assert fails(os.rename, "a.nc", "moved") == errno.EXDEV
assert fails(os.open, "a.nc", os.O_RDONLY | os.O_DIRECTORY) == errno.ENOTDIR
""")
    with open("lacking.py", "w") as file:  # a process that has no descriptor left to ask the run with
        file.write("""import errno, os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (0, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
try:
    os.truncate("a.nc", 10)
except OSError as error:
    os._exit(0 if error.errno == errno.EACCES else 1)
os._exit(2)
""")
    script = ["cat a.nc > whole", f"{PYTHON} change.py", f"{PYTHON} lacking.py", "mkdir archive", "touch a.nc 2> touched && exit 1", "echo more 2> appended >> a.nc && exit 1",
              "cp a.nc archive/a.copy", "mv a.nc archive/moved", "rm a.nc"]
    write_flow("write a.nc 5000", "\n".join(script))
    run()
    expect_same("archive/a.copy", "a.nc")
    expect_same("archive/moved", "a.nc")
    expect("Permission denied" in open("touched").read(), "touch")
    expect(harness.is_logged("reader cannot change 'a.nc': model writes it, and reader only reads it. Let reader write to another name"), "no event of a change")
    expect(harness.is_logged("reader removes 'a.nc'"), "no event of the removal")
    expect(not os.path.exists("a.nc"), "a.nc is on disk")
    clear_directory()
    directly("write a.nc 5000")
    write_flow("write a.nc 5000", "cat a.nc > /dev/null\nrm a.nc 2> text && exit 1\nmv a.nc b 2>> text && exit 1\ncat text", more=", keep: true")
    expect("Permission denied" in run().all, "rm and mv say nothing")
    expect_same("a.nc", "a.nc")
    clear_directory()
    write_flow("write a.nc 10", "cat a.nc > /dev/null\necho text > own.nc", rule="*.nc")
    result = run()
    expect("reader' wrote" in result.all and "names it as a reader only" in result.all, "an ordinary file is not told")
    with open("own.nc") as file:
        expect(file.read() == "text\n", "own.nc")


def copies():
    """The target of `cp` is a name that the rule covers, too: `cp` looks for it first, and waits. That is told soon, with what to do; and when the writer has ended, `cp`
    makes its file on disk."""
    directly("write wave_1.nc 1000")
    write_flow("write wave_1.nc 1000 await go", "mkdir back\ncp wave_1.nc back/\ncp wave_1.nc back/wave_1.copy", rule="wave_*.nc")
    process = harness.start(build + "/bin/sluice", "run", "--notice-after", "1000", "flow.yaml")
    wait_for_event(process, "waits for 'back/wave_1.nc' from model (it has published 'wave_1.nc'")
    expect(harness.is_logged("If the program makes this file itself, give it a name that 'wave_*.nc' does not cover"), "what to do")
    harness.allow("go")
    finish(process, 0)
    expect_same("back/wave_1.nc", "wave_1.nc")
    expect_same("back/wave_1.copy", "wave_1.nc")


def large():
    """More than 2 GiB, most of it never written: sizes, offsets and fill values beyond 31 bits."""
    with open("look.py", "w") as file:
        file.write("""
import mmap, os, struct
LENGTH = 300000000
fill = struct.pack('>d', 9.9692099683868690e+36)
with open('a.nc', 'rb') as data:
    size = os.fstat(data.fileno()).st_size
    assert size == os.stat('a.nc').st_size > 8 * LENGTH > 2 ** 31
    begin = size - 8 * LENGTH
    data.seek(size - 8)
    assert data.read() == fill
    view = mmap.mmap(data.fileno(), 0, prot=mmap.PROT_READ)
    assert view[2 ** 31 + begin:2 ** 31 + begin + 8] == fill
    assert view[begin:begin + 16] == struct.pack('>dd', -7, -7)
    assert data.seek(0, 2) == size
""")
    write_flow("sparse a.nc 300000000", f"{PYTHON} look.py", rule="a.nc", staging="prewarm: 0, memory: 4GiB")
    run()


def behaviour():
    """Flags, locks, children that inherit images, and many images at once are as with files in memory."""
    writes = "repeat 30 write a%d.nc 1000"
    directly(writes)
    with open("look.py", "w") as file:
        file.write("""
import errno, fcntl, hashlib, os, subprocess, sys, tempfile, threading

def contents(name):
    with open(name, 'rb') as file:
        return file.read()

names = [f'a{i}.nc' for i in range(30)]
held = [open(name, 'rb') for name in names for _ in range(4)]  # more than a hundred at once
assert all(file.read() == contents(f'direct/{file.name}.expected') for file in held)

def direct(path):
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
        return 0
    except OSError as error:
        return error.errno

with tempfile.NamedTemporaryFile(dir='/dev/shm') as other:
    assert direct('a0.nc') == direct(other.name)

with open('a0.nc', 'rb') as one, open('a0.nc', 'rb') as two:
    fcntl.flock(one, fcntl.LOCK_SH)
    fcntl.flock(two, fcntl.LOCK_SH)
    try:
        fcntl.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert False
    except BlockingIOError:
        pass

# Nobody can change an image.
descriptor = os.open('a1.nc', os.O_RDONLY)
for change in (lambda: os.write(descriptor, b'x'), lambda: os.ftruncate(descriptor, 0)):
    try:
        change()
        assert False
    except OSError as error:
        assert error.errno in (errno.EBADF, errno.EINVAL, errno.EPERM)

# A child that is executed inherits what is not close-on-exec, at its offset.
os.set_inheritable(descriptor, True)
os.lseek(descriptor, 4, os.SEEK_SET)
rest = subprocess.run(['cat'], stdin=descriptor, stdout=subprocess.PIPE, check=True).stdout
assert rest == contents('direct/a1.nc.expected')[4:]
os.close(descriptor)

# Forks and threads read on, together.
with open('a2.nc', 'rb') as shared:
    child = os.fork()
    if child == 0:
        os._exit(0 if os.pread(shared.fileno(), 10 ** 6, 0) == contents('direct/a2.nc.expected') and contents('a3.nc') == contents('direct/a3.nc.expected') else 1)
    assert os.waitpid(child, 0)[1] == 0
wrong = []
def read_all():
    for name in names:
        if contents(name) != contents(f'direct/{name}.expected'):
            wrong.append(name)
threads = [threading.Thread(target=read_all) for _ in range(6)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not wrong, wrong
""")
    write_flow(writes, f"{PYTHON} look.py", rule="a*.nc")
    run()


def mpi_programs():
    """Programs that use MPI and read by the C library: each rank gets the file, before and after PnetCDF's own calls; Python with mpi4py and netCDF4."""
    writes = "write a.nc 1000 write b.nc 1000"
    directly(writes)
    with open("look.py", "w") as file:
        file.write("""
import ctypes, glob, os, sys
from mpi4py import MPI
import netCDF4
rank = MPI.COMM_WORLD.rank

def contents(name):
    with open(name, 'rb') as file:
        return file.read()

assert os.path.exists('a.nc') and os.stat('a.nc').st_size == os.path.getsize('a.nc.expected')
assert contents('a.nc') == contents('a.nc.expected')
with netCDF4.Dataset('a.nc') as data, netCDF4.Dataset('a.nc.expected') as expected:
    assert (data['v'][:] == expected['v'][:]).all()
pnetcdf = ctypes.CDLL(None)
ncid, length = ctypes.c_int(), ctypes.c_longlong()
handle = ctypes.cast(MPI._handleof(MPI.COMM_SELF), ctypes.c_void_p)
assert pnetcdf.ncmpi_open(handle, b'b.nc', 0, ctypes.byref(ctypes.c_char.in_dll(pnetcdf, 'ompi_mpi_info_null')), ctypes.byref(ncid)) == 0
assert pnetcdf.ncmpi_inq_dimlen(ncid, 0, ctypes.byref(length)) == 0 and length.value == 1000
assert contents('b.nc') == contents('b.nc.expected')
assert pnetcdf.ncmpi_close(ncid) == 0
assert not os.path.exists('c.nc')  # its writer has ended
assert sorted(glob.glob('?.nc')) == ['a.nc', 'b.nc'] and {'a.nc', 'b.nc'} <= set(os.listdir())
""")
    for name in ("a.nc", "b.nc"):
        shutil.copy("direct/" + name, name + ".expected")
    write_flow(writes, "", reader=f"command: {PYTHON} look.py, ranks: 2")
    run()


def signature():
    """ncmpidump and ncdump look at a file's first bytes by the C library."""
    writes = "write a.nc 1000"
    directly(writes)
    write_flow(writes, "ncmpidump a.nc > dump\nncmpidump -h a.nc > header", rule="a.nc")
    run()
    expect_uncoupled_output("dump", "ncmpidump", "a.nc")
    expect_uncoupled_output("header", "ncmpidump", "-h", "a.nc")


clear_directory()
globals()[case]()
