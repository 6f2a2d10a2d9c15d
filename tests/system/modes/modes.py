#!/usr/bin/python3
"""modes.py BUILD PROGRAM CASE: readers go through the steps of rules in their own ways (docs/steps.md). PROGRAM (steps.c) writes the steps, and checks all their
numbers when it reads them."""
import os
import re
import shutil
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import allow, clear_directory, expect, finish, is_logged, start, wait_for_event

build, program, case = sys.argv[1:4]
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's modules
LENGTH = 20000  # numbers of a step: 160 kB


def write_flow(components, pattern, readers, *keys, staging=("memory: 8MiB",)):
    """Components: {name: (ranks, arguments of the program)}; ranks None: a command of its own. Readers as in the
    workflow."""
    if "SLUICE_TEST_MATCHERS" in os.environ:
        staging = (*staging, "matchers: " + os.environ["SLUICE_TEST_MATCHERS"])
    lines = ["version: 1", "name: test", f"staging: {{prewarm: 0, {', '.join(staging)}}}", "components:"]
    for name, (ranks, arguments) in components.items():
        lines.append(f"  {name}: " + (f"{{command: {arguments}}}" if ranks is None else f"{{command: {program} {arguments}, ranks: {ranks}}}"))
    lines += ["files:", f'  - path: "{pattern}"', "    writer: model", f"    readers: {readers}"] + ["    " + key for key in keys]
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join(lines) + "\n")


def begin():
    return start(build + "/bin/sluice", "run", "--notice-after", "1", "--log-dir", "log", "flow.yaml")


def run(status=0):
    return finish(begin(), status)


def taken(result, component):
    """What `drain` of the component has printed, for each rank that printed."""
    lines = re.findall(rf"^\[{component}\] took(.*)$", result.out, re.MULTILINE)
    return [list(map(int, line.split())) for line in lines]


def expect_taken(result, component, steps):
    expect(taken(result, component) == [list(steps)], f"{component} took {taken(result, component)}, expected {list(steps)}")


def expect_counts(result, component, took, skipped, missed):
    found = re.search(rf"^{component} +\S+ +(\d+) +(\d+) +(\d+)$", result.out, re.MULTILINE)
    expect(found and tuple(map(int, found.groups())) == (took, skipped, missed), f"the summary counts {found and found.groups()} of {component}, expected {took, skipped, missed}")


def stream():
    """Two readers go through one name at different speeds: all steps, in order, however little memory there is."""
    write_flow({"model": (2, f"write s.nc 40 {LENGTH}"), "fast": (1, "drain s.nc"), "slow": (3, "sleep 20 drain s.nc")}, "s.nc", "[fast, slow]", "steps: stream",
               staging=("memory: 2MiB",))
    result = run()
    for reader in ["fast", "slow"]:
        expect_taken(result, reader, range(40))
        expect_counts(result, reader, 40, 0, 0)
    expect("did you mean" not in result.all and "cannot open" not in result.err, "the end of a stream is told as a failure")
    expect(is_logged("the stream has ended"), "the event log does not tell the end")


def latest_names():
    """A slow reader of the latest holds back nobody: without a disk, memory for a few of forty files is enough."""
    write_flow({"model": (2, f"write first.nc 1 {LENGTH} await read write w%d.nc 39 {LENGTH} touch written"), "picture": (2, "take first.nc 0 touch read await written take w38.nc 38 end w3.nc")}, "*.nc", "{picture: latest}",
               staging=("memory: 2MiB", "spill: none", "retain: 0"))
    result = run()
    expect_counts(result, "picture", 2, 38, 0)
    expect(is_logged("was skipped for picture: the rule says `picture: latest`"), "the event log does not say why the file has gone")


def latest_stream():
    write_flow({"model": (2, f"write s.nc 20 {LENGTH} touch written await read write s.nc 1 {LENGTH}"), "picture": (2, "await written take s.nc 19 touch read take s.nc 0 end s.nc")},
               "s.nc", "{picture: latest}", "steps: stream", staging=("memory: 2MiB", "spill: none"))
    expect_counts(run(), "picture", 2, 19, 0)


