#!/usr/bin/python3
"""changed_parts.py BUILD CASE: files that go on are compared only where their programs have changed them, and by whatever way a program changes one, the next copy of it has all bytes."""
import os
import random
import re
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import expect, finish, text

build, case = sys.argv[1:3]
sluice = build + "/bin/sluice"
PYTHON = "/usr/bin/python3"


def run(writer, reader):
    for name, lines in (("writer.py", writer), ("reader.py", reader)):
        with open(name, "w") as file:
            file.write(lines)
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join([
            "version: 1", "name: test", "staging: {prewarm: 0, spill: none}", "components:", f"  writer: {{command: {PYTHON} writer.py}}", f"  reader: {{command: {PYTHON} reader.py}}", "files:",
            "  - {path: a.dat, writer: writer, readers: [reader]}"
        ]) + "\n")
    return finish(harness.start(sluice, "run", "--log-dir", "log", "flow.yaml"), 0)


def compared_bytes():
    """In how many bytes the matcher has compared files that were closed with what they began as."""
    return sum(int(number) for number in re.findall(r"and compared (\d+)", text("log/events.log")))


# Ways to change a file, each by one call or two. A number is given and, to some, what is to be at an offset.
WAYS = """
import array, ctypes, mmap, os, random, socket, subprocess, sys, threading
C = ctypes.CDLL(None, use_errno=True)
C.fdopen.restype = ctypes.c_void_p
C.fdopen.argtypes = [ctypes.c_int, ctypes.c_char_p]
C.fwrite.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
C.fseek.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_int]
C.fclose.argtypes = [ctypes.c_void_p]
C.syscall.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_long]

def put(file, data, at):
    while data:
        done = os.pwrite(file, data, at)
        data, at = data[done:], at + done

def by_write(file, data, at):
    os.lseek(file, at, os.SEEK_SET)
    assert os.write(file, data) == len(data)

def by_writev(file, data, at):
    os.lseek(file, at, os.SEEK_SET)
    assert os.writev(file, [data[:5], data[5:]]) == len(data)

def by_pwritev(file, data, at):
    assert os.pwritev(file, [data[:5], data[5:]], at) == len(data)

def by_pwritev2(file, data, at):
    assert os.pwritev(file, [data], at, os.RWF_DSYNC) == len(data)

def by_mapping(file, data, at):
    with mmap.mmap(file, at + len(data)) as memory: memory[at:] = data

def by_duplicate(file, data, at):
    other = os.dup(file)
    put(other, data, at)
    os.close(other)

def by_second_open(file, data, at):
    other = os.open('a.dat', os.O_RDWR)
    put(other, data, at)
    os.close(other)

def by_its_link(file, data, at):
    other = os.open(f'/proc/self/fd/{file}', os.O_RDWR)
    put(other, data, at)
    os.close(other)

def by_stream(file, data, at):
    stream = C.fdopen(os.dup(file), b'r+')
    C.fseek(stream, at, 0)
    C.fwrite(data, 1, len(data), stream)
    C.fclose(stream)

def by_print(file, data, at):
    text = b'%08d' % (at % 10 ** 8)
    os.lseek(file, at, os.SEEK_SET)
    C.dprintf(file, text)
    return text

def by_system_call(file, data, at):
    assert C.syscall(PWRITE, file, data, len(data), at) == len(data)

def by_child(file, data, at):
    child = os.fork()
    if child == 0:
        put(file, data, at)
        os._exit(0)
    os.waitpid(child, 0)

def by_shell(file, data, at):
    os.lseek(file, at, os.SEEK_SET)
    os.set_inheritable(file, True)
    assert os.system(f'printf abcdefgh >&{file}') == 0
    return b'abcdefgh'

def by_command(file, data, at):
    with open('part', 'wb') as part: part.write(data)
    subprocess.run([sys.executable, '-c', f'import os; os.pwrite({file}, open("part", "rb").read(), {at})'], pass_fds=[file], check=True)

def by_passing(file, data, at):
    here, there = socket.socketpair()
    here.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [file]))])
    _, control, _, _ = there.recvmsg(1, socket.CMSG_LEN(4))
    other = array.array('i', control[0][2])[0]
    put(other, data, at)
    os.close(other)

def by_sendfile(file, data, at):
    with open('part', 'w+b', 0) as part:
        part.write(data)
        os.lseek(file, at, os.SEEK_SET)
        assert os.sendfile(file, part.fileno(), 0, len(data)) == len(data)

def by_splice(file, data, at):
    data = data[:4000]
    out, into = os.pipe()
    os.write(into, data)
    assert os.splice(out, file, len(data), offset_dst=at) == len(data)
    os.close(out), os.close(into)
    return data

def by_threads(file, data, at):
    half = len(data) // 2
    threads = [threading.Thread(target=put, args=arguments) for arguments in ((file, data[:half], at), (file, data[half:], at + half))]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

PWRITE = {'x86_64': 18, 'aarch64': 68}.get(os.uname().machine, 0)
ALL = [put, by_write, by_writev, by_pwritev, by_pwritev2, by_mapping, by_duplicate, by_second_open, by_its_link, by_stream, by_print, by_child, by_shell, by_command, by_passing, by_sendfile, by_splice, by_threads] + [by_system_call] * (PWRITE > 0)
"""

