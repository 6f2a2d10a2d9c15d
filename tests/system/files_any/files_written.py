#!/usr/bin/python3
"""files_written.py BUILD PROGRAM CASE: files that programs write by the C library in a run are read as the same bytes by others, and by PROGRAM (couple.c) where
they are CDF files."""
import hashlib
import os
import resource
import signal
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish, text

build, program, case = sys.argv[1:4]
PYTHON = "/usr/bin/python3"


def write_flow(writes, reads, rule="*.nc", more="", reader="sh reader.sh", ranks=None, staging="prewarm: 0"):
    """Two scripts for the shell, or `reader` with ranks."""
    for name, script in (("writer.sh", writes), ("reader.sh", reads)):
        with open(name, "w") as file:
            file.write("set -e\n" + script + "\n")
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join([
            "version: 1", "name: test", f"staging: {{{staging}}}", "components:", "  writer: {command: sh writer.sh}",
            f"  reader: {{command: {reader}{f', ranks: {ranks}' if ranks else ''}}}", "files:", f'  - {{path: "{rule}", writer: writer, readers: [reader]{more}}}'
        ]) + "\n")


def run(status=0, **options):
    return finish(harness.start(build + "/bin/sluice", "run", "flow.yaml", **options), status)


def script(name, *lines):
    with open(name, "w") as file:
        file.write("\n".join(lines) + "\n")
    return f"{PYTHON} {name}"


def redirection():
    """What a shell redirects is opened by one process, inherited by others, and closed by a third."""
    write_flow("echo one > a.nc\n(echo two; sh -c 'echo three') > 'b c.nc'\n{ echo four; date > /dev/null; echo five; } > d.nc\ncat /etc/passwd > e.nc",
               "cat a.nc > a\ncat 'b c.nc' > b\ncat d.nc > d\ncp e.nc e\ntest -s a.nc")
    run()
    expect(text("a") == "one\n" and text("b") == "two\nthree\n" and text("d") == "four\nfive\n", "the text")
    expect(text("e") == text("/etc/passwd"), "a copy")
    expect(not os.path.exists("a.nc"), "a.nc is on disk")



def same_bytes(made, *copies):
    """What the command makes on disk, in direct/, is what the copies have."""
    os.makedirs("direct", exist_ok=True)
    for command in made:
        harness.call("sh", "-c", command, cwd="direct", status=0)
    for copy, original in copies:
        with open(copy, "rb") as one, open("direct/" + original, "rb") as other:
            expect(one.read() == other.read(), f"{copy} has other bytes than {original}, written directly")


def hyperslabs():
    """What ncgen writes in any format of netCDF is the same file for other programs, and a step for PnetCDF programs on four ranks."""
    kinds = {"one.nc": "classic", "two.nc": "64-bit-offset", "five.nc": "64-bit-data"}
    lines = [f"ncgen -k {kind} -o {name} {harness.cdl(name, 1001)}" for name, kind in kinds.items()]
    reads = " ".join(f"read {name} 1001 whole {name} 1001 halve {name} 1001" for name in kinds)
    write_flow("\n".join(lines), "", reader=f"{program} {reads}", ranks=4)
    run()
    write_flow("\n".join(lines), "\n".join(f"cp {name} copy.{name}" for name in kinds))
    run()
    same_bytes([line.replace(" -o", " -o").replace(name + ".cdl", "../" + name + ".cdl") for line, name in zip(lines, kinds)], *((f"copy.{name}", name) for name in kinds))


def damaged():
    """A file that begins as a CDF file and cannot be decoded: the run says where and why, and whoever reads bytes gets them."""
    script("write.py", "import sys", "bytes = open('good.bin', 'rb').read()", "open('cut.nc', 'wb').write(bytes[:40])", "open('wrong.nc', 'wb').write(bytes[:8] + b'\\0\\0\\0\\x63' + bytes[12:])")
    write_flow(f"ncgen -k classic -o good.bin {harness.cdl('a.nc', 501)}\n{PYTHON} write.py", f"cp cut.nc cut\ncp wrong.nc wrong\nif {program} read cut.nc 501 2> refused; then exit 1; fi", ranks=None)
    result = run()
    begins = "writer has written a file that begins as a CDF file, and is none: "
    expect(result.all.count(begins) == 1 and begins + os.getcwd() + "/cut.nc: at byte 40: the file ends inside its header: " in result.all, "what the run says of cut.nc")
    expect(harness.is_logged(begins + os.getcwd() + "/wrong.nc: at byte 8: "), "what the event log says of wrong.nc")
    expect(os.path.getsize("cut") == 40 and os.path.getsize("wrong") == os.path.getsize("good.bin"), "the bytes")


def hdf5():
    """Files of other formats are the same files, and PnetCDF says that it does not know them."""
    lines = [f"ncgen -k nc4 -o four.nc {harness.cdl('four.nc', 101)}", "echo text > text.nc", ": > empty.nc"]
    write_flow("\n".join(lines), "cp four.nc copy\nncdump -h four.nc > header\ncat text.nc empty.nc > text", more=", netcdf: bytes")
    run()
    expect(text("text") == "text\n" and "double v(x)" in text("header"), "the header")
    write_flow("\n".join(lines), "", reader=f"{program} not-cdf four.nc not-cdf text.nc not-cdf empty.nc", ranks=2, more=", netcdf: bytes")
    run()


def steps():
    """A file that is written again and again is a step each time; each is matched as the one before."""
    lines = [f"ncgen -k classic -o {name} {harness.cdl(name, 501)}" for name in (f"a{i}.nc" for i in range(8))]
    write_flow("\n".join(lines), "", reader=f"{program} repeat 8 read a%d.nc 501", ranks=2)
    run()


def renamed():
    """Written to another name, and renamed: by a call, and by mv, from disk, and from another coupled name."""
    python = script("write.py", "import os, tempfile", "handle, name = tempfile.mkstemp(dir='.')", "os.write(handle, b'by hand\\n')", "os.close(handle)", "os.rename(name, 'a.nc')",
                    "assert not os.path.exists(name)", "with open('part.nc', 'w') as file: file.write('own\\n')", "os.replace('part.nc', 'c.nc')", "assert not os.path.exists('part.nc')",
                    "assert open('c.nc').read() == 'own\\n'")
    write_flow(f"{python}\necho by mv > d.tmp\nmv d.tmp d.nc\necho out > e.nc\nmv e.nc e.txt\ntest ! -e e.nc", "cat a.nc c.nc d.nc > all", rule="[a-e].nc")
    run()
    expect(text("all") == "by hand\nown\nby mv\n" and text("e.txt") == "out\n", "the text")
    expect(not os.path.exists("a.nc") and not os.path.exists("d.nc"), "a file is on disk")


REPLACED = """
import os
with open('a.nc', 'w') as old:
    old.write('old, and longer than the new one')
    old.flush()
    with open('other.tmp', 'w') as other: other.write('new')
    os.rename('other.tmp', 'a.nc')
    old.write(', and more')
with open('b.nc', 'w') as b: b.write('own name')
os.rename('b.nc', 'b.nc')
assert open('b.nc').read() == 'own name'
with open('c.nc', 'w') as first: first.write('first')
with open('c.nc', 'r+') as old:
    with open('d.nc', 'w') as other: other.write('second')
    os.rename('d.nc', 'c.nc')
    old.write('lost')
"""


