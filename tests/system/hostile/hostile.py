#!/usr/bin/python3
"""hostile.py BUILD CASE: signals to all processes of a run, files with impossible numbers, files that are cut, and messages that no process of Sluice would send: the matcher
goes on, and serves the others."""
import os
import random
import signal
import struct
import subprocess
import sys
import time

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, case = sys.argv[1:3]
PYTHON = "/usr/bin/python3"

# Speaks the protocol of client and matcher: type, flags and tag, then the fields.
CLIENT = """
import os, random, socket, struct, sys, time
P = struct.pack
BIG = [0, 1, 7, 255, 2**31 - 1, 2**32 - 1, 2**40, 2**57, 2**60, 2**61 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
def text(value): return P('<I', len(value)) + value.encode()
def number(value): return P('<Q', value % 2**64)
class Client:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(os.environ['SLUICE_SOCKET'])
        self.socket.settimeout(0.2)
        self.tag = 0
        self.ask(1, P('<I', int(sys.argv[1])) + text(sys.argv[2]) + number(12345 + random.randrange(2**40)) + P('<I', os.getpid()) + text(os.environ['SLUICE_COMPONENT']) + bytes(2) + P('<i', -1))
    def ask(self, kind, fields):
        self.tag += 1
        self.socket.send(P('<HHI', kind, 0, self.tag) + fields)
        try:
            while True:
                answer, descriptors, flags, address = socket.recv_fds(self.socket, 70000, 16)
                for descriptor in descriptors: os.close(descriptor)
                if not answer: raise EOFError
                if struct.unpack('<HHI', answer[:8])[2] == self.tag: return answer[8:]
        except socket.timeout:
            return None
"""

RANDOM = CLIENT + """
def fields(): return b''.join(random.choice([lambda: P('<B', random.randrange(4)), lambda: P('<I', random.choice(BIG) % 2**32), lambda: number(random.choice(BIG)), lambda: text(random.choice(['', 'a', os.getcwd() + '/x.dat']))])() for _ in range(random.randrange(14)))
def key(): return P('<I', random.choice([0, 0, 1, 99, 2**32 - 1])) + text(os.getcwd() + '/x.dat')
def member(): return number(random.choice(BIG)) + P('<IIB', random.choice([0, 0, 7]), random.choice([1, 1, 2, 2**20, 2**32 - 1]), 0)
random.seed(int(sys.argv[3]))
client = None
for turn in range(int(sys.argv[4])):
    try:
        client = client or Client()
        kind = random.choice([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 24, 25, 26, 27, 28, 29, 30, 46, 48, 49, 51, 52, 53, random.randrange(120)])
        begin = random.choice([b'', key(), key() + member(), number(random.choice([1, 2, 3, 2**63]))])
        if kind == 1: continue
        client.ask(kind, begin + fields())
    except (OSError, EOFError):
        client = None
print('sent', flush=True)
"""


def protocol():
    """The protocol's number and the library's version, as the sources have them."""
    with open(os.path.join(sys.path[0], "../../../runtime/wire/include/sluice/runtime/protocol.hpp")) as source:
        number = [line for line in source if "protocol_version = " in line][0].split("=")[1].strip(" ;\n")
    version = subprocess.run([build + "/bin/sluice", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    return number, version.strip("(),")


def write_flow(*lines, staging="prewarm: 0"):
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join(["version: 1", "name: hostile", f"staging: {{{staging}}}", *lines]) + "\n")


def run(status=0):
    result = finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), status)
    expect("the matcher was" not in result.all and "stuck" not in result.all, "the matcher: " + result.all)
    return result


def signals():
    """Users and batch systems send signals to all processes: the status is printed, and all go on."""
    write_flow("components:", "  w: {command: [sh, -c, 'echo 1 > a.dat; until test -e sent; do sleep 0.05; done; echo 2 > b.dat']}", "  r: {command: [sh, -c, 'until test -e sent; do sleep 0.05; done; cat a.dat b.dat > read']}",
               "files:", "  - {path: '*.dat', writer: w, readers: [r]}")
    process = harness.start(build + "/bin/sluice", "run", "flow.yaml")
    harness.wait_for(lambda: harness.is_logged("r starts"), "the run has begun")
    own = [process.pid, *(pid for name in ("sluice-guardian", "sluice-matcher") for pid in harness.descendants_named(name, process.pid))]
    expect(len(own) >= 3, f"coordinator, guardian and matcher: {own}")
    for number in (signal.SIGUSR1, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGXCPU, signal.SIGSTKFLT, signal.SIGRTMIN, signal.SIGRTMIN + 5, signal.SIGRTMAX):
        for pid in own:
            os.kill(pid, number)
    for number in (signal.SIGUSR2, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGINT, signal.SIGIO, signal.SIGPWR):
        for pid in own[1:]:
            os.kill(pid, number)
    open("sent", "w").close()
    finish(process, 0)
    expect(open("read").read() == "1\n2\n", "what is read")


