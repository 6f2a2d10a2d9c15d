#!/usr/bin/python3
"""random_calls.py BUILD RUNS: as random_names.py, but with all calls that take descriptors, streams and mappings, look at files and list directories, and with programs that are
started in between. Not compared are /proc's
names of descriptors, descriptors for reading alone that stay open while others write, and what is on disk of a file of the run that somebody has open."""
import os
import random
import sys

sys.path.append(sys.path[0])
import differential
from harness import clear_directory, expect, test_seed

build, runs = sys.argv[1], int(sys.argv[2])
PROCESSES, CALLS, HIGHEST = 3, 220, 4

WORKER = """
import ctypes, errno, fcntl, glob as globbing, mmap, os, shutil, stat, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.fopen.restype = libc.freopen.restype = libc.opendir.restype = libc.realpath.restype = libc.fdopen.restype = ctypes.c_void_p
libc.ftell.restype = libc.copy_file_range.restype = libc.fread.restype = libc.fwrite.restype = ctypes.c_long
opened, streams, maps = {}, {}, {}
HERE = os.getcwd()
def checked(result, failure=-1):
    if result == failure: raise OSError(ctypes.get_errno(), '')
    return result
def rename2(old, new, flags): return checked(libc.renameat2(-100, old.encode(), -100, new.encode(), flags))
def rename_in(old_directory, old, new_directory, new):
    one, two = os.open(old_directory, os.O_RDONLY), -1
    try:
        two = os.open(new_directory, os.O_RDONLY)
        os.rename(old, new, src_dir_fd=one, dst_dir_fd=two)
    finally:
        os.close(one)
        if two >= 0: os.close(two)
def show(name):
    with open(name, 'rb') as file: return file.read()
def store(name, mode, data):
    with open(name, mode) as file: return file.write(data)
def kind(found): return stat.filemode(found.st_mode), found.st_size if stat.S_ISREG(found.st_mode) else 0, found.st_uid, found.st_gid
def counted(name): return kind(os.stat(name)), os.stat(name).st_nlink if os.path.isfile(name) else 0
def facts(name, follow=True): return kind(os.stat(name, follow_symlinks=follow))
def facts_in(directory, name, flags):
    found = ctypes.create_string_buffer(256)
    one = os.open(directory, os.O_PATH)
    try:
        checked(libc.statx(one, name.encode(), flags, 0x7ff, found))
        mode, size = int.from_bytes(found[28:30], 'little'), int.from_bytes(found[40:48], 'little')
        return stat.filemode(mode), size if stat.S_ISREG(mode) else 0
    finally: os.close(one)
# Descriptors
def put(slot, number):
    if slot in opened: os.close(opened.pop(slot))
    opened[slot] = number
def start(slot, name, flags, mode=0o644): put(slot, os.open(name, flags, mode))
def start_in(slot, directory, name, flags):
    one = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try: put(slot, os.open(name, flags, 0o644, dir_fd=one))
    finally: os.close(one)
def again(slot, other, flags): put(other, os.open('/proc/self/fd/%d' % opened[slot], flags))
def take(slot, length): return os.read(opened[slot], length)
def take_at(slot, length, place): return os.pread(opened[slot], length, place)
def take_parts(slot, place):
    parts = [bytearray(3), bytearray(5)]
    return os.preadv(opened[slot], parts, place), parts
def write(slot, data): return os.write(opened[slot], data)
def write_at(slot, data, place): return os.pwrite(opened[slot], data, place)
def write_parts(slot, one, two): return os.writev(opened[slot], [one, two])
def write_parts_at(slot, one, two, place): return os.pwritev(opened[slot], [one, two], place)
def seek(slot, place, whence): return os.lseek(opened[slot], place, whence)
def size(slot, length): return os.ftruncate(opened[slot], length)
def reserve(slot, mode, place, length): return checked(libc.fallocate(opened[slot], mode, ctypes.c_long(place), ctypes.c_long(length)))
def copy_range(slot, other, length):
    try: return checked(libc.copy_file_range(opened[slot], None, opened[other], None, ctypes.c_size_t(length), 0))
    except OSError as error:
        if error.errno != errno.EXDEV: raise
        return os.write(opened[other], os.read(opened[slot], length))  # of two file systems
def send(slot, other, length): return os.sendfile(opened[other], opened[slot], 0, length)
def sync(slot): return os.fsync(opened[slot])
def own(slot): return kind(os.fstat(opened[slot]))
def linked(slot): return os.fstat(opened[slot]).st_nlink
def status(slot): return fcntl.fcntl(opened[slot], fcntl.F_GETFL) & (os.O_ACCMODE | os.O_APPEND | os.O_NONBLOCK), fcntl.fcntl(opened[slot], fcntl.F_GETFD)
def appending(slot, is_wanted): return fcntl.fcntl(opened[slot], fcntl.F_SETFL, os.O_APPEND if is_wanted else 0)
def mode(slot, bits): os.fchmod(opened[slot], bits)
def age(slot, second):
    os.utime(opened[slot], (second, second))
    return os.fstat(opened[slot]).st_mtime
def end(slot): os.close(opened.pop(slot))
def twice(slot, other): put(other, os.dup(opened[slot]))
def onto(slot, other): os.dup2(opened[slot], opened[other])
def above(slot, other): put(other, fcntl.fcntl(opened[slot], fcntl.F_DUPFD, 40))
def lock(slot, how): return fcntl.flock(opened[slot], how | fcntl.LOCK_NB), fcntl.flock(opened[slot], fcntl.LOCK_UN)
def names_it(slot, name):
    one, two = os.fstat(opened[slot]), os.stat(name)
    return (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino)
def same(one, two): return os.path.samefile(one, two)
def change_map(slot, length, is_shared, data):
    with mmap.mmap(opened[slot], length, mmap.MAP_SHARED if is_shared else mmap.MAP_PRIVATE) as mapped:
        mapped[:len(data)] = data
        return mapped[:length]
def keep_map(slot, length, data):
    if slot in maps: maps.pop(slot).close()
    maps[slot] = mmap.mmap(opened[slot], length, mmap.MAP_SHARED)
    maps[slot][:len(data)] = data
def drop_map(slot): maps.pop(slot).close()
# Streams
def stream(slot, name, mode):
    if slot in streams: close_stream(slot)
    streams[slot] = checked(libc.fopen(name.encode(), mode.encode()), None)
def other_stream(slot, name, mode):
    number = libc.freopen(name.encode() if name else None, mode.encode(), ctypes.c_void_p(streams.pop(slot)))
    streams[slot] = checked(number, None)
def print_to(slot, data): return libc.fwrite(data, 1, len(data), ctypes.c_void_p(streams[slot])), libc.fflush(ctypes.c_void_p(streams[slot]))
def buffer_to(slot, data): return libc.fwrite(data, 1, len(data), ctypes.c_void_p(streams[slot]))
def read_from(slot, length):
    data = ctypes.create_string_buffer(length + 1)
    libc.clearerr(ctypes.c_void_p(streams[slot]))
    found = libc.fread(data, 1, length, ctypes.c_void_p(streams[slot]))
    return data.raw[:found]
def seek_in(slot, place, whence): return checked(libc.fseek(ctypes.c_void_p(streams[slot]), ctypes.c_long(place), whence)), libc.ftell(ctypes.c_void_p(streams[slot]))
def close_stream(slot): return libc.fclose(ctypes.c_void_p(streams.pop(slot)))
# Names
def unnamed(directory, name, data):
    one = os.open(directory, os.O_TMPFILE | os.O_WRONLY, 0o644)
    try:
        os.write(one, data)
        checked(libc.linkat(-100, b'/proc/self/fd/%d' % one, -100, name.encode(), 0x400))
        os.write(one, data)
    finally: os.close(one)
def link_followed(old, new): return checked(libc.linkat(-100, old.encode(), -100, new.encode(), 0x400))
def remove_in(directory, name, flags):
    one = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try: checked(libc.unlinkat(one, name.encode(), flags))
    finally: os.close(one)
def whole(name): return os.path.relpath(os.fsdecode(ctypes.string_at(checked(libc.realpath(name.encode(), None), None))), HERE)
def within(directory, function, *arguments):
    os.chdir(directory)
    try: return globals()[function](*arguments)
    finally: os.chdir(HERE)
def within_opened(directory, function, *arguments):
    one = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        os.fchdir(one)
        return globals()[function](*arguments)
    finally:
        os.close(one)
        os.chdir(HERE)
def times(name, second): os.utime(name, (second, second)); return os.stat(name).st_mtime, os.stat(name).st_atime
def may(name, how): return libc.access(name.encode(), how), libc.eaccess(name.encode(), how), libc.faccessat(-100, name.encode(), how, 0)
def named_alone(name):
    one = os.open(name, os.O_PATH)
    try:
        with open('/proc/self/fd/%d' % one, 'rb') as file: return kind(os.fstat(one)), file.read()
    finally: os.close(one)
def is_shown(name): return not name.startswith('.') and not name.endswith(('.sh', '.py', '.out'))
def listing(name): return sorted(each for each in os.listdir(name) if is_shown(each))
def entries(name):
    with os.scandir(name) as found: return sorted((each.name, each.is_dir(), each.is_file(), each.is_symlink()) for each in found if is_shown(each.name))
def listing_opened(name):
    one = os.open(name, os.O_RDONLY | os.O_DIRECTORY)
    try: return sorted(each for each in os.listdir(one) if is_shown(each))
    finally: os.close(one)
def matches(pattern): return sorted(name for name in globbing.glob(pattern) if is_shown(os.path.basename(name)))
def walk(flags=1):
    found = []
    def note(path, facts, flag, *more):
        if '/.' not in os.fsdecode(path) and is_shown(os.path.basename(os.fsdecode(path))): found.append((os.fsdecode(path), flag, os.path.relpath(os.getcwd(), HERE)))
        return 0
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    libc.nftw(b'.', kind(note), 8, flags)
    return sorted(found)
def tree(): return [(directory, sorted(below), sorted(listing(directory))) for directory, below, files in sorted(os.walk('.')) if '/.' not in directory]
def make_socket(name):
    import socket
    with socket.socket(socket.AF_UNIX) as made: made.bind(name)
# Other processes
def child(slot, data):
    pid = os.fork()
    if pid == 0:
        try: os.write(opened[slot], data)
        except OSError: os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1]
def shell(command):
    done = subprocess.run(['sh', '-c', command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.returncode, done.stdout
def shell_with(slot, command):
    return subprocess.run(['sh', '-c', command], stdin=subprocess.DEVNULL, stdout=opened[slot], stderr=subprocess.DEVNULL).returncode
def copy(old, new): shutil.copyfile(old, new)
def move(old, new): shutil.move(old, new)
"""