def renamed_over():
    """A file that is renamed to the name of one that is being written takes its place, and whoever has that open goes on in a file without a name. A file may get its own name."""
    python = script("replace.py", *REPLACED.splitlines())
    os.makedirs("direct")
    harness.call(PYTHON, "../replace.py", cwd="direct", status=0)
    for keys in ("", ", keep: true"):
        write_flow(f"trap 'touch done' EXIT\n{python}", "until test -e done; do sleep 0.05; done\nfor i in a b c; do cat $i.nc > $i; done\n! cat d.nc 2> /dev/null", more=keys)
        run()
        for name in "abc":
            expect(text(name) == text(f"direct/{name}.nc"), f"{name}: {text(name)}")
        expect(harness.is_logged("another file was renamed to its name while it was open"), "the event")
        for name in ("done", "a.nc", "b.nc", "c.nc"):
            if os.path.exists(name):
                os.remove(name)


def of_pnetcdf():
    """What the component has written by PnetCDF: it copies, renames, changes and removes it as a file on disk, at once and however often it writes it anew."""
    launch = " ".join(harness.MPIRUN) + f" 2 {program}"
    lengths = [100, 3000, 200, 10000]
    moves = " ".join(f"write latest.nc {length} move latest.nc r{i}.nc" for i, length in enumerate(lengths))
    script("change.py", "import os", "file = os.open('d.nc', os.O_RDWR)", "assert os.pread(file, 3, 0) == b'CDF'", "end = os.lseek(file, 0, os.SEEK_END)", "os.pwrite(file, b'changed', end)", "os.close(file)")
    writes = f"""{launch} {moves}
test ! -e latest.nc
ls r*.nc > listed
for length in {" ".join(map(str, lengths))}; do
  {launch} write a.nc $length
  cp a.nc copy.$length
  cat a.nc > again.$length
done
mv a.nc b.nc
test ! -e a.nc
{launch} write d.nc 200
if (set -C; echo new > d.nc); then exit 1; fi
{PYTHON} change.py
echo appended >> d.nc
{launch} write e.nc 100
mv e.nc e.txt
{launch} write f.nc 100
rm f.nc
test ! -e f.nc"""
    reads = "".join(f"cat r{i}.nc > read.r{i}\n" for i in range(len(lengths))) + "cat b.nc > read.b\nuntil test -e e.txt; do sleep 0.1; done\ncat d.nc > read.d"

    def contents(name):
        with open(name, "rb") as file:
            return file.read()

    expected = {}
    for length in lengths:
        harness.launch(2, program, "write", "latest.nc", str(length), "write", "a.nc", str(length), status=0)
        expected[length] = contents("latest.nc"), contents("a.nc")
    harness.launch(2, program, "write", "d.nc", "200", "write", "e.nc", "100", status=0)
    d, e = contents("d.nc") + b"changedappended\n", contents("e.nc")
    for keys in ("", ", keep: true", ", through: burst-buffer"):
        for name in [name for name in os.listdir(".") if name.endswith((".nc", ".txt"))]:
            os.remove(name)
        write_flow(writes, reads, more=keys, ranks=None)
        run()
        for i, length in enumerate(lengths):
            latest, a = expected[length]
            expect(contents(f"read.r{i}") == latest, f"{keys}: the file that was renamed, {length}")
            expect(contents(f"copy.{length}") == a and contents(f"again.{length}") == a, f"{keys}: what the component copies, {length}")
        expect(text("listed").split() == [f"r{i}.nc" for i in range(len(lengths))], f"{keys}: listed are " + text("listed"))
        expect(contents("read.b") == expected[lengths[-1]][1], f"{keys}: the file that mv has moved")
        expect(contents("read.d") == d, f"{keys}: the file that was changed")
        expect(contents("e.txt") == e, f"{keys}: the file that was moved to the disk")
        kept = {"b.nc": expected[lengths[-1]][1], "d.nc": d, **{f"r{i}.nc": expected[length][0] for i, length in enumerate(lengths)}} if keys else {}
        found = {name: contents(name) for name in os.listdir(".") if name.endswith(".nc")}
        expect(found == kept, f"{keys}: on disk are {sorted(found)}, and not {sorted(kept)}, or with other bytes")


def removed():
    """A file that the component has put by PnetCDF is removed while it goes on in it: nobody finds it any more, before and after the last close."""
    put = " ".join(harness.MPIRUN) + f" 2 {program} write a.nc 100"
    write_flow(f"{put}\nexec 3>> a.nc\necho more >&3\nrm a.nc\ntest ! -e a.nc\nexec 3>&-\ntest ! -e a.nc\nls > listed\ntouch gone",
               "until test -e gone; do sleep 0.05; done\n! cat a.nc 2> /dev/null")
    run()
    expect("a.nc" not in text("listed").split(), "listed is " + text("listed"))


def removed_anew():
    """The same where the component writes the file anew: what it has put before is gone, too. So it is with a file that nobody has published."""
    put = " ".join(harness.MPIRUN) + f" 2 {program} write a.nc 100"
    scripts = [f"{put}\nexec 3> a.nc", "echo old > a.nc\nexec 3> a.nc", "exec 3> a.nc"]
    for before in scripts:
        for keys in ("", ", keep: true"):
            clear_directory()
            write_flow(f"trap 'touch gone' EXIT\n{before}\necho new >&3\nrm a.nc\ntest ! -e a.nc\n! rm a.nc 2> /dev/null\necho more >&3\nexec 3>&-\ntest ! -e a.nc\nls > listed",
                       "until test -e gone; do sleep 0.05; done\n! cat a.nc 2> /dev/null", more=keys)
            run()
            expect("a.nc" not in text("listed").split(), f"{before}{keys}: listed is " + text("listed"))
            expect(not os.path.exists("a.nc"), f"{before}{keys}: the file is on disk")


def appended():
    """An append makes a step that contains the former one; the last one stays. One that a program begins with is from before the run."""
    with open("old.nc", "w") as file:
        file.write("before\n")
    write_flow("echo one > a.nc\necho two >> a.nc\necho after >> old.nc\necho three >> a.nc\ncat a.nc\ntouch done", "until test -e done; do sleep 0.1; done\ncat a.nc old.nc > all", rule="*.nc")
    result = run()
    expect(text("all") == "one\ntwo\nthree\nbefore\nafter\n", "the text is " + text("all"))
    expect("three" in result.all, "the writer does not see its own file")
    expect(result.all.count("writer has gone on in '") == 1 and "a.nc', which was published when it was closed before" in result.all, "the event")
    expect(text("old.nc") == "before\n", "the file on disk has changed")


CALLS = """
import mmap, os, subprocess, sys
path = 'a file.nc'
assert not os.path.exists(path)
try:
    os.open(path, os.O_RDWR)
    sys.exit('opened')
except FileNotFoundError:
    pass
file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o640)
assert os.get_inheritable(file) is False
os.pwrite(file, b'0123456789', 5)
assert os.pread(file, 4, 6) == b'1234' and os.lseek(file, 0, os.SEEK_END) == 15
os.ftruncate(file, 8192)
with mmap.mmap(file, 8192) as memory:
    memory[100:104] = b'mmap'
again = os.open(path, os.O_WRONLY | os.O_APPEND)
os.write(again, b'end')
os.close(again)
assert os.stat(path).st_size == 8195 and os.stat(path).st_ino == os.fstat(file).st_ino
child = os.fork()
if child == 0:
    os.pwrite(file, b'child', 200)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
twin = os.dup(file)
os.close(file)
os.pwrite(twin, b'twin', 300)
subprocess.run(['sh', '-c', 'echo said'], stdout=twin, check=True)
try:
    os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    sys.exit('created twice')
except FileExistsError:
    pass
os.close(twin)
os.truncate(path, 400)
with open('gone.nc', 'w') as gone:
    gone.write('gone')
os.unlink('gone.nc')
assert not os.path.exists('gone.nc')
with open('b.nc', 'w') as b:
    b.write('first and long')
with open('b.nc', 'w') as b:
    b.write('second')
with open('b.nc', 'r+') as b:
    assert b.read() == 'second'
    b.seek(0)
    b.write('S')
with open('b.nc', 'a+') as b:
    b.write('!')
    b.seek(0)
    assert b.read() == 'Second!'
os.close(os.open('c.nc', os.O_CREAT | os.O_WRONLY))
"""