def quit_signal():
    """SIGQUIT ends a run as SIGINT does: the components are asked to stop, and what was complete is kept."""
    write_flow("components:", "  w: {command: [sh, -c, 'echo 1 > a.dat; echo begun; exec sleep 100']}", "  r: {command: [sh, -c, 'cat a.dat > read; exec sleep 100']}",
               "files:", "  - {path: '*.dat', writer: w, readers: [r], keep: true}")
    process = harness.start(build + "/bin/sluice", "run", "flow.yaml")
    harness.wait_for(lambda: os.path.exists("read") and open("read").read() == "1\n", "the file is read")
    process.send_signal(signal.SIGQUIT)
    result = finish(process, 128 + signal.SIGQUIT)
    expect("interrupted by SIGQUIT" in result.all, "the summary: " + result.all)
    expect(open("a.dat").read() == "1\n", "what was published is kept")


def removed_directory():
    """Who starts a run in a directory that was removed is told so."""
    write_flow("components:", "  w: {command: 'true'}")
    os.makedirs("gone")
    result = subprocess.run(["sh", "-c", "cd gone; rmdir ../gone; exec \"$0\" run ../flow.yaml", build + "/bin/sluice"], capture_output=True, text=True, check=False)
    expect(result.returncode in (2, 3) and "the working directory was removed" in result.stderr, f"{result.returncode}: {result.stderr}")


def impossible_numbers():
    """CDF files whose headers have numbers that no file can have."""

    def name(text):
        return struct.pack(">q", len(text)) + text + bytes(-len(text) % 4)

    def header(records, length, begin, kind=6):
        absent = struct.pack(">iq", 0, 0)
        dimensions = struct.pack(">iq", 10, 2) + name(b"t") + struct.pack(">q", 0) + name(b"x") + struct.pack(">q", length)
        return b"CDF\5" + struct.pack(">q", records) + dimensions + absent + struct.pack(">iq", 11, 1) + name(b"v") + struct.pack(">qqq", 2, 0, 1) + absent + struct.pack(">iqq", kind, 64, begin)

    cases = [(records, length, begin) for records in (3, 2**40, 2**61 + 1, 2**63 - 1) for length in (8, 2**31, 2**62) for begin in (512, 2**62)]
    os.makedirs("made")
    for number, numbers in enumerate(cases):
        with open(f"made/{number}", "wb") as file:
            file.write(header(*numbers).ljust(512, b"\0") + struct.pack(">8d", *range(8)))
    write_flow("components:", "  w: {command: [sh, -c, 'cd made; for i in *; do cp $i ../$i.nc; done']}", f"  r: {{command: [sh, -c, 'for i in $(seq 0 {len(cases) - 1}); do cmp $i.nc made/$i || exit 1; ncmpidump -h $i.nc > /dev/null 2>&1; done; touch whole'], start: when-done}}",
               "files:", "  - {path: '*.nc', writer: w, readers: [r]}", staging="prewarm: 0, memory: 64MiB, spill: none")
    run()
    expect(os.path.exists("whole"), "all files are read")


def cut():
    """A file on disk, which is opened to be changed, is cut by another name while it is compared."""
    write_flow("components:", f"  w: {{command: {PYTHON} cut.py}}", "  r: {command: [sh, -c, 'true']}", "files:", "  - {path: '*.dat', writer: w, readers: [r]}")
    with open("cut.py", "w") as file:
        file.write("import os\nfor turn in range(12):\n    with open('plain', 'wb') as plain: plain.truncate(64 << 20)\n    os.link('plain', f'a{turn}.dat.x')\n    os.rename(f'a{turn}.dat.x', f'a{turn}.dat') if turn % 2 else None\n"
                   "    name = 'base.dat'\n    fd = os.open(name, os.O_RDWR)\n    os.close(fd)\n    os.truncate('other', 4096 * turn)\n    os.truncate('other', 48 << 20)\n    os.unlink('plain')\n")
    with open("other", "wb") as other:
        other.truncate(48 << 20)
    os.link("other", "base.dat")
    run()


def messages():
    """Messages of random kinds and extreme numbers, while two well-behaved programs exchange files."""
    number, version = protocol()
    seed = harness.test_seed()
    with open("hostile.py", "w") as file:
        file.write(RANDOM)
    write_flow("components:", f"  evil: {{command: {PYTHON} hostile.py {number} {version} {seed} 1500}}", "  evil2: {command: 'true'}",
               "  w: {command: [sh, -c, 'for i in $(seq 40); do echo $i > good.$i; sleep 0.05; done']}", "  r: {command: [sh, -c, 'for i in $(seq 40); do cat good.$i; done > read']}", "files:",
               "  - {path: '*.dat', writer: evil, readers: [evil2]}", "  - {path: 'good.*', writer: w, readers: [r]}")
    result = finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"))
    expect("the matcher was" not in result.all and "stuck" not in result.all, "the matcher: " + result.all)
    expect("[evil] sent" in result.all, "all messages were sent")
    expect(open("read").read() == "".join(f"{i}\n" for i in range(1, 41)), "what the others exchange: " + open("read").read())


clear_directory()
globals()[case]()
