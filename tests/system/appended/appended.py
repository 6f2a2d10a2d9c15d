#!/usr/bin/python3
"""appended.py BUILD CASE: files that programs open again, to append to them by the C library."""
import glob
import json
import os
import random
import re
import signal
import sys
import time

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import expect, finish, text, wait_for

build, case = sys.argv[1:3]
sluice = build + "/bin/sluice"
PYTHON = "/usr/bin/python3"


def write_flow(writer, reader, more="", spill="auto", staging=""):
    if spill != "auto": os.makedirs(spill, exist_ok=True)
    for name, lines in (("writer.py", writer), ("reader.py", reader)):
        with open(name, "w") as file:
            file.write(lines)
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join([
            "version: 1", "name: test", f"staging: {{prewarm: 0, spill: {spill}{staging}}}", "components:", f"  writer: {{command: {PYTHON} writer.py}}", f"  reader: {{command: {PYTHON} reader.py}}", "files:",
            f'  - {{path: "*.dat", writer: writer, readers: [reader]{more}}}'
        ]) + "\n")


def put_bytes():
    """What the report says that the writer has put."""
    report = json.loads(finish(harness.start(sluice, "report", "log", "--json"), 0).out)
    return report["files"][0]["put_bytes"]


APPENDING = """
import os
record = os.urandom(1 << 20)
for i in range(20):
    with open('a.dat', 'r+b' if i else 'w+b') as file:
        file.seek(0, 2)
        file.write(record)
        file.seek(0)
        file.write(i.to_bytes(4, 'big'))
"""


def what_is_added_counts_once():
    """A file that is opened again for each record counts with what was written, and each step has all of it."""
    write_flow(APPENDING, "import time\nwhile len(open('a.dat', 'rb').read()) < 20 << 20: time.sleep(0.01)\nopen('done', 'w').write('x')")
    finish(harness.start(sluice, "run", "--log-dir", "log", "flow.yaml"), 0)
    expect(text("done") == "x", "the reader has not seen the whole file")
    page = 4096  # what is changed within a page counts as a page
    expect(20 << 20 <= put_bytes() <= (20 << 20) + 20 * page, f"put: {put_bytes()}")


def copied_bytes():
    """What the matchers say that they have copied of files that went on."""
    return sum(int(number) for number in re.findall(r"copied (\d+) bytes of files", text("log/events.log")))


WAITING = """
import os, sys, time
def await_file(name):
    for i in range(6000):
        if os.path.exists(name): return
        time.sleep(0.01)
    sys.exit(name + ' never came')
"""


def what_is_added_is_copied_once():
    """A file that is opened again for each record is not copied each time, with one matcher and with more: a former file gets what it lacks. So it is with a file that is opened just to look."""
    looking = APPENDING + "    if i == 10:\n        for j in range(5): open('a.dat', 'r+b').close()\nopen('written', 'w')\n"
    for matchers in 1, 2:
        harness.clear_directory()
        write_flow(looking, WAITING + "await_file('written')\nassert len(open('a.dat', 'rb').read()) == 20 << 20\n", staging=f", matchers: {matchers}")
        finish(harness.start(sluice, "run", "--log-dir", "log", "flow.yaml"), 0)
        whole_copies = sum(range(1, 20)) << 20
        expect(20 << 20 <= put_bytes() <= 21 << 20, f"put: {put_bytes()}")
        expect(copied_bytes() < whole_copies / 2, f"copied: {copied_bytes()} of {whole_copies}")  # some 40 MiB; more where a step ends late