def calls():
    """Offsets, appends, cuts, mappings, children, duplicates and removals are as with a file on disk."""
    with open("calls.py", "w") as file:
        file.write(CALLS)
    os.makedirs("direct")
    write_flow(f"{PYTHON} calls.py\ntouch done", "until test -e done; do sleep 0.1; done\ncp 'a file.nc' a\ncp b.nc b\ncp c.nc c\ntest ! -e gone.nc")
    run()
    same_bytes([f"{PYTHON} ../calls.py"], ("a", "a file.nc"), ("b", "b.nc"), ("c", "c.nc"))


NO_NAME = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(4096)
here, none = -100, ctypes.c_void_p(None)
calls = {"fchownat": (here, none, -1, -1, 0), "chown": (none, -1, -1), "lchown": (none, -1, -1), "chmod": (none, 0o600), "fchmodat": (here, none, 0o600, 0), "unlink": (none,),
         "unlinkat": (here, none, 0), "remove": (none,), "rename": (none, none), "renameat": (here, none, here, none), "link": (none, none), "linkat": (here, none, here, none, 0),
         "truncate": (none, 0), "open": (none, 0), "openat": (here, none, 0), "creat": (none, 0o600), "stat": (none, buffer), "lstat": (none, buffer), "fstatat": (here, none, buffer, 0),
         "access": (none, 0), "faccessat": (here, none, 0, 0), "readlink": (none, buffer, 100), "readlinkat": (here, none, buffer, 100), "utimes": (none, none), "utime": (none, none),
         "lutimes": (none, none), "utimensat": (here, none, none, 0), "statfs": (none, buffer), "statvfs": (none, buffer), "getxattr": (none, b"user.a", buffer, 10),
         "listxattr": (none, buffer, 10), "statx": (here, none, 0, 0, buffer), "euidaccess": (none, 0)}
for name, arguments in calls.items():
    child = os.fork()
    if child == 0:
        ctypes.set_errno(0)
        outcome = getattr(libc, name)(*arguments)
        print(name, outcome, ctypes.get_errno(), flush=True)
        os._exit(0)
    print(name, os.waitpid(child, 0)[1], flush=True)
"""


def no_name():
    """Calls without a name fail as they do without a run."""
    with open("no_name.py", "w") as file:
        file.write(NO_NAME)
    harness.call("sh", "-c", f"{PYTHON} no_name.py > direct.txt", status=0)
    write_flow(f"{PYTHON} no_name.py > written.txt", f"{PYTHON} no_name.py > read.txt")
    run()
    expect(text("written.txt") == text("direct.txt"), "the writer: " + text("written.txt"))
    expect(text("read.txt") == text("direct.txt"), "the reader: " + text("read.txt"))


SYSTEM_CALLS = """
import ctypes, os
call = ctypes.CDLL(None, use_errno=True).syscall
def system(number, *words):
    words = [ctypes.c_char_p(word.encode()) if isinstance(word, str) else ctypes.c_long(word) for word in words]
    if call(ctypes.c_long(number), *words) != 0: raise OSError(ctypes.get_errno(), str(number))
def write(name, text):
    with open(name, 'w') as file: file.write(text)
here = -100
for name in ('part.nc', 'other.txt', 'gone.nc', 'also gone.nc', 'long.nc'): write(name, name)
system(316, here, 'part.nc', here, 'a.nc', 0)  # renameat2
system(82, 'other.txt', 'b.nc')  # rename
system(87, 'gone.nc')  # unlink
system(263, here, 'also gone.nc', 0)  # unlinkat
system(265, here, 'a.nc', here, 'c.nc', 0)  # linkat
system(76, 'long.nc', 2)  # truncate
system(90, 'long.nc', 0o640)  # chmod
assert os.stat('long.nc').st_mode & 0o777 == 0o640
for name in ('part.nc', 'gone.nc', 'also gone.nc'): assert not os.path.exists(name), name
"""


def system_calls():
    """Names are changed by `syscall`, too."""
    with open("calls.py", "w") as file:
        file.write(SYSTEM_CALLS)
    write_flow(f"{PYTHON} calls.py\ntouch done", "until test -e done; do sleep 0.1; done\ncat a.nc b.nc c.nc long.nc > all\nfor name in part.nc gone.nc 'also gone.nc'; do test ! -e \"$name\"; done")
    run()
    expect(text("all") == "part.ncother.txtpart.nclo", "the text: " + text("all"))
    expect(not any(name.endswith(".nc") for name in os.listdir(".")), f"on disk: {os.listdir('.')}")


def spawned():
    """posix_spawn opens files in the child: the child's output is published, and the next child reads it. What a child could not open is told as ever."""
    spawn = ("import errno, os", "def spawn(command, *opens):", "    child = os.posix_spawn('/bin/sh', ['sh', '-c', command], dict(os.environ), file_actions=opens)", "    assert os.waitpid(child, 0)[1] == 0",
             "create, append = os.O_WRONLY | os.O_CREAT | os.O_TRUNC, os.O_WRONLY | os.O_APPEND")
    writer = script("write.py", *spawn, "spawn('echo said; echo complained >&2', (os.POSIX_SPAWN_OPEN, 1, 'a.nc', create, 0o640), (os.POSIX_SPAWN_DUP2, 1, 2))",
                    "assert open('a.nc').read() == 'said\\ncomplained\\n' and os.stat('a.nc').st_mode & 0o777 == 0o640",
                    "spawn('cat; cat <&3', (os.POSIX_SPAWN_OPEN, 1, 'b.nc', create, 0o600), (os.POSIX_SPAWN_OPEN, 0, 'a.nc', os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 3, 'write.py', os.O_RDONLY, 0))",
                    "try:", "    spawn('true', (os.POSIX_SPAWN_OPEN, 1, 'none.nc', append, 0))", "    raise AssertionError('none.nc is there')", "except FileNotFoundError:", "    pass",
                    "spawn('sleep 0.2; echo late', (os.POSIX_SPAWN_OPEN, 1, 'late.nc', create, 0o600))", "open('done', 'w').close()")
    reader = script("read.py", *spawn, "spawn('cat <&4; cat', (os.POSIX_SPAWN_OPEN, 0, 'b.nc', os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 4, 'late.nc', os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, 'all', create, 0o600))")
    write_flow(writer, f"{reader}\nuntil test -e done; do sleep 0.1; done\n{reader}")
    run()
    expect(text("all") == "late\nsaid\ncomplained\n" + text("write.py"), "the text is " + text("all"))
    expect(not os.path.exists("a.nc"), "a.nc is on disk")