def every():
    """Every seventh step, and all of them, of the same stream; the others of names that change."""
    write_flow({"model": (2, f"write s.nc 20 {LENGTH}"), "all": (1, "drain s.nc"), "archive": (2, "drain s.nc")}, "s.nc", "{all: all, archive: 7}", "steps: stream")
    result = run()
    expect_taken(result, "all", range(20))
    expect_taken(result, "archive", [0, 7, 14])
    expect_counts(result, "archive", 3, 17, 0)
    write_flow({"model": (1, f"write w%d.nc 20 {LENGTH} touch all"), "archive": (1, "await all take w0.nc 0 take w10.nc 10 end w7.nc")}, "w*.nc", "{archive: 10}",
               staging=("memory: 2MiB", "spill: none", "retain: 0"))
    expect_counts(run(), "archive", 2, 18, 0)


def queue_waits():
    """The third create waits until the reader has read a step, and the progress line says so."""
    write_flow({"model": (2, f"write w%d.nc 10 {LENGTH}"), "analysis": (2, "await go drain w%d.nc")}, "w*.nc", "[analysis]", "queue: 2", "when-full: wait")
    process = begin()
    wait_for_event(process, "a place in the queue of 'w*.nc' (analysis has not read 'w0.nc')")
    allow("go")
    result = finish(process, 0)
    expect_taken(result, "analysis", range(10))
    expect_counts(result, "analysis", 10, 0, 0)


def queue_of_files():
    """The same with files on disk, which all stay there."""
    for through in "file", "blobs":
        clear_directory()
        write_flow({"model": (2, f"write w%d.nc 6 {LENGTH}"), "analysis": (1, "await go drain w%d.nc")}, "w*.nc", "[analysis]", "queue: 2", "when-full: wait", "through: " + through)
        process = begin()
        wait_for_event(process, "a place in the queue of 'w*.nc' (analysis has not read 'w0.nc')")
        expect(os.path.exists("w1.nc") and not os.path.exists("w2.nc"), "the files that are there")
        allow("go")
        expect_taken(finish(process, 0), "analysis", range(6))
        expect(all(os.path.exists(f"w{i}.nc") for i in range(6)), "a file has gone")


def copy_on_full_disk():
    """Where all data goes through files, who goes on in the last step of a stream gets a copy of it. On a full disk that fails, and leaves nothing but what was there."""
    harness.in_own_namespace()
    with harness.SmallDisk("disk", 0.25, may_keep=True):
        write_flow({"model": (2, f"write disk/s.nc 1 {LENGTH} full disk/s.nc touch tried"), "analysis": (1, "await tried drain disk/s.nc")}, "disk/s.nc", "[analysis]", "steps: stream")
        result = finish(start(build + "/bin/sluice", "run", "--through-files", "flow.yaml"), 0)
        expect_taken(result, "analysis", [0])
        expect("s.nc" in os.listdir("disk") and ".s.nc.sluice-partial" not in os.listdir("disk"), f"on the disk are {os.listdir('disk')}")


def queue_discards():
    write_flow({"model": (2, f"write s.nc 10 {LENGTH} touch written"), "analysis": (2, "await written drain s.nc")}, "s.nc", "[analysis]", "steps: stream", "queue: 3",
               "when-full: discard", staging=("memory: 2MiB", "spill: none"))
    result = run()
    expect_taken(result, "analysis", [7, 8, 9])
    expect_counts(result, "analysis", 3, 0, 7)
    expect("'s.nc' is discarded unread" in result.err, "nobody is told of what is missed")


def queue_spills():
    """Memory is large enough, and yet what is beyond the queue goes to disk."""
    write_flow({"model": (2, f"write s.nc 10 {LENGTH} touch written"), "analysis": (2, "await written drain s.nc")}, "s.nc", "[analysis]", "steps: stream", "queue: 2",
               staging=("memory: 64MiB",))
    result = run()
    expect_taken(result, "analysis", range(10))
    expect(re.search(r"spilled to", result.out) and is_logged("its queue is full"), "nothing went to disk")