def what_is_read_each_time_is_copied_once():
    """A reader that takes every step of a file that grows has each as it was, and costs no copy of the whole."""
    writer = WAITING + """
record = os.urandom(1 << 20)
for i in range(24):
    with open('a.dat', 'r+b' if i else 'w+b') as file:
        file.seek(0, 2)
        file.write(record)
        file.seek(0)
        file.write(b'%04d' % i)
    open(f'closed{i}', 'w')
    if i > 0: await_file(f'read{i - 1}')
"""
    reader = WAITING + """
for i in range(24):
    await_file(f'closed{i}')
    with open('a.dat', 'rb') as file: data = file.read()
    last = int(data[:4])
    assert i <= last and len(data) == (last + 1) << 20 and data[5:1 << 20] == data[(last << 20) + 5:], (i, data[:4], len(data))
    open(f'read{i}', 'w')
open('done', 'w').write('x')
"""
    write_flow(writer, reader)
    finish(harness.start(sluice, "run", "--log-dir", "log", "flow.yaml"), 0)
    expect(text("done") == "x", "the reader has not seen all")
    whole_copies = sum(range(1, 24)) << 20
    expect(copied_bytes() < whole_copies * 3 / 4, f"copied: {copied_bytes()} of {whole_copies}")


def who_goes_on_asks_once():
    """Libraries look at a file several times when they open it: netCDF's open to append is two stats, an open for reading, one for reading and writing, and an lstat. The matcher is asked once."""
    writer = """
import os
for i in range(80):
    if i: looked = os.stat('a.dat').st_size, os.stat('a.dat').st_ino, len(open('a.dat', 'rb').read())
    with open('a.dat', 'r+b' if i else 'w+b') as file:
        file.seek(0, 2)
        file.write(b'%d' % (i % 10))
        file.flush()
        same = os.lstat('a.dat')
        assert (same.st_size, same.st_ino) == (i + 1, os.fstat(file.fileno()).st_ino), (i, same)
    if i: assert looked[0] == looked[2] == i, (i, looked)
"""
    write_flow(writer, "import time\nwhile len(open('a.dat', 'rb').read()) < 80: time.sleep(0.2)\nopen('done', 'w')")
    finish(harness.start(sluice, "run", "--log-dir", "log", "flow.yaml"), 0)
    expect(os.path.exists("done"), "the reader has not seen the whole file")
    asked = int(re.search(r"matcher 0 .*: (\d+) requests", text("log/events.log")).group(1))
    expect(asked < 2.5 * 80, f"the matcher got {asked} requests")  # an open and a close each time, and the reader's; of six each time it was 480


def who_reads_asks_to_open():
    """A reader asks when it opens a file, which counts, and not when it looks at a file that it has opened: netCDF's open is two opens and an lstat."""
    writer = WAITING + """
for i in range(80):
    with open(f'{i}.dat', 'wb') as file: file.write(b'%d' % i)
open('written', 'w')
await_file('read')
"""
    reader = SHARED + WAITING + """
await_file('written')
for j in range(2):
    for i in range(80):
        first = open(f'{i}.dat', 'rb').read()
        assert first == open(f'{i}.dat', 'rb').read() == b'%d' % i
        assert os.lstat(f'{i}.dat').st_size == os.path.getsize(f'{i}.dat') == len(first)
other(holds_nothing)  # a child may live long
open('read', 'w')
"""
    write_flow(writer, reader)
    finish(harness.start(sluice, "run", "--log-dir", "log", "flow.yaml"), 0)
    asked = int(re.search(r"matcher 0 .*: (\d+) requests", text("log/events.log")).group(1))
    expect(asked < 6.5 * 80, f"the matcher got {asked} requests")  # create and close, and two times two opens to read


SHARED = """
import os, traceback
def other(work):
    \"\"\"Another process does it, and this one has seen that it has.\"\"\"
    process = os.fork()
    if process == 0:
        try:
            work()
            os._exit(0)
        except BaseException: traceback.print_exc()
        os._exit(1)
    assert os.waitpid(process, 0)[1] == 0
def put(name, mode, data):
    with open(name, mode) as file: file.write(data)
def swap(one, two):
    import ctypes
    assert ctypes.CDLL(None).renameat2(-100, one, -100, two, 2) == 0
def is_gone(name):
    try: os.stat(name)
    except FileNotFoundError: return True
def show(name):
    with open(name, 'rb') as file: return file.read()
def held():
    links = []
    for number in os.listdir('/proc/self/fd'):
        try: links.append(os.readlink('/proc/self/fd/' + number))
        except FileNotFoundError: pass
    return [link for link in links if link.startswith('/memfd:sluice')]
def holds_nothing(): assert not held(), held()
"""