COVERED = ["a.dat", "b.dat", "d/a.dat", "e/a.dat", "out/x"]
OTHERS = ["x.txt", "d/x.txt"]
LINKS = ["l.dat", "k.txt", "d/l.dat"]  # of which some lead somewhere
DIRECTORIES = ["d", "e", "out", "f"]
FLAGS = [os.O_CREAT, os.O_CREAT, os.O_CREAT, os.O_CREAT | os.O_TRUNC, os.O_CREAT | os.O_TRUNC, os.O_CREAT | os.O_APPEND, os.O_CREAT | os.O_EXCL, os.O_TRUNC, os.O_APPEND, os.O_NOFOLLOW, os.O_CREAT | os.O_NOFOLLOW, 0]
MODES = ["r+", "w", "w+", "a", "a+", "wx", "w+x", "r+e", "ab"]


class Sequence:
    """Calls at random. It follows which descriptors and streams each process may have, and nothing else."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.calls = [(0, ("mkdir", (name,))) for name in DIRECTORIES[:3]]
        self.slots = [set() for _ in range(PROCESSES)]
        self.streams = [set() for _ in range(PROCESSES)]
        self.has_links = self.chance.random() < 0.5
        self.makes_directories = self.chance.random() < 0.5

    def pick(self, choices):
        return self.chance.choice(list(choices))

    def name(self):
        return self.pick(COVERED + COVERED + OTHERS + (LINKS if self.has_links else []))

    def data(self):
        return bytes([97 + self.chance.randrange(26)]) * self.chance.randrange(1, 9)

    def is_open(self):
        return any(self.slots) or any(self.streams)

    def of_descriptor(self, process):
        own, chance = self.slots[process], self.chance
        slot = self.pick(own)
        other = self.pick(own) if chance.random() < 0.6 else chance.randrange(HIGHEST)
        call = self.pick([
            ("take", (slot, chance.randrange(12))), ("take_at", (slot, chance.randrange(12), chance.randrange(20))), ("take_parts", (slot, chance.randrange(9))),
            ("write", (slot, self.data())), ("write", (slot, self.data())), ("write", (slot, self.data())), ("write_at", (slot, self.data(), chance.randrange(20))),
            ("write_parts", (slot, self.data(), self.data())), ("write_parts_at", (slot, self.data(), self.data(), chance.randrange(20))),
            ("seek", (slot, chance.randrange(12), self.pick([0, 1, 2]))), ("seek", (slot, chance.randrange(12), self.pick([3, 4]))), ("size", (slot, chance.randrange(30))),
            ("reserve", (slot, self.pick([0, 1]), chance.randrange(20), chance.randrange(1, 20))), ("reserve", (slot, 3, chance.randrange(20), chance.randrange(1, 20))),
            ("copy_range", (slot, other, chance.randrange(1, 20))), ("send", (slot, other, chance.randrange(1, 20))), ("sync", (slot,)), ("own", (slot,)), ("own", (slot,)), ("linked", (slot,)), ("status", (slot,)),
            ("appending", (slot, self.pick([0, 1]))), ("mode", (slot, self.pick([0o600, 0o640, 0o755, 0o666]))), ("age", (slot, 10 ** 9 + chance.randrange(99))), ("twice", (slot, other)),
            ("above", (slot, other)), ("onto", (slot, other)), ("again", (slot, other, self.pick([os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND]))),
            ("names_it", (slot, self.name())), ("change_map", (slot, 8, self.pick([False, True]), self.data()[:8])), ("keep_map", (slot, 8, self.data()[:8])), ("drop_map", (slot,)), ("lock", (slot, self.pick([1, 2]))),
            ("child", (slot, self.data())), ("shell_with", (slot, "echo hello")), ("end", (slot,)), ("end", (slot,)), ("end", (slot,))])
        if call[0] == "end":
            own.discard(slot)
        if call[0] in ("twice", "above", "again"):
            own.add(other)
        return call

    def of_stream(self, process):
        own, chance = self.streams[process], self.chance
        slot = self.pick(own)
        call = self.pick([("print_to", (slot, self.data())), ("print_to", (slot, self.data())), ("buffer_to", (slot, self.data())), ("read_from", (slot, chance.randrange(1, 9))),
                          ("seek_in", (slot, chance.randrange(9), self.pick([0, 1, 2]))), ("close_stream", (slot,)), ("close_stream", (slot,)),
                          ("other_stream", (slot, self.name(), self.pick(MODES)))])
        if call[0] == "close_stream":
            own.discard(slot)
        return call

    def of_open(self, process):
        slot, chance = self.chance.randrange(HIGHEST), self.chance
        flags = self.pick([os.O_WRONLY, os.O_RDWR, os.O_RDWR]) | self.pick(FLAGS)
        if chance.random() < 0.3:
            self.streams[process].add(slot)
            return ("stream", (slot, self.name(), self.pick(MODES)))
        self.slots[process].add(slot)
        if chance.random() < 0.15:
            return ("start_in", (slot, self.pick(DIRECTORIES), self.pick(["a.dat", "b.dat", "x.txt", "../a.dat", "x"]), flags))
        return ("start", (slot, self.name(), flags, self.pick([0o644, 0o644, 0o600, 0o666])))

    def of_two_names(self, process):
        name, other = self.name(), self.name()
        crosses = (name in COVERED) != (other in COVERED)
        if (crosses or (self.has_links and {name, other} & set(LINKS))) and self.is_open():
            return None  # what is on disk of an open file
        calls = [("rename", (name, other)), ("rename", (name, other)), ("rename2", (name, other, self.pick([0, 1]))), ("copy", (name, other)),
                 ("shell", (f"mv -T {name} {other}",)), ("shell", (f"mv -nT {name} {other}",)), ("shell", (f"cp -T {name} {other}",)), ("shell", (f"cp -pT {name} {other}",)),
                 ("shell", (f"cat {name} >> {other}",))]
        if not crosses:
            calls += [("shell", (f"ln -T {name} {other}",)), ("shell", (f"ln -fT {name} {other}",)), ("link", (name, other)), ("link", (name, other)), ("link_followed", (name, other)), ("same", (name, other))]
            if not self.makes_directories:
                calls += [("rename2", (name, other, 2)), ("move", (name, other))]
            if "/" in name and "/" in other:
                (one, first), (two, second) = name.split("/"), other.split("/")
                calls += [("rename_in", (one, first, two, second))]
        return self.pick(calls)

    def of_directories(self, process):
        directory, target = self.pick(DIRECTORIES), self.pick(DIRECTORIES)
        if self.is_open():
            return None
        return self.pick([("rename", (directory, target)), ("rmdir", (directory,)), ("mkdir", (directory,)), ("remove_in", (".", directory, 0x200)), ("shell", (f"mv -T {directory} {target}",)),
                          ("rename2", (directory, target, 1)), ("shell", (f"rm -r {directory}; mkdir -p {directory}",)), ("shell", (f"cp -r {directory} {target}",))])

    def of_name(self, process):
        name, chance = self.name(), self.chance
        calls = [("unlink", (name,)), ("unlink", (name,)), ("remove_in", (".", name, 0)), ("shell", (f"rm {name}",)), ("truncate", (name, chance.randrange(9))), ("truncate", (name, chance.randrange(9))),
                 ("chmod", (name, self.pick([0o600, 0o640, 0o755]))), ("times", (name, 10 ** 9 + chance.randrange(99))), ("rmdir", (name,)), ("mkfifo", (name + ".none/x",)),
                 ("store", (name, self.pick(["wb", "ab", "xb", "r+b", "w+b"]), self.data())), ("store", (name, "wb", self.data())), ("shell", (f"echo text > {name}",)), ("shell", (f"echo more >> {name}",)),
                 ("shell", (f"touch {name}",)), ("shell", (f"touch -c {name}",)), ("shell", (f"sed -i s/a/b/ {name}",)), ("shell", (f"test -e {name}",)), ("shell", (f"test -w {name}",))]
        if self.makes_directories:
            calls += [("mkdir", (name,))]
        if name in COVERED or not self.is_open():
            calls += [("unnamed", (self.pick([".", "d"]), name, self.data()))]
        if self.has_links:
            calls += [("symlink", (self.pick(COVERED + OTHERS + LINKS), self.pick(LINKS))), ("readlink", (name,)), ("unlink", (self.pick(LINKS),))]
        return self.pick(calls)

    def of_look(self, process):
        name, chance, directory = self.name(), self.chance, self.pick(DIRECTORIES)
        return self.pick([("facts", (name,)), ("counted", (name,)), ("facts", (name, False)), ("may", (name, self.pick([0, 4, 2, 6]))), ("show", (name,)), ("show", (name,)), ("shell", (f"cat {name}",)), ("whole", (name,)),
                          ("facts_in", (self.pick(DIRECTORIES + ["."]), self.pick(["a.dat", "b.dat", "x.txt", "../a.dat", "x", "l.dat"]), self.pick([0, 0x100]))),
                          ("within", (directory, "show", self.pick(["a.dat", "x", "../a.dat"]))), ("within_opened", (directory, "facts", self.pick(["a.dat", "x", "../a.dat"]))),
                          ("within", (directory, "listing", ".")), ("within", (directory, "whole", "a.dat")), ("listing", (directory,)), ("entries", (directory,)), ("entries", (".",)),
                          ("listing_opened", (directory,)), ("named_alone", (name,)), ("facts", (directory + "/../" + name,)), ("facts", (name + "/../" + name,)), ("show", ("none/../" + name,)), ("matches", (self.pick(["*.dat", "*/*.dat", "d/*", "out/?"]),)), ("tree", ()), ("walk", (self.pick([1, 1 | 4, 1 | 4 | 8]),)), ("shell", (f"ls {directory}",)),
                          ("facts", (name + "/",)), ("facts", (name + "/x",)), ("show", (name + "/x",)), ("listing", (name,)), ("readlink", (name,)), ("same", (name, self.name())),
                          ("shell", (f"wc -c {name}",)), ("shell", (f"head -c 3 {name}; tail -c 2 {name}",)), ("shell", (f"cd {directory} && cat *",)), ("shell", ("find . -name '*.dat' | sort",))])

    def add(self):
        process = self.chance.randrange(PROCESSES)
        kinds = [self.of_open] * 2 + [self.of_two_names] * 3 + [self.of_directories] + [self.of_name] * 3 + [self.of_look] * 3
        if self.slots[process]:
            kinds += [self.of_descriptor] * 7
        if self.streams[process]:
            kinds += [self.of_stream] * 4
        call = self.pick(kinds)(process)
        if call is not None:
            self.calls.append((process, call))

    def finish(self):
        for process in range(PROCESSES):
            self.calls += [(process, ("end", (slot,))) for slot in sorted(self.slots[process])]
            self.calls += [(process, ("close_stream", (slot,))) for slot in sorted(self.streams[process])]
        self.calls.append((0, ("tree", ())))


def calls_of(seed):
    sequence = Sequence(seed)
    for _ in range(CALLS):
        sequence.add()
    sequence.finish()
    return sequence.calls, COVERED + OTHERS


if __name__ == "__main__":
    clear_directory()
    first = test_seed(1)
    failed = [seed for number, seed in enumerate(range(first, first + runs)) if not differential.compare(build, number, seed, WORKER, calls_of)]
    expect(not failed, f"{len(failed)} of {runs} sequences differ; their seeds: {failed}")