def on_disk():
    """Streams whose steps become a file: readers get every step, and the file has the last one."""
    for key in ["through: burst-buffer", "keep: true"]:
        write_flow({"model": (2, f"write s.nc 12 {LENGTH}"), "all": (2, "sleep 20 drain s.nc"), "archive": (2, "alone drain s.nc")}, "s.nc", "{all: all, archive: 4}", "steps: stream", key)
        result = run()
        expect_taken(result, "all", range(12))
        expect(taken(result, "archive") == [[0, 4, 8]] * 2, f"the ranks took {taken(result, 'archive')}")
        harness.launch(1, program, "take", "s.nc", "11", status=0)
        os.remove("s.nc")


def late_and_never():
    """One reader comes when the writer has ended; one never comes, and holds back the writer only while it lives."""
    write_flow({"model": (1, f"write s.nc 6 {LENGTH}"), "late": (1, "await go drain s.nc"), "never": (1, "await stop")}, "s.nc", "[late, never]", "steps: stream", "queue: 6",
               "when-full: wait")
    process = begin()
    wait_for_event(process, "model exited with status 0")
    allow("go")
    wait_for_event(process, "late exited with status 0")
    allow("stop")
    result = finish(process, 0)
    expect_taken(result, "late", range(6))
    expect_counts(result, "late", 6, 0, 0)
    expect_counts(result, "never", 0, 0, 6)


def killed():
    """A reader dies with a step open: the writer and the other reader go on."""
    write_flow({"model": (2, f"write s.nc 12 {LENGTH}"), "victim": (2, "take s.nc 0 hold s.nc kill"), "analysis": (2, "drain s.nc")}, "s.nc", "[victim, analysis]", "steps: stream",
               "queue: 2", "when-full: wait")
    result = run(status=None)
    expect(result.status in (137, 143), f"exit status {result.status}")
    expect_taken(result, "analysis", range(12))


def twice():
    """Each rank that opens for itself sees all steps; a rank may look first, and then all open together."""
    write_flow({"model": (1, f"write s.nc 5 {LENGTH}"), "each": (3, "alone drain s.nc")}, "s.nc", "[each]", "steps: stream")
    result = run()
    expect(taken(result, "each") == [list(range(5))] * 3, f"the ranks took {taken(result, 'each')}")


def end_of_names():
    """The end of a sequence of names is no failure of the run, and nobody gets advice."""
    write_flow({"model": (1, f"write w%d.nc 11 {LENGTH}"), "analysis": (1, "drain w%d.nc")}, "w*.nc", "[analysis]")
    result = run()
    expect_taken(result, "analysis", range(11))
    expect("did you mean" not in result.all and "w11.nc" not in result.err, "the end is told as a failure")


def beyond_queue():
    """The reader waits for a file that comes later than the queue allows: the writer goes on."""
    write_flow({"model": (1, f"write w%d.nc 5 {LENGTH}"), "analysis": (1, "take w4.nc 4 take w0.nc 0")}, "w*.nc", "[analysis]", "queue: 2", "when-full: wait")
    result = run()
    expect("model goes on beyond the queue of 'w*.nc'" in result.err, "nobody is told")


READER = """
import sys
{imports}
import netCDF4, numpy
took = []
while True:
    try:
        data = netCDF4.Dataset("s.nc")
    except FileNotFoundError:
        break
    step = int(data.step)
    values = data["v"][:]
    data.close()
    if not (values == 1000.0 * step + numpy.arange(len(values)) / 4).all():
        sys.exit("step %d has other numbers" % step)
    took.append(step)
print("took", *took, flush=True)
"""