def what_is_known_is_never_old():
    """Who has looked at a file of its own sees what other processes have done with its name since: the next look is as new as the first."""
    writer = SHARED + """
for i in range(30):
    put('a.dat', 'w+b', b'first')
    put('b.dat', 'w+b', b'other')
    put('a.dat', 'r+b', b'FIRST')  # known from here on
    assert show('a.dat') == b'FIRST' and os.stat('a.dat').st_nlink == 1
    other(holds_nothing)  # a child may live long
    other(lambda: put('a.dat', 'r+b', b'gone on'))
    assert show('a.dat') == b'gone on'
    other(lambda: put('a.dat', 'wb', b'anew'))
    assert show('a.dat') == b'anew' and os.stat('a.dat').st_size == 4
    other(lambda: os.link('a.dat', 'c.dat'))
    assert os.stat('a.dat').st_nlink == 2
    other(lambda: os.chmod('c.dat', 0o600))
    assert os.stat('a.dat').st_mode & 0o777 == 0o600
    other(lambda: os.unlink('c.dat'))
    assert os.stat('a.dat').st_nlink == 1 and show('a.dat') == b'anew'
    other(lambda: swap(b'a.dat', b'b.dat'))
    assert show('a.dat') == b'other' and show('b.dat') == b'anew'
    other(lambda: os.rename('b.dat', 'a.dat'))
    assert show('a.dat') == b'anew' and is_gone('b.dat')
    other(lambda: os.truncate('a.dat', 2))
    assert show('a.dat') == b'an' and os.stat('a.dat').st_size == 2
    other(lambda: os.unlink('a.dat'))
    assert is_gone('a.dat')
put('a.dat', 'wb', b'last')
"""
    write_flow(writer, "import time\nwhile open('a.dat', 'rb').read() != b'last': time.sleep(0.2)\nopen('done', 'w')")
    finish(harness.start(sluice, "run", "flow.yaml"), 0)
    expect(os.path.exists("done"), "the reader has not seen the last file")


def who_has_an_older_step_keeps_its_bytes():
    """A reader that has opened or mapped a step has its bytes while the writer goes on, and who opens meanwhile gets the last one that was closed."""
    writer = WAITING + """
record = os.urandom(1 << 20)
for i in range(12):
    with open('a.dat', 'r+b' if i else 'w+b') as file:
        file.seek(0, 2)
        file.write(record)
        file.seek(0)
        file.write(b'%04d' % i)
        file.flush()
        if i % 4 == 3:
            open(f'open{i}', 'w')
            await_file(f'seen{i}')
    if i % 4 == 2:
        open(f'closed{i}', 'w')
        await_file(f'taken{i}')
open('written', 'w')
"""
    reader = WAITING + """
import mmap
held = []
for i in range(2, 11, 4):
    await_file(f'closed{i}')
    file = open('a.dat', 'rb')
    held.append((i, file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)))
    open(f'taken{i}', 'w')
    await_file(f'open{i + 1}')
    with open('a.dat', 'rb') as now: head, size = now.read(4), os.fstat(now.fileno()).st_size
    assert (head, size) == (b'%04d' % i, (i + 1) << 20), (i, head, size)
    open(f'seen{i + 1}', 'w')
await_file('written')
for i, file, memory in held:
    assert file.read() == memory[:], i
    assert memory[:4] == b'%04d' % i and len(memory) == (i + 1) << 20, (i, memory[:4], len(memory))
    assert memory[5:1 << 20] == memory[(i << 20) + 5:], i
open('done', 'w').write('x')
"""
    write_flow(writer, reader)
    finish(harness.start(sluice, "run", "--log-dir", "log", "flow.yaml"), 0)
    expect(text("done") == "x", "the reader has not seen all")