CLOSES = """
import ctypes, os, subprocess
create = os.O_WRONLY | os.O_CREAT
def begin(name, at=None):
    file = os.open(name, create)
    if at is not None:
        os.dup2(file, at, inheritable=False)
        os.close(file)
        file = at
    os.write(file, name.encode())
    return file
a = begin('a.nc')
os.dup2(os.open('/dev/null', os.O_RDONLY), a)  # over it
os.closerange(begin('b.nc', 80), 90)
ctypes.CDLL(None).close_range(begin('c.nc', 90), 95, 0)
d = begin('d.nc')
with subprocess.Popen(['sh', '-c', 'read x; printf " child" >&%d' % d], stdin=subprocess.PIPE, pass_fds=[d]) as child:
    os.close(d)
    child.communicate(b'go')
begin('e.nc')
if os.fork() == 0:  # a daemon: it closes all, also what is not its own, and begins anew
    os.setsid()
    os.closerange(3, 1000)
    f = begin('f.nc')
    os.closerange(3, 1000)
    assert open('f.nc').read() == 'f.nc' and open('e.nc').read() == 'e.nc'
    begin('g.nc')
    os.execv('/bin/sh', ['sh', '-c', 'echo h > h.nc'])  # g.nc is closed by exec
os.wait()
"""


def closes():
    """A file is closed in any way: by dup2 over it, by close_range, by a child that inherited it, by exec, at the end; a daemon that closes all descriptors goes on in the run."""
    write_flow(script("write.py", CLOSES), "for letter in a b c d e f g h; do cat $letter.nc; echo; done > all")
    run()
    expect(text("all") == "a.nc\nb.nc\nc.nc\nd.nc child\ne.nc\nf.nc\ng.nc\nh\n\n", "the text is " + text("all"))


def matcher_killed():
    """When the matcher has died, a reader that waits fails at once, and so does a writer's next open; what is open can be written and closed."""
    writer = script("write.py", "import os, time", "file = open('a.nc', 'w')", "file.write('part')", "file.flush()", "open('begun', 'w').close()", "while not os.path.exists('killed'): time.sleep(0.01)",
                    "file.write('rest')", "file.close()", "try:", "    open('b.nc', 'w')", "except OSError as error:", "    open('refused', 'w').write(str(error.errno))")
    write_flow(writer, "cat a.nc 2> complaint")
    process = harness.start(build + "/bin/sluice", "run", "--notice-after", "1", "flow.yaml")
    harness.wait_for(lambda: os.path.exists("begun"), "the writer")
    harness.wait_for_event(process, "waits for 'a.nc'")
    harness.kill(harness.descendants_named("sluice-matcher", process.pid), signal.SIGKILL)
    open("killed", "w").close()
    result = finish(process)
    expect(result.status != 0 and "matcher" in result.all, "the run does not say that the matcher has died")
    expect("Input/output error" in text("complaint"), "the reader's complaint: " + text("complaint"))
    expect(not os.path.exists("a.nc") and not os.path.exists("b.nc"), "a file is on disk")


def listed():
    """A writer's listings have its own files, whether readers see them by now or not: patterns of its shell, `find`, Python; what it removes so has gone."""
    writes = ("for i in 1 2 3; do echo $i > w_$i; done; echo own > sub/w_deep; echo w_[0-9] > names; ls -1 | grep '^w_' | tr '\\n' ' ' > ls; find . -name 'w_*' | sort > find; rm w_[12]; echo w_* > left\n"
              f"{PYTHON} list.py > python\n"
              "{ echo w_* > during; } > w_open\ntouch done")
    for publish in ("close", "exit"):
        clear_directory()
        os.mkdir("sub")
        write_flow(writes, "until test -e done; do sleep 0.1; done\ncat w_3 w_open sub/w_deep > read\ntest ! -e w_1\necho w_* > seen", rule="w_*", more=f", publish: {publish}")
        with open("list.py", "w") as file:
            file.write("import glob, os\nprint(sorted(glob.glob('w_*')), [entry.name for entry in os.scandir('sub') if entry.is_file()])\n")
        run()
        expect(text("names") == "w_1 w_2 w_3\n" and text("ls") == "w_1 w_2 w_3 " and text("left") == "w_3\n", "what the shell lists: " + text("names") + text("ls") + text("left"))
        expect(text("find") == "./sub/w_deep\n./w_1\n./w_2\n./w_3\n", "what find lists: " + text("find"))
        expect(text("python") == "['w_3'] ['w_deep']\n", "what Python lists: " + text("python"))
        expect(text("during") == "w_3 w_open\n", "what is listed while it is written: " + text("during"))
        expect(text("read") == "3\nown\n" and text("seen") == "w_3 w_open\n", "what the reader gets: " + text("read") + text("seen"))


def linked():
    """Hard links to files of the run, and to their names, are copies. A symbolic link of another name leads to them, and can itself be looked at and removed."""
    writes = ("echo first > tmp; chmod 750 tmp; touch -d '2001-02-03 04:05:06' tmp; ln tmp w_a.x; ! ln tmp w_a.x 2> refused; rm tmp; ln w_a.x plain; cp -l w_a.x w_b.x; cat w_a.x plain w_b.x > own; stat -c '%a %y' w_a.x plain > facts\n"
              "ln -s w_new.x fort.20; echo through > fort.20; ln -s w_a.x w_link.x; readlink w_link.x > link; cat w_link.x >> own; rm w_link.x; test -f w_a.x; test ! -L w_link.x\n"
              "echo moved > m; chmod 640 m; touch -d '2001-02-03 04:05:06' m; mv m w_m.x; stat -c '%a %y' w_m.x >> facts; mv w_m.x m; stat -c '%a %y' m >> facts; mv m w_m.x; touch done")
    reads = ("ln -s ../w_new.x sub/in; ln -s in sub/again; cat sub/in sub/again > read; wc -c < sub/again >> read; basename $(readlink -f sub/again) >> read; test -s sub/in; rm sub/in\n"
             "ln w_a.x hard; cat hard >> read; ln -s w_a.x soft; ls -l soft | cut -c 1 >> read; realpath soft | xargs basename >> read; rm soft; cat w_a.x >> read; stat -c '%a %y' w_m.x hard > seen\n"
             "ln -s nowhere sub/dangling; ! cat sub/dangling 2>> refused; ln -s loop sub/loop; ! cat sub/loop 2>> refused; ln -s w_loop.x w_loop.x; ! realpath w_loop.x 2>> refused")
    nameless = script("nameless.py", "import os", "file = os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o644)", "os.write(file, b'nameless\\n')",
                      "os.link(f'/proc/self/fd/{file}', 'w_nameless.x', src_dir_fd=0, follow_symlinks=True)")
    os.mkdir("sub")
    write_flow(f"{nameless}\n{writes}", f"until test -e done; do sleep 0.1; done\n{reads}\ncat w_nameless.x >> read", rule="w_*.x")
    run()
    facts = [line[:23] for line in (text("facts") + text("seen")).split("\n") if line]
    expect(text("own") == "first\n" * 4 and text("link") == "w_a.x\n", "what the writer sees: " + text("own"))
    expect(facts == ["750 2001-02-03 04:05:06"] * 2 + ["640 2001-02-03 04:05:06"] * 3 + ["750 2001-02-03 04:05:06"], "the facts: " + repr(facts))
    expect(text("read") == "through\n" * 2 + "8\nw_new.x\nfirst\nl\nw_a.x\nfirst\nnameless\n", "what the reader sees: " + text("read"))
    expect("File exists" in text("refused"), "the refusals: " + text("refused"))