XARRAY_READER = """
import os, sys
import numpy, xarray
took = []
while os.path.exists("s.nc"):
    with xarray.open_dataset("s.nc", engine="netcdf4") as data:
        step = int(data.attrs["step"])
        if os.path.getsize("s.nc") < 8 * data["v"].size:
            sys.exit("the size of step %d is another one" % step)
        if not (data["v"].values == 1000.0 * step + numpy.arange(data["v"].size) / 4).all():
            sys.exit("step %d has other numbers" % step)
    took.append(step)
print("took", *took)
"""


def write_reader(text, *modules):
    """Writes reader.py, or ends the test where the modules are not there."""
    for module in modules:
        if subprocess.run([PYTHON, "-c", "import " + module], capture_output=True).returncode != 0:
            print("SKIPPED: there is no " + module)
            sys.exit(77)
    with open("reader.py", "w") as script:
        script.write(text)


def python():
    """netCDF opens a file twice to read it once: a loop in Python gets each step once."""
    write_reader(READER.format(imports=""), "netCDF4")
    write_flow({"model": (2, f"write s.nc 12 {LENGTH}"), "reader": (None, f"{PYTHON} reader.py"), "picture": (None, f"{PYTHON} reader.py")}, "s.nc", "{reader: all, picture: 5}",
               "steps: stream")
    result = run()
    expect_taken(result, "reader", range(12))
    expect_taken(result, "picture", [0, 5, 10])


def xarray():
    """xarray looks at a file itself before netCDF does; a loop asks for the file before each step, and for its size while it is open."""
    write_reader(XARRAY_READER, "xarray", "netCDF4")
    write_flow({"model": (1, f"write s.nc 6 {LENGTH}"), "reader": (None, f"{PYTHON} reader.py")}, "s.nc", "[reader]", "steps: stream")
    expect_taken(run(), "reader", range(6))


BEHIND_READER = """
import netCDF4, os
took = []
while True:
    with netCDF4.Dataset("s.nc") as data:
        took.append(int(data.step))
    if not os.path.exists("s.nc"):
        break
print("took", *took)
"""


def looks_behind():
    """A loop asks for the file behind each step: it is there as long as there is another step."""
    write_reader(BEHIND_READER, "netCDF4")
    write_flow({"model": (1, f"write s.nc 6 {LENGTH}"), "reader": (None, f"{PYTHON} reader.py")}, "s.nc", "[reader]", "steps: stream")
    expect_taken(run(), "reader", range(6))


def cdo():
    """CDO opens a file, asks for its facts, and opens it for good: each command of a script has one step, and gets it although there is no other one."""
    if shutil.which("cdo") is None:
        print("SKIPPED: there is no cdo")
        sys.exit(77)
    directly = os.path.abspath("direct")
    os.makedirs(directly)
    for step in range(4):
        harness.launch(1, program, "write", f"d{step}.nc", "1", str(100 + step), cwd=directly, status=0)
    commands = " ".join(f"write s.nc 1 {100 + step} await go{step}" for step in range(4))
    with open("reader.sh", "w") as file:
        file.write("i=0\nwhile cdo -s --no_history copy s.nc copy$i.nc; do touch go$i; i=$((i + 1)); done\ntouch go0 go1 go2 go3\necho copied $i\n")
    write_flow({"model": (1, commands), "reader": (None, "sh reader.sh")}, "s.nc", "[reader]", "steps: stream")
    expect("[reader] copied 4" in run().out, "the script has not got all steps")
    for step in range(4):
        harness.call("cdo", "-s", "--no_history", "copy", f"direct/d{step}.nc", f"direct/copy{step}.nc", status=0)
        with open(f"copy{step}.nc", "rb") as copy, open(f"direct/copy{step}.nc", "rb") as original:
            expect(copy.read() == original.read(), f"the bytes of step {step}")


SCIPY_READER = """
import sys
for module in ["netCDF4", "h5netcdf", "pydap", "zarr", "cfgrib"]:
    sys.modules[module] = None  # not installed
import numpy, xarray
took = []
while True:
    try:
        data = xarray.open_dataset("s.nc")
    except FileNotFoundError:
        break
    with data:
        step = int(data.attrs["step"])
        if not (data["v"].values == 1000.0 * step + numpy.arange(data["v"].size) / 4).all():
            sys.exit("step %d has other numbers" % step)
    took.append(step)
print("took", *took)
"""