def a_writer_that_dies_leaves_the_last_step():
    """A writer that is killed while it goes on leaves what it had closed before."""
    writer = APPENDING.replace("range(20)", "range(6)") + """
import signal
with open('a.dat', 'r+b') as file:
    file.write(b'torn' * 1000000)
    file.truncate(5000000)
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    reader = WAITING + """
await_file('dead')
with open('a.dat', 'rb') as file: data = file.read()
assert len(data) == 6 << 20 and data[:4] == b'\\0\\0\\0\\5' and b'torn' not in data, (len(data), data[:4])
open('done', 'w').write('x')
"""
    write_flow(writer, reader)
    run = harness.start(sluice, "run", "--log-dir", "log", "flow.yaml")
    harness.wait_for_event(run, "was killed before it had closed it")
    harness.allow("dead")
    finish(run)
    expect(text("done") == "x", "the reader has not got the step")


# What brings the file of `number` to storage, after `record` was written at its end.
SYNCS = """
import mmap, os, subprocess, sys, time
def await_file(name):
    for i in range(3000):
        if os.path.exists(name): return
        time.sleep(0.01)
    sys.exit(name + ' never came')
def append(file, record):
    file.seek(0, 2)
    file.write(record)
    file.flush()
def sync(file, how):
    if how == 'fsync': os.fsync(file.fileno())
    if how == 'fdatasync': os.fdatasync(file.fileno())
    if how == 'msync':
        with mmap.mmap(file.fileno(), 0) as memory: memory.flush()
    if how == 'inherited': subprocess.run([sys.executable, '-c', 'import os; os.fsync(1)'], stdout=file, check=True)
    if how == 'program': subprocess.run(['sync', 'a.dat'], check=True)
HOW = ['fsync', 'fdatasync', 'msync', 'inherited', 'program']
"""


def readers_see_what_is_synced():
    """With 'publish: sync' a reader that opens gets the file as it was at the last fsync, whatever has called it, and a reader that has it open keeps its bytes."""
    writer = SYNCS + """
with open('a.dat', 'w+b') as file:
    for i, how in enumerate(HOW):
        append(file, how.encode() + b' ')
        sync(file, how)
        append(file, b'more ')
        open(f'synced{i}', 'w')
        await_file(f'read{i}')
    append(file, b'end')
"""
    reader = SYNCS + """
seen, first = '', None
for i, how in enumerate(HOW):
    await_file(f'synced{i}')
    with open('a.dat') as file: text = file.read()
    seen += how + ' '
    assert text == seen, (text, seen)
    seen += 'more '
    first = first or open('a.dat')
    open(f'read{i}', 'w')
assert first.read() == 'fsync '
while not open('a.dat').read().endswith('end'): time.sleep(0.01)
assert open('a.dat').read() == seen + 'end'
open('done', 'w').write('x')
"""
    for nodes, staging in ("1", ""), ("1", ", matchers: 2"), ("2", ""):
        harness.clear_directory()
        write_flow(writer, reader, ", publish: sync", staging=staging)
        told = finish(harness.start(sluice, "run", "--log-dir", "log", "flow.yaml", environment={"SLUICE_VIRTUAL_NODES": nodes}), 0).all
        expect(text("done") == "x", "the reader has not seen all")
        expect("has gone on in" not in told, "a sync is taken for a close")


def a_sync_copies_what_has_changed():
    """Syncs of a file that grows copy what was added and changed, and each step has the file as it was, with one matcher and with more."""
    writer = SYNCS + """
record = os.urandom(1 << 20)
with open('a.dat', 'w+b') as file:
    for i in range(16):
        append(file, record)
        file.seek(0)
        file.write(b'%04d' % i)
        file.flush()
        sync(file, HOW[i % 3])
        if i % 5 == 4:
            open(f'synced{i}', 'w')
            await_file(f'read{i}')
open('written', 'w')
"""
    reader = SYNCS + """
held = []
for i in 4, 9, 14:
    await_file(f'synced{i}')
    held.append((i, open('a.dat', 'rb')))
    open(f'read{i}', 'w')