READER = """
import os, sys, time
for i in range(6000):
    if os.path.exists('written'): break
    time.sleep(0.01)
else: sys.exit('nothing was written')
assert open('a.dat', 'rb').read() == open('wanted', 'rb').read()
open('done', 'w').write('x')
"""


def by_whatever_way():
    """A file is opened again and again, and changed each time by another way, at its end and in the middle: each time it has all that was changed before."""
    seed = harness.test_seed()
    writer = WAYS + f"""
dice = random.Random({seed})
wanted = bytearray(dice.randbytes(1500000))
with open('a.dat', 'wb', 0) as file: file.write(wanted)
for way in dice.sample(ALL * 3, 3 * len(ALL)):
    file = os.open('a.dat', os.O_RDWR)
    found = os.pread(file, len(wanted) + 1, 0)
    assert found == wanted, (way, len(found), len(wanted), [i for i in range(min(len(found), len(wanted))) if found[i] != wanted[i]][:1])
    data = dice.randbytes(dice.randint(8, 9000))
    at = dice.randrange(len(wanted) - 10000)
    print(way.__name__, at, len(data), flush=True)
    data = way(file, data, at) or data
    wanted[at:at + len(data)] = data
    if dice.random() < 0.3:
        size = dice.randint(1200000, len(wanted))
        os.ftruncate(file, size)
        del wanted[size:]
    more = dice.randbytes(dice.randint(1, 50000))
    put(file, more, len(wanted))
    wanted += more
    if dice.random() < 0.3:
        grown = dice.randint(1, 9000)
        os.ftruncate(file, len(wanted) + grown)
        wanted += bytes(grown)
    os.close(file)
with open('wanted', 'wb') as file: file.write(wanted)
open('written', 'w')
"""
    run(writer, READER)
    expect(text("done") == "x", "the reader has not seen all")


APPENDING = """
import os
record = os.urandom(1 << 20)
wanted = b''
for i in range(24):
    file = os.open('a.dat', FLAGS if i else os.O_RDWR | os.O_CREAT)
    WRITE
    wanted += record
    os.close(file)
with open('wanted', 'wb') as file: file.write(wanted)
open('written', 'w')
"""


def what_was_not_written_is_not_compared():
    """Records that are appended by opening a file again for each of them: what was there before is compared neither after pwrite, nor after write, nor with O_APPEND."""
    for flags, write in (("os.O_RDWR", "os.pwrite(file, record, len(wanted))"), ("os.O_WRONLY", "os.lseek(file, 0, 2); os.write(file, record)"), ("os.O_WRONLY | os.O_APPEND", "os.write(file, record)")):
        harness.clear_directory()
        run(APPENDING.replace("FLAGS", flags).replace("WRITE", write), READER)
        expect(text("done") == "x", "the reader has not seen all")
        expect(compared_bytes() < 3 << 20, f"{write}: compared {compared_bytes()} of {sum(range(24)) << 20}")


def who_only_looks_changes_nothing():
    """A file that is opened for writing, and not written, or written with the bytes that it has, makes no step."""
    writer = """
import os
wanted = os.urandom(3 << 20)
with open('a.dat', 'wb') as file: file.write(wanted)
for i in range(5):
    file = os.open('a.dat', os.O_RDWR)
    if i % 2: os.pwrite(file, wanted[:100], 0)
    os.close(file)
with open('wanted', 'wb') as file: file.write(wanted)
open('written', 'w')
"""
    told = run(writer, READER).all
    expect("has gone on in" not in told, "an open to look counts as a change")
    expect(compared_bytes() < 1 << 20, f"compared {compared_bytes()}")


harness.clear_directory()
globals()[case]()