def scipy():
    """Where xarray has scipy alone, it looks at a file before scipy reads it, by the same call of Python: the workflow says that two opens are one step."""
    write_reader(SCIPY_READER, "xarray", "scipy.io")
    for keys in (), ("keep: true",):
        write_flow({"model": (1, f"write s.nc 6 {LENGTH}"), "reader": (None, f"{PYTHON} reader.py, opens-per-step: 2")}, "s.nc", "[reader]", "steps: stream", *keys)
        result = run()
        expect_taken(result, "reader", range(6))
        expect_counts(result, "reader", 6, 0, 0)


def ncmpidump():
    """ncmpidump opens a file by the C library, and then by PnetCDF. Another reader of the stream opens it once."""
    if shutil.which("ncmpidump") is None:
        print("SKIPPED: there is no ncmpidump")
        sys.exit(77)
    directly = os.path.abspath("direct")
    os.makedirs(directly)
    harness.launch(1, program, *f"write d%d.nc 6 {LENGTH}".split(), cwd=directly, status=0)
    with open("reader.sh", "w") as file:
        file.write("i=0\nwhile ncmpidump -n x s.nc > dump.$i; do i=$((i + 1)); done\necho dumped $i\n")
    write_flow({"model": (1, f"write s.nc 6 {LENGTH}"), "reader": (None, "sh reader.sh, opens-per-step: 2"), "other": (2, "drain s.nc")}, "s.nc", "[reader, other]", "steps: stream")
    result = run()
    expect("[reader] dumped 6" in result.out, "the script has not got all steps")
    expect_taken(result, "other", range(6))
    for i in range(6):
        with open(f"dump.{i}") as file:
            expect(file.read() == harness.call("ncmpidump", "-n", "x", f"direct/d{i}.nc", status=0).out, f"the text of step {i}")


def nco():
    """Some of NCO's operators close a file and open it again, or start cp: a script says that two opens are one step, or copies the step first."""
    if shutil.which("ncwa") is None:
        print("SKIPPED: there is no NCO")
        sys.exit(77)
    directly = os.path.abspath("direct")
    os.makedirs(directly)
    for step in range(4):
        harness.launch(1, program, "write", f"d{step}.nc", "1", str(100 + step), cwd=directly, status=0)
    operators = {"ncwa": "ncwa -O -h s.nc", "ncdiff": "ncdiff -O -h s.nc s.nc", "ncatted": "cp s.nc step.nc && ncatted -O -h -a note,global,c,c,x step.nc"}
    for name, command in operators.items():
        with open(name + ".sh", "w") as file:
            file.write(f"i=0\nwhile {command} {name}$i.nc; do i=$((i + 1)); done\necho made $i\n")
    components = {name: (None, f"sh {name}.sh" + (", opens-per-step: 2" if name != "ncatted" else "")) for name in operators}
    model = {"model": (1, " ".join(f"write s.nc 1 {100 + step}" for step in range(4)))}
    write_flow({**model, **components}, "s.nc", f"[{', '.join(operators)}]", "steps: stream")
    result = run()
    for name, command in operators.items():
        expect(f"[{name}] made 4" in result.out, f"{name} has not got all steps")
        for step in range(4):
            shutil.copy(f"direct/d{step}.nc", "direct/s.nc")
            harness.call("sh", "-c", f"{command} {name}{step}.nc", cwd=directly, status=0)
            with open(f"{name}{step}.nc", "rb") as made, open(f"direct/{name}{step}.nc", "rb") as original:
                expect(made.read() == original.read(), f"{name} has made something else of step {step}")