def replaced():
    """A file that is written anew while somebody has it open: who has it open keeps its bytes. One that is removed while it is written is no file any more, and its writer goes on."""
    writer = script("write.py", "import os, time", "def until(name):", "    while not os.path.exists(name): time.sleep(0.01)", "with open('a.nc', 'w') as file: file.write('first and long')", "until('held')",
                    "with open('a.nc', 'w') as file: file.write('second')", "file = open('gone.nc', 'w')", "file.write('half')", "file.flush()", "os.unlink('gone.nc')", "assert not os.path.exists('gone.nc')",
                    "file.write('whole')", "file.close()", "assert not os.path.exists('gone.nc')", "open('again', 'w').close()")
    reader = script("read.py", "import os, time", "held = open('a.nc')", "assert held.read() == 'first and long'", "open('held', 'w').close()", "while not os.path.exists('again'): time.sleep(0.01)",
                    "held.seek(0)", "assert held.read() == 'first and long'", "assert open('a.nc').read() == 'second'", "assert not os.path.exists('gone.nc')")
    write_flow(writer, reader)
    run()


def killed():
    """A writer that is killed publishes nothing, and readers are told; what it had closed is there."""
    python = script("write.py", "import os, signal", "open('whole.nc', 'w').write('whole')", "half = open('half.nc', 'w')", "half.write('half')", "half.flush()", "os.kill(os.getpid(), signal.SIGKILL)")
    write_flow(f"set +e\n{python}\nsh -c 'echo half; kill -9 $$' > child.nc\necho rest > rest.nc", "cat rest.nc whole.nc\ncat half.nc && exit 1\ncat child.nc && exit 1\ntrue")
    result = run(3)
    expect("2 files were lost: the event log says why (exit status 3)" in result.all, "the summary")
    expect("rest" in result.all and "whole" in result.all, "what was closed")
    expect(harness.is_logged("half.nc' is not published") and harness.is_logged("child.nc' is not published") and harness.is_logged("was killed before it had closed it"),
           "the event log does not say why")


def lost():
    """What a script loses although it succeeds fails the run. What the program has not changed, has removed, or has written again is not lost."""
    kill = script("kill.py", "import os, signal, sys", "name, flags, text = sys.argv[1], {'r+': os.O_RDWR, 'w': os.O_WRONLY | os.O_CREAT | os.O_TRUNC}[sys.argv[2]], sys.argv[3]",
                  "file = os.open(name, flags)", "os.write(file, text.encode())", "if sys.argv[4:]: os.unlink(name)", "os.kill(os.getpid(), signal.SIGKILL)")
    whole = "echo whole > a.nc"
    for keys in ("", ", keep: true", ", through: file"):
        for writes, status, reads in (
            (f"{whole}\n{kill} a.nc r+ ''", 0, "whole"),
            (f"{whole}\n{kill} a.nc r+ new", 3, "whole"),
            (f"{kill} a.nc w half || {whole}", 0, "whole"),
            (f"{whole}\n{kill} a.nc r+ new || echo more >> a.nc", 3, None),
            (f"{kill} a.nc w half removed", 0, None),
            (f"{kill} a.nc w half || echo other > b.nc", 3, None),
        ):
            print(keys, writes, flush=True)
            write_flow(f"{{ {writes}; }} || true\ntouch done", "until test -e done; do sleep 0.05; done\nsleep 0.2\ncat a.nc > copy || true", more=keys)
            result = run(status)
            expect(("1 file was lost" in result.all) == (status == 3), result.all)
            if reads and not (keys.endswith("file") and status == 3):
                expect(text("copy") == reads + "\n", "what was read: " + text("copy"))
            for name in ("a.nc", "b.nc", "copy", "done"):
                if os.path.exists(name):
                    os.remove(name)


def lost_and_restarted():
    """A component that is started again, and writes the file again, has lost nothing; one that does not write it has."""
    kill = script("kill.py", "import os, signal", "file = open('a.nc', 'w')", "file.write('half')", "file.flush()", "os.kill(os.getpid(), signal.SIGKILL)")
    for command, status in (("test -e began && echo whole > a.nc && exit 0", 0), ("test -e began && exit 0", 0), ("true", 3)):
        write_flow(f"{command}\ntouch began\n{kill} || true\ntest -e again || {{ touch again; exit 1; }}", "cat a.nc > copy || true")
        with open("flow.yaml") as flow:
            described = flow.read().replace("sh writer.sh", "sh writer.sh, restarts: 1, restart-delay: 0s")
        with open("flow.yaml", "w") as flow:
            flow.write(described)
        run(status)
        expect(text("copy") == ("whole\n" if "whole" in command else ""), "what was read: " + text("copy"))
        for name in ("began", "again"):
            os.remove(name)


def not_stored():
    """A CDF file for whose puts there is no room when it is closed is lost, and the run fails."""
    write_flow(f"ncgen -k classic -o a.nc {harness.cdl('a.nc', 400000)}", "cat a.nc > copy || true", more=", netcdf: bytes", staging="prewarm: 0, memory: 1MiB, spill: none")
    result = run(3)
    expect("1 file was lost" in result.all and harness.is_logged("a.nc' is not published"), result.all)


def none_can_be_stored():
    """CDF files for whose puts there is no room, while their reader waits for the last one: those are lost, and others can be read. Also where their writer has not ended."""
    for wait in ("", "\nif cat back.txt; then exit 1; fi"):
        with open("flow.yaml", "w") as flow:
            flow.write("version: 1\nname: test\nstaging: {prewarm: 0, memory: 2MiB, spill: none}\ncomponents:\n  writer: {command: sh writer.sh}\n  reader: {command: sh reader.sh}\nfiles:\n"
                       "  - {path: 'w_*.nc', writer: writer, readers: [reader], netcdf: bytes}\n  - {path: back.txt, writer: reader, readers: [writer]}\n")
        with open("writer.sh", "w") as file:
            file.write("set -e\nfor i in 1 2 3 4; do ncgen -k classic -o w_$i.nc " + harness.cdl("w.nc", 20000) + "; done" + wait + "\n")
        with open("reader.sh", "w") as file:
            file.write("set -e\nif cat w_4.nc; then exit 1; fi\ncat w_1.nc > copy\n")
        result = run(3)
        expect(os.path.getsize("copy") > 0 and "lost" in result.all, "what is told")
        expect(harness.is_logged("no reader can free any (reader has not read 'w_1.nc'; it waits for 'w_4.nc' from writer)"), "the event log")


def unloaded():
    """Programs that a process becomes, and which know nothing of the run: their output is published when they have ended. A process that cannot become one goes on, and
    is killed as any other."""
    become = script("become.py", "import os, sys", "file = os.open('python.nc', os.O_WRONLY | os.O_CREAT)", "os.dup2(file, 1)", "try: os.execve('/no/such/program', ['x'], {})", "except FileNotFoundError: pass",
                    "os.write(1, b'before ')", "os.execle('/bin/echo', 'echo', 'python', {})")
    stay = script("stay.py", "import os, signal", "file = os.open('killed.nc', os.O_WRONLY | os.O_CREAT)", "try: os.execv('/no/such/program', ['x'])", "except FileNotFoundError: pass",
                  "os.write(file, b'half')", "os.kill(os.getpid(), signal.SIGKILL)")
    with open("redirect.sh", "w") as file:
        file.write("env -i /bin/echo one > a.nc\n(exec env -i /bin/echo two > b.nc)\nenv -i /bin/echo three | cat > c.nc\nenv -i /bin/sh -c 'echo four; sleep 0.2; echo five' > d.nc\n")
    write_flow(f"bash redirect.sh\n{become}\n{stay} || true", "cat a.nc b.nc c.nc d.nc python.nc > all\n! cat killed.nc 2> refused")
    run(3)
    expect(text("all") == "one\ntwo\nthree\nfour\nfive\nbefore python\n", "the text: " + text("all"))
    expect(harness.is_logged("killed.nc' is not published") and not harness.is_logged("a.nc' is not published"), "what the event log says")