await_file('written')
for i, file in held:
    data = file.read()
    assert data[:4] == b'%04d' % i and len(data) == (i + 1) << 20 and data[5:1 << 20] == data[(i << 20) + 5:], i
open('done', 'w').write('x')
"""
    for matchers in 1, 2:
        harness.clear_directory()
        write_flow(writer, reader, ", publish: sync", staging=f", matchers: {matchers}")
        finish(harness.start(sluice, "run", "--log-dir", "log", "flow.yaml"), 0)
        expect(text("done") == "x", "the reader has not seen all")
        whole_copies = sum(range(1, 17)) << 20
        expect(copied_bytes() < whole_copies * 3 / 4, f"copied: {copied_bytes()} of {whole_copies}")


def a_sync_without_a_change_shows_nothing():
    """Syncs without a change make no step, and a close behind the last sync makes none either."""
    write_flow(SYNCS + "with open('a.dat', 'w+b') as file:\n    append(file, b'one')\n    for how in HOW: sync(file, how)\n", "assert open('a.dat').read() == 'one'", ", publish: sync")
    finish(harness.start(sluice, "run", "--log-dir", "log", "flow.yaml"), 0)
    steps = json.loads(finish(harness.start(sluice, "report", "log", "--json"), 0).out)["rules"][0]["steps"]
    expect(steps == 1, f"{steps} steps")


KILLED = SYNCS + """
import signal
with open('a.dat', 'w+b') as file:
    for i in range(10):
        append(file, b'record %d\\n' % i)
        sync(file, HOW[i % 3])
    append(file, b'not synced')
    open('synced', 'w')
    if os.path.exists('dies'): os.kill(os.getpid(), signal.SIGKILL)
    await_file('never')
"""
TEN = "".join(f"record {i}\n" for i in range(10))


def recovered(*options):
    return finish(harness.start(sluice, "recover", *options), 0).all


def leave_older_one(saved):
    """What a kill leaves that comes before an older saved file was removed."""
    older = re.sub(r"\.(\d+)\.sluice-saved$", lambda number: f".{int(number[1]) - 1}.sluice-saved", saved)
    with open(saved, "rb") as file, open(older, "wb") as to:
        to.write(file.read().replace(b"record 9", b"record X", 1))
    times = os.stat(saved)
    os.utime(older, ns=(times.st_atime_ns, times.st_mtime_ns))


def what_was_synced_survives():
    """With 'through: burst-buffer' a kill of the writer, or of the whole run, leaves what was there at the last fsync."""
    for victim in "writer", "run":
        harness.clear_directory()
        write_flow(KILLED, "open('a.dat')", ", through: burst-buffer", "logs")
        if victim == "writer": harness.allow("dies")
        run = harness.start(sluice, "run", "--log-dir", "log", "flow.yaml")
        wait_for(lambda: os.path.exists("synced"), "the syncs")
        told = (harness.kill_run if victim == "run" else finish)(run).all
        expect(run.returncode != 0, "a success")
        expect(victim == "run" or "sluice recover" in told, "it is not told how the file can be had")
        expect(not os.path.exists("a.dat") and len(glob.glob("logs/*.sluice-saved")) == 1, f"left: {os.listdir('logs')}")
        leave_older_one(glob.glob("logs/*.sluice-saved")[0])
        recovered("logs", "-o", "log")
        expect(text("log/a.dat") == TEN and not os.path.exists("a.dat"), "a copy")
        recovered("logs")
        expect(text("a.dat") == TEN, "the file")
        expect("already is" in recovered("logs"), "a second recovery")
        with open("a.dat", "w") as file:
            file.write("later")
        expect("written later" in recovered("logs") and text("a.dat") == "later", "a later file is replaced")
        recovered("--force", "--delete", "logs")
        expect(text("a.dat") == TEN and not glob.glob("logs/*.sluice-saved"), "what was saved is left")


def nothing_is_left_of_syncs():
    """A run that ends well leaves the files and nothing that was saved; neither does a file that the program removes."""
    writer = SYNCS + """