def mpi_python():
    """Ranks that read by the C library all see all steps."""
    write_reader(READER.format(imports="from mpi4py import MPI"), "mpi4py", "netCDF4")
    write_flow({"model": (1, f"write s.nc 6 {LENGTH}")}, "s.nc", "[reader]", "steps: stream")
    with open("flow.yaml") as flow:
        text = flow.read().replace("files:", f"  reader: {{command: {PYTHON} reader.py, ranks: 2}}\nfiles:")
    with open("flow.yaml", "w") as flow:
        flow.write(text)
    result = run()
    expect(taken(result, "reader") == [list(range(6))] * 2, f"the ranks took {taken(result, 'reader')}")


def script():
    """The commands of a script take one step after the other; a test of the file takes none."""
    directly = os.path.abspath("direct")
    os.makedirs(directly)
    harness.launch(1, program, *f"write d%d.nc 6 {LENGTH}".split(), cwd=directly, status=0)
    with open("reader.sh", "w") as file:
        file.write("i=0\nwhile test -e s.nc; do\n  cp s.nc copy$i || exit 1\n  cmp copy$i direct/d$i.nc || exit 1\n  i=$((i + 1))\ndone\necho copied $i\n")
    write_flow({"model": (1, f"write s.nc 6 {LENGTH}"), "reader": (None, "sh reader.sh")}, "s.nc", "[reader]", "steps: stream")
    expect("[reader] copied 6" in run().out, "the script has not got all steps")


KILLED_READER = """
import os, signal
import netCDF4
def die_once(where):
    if not os.path.exists(where):
        open(where, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
while True:
    try:
        data = netCDF4.Dataset("s.nc")
    except FileNotFoundError:
        break
    step = int(data.step)
    with open("took", "a") as file:
        file.write("%d " % step)
    if step == 2:
        die_once("open")
    data.close()
    if step == 5:
        die_once("closed")
"""


def killed_files():
    """A reader by the C library that is killed gets the step again that it had, also where the writer waits for it. The commands of a script, which end in order, get each step once."""
    write_reader(KILLED_READER, "netCDF4")
    with open("commands.sh", "w") as file:
        file.write("while cp s.nc copy.nc; do ncdump -h copy.nc | sed -n 's/.*:step = \\([0-9]*\\).*/\\1/p' >> commands; done\ntrue\n")
    restarts = ", restarts: 5, restart-delay: 100ms"
    for keys in (), ("queue: 1", "when-full: wait"), ("keep: true",):
        for name in ("took", "open", "closed", "commands"):
            if os.path.exists(name):
                os.remove(name)
        write_flow({"model": (1, f"write s.nc 9 {LENGTH}"), "reader": (None, f"{PYTHON} reader.py{restarts}"), "script": (None, f"sh commands.sh{restarts}")}, "s.nc", "[reader, script]",
                   "steps: stream", *keys)
        result = run()
        with open("took") as took, open("commands") as commands:
            expect(took.read().split() == "0 1 2 2 3 4 5 5 6 7 8".split(), f"{keys}: the killed reader")
            expect(commands.read().split() == list("012345678"), f"{keys}: the commands of the script")
        expect_counts(result, "reader", 9, 0, 0)


def twice_by_command():
    """A script whose commands open a file twice to read it once is told of the key for that, once. With the key, and where a command goes on from step to step, nothing is told."""
    with open("twice.py", "w") as file:
        file.write("import sys\ndef look():\n    with open('s.nc', 'rb') as file: return file.read(4)\ndef read():\n    with open('s.nc', 'rb') as file: return len(file.read())\n"
                   "try:\n    look()\n    for _ in range(int(sys.argv[1])): read()\nexcept FileNotFoundError:\n    sys.exit(1)\n")
    for again, key, is_told in ((1, "", True), (1, ", opens-per-step: 2", False), (100, "", False)):
        with open("reader.sh", "w") as file:
            file.write(f"while {PYTHON} twice.py {again}; do :; done\n")
        write_flow({"model": (1, f"write s.nc 16 {LENGTH}"), "reader": (None, "sh reader.sh" + key)}, "s.nc", "[reader]", "steps: stream")
        result = run()
        expect(result.err.count("give reader 'opens-per-step: 2'") == is_told, f"{again}{key}: what is told")


clear_directory()
globals()[case]()