def ended():
    """A process that ends without closing has closed its files, as on disk."""
    python = script("write.py", "import os", "file = open('a.nc', 'w')", "file.write('whole')", "file.flush()", "os._exit(3)")
    write_flow(f"{python} || true", "cat a.nc > copy")
    run()
    expect(text("copy") == "whole", "the text")


def outlived():
    """A file that a process keeps open beyond its component's end is not published, and both readers and the event log are told."""
    daemon = script("write.py", "import os, time", "if os.fork(): os._exit(0)", "os.setsid()", "os.closerange(0, 3)", "half = open('half.nc', 'w')", "half.write('half')", "half.flush()", "open('begun', 'w').close()",
                    "while not os.path.exists('end'): time.sleep(0.01)")
    write_flow(f"{daemon}\nuntil test -e begun; do sleep 0.05; done\necho whole > whole.nc", "cat whole.nc\ncat half.nc && exit 1\ntouch told")
    run(3)
    open("end", "w").close()
    expect(os.path.exists("told") and not os.path.exists("half.nc"), "the reader")
    expect(harness.is_logged("half.nc' is not published: a process that has outlived writer still has it open"), "the event log does not say why")


def nth_close():
    """publish: close:2 and publish: exit."""
    write_flow("echo one > a.nc\necho two >> a.nc", "cat a.nc > copy", more=", publish: 'close:2'")
    run()
    expect(text("copy") == "one\ntwo\n", "the second close")
    write_flow("echo one > a.nc\necho two >> a.nc\nsh -c 'echo three >> a.nc'", "cat a.nc > copy", more=", publish: exit")
    expect("has gone on" not in run().all, "an event about steps, where there is one")
    expect(text("copy") == "one\ntwo\nthree\n", "the end of the writer")
    write_flow("echo one > a.nc", "cat a.nc && exit 1\ntrue", more=", publish: 'close:2'")
    run(3)
    expect(harness.is_logged("closed it 1 time, and"), "the event log does not say how often it was closed")


def kept():
    """The file that is kept has the bytes that were written."""
    write_flow(f"ncgen -k classic -o a.nc {harness.cdl('a.nc', 77)}\necho text > b.nc", "cp a.nc a\ncp b.nc b", more=", keep: true")
    run()
    expect(text("b.nc") == "text\n" and text("b") == "text\n", "the text")
    same_bytes(["ncgen -k classic -o a.nc ../a.nc.cdl"], ("a.nc", "a.nc"), ("a", "a.nc"))


ELSEWHERE = "export OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1\n"


def kept_elsewhere():
    """The same on the second of two nodes: the matcher that has the file writes it to disk."""
    make = f"ncgen -k classic -o a.nc {harness.cdl('a.nc', 77)}\nsh -c 'echo text > b.nc'"
    write_flow(ELSEWHERE + make, ELSEWHERE + "cp a.nc a\ncp b.nc b", more=", keep: true")
    run()
    same_bytes([make.replace("a.nc.cdl", "../a.nc.cdl")], ("a", "a.nc"), ("b", "b.nc"), ("a.nc", "a.nc"), ("b.nc", "b.nc"))


def other_node():
    """A reader on another node, or of another matcher, gets the very bytes that were written: of any format, empty, small, of several pieces, and on the spill disk."""
    writes = (f"ncgen -k classic -o a.nc {harness.cdl('a.nc', 77)}\nncgen -k nc4 -o b.nc {harness.cdl('a.nc', 77)}\necho text > c.nc\n: > d.nc\nhead -c 5000001 /dev/urandom > e.nc\n"
              "head -c 12000000 /dev/urandom > f.nc")
    os.mkdir("scratch")
    write_flow(writes + "\nsha256sum a.nc b.nc c.nc d.nc e.nc f.nc > written", ELSEWHERE + "test $(stat -c %s e.nc) = 5000001\nsha256sum a.nc b.nc c.nc d.nc e.nc f.nc > read",
               staging="prewarm: 0, memory: 8MiB, spill: scratch")
    run()
    expect(text("read") == text("written"), f"{text('read')} instead of {text('written')}")


def looked_elsewhere():
    """On several nodes, a process that opens what its component has put by PnetCDF, and changes nothing, is in nobody's way while it goes on."""
    put = " ".join(harness.MPIRUN) + f" 2 {program} write a.nc 100"
    write_flow(f"{put}\nexec 3<> a.nc\nexec 3>&-\n({ELSEWHERE.strip()}; exec sh -c 'echo new > a.nc') || touch refused\ntouch written",
               "until test -e written; do sleep 0.05; done\ncat a.nc > copy")
    run()
    expect(not os.path.exists("refused") and text("copy") == "new\n", "what the process on the other node has written")
    expect(not harness.is_logged("ended before it had closed it"), "who only looks leaves a step in progress")


def many():
    """A thousand files, with little memory: what has been read makes room."""
    write_flow("i=0; while [ $i -lt 300 ]; do head -c 100000 /dev/zero > a$i.nc; i=$((i + 1)); done", "i=0; while [ $i -lt 300 ]; do cat a$i.nc | wc -c; i=$((i + 1)); done > sizes",
               staging="prewarm: 0, memory: 8MiB, spill: none")
    run()
    expect(text("sizes") == "100000\n" * 300, "the sizes")


def behind():
    """Who opens a file that has been closed, and whose publication waits for memory, waits for it: what he has no use for makes room."""
    names = " ".join(f"a{i}.nc" for i in range(5))
    large = script("large.py", "with open('large.nc', 'wb') as file: file.write(bytes(4 << 20))", "open('closed', 'w').close()")
    read = script("read.py", "import os, subprocess, time", "open('first.nc').read()", f"subprocess.run('cat {names} | wc -c > bytes', shell=True, check=True)", "open('read', 'w').close()",
                  "while not os.path.exists('closed'): time.sleep(0.01)", "with open('copied', 'w') as file: file.write(str(len(open('large.nc').read())))")
    write_flow(f"echo first > first.nc\nfor name in {names}; do head -c 1048576 /dev/zero > $name; done\nuntil test -e read; do sleep 0.01; done\n{large}", read,
               staging="prewarm: 0, memory: 8MiB, spill: none")
    run()
    expect(text("bytes") == f"{5 << 20}\n" and text("copied") == str(4 << 20), "what was read")


def behind_in_stream():
    """In a stream, whose next step waits for memory when it has been closed, a reader takes the steps before it first: their memory is what it waits for."""
    write_flow("i=0\nwhile [ $i -lt 6 ]; do { head -c 2097152 /dev/zero; echo $i; } > a.txt; touch closed$i; i=$((i + 1)); done",
               "until test -e closed3; do sleep 0.01; done\nfor i in 0 1 2 3 4 5; do tail -c 2 a.txt; done > steps", rule="a.txt", more=", steps: stream", staging="prewarm: 0, memory: 8MiB, spill: none")
    run()
    expect(text("steps") == "0\n1\n2\n3\n4\n5\n", "the steps: " + text("steps"))
    expect(not harness.is_logged("does not count"), "memory beyond the limit was used")