for name in 'a.dat', 'b.dat', 'c.dat':
    with open(name, 'w+b') as file:
        append(file, b'one ')
        sync(file, 'fsync')
        append(file, b'two ')
        sync(file, 'fsync')
        if name == 'b.dat': os.remove(name)
        append(file, b'three')
"""
    for more in ", through: burst-buffer", ", through: burst-buffer, publish: sync":
        harness.clear_directory()
        write_flow(writer, "for name in 'a.dat', 'c.dat':\n    while open(name).read() != 'one two three': pass", more)
        finish(harness.start(sluice, "run", "--log-dir", "log", "flow.yaml"), 0)
        expect(text("a.dat") == text("c.dat") == "one two three", "the files")
        expect(not glob.glob("*.sluice-saved") and not glob.glob(".*"), f"left: {os.listdir('.')}")


def a_sync_that_fails_is_told():
    """Where the bytes cannot be saved, fsync says so, and the program goes on."""
    writer = """
import os, shutil
with open('a.dat', 'wb', 0) as file:
    file.write(b'one')
    shutil.rmtree('logs')
    try: os.fsync(file.fileno())
    except OSError as error: open('told', 'w').write(str(error.errno))
"""
    write_flow(writer, "assert open('a.dat').read() == 'one'", ", through: burst-buffer", "logs")
    finish(harness.start(sluice, "run", "--log-dir", "log", "flow.yaml"), 0)
    expect(int(text("told")) > 0, "the sync is no error")
    expect(text("a.dat") == "one", "the file is lost")


SYNCING = """
import os
record = b'0123456789abcdef' * 4096
with open('a.dat', 'wb', 0) as file, open('acknowledged', 'ab', 0) as known:
    for i in range(100000):
        file.write(b'%08d' % i + record)
        os.fsync(file.fileno())
        known.write(b'x')
"""
RECORD = 8 + 16 * 4096


def what_fsync_has_returned_for_survives_kills():
    """Whoever is killed at whatever moment, the writer, a matcher or the coordinator: 'sluice recover' makes a file that has each record for which fsync had returned, and nothing torn before the last one."""
    dice = random.Random(harness.test_seed())
    for victim in ("writer", "matcher", "coordinator", "all") * 2:
        harness.clear_directory()
        more = ", through: burst-buffer" + dice.choice(["", ", publish: sync"])
        matchers = dice.choice([1, 2])
        write_flow(SYNCING, "open('a.dat').close()", more, "logs", staging=f", matchers: {matchers}")
        run = harness.start(sluice, "run", "--log-dir", "log", "flow.yaml")
        wait_for(lambda: os.path.exists("acknowledged") and os.path.getsize("acknowledged") > 2, "the syncs")
        time.sleep(dice.random() / 2)
        all_of_run = harness.descendants(run.pid)
        victims = {"writer": [pid for pid, _, words in harness.processes_of(PYTHON) if "writer.py" in words], "matcher": harness.descendants_named("sluice-matcher", run.pid)[-1:], "coordinator": [run.pid], "all": [*all_of_run, run.pid]}[victim]
        expect(victims, "nobody to kill")
        harness.kill(victims, signal.SIGKILL)
        finish(run)
        wait_for(lambda: not any(map(harness.is_alive, all_of_run)), "the end of all processes")
        acknowledged = os.path.getsize("acknowledged")
        recovered("logs")
        with open("a.dat", "rb") as file:
            data = file.read()
        print(f"{victim}{more}, {matchers} matchers: {acknowledged} records were synced, {len(data) / RECORD} are there", flush=True)
        expect(len(data) >= acknowledged * RECORD, f"{victim}: {len(data) / RECORD} of {acknowledged} records")
        whole = b"0123456789abcdef" * 4096
        for i in range(acknowledged):
            expect(data[i * RECORD:(i + 1) * RECORD] == b"%08d" % i + whole, f"{victim}: record {i}")


harness.clear_directory()
globals()[case]()