def no_descriptors():
    """A matcher that has no descriptor left refuses an open, as the event log says; it does not say that the process has ended."""
    count, limit = 200, 128
    openings = script("openings.py", "import errno, os", "files = []", f"for i in range({count}):", "    try:", "        files.append(open(f'a{i}.txt', 'w'))", "    except OSError as error:",
                      "        print(errno.errorcode[error.errno])", "for file in files: file.write('whole')", "print(len(files))")
    write_flow(f"{openings} > opened", "cat a0.txt > copy", rule="a*.txt")
    run(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    *errors, opened = text("opened").split()
    expect(len(errors) == count - int(opened) and set(errors) == {"EMFILE"}, "what was opened: " + text("opened"))
    expect(text("copy") == "whole", "the text")
    expect(harness.is_logged("no file descriptor left"), "the event log does not say why")
    expect(not harness.is_logged("the process that has opened it has ended"), "the event log says that a process has ended")


def touched():
    """The times and permissions that a program gives to a published file, or to one from before the run; who only looks changes none."""
    touch = "touch -d '2001-02-03 04:05:06'"
    with open("old.txt", "w") as file:
        file.write("old")
    os.utime("old.txt", (1_000_000_000, 1_000_000_000))
    look = script("look.py", "import os", "for name in ('seen.txt', 'old.txt'): os.close(os.open(name, os.O_RDWR))")
    write_flow(f"echo a > a.txt; {touch} a.txt; chmod 600 a.txt; echo s > seen.txt; {touch} seen.txt; {look}; stat -c %y seen.txt a.txt > own; touch written",
               "until test -e written; do sleep 0.05; done; stat -c '%a %y' a.txt > facts; stat -c %y seen.txt > seen; cat a.txt seen.txt > read", rule="*.txt")
    run()
    expect(text("own").count("2001-02-03 04:05:06") == 2, f"what the writer sees: {text('own')}")
    expect(text("facts").startswith("600 2001-02-03 04:05:06"), f"the facts: {text('facts')}")
    expect(text("seen").startswith("2001-02-03 04:05:06"), f"the time of what was looked at: {text('seen')}")
    expect(text("read") == "a\ns\n" and os.stat("old.txt").st_mtime == 1_000_000_000, "the files")


def packed():
    """Far more unread files than the matcher may have descriptors: they are read as they were written, again and again."""
    count = 1500
    writer = f"echo 0 > old; chmod 640 old; touch -d '2001-02-03 04:05:06' old; cp -p old a0.txt; i=1; while [ $i -lt {count} ]; do echo $i > a$i.txt; i=$((i + 1)); done; touch written"
    reader = "while ! test -e written; do sleep 0.05; done; %s > forwards; %s > backwards; stat -c '%%a %%y' a0.txt > facts; cat a*.txt | wc -l > lines"
    forwards = f"i=0; while [ $i -lt {count} ]; do read x < a$i.txt; echo $x; i=$((i + 1)); done"
    backwards = f"i={count}; while [ $i -gt 0 ]; do i=$((i - 1)); read x < a$i.txt; echo $x; done"
    write_flow(writer, reader % (forwards, backwards), rule="a*.txt")
    limit = 512
    run(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    expect(text("forwards") == "".join(f"{i}\n" for i in range(count)), "what was read")
    expect(text("backwards") == "".join(f"{i}\n" for i in reversed(range(count))), "what was read again")
    expect(text("facts").startswith("640 2001-02-03 04:05:06"), f"the facts: {text('facts')}")
    expect(text("lines") == f"{count}\n", "the number of files in a listing")


def large_descriptors():
    """Files that are too large to be packed take one descriptor each."""
    count, limit = 60, 128
    write_flow(f"i=0; while [ $i -lt {count} ]; do head -c 5242880 /dev/zero > a$i.txt; i=$((i + 1)); done; touch written",
               f"until test -e written; do sleep 0.05; done; i=0; while [ $i -lt {count} ]; do cat a$i.txt; i=$((i + 1)); done | wc -c > bytes", rule="a*.txt")
    run(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    expect(text("bytes") == f"{count * 5242880}\n", "what was read: " + text("bytes"))
    expect(not harness.is_logged("no file descriptor left"), "the matcher has no descriptor left")


SPILLED = """
import hashlib, os, sys
bytes_of_file, names = int(sys.argv[1]), sys.argv[2:]
for name in names:
    digest = hashlib.sha256()
    with open(name, 'wb') as file:
        for i in range(bytes_of_file // 1024):
            piece = i.to_bytes(8, 'little') * 128
            file.write(piece)
            digest.update(piece)
        print(os.readlink(f'/proc/self/fd/{file.fileno()}').split('/')[-1].split('-')[0], file=sys.stderr)
    with open(name, 'rb') as file:
        assert hashlib.sha256(file.read()).hexdigest() == digest.hexdigest()
"""


def spilled():
    """Files larger than staging.memory are in the spill directory: the first one when it has been closed, the next ones from their beginning. Their bytes are those that
    were written, also where a child inherits one, and where one is appended to."""
    python = script("write.py", SPILLED)
    os.mkdir("scratch")
    write_flow(f"{python} 12582912 a0.nc a1.nc a2.nc 2> places\n(cat a0.nc; sh -c 'cat a2.nc') > child.nc\nuntil test -e read; do sleep 0.1; done\necho more >> a1.nc\ntouch appended",
               "for name in a0 a1 a2 child; do sha256sum < $name.nc; done > sums\nreadlink /proc/self/fd/3 3< a2.nc > link\ntouch read\nuntil test -e appended; do sleep 0.1; done\n"
               "sha256sum < a1.nc >> sums", staging="prewarm: 0, memory: 8MiB, spill: scratch")
    run()
    expect(text("places").split() == ["memfd:sluice", ".sluice", ".sluice"], "where the files were written: " + text("places"))
    expect("/scratch/" in text("link"), "a2.nc is read from " + text("link"))
    whole = b"".join(i.to_bytes(8, "little") * 128 for i in range(12582912 // 1024))
    sums = [hashlib.sha256(contents).hexdigest() for contents in (whole, whole, whole, whole + whole, whole + b"more\n")]
    expect([line.split()[0] for line in text("sums").splitlines()] == sums, "the bytes: " + text("sums"))
    expect(harness.is_logged("goes on in"), "the event log does not say that memory was short")
    expect(os.listdir("scratch") == [], "something is left in the spill directory")


LARGE = """import netCDF4, numpy, sys
random = numpy.random.default_rng(7)
kinds = {"NETCDF3_CLASSIC": "i4 i1 i2 f4 f8 S1", "NETCDF3_64BIT_OFFSET": "f8 i2 i1 i4 f4 S1", "NETCDF3_64BIT_DATA": "i2 u1 i1 u2 i4 u4 i8 u8 f4 f8 S1"}
for kind, types in kinds.items():
    for records in (1, 3):  # variables with records: those of one lie side by side
        with netCDF4.Dataset(f"{kind}_{records}.nc", "w", format=kind) as file:
            file.set_fill_off()
            for name, size in (("t", None), ("y", 7), ("x", 30011)):
                file.createDimension(name, size)
            for i, letters in enumerate(types.split()):
                variables = [file.createVariable("v" + letters, letters, ("y", "x"))] + [file.createVariable("r" + letters, letters, ("t", "x"))] * (i < records)
                for variable, rows in zip(variables, (7, 5)):
                    values = random.bytes(rows * 30011 * numpy.dtype(letters).itemsize)
                    values = numpy.frombuffer(values, letters).reshape(rows, 30011)
                    variable[:] = numpy.nan_to_num(values) if letters[0] == "f" else values
"""


def straight():
    """PnetCDF programs on several ranks read large CDF files, of all types, with one and several variables with records, and the same pattern again and again. There is
    memory for each file once, and for none twice."""
    os.mkdir("direct")
    python = script("large.py", LARGE)
    harness.call("sh", "-c", f"{PYTHON} ../large.py", cwd="direct", status=0)
    names = sorted(os.listdir("direct"))
    expect(len(names) == 6 and all(os.path.getsize("direct/" + name) > 4 << 20 for name in names), f"the files: {names}")
    many = script("many.py", "import netCDF4, numpy", "for name in (f'a{i}.nc' for i in range(4)):", "    seed = 0.0", "    for letter in name: seed = seed * 3 + ord(letter)",
                  "    with netCDF4.Dataset(name, 'w', format='NETCDF3_64BIT_DATA') as file:", "        file.createDimension('x', 1000000)", "        file.createDimension('t', None)",
                  "        file.createVariable('v', 'f8', ('x',))[:] = seed + numpy.arange(1000000) / 4", "        file.createVariable('r', 'i2', ('t', 'x'))[:] = numpy.ones((3, 1000000), 'i2')")
    write_flow(many, "", reader=f"{program} repeat 4 read a%d.nc 1000000 whole a%d.nc 1000000", ranks=3, more=", netcdf: bytes", staging="prewarm: 0, memory: 80MiB, spill: none")
    run()
    write_flow(python, "", rule=os.getcwd()[1:] + "/NETCDF*.nc", reader=f"{sys.argv[4]} direct {' '.join(names)}", ranks=3, more=", netcdf: bytes", staging="prewarm: 0, memory: 80MiB, spill: none")
    run()


def straight_changed():
    """A PnetCDF program changes a large file that another program of the component has written: the step has the rest of the file before."""
    os.mkdir("direct")
    python = script("large.py", LARGE)
    names = ["NETCDF3_CLASSIC_3.nc", "NETCDF3_64BIT_DATA_3.nc"]
    change = "\n".join(f"mpirun --allow-run-as-root --oversubscribe -n 2 {sys.argv[4]} change {name}" for name in names)
    harness.call("sh", "-c", f"{PYTHON} ../large.py\n{change}", cwd="direct", status=0)
    compare = f"mpirun --allow-run-as-root --oversubscribe -n 3 {sys.argv[4]}"
    write_flow(f"{python}\n{change}\ntouch changed", f"until test -e changed; do sleep 0.1; done\n{compare} direct {' '.join(names)}\nmkdir copy\ncp {' '.join(names)} copy\n"
               f"cd copy\n{compare} ../direct {' '.join(names)}", rule=os.getcwd()[1:] + "/NETCDF*.nc", more=", netcdf: bytes")
    run()


def changed_twice():
    """A process changes a large file by the C library, and all do by PnetCDF directly after that: what was closed first is there."""
    launch = " ".join(harness.MPIRUN) + f" 2 {sys.argv[4]}"
    write_flow(f"trap 'touch written' EXIT\n{launch} a.nc 5", "until test -e written; do sleep 0.05; done\ncat a.nc > copy", rule="a.nc")
    run()
    same_bytes([f"{launch} a.nc 5"], ("copy", "a.nc"))


def changed_elsewhere():
    """What a component has written by the C library, it changes by PnetCDF, perhaps on another node. It then finds the change, also while readers have the file open as it was."""
    make = f"ncgen -k cdf5 -o a.nc {harness.cdl('a.nc', 1000)}"
    change = " ".join(harness.MPIRUN) + f" 2 {sys.argv[4]} a.nc"
    write_flow(f"{make}\nuntil test -e held; do sleep 0.05; done\n{change}\ncat a.nc > seen\necho more >> a.nc\ncat a.nc > again", "",
               reader=f"sh -c 'trap \"touch held\" EXIT; {sys.argv[4]} a.nc held again'", rule="a.nc")
    run()
    same_bytes([make.replace("a.nc.cdl", "../a.nc.cdl"), change, "cat a.nc > seen; echo more >> a.nc"], ("seen", "seen"), ("again", "a.nc"))


def spilled_hyperslabs():
    """CDF files that are larger than staging.memory, for PnetCDF programs on several ranks; each of them is a file and puts."""
    python = script("write.py", "import netCDF4, numpy, sys", "for name in sys.argv[1:]:", "    seed = 0.0", "    for letter in name: seed = seed * 3 + ord(letter)",
                    "    with netCDF4.Dataset(name, 'w', format='NETCDF3_64BIT_DATA') as file:", "        file.createDimension('x', 1000000)", "        file.createDimension('t', None)",
                    "        file.createVariable('v', 'f8', ('x',))[:] = seed + numpy.arange(1000000) / 4", "        file.createVariable('r', 'i2', ('t', 'x'))[:] = numpy.ones((3, 1000000), 'i2')")
    os.mkdir("scratch")
    names = [f"a{i}.nc" for i in range(3)]
    write_flow(f"{python} {' '.join(names)}", "", reader=f"{program} repeat 3 read a%d.nc 1000000", ranks=2, staging="prewarm: 0, memory: 8MiB, spill: scratch")
    run()
    expect(os.listdir("scratch") == [], "something is left in the spill directory")


def tools():
    """NCO, Python's netCDF4 and scipy, h5py and matplotlib write as ever."""
    python = script("write.py", "import netCDF4, numpy", "for kind in ('NETCDF3_CLASSIC', 'NETCDF3_64BIT_OFFSET', 'NETCDF4'):", "    with netCDF4.Dataset(kind + '.nc', 'w', format=kind) as file:",
                    "        file.createDimension('t', None); file.createDimension('x', 50)", "        file.createVariable('v', 'f8', ('t', 'x'))[:] = numpy.arange(150).reshape(3, 50)",
                    "    with netCDF4.Dataset(kind + '.nc', 'a') as file: file.title = 'again'", "import h5py", "with h5py.File('h.nc', 'w') as file: file['d'] = numpy.arange(1000)", "import matplotlib",
                    "matplotlib.use('Agg')", "import matplotlib.pyplot as plot", "plot.plot([1, 3, 2])", "plot.savefig('picture.nc', format='png')")
    names = ["NETCDF3_CLASSIC.nc", "NETCDF3_64BIT_OFFSET.nc", "NETCDF4.nc", "h.nc", "picture.nc", "picked.nc"]
    with open("read.py", "w") as file:
        file.write("import netCDF4, h5py\nfor kind in ('NETCDF3_CLASSIC', 'NETCDF3_64BIT_OFFSET', 'NETCDF4'):\n    with netCDF4.Dataset(kind + '.nc') as file:\n"
                   "        assert file.title == 'again' and float(file['v'][:].sum()) == 11175\nwith h5py.File('h.nc') as file: assert file['d'][999] == 999\n")
    write_flow(f"{python}\nncks -O -h -d x,3,5 NETCDF3_CLASSIC.nc picked.nc\ntouch done", f"until test -e done; do sleep 0.1; done\n{PYTHON} read.py\n" + "\n".join(f"cp {name} copy.{name}" for name in names))
    run()
    same_bytes([f"{PYTHON} ../write.py", "ncks -O -h -d x,3,5 NETCDF3_CLASSIC.nc picked.nc"],
               *((f"copy.{name}", name) for name in ("NETCDF3_CLASSIC.nc", "NETCDF3_64BIT_OFFSET.nc", "picked.nc")))
    with open("copy.picture.nc", "rb") as file:
        expect(file.read(4) == b"\x89PNG", "the picture")


clear_directory()
globals()[case]()
