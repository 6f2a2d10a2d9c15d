"""Tools for tests of whole programs and runs: workflows, starting and ending processes, waiting, finding
processes. Each test finds this file by `sys.path.append(os.path.dirname(sys.path[0]))`. It knows nothing
of what is tested."""
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time

LIMIT_S = 100  # far more than any case needs; ends a hang
SHOWN = 100000  # characters of a program's output
MPIRUN = ("mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n")  # followed by the number of ranks
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def expect(condition, text):
    if not condition:
        sys.exit("FAILED: " + text)


def test_seed(usual=None):
    """The seed of a random test: SLUICE_TEST_SEED if it is set, else the usual one, else a new one. Prints
    the seed, so that a failure shows it."""
    seed = int(os.environ.get("SLUICE_TEST_SEED") or (random.randrange(1 << 30) if usual is None else usual))
    print(f"SLUICE_TEST_SEED={seed}", flush=True)
    return seed


def repeat_runs(one_run, runs):
    """Calls one_run with "SEED.NUMBER" for each of the runs of the test's seed, or with SLUICE_TEST_RUN alone."""
    if os.environ.get("SLUICE_TEST_RUN"):
        return one_run(os.environ["SLUICE_TEST_RUN"])
    seed = test_seed()
    for i in range(runs):
        one_run(f"{seed}.{i}")


def clear_directory():
    """Removes the files of an earlier run of the test from the working directory."""
    for name in os.listdir("."):
        shutil.rmtree(name) if os.path.isdir(name) and not os.path.islink(name) else os.remove(name)


def text(path):
    with open(path) as file:
        return file.read()


def script(name, lines):
    """A shell script that can be started, and ends at the first failure."""
    with open(name, "w") as file:
        file.write("#!/bin/sh\nset -e\n" + lines + "\n")
    os.chmod(name, 0o755)


def mapping(*keys):
    return "{" + ", ".join(key for key in keys if key) + "}"


def write_flow(program, components, rules, *staging):
    """Writes flow.yaml. Components: {name: (ranks, arguments of the program, *more keys)}. Rules: [(pattern,
    writer, readers, *more keys)]. Keys: "memory: 4MiB"."""
    if "SLUICE_TEST_MATCHERS" in os.environ:
        staging = ("matchers: " + os.environ["SLUICE_TEST_MATCHERS"], *staging)
    if not any("prewarm:" in key or "huge-pages:" in key for key in staging):  # most tests put little data
        staging = ("prewarm: 0", *staging)
    lines = ["version: 1", "name: test"] + (["staging: " + mapping(*staging)] if any(staging) else [])
    lines += ["components:"] + [f"  {name}: " + mapping(f"command: {program} {arguments}", f"ranks: {ranks}", *keys) for name, (ranks, arguments, *keys) in components.items()]
    lines += ["files:"] + ["  - " + mapping(f'path: "{pattern}"', f"writer: {writer}", f"readers: [{', '.join(readers)}]", *keys) for pattern, writer, readers, *keys in rules]
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join(lines) + "\n")


def cdl(name, length):
    """A file as couple.c reads it, as text for ncgen."""
    seed = 0.0
    for letter in name:
        seed = seed * 3 + ord(letter)
    values = ", ".join(repr(seed + i / 4) for i in range(length))
    with open(name + ".cdl", "w") as file:
        file.write(f"netcdf a {{dimensions: x = {length}; t = UNLIMITED; variables: double v(x); short r(t, x); data: v = {values}; r = {', '.join(['1'] * 3 * length)};}}")
    return name + ".cdl"


class Result:
    """How a process ended, and what it printed."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err
        self.all = out + err


def start(*command, environment=None, **options):
    """Starts a process whose output is kept for finish(). `environment` is added to this process's."""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, **MPI_ENVIRONMENT, **(environment or {})}, **options)


def finish(process, status=None):
    """Waits for a process, prints its output, and checks its exit status if one is expected."""
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        subprocess.run(["ps", "-ef", "--forest"])
        show_waits_for_processors(process.pid)
        process.kill()
        sys.exit(f"HANG: {' '.join(process.args)} did not end")
    print("+", *process.args)
    print(out[:SHOWN], err[:SHOWN], f"=> {process.returncode}", sep="\n", flush=True)
    expect(status is None or process.returncode == status, f"exit status {process.returncode}, expected {status}")
    return Result(process.returncode, out, err)


def show_waits_for_processors(pid):
    """Prints what tells a hang from a busy machine: how long each process ran, and how long it had to wait
    for a processor."""
    print("load", *os.getloadavg())
    for each in [pid, *descendants(pid)]:
        try:
            with open(f"/proc/{each}/schedstat") as times, open(f"/proc/{each}/comm") as name:
                ran_ns, waited_ns, _ = map(int, times.read().split())
                print(f"{each} {name.read().strip()}: ran {ran_ns / 1e9:.1f} s, waited for a processor {waited_ns / 1e9:.1f} s")
        except (OSError, ValueError):
            pass


def call(*command, status=None, **options):
    return finish(start(*command, **options), status)


def launch(ranks, *command, **options):
    """Calls a program by mpirun, without Sluice."""
    return call(*MPIRUN, str(ranks), *command, **options)


def need_parallel_h5py():
    """Skips the test where Debian's h5py with MPI is not installed."""
    with open("look.py", "w") as file:
        file.write("import os\nos.environ['OMPI_COMM_WORLD_SIZE'] = '1'\nfrom mpi4py import MPI\nimport h5py, sys\nsys.exit(0 if h5py.get_config().mpi else 77)\n")
    if launch(1, "/usr/bin/python3", "look.py").status != 0:
        print("SKIPPED: h5py with MPI is not installed")
        sys.exit(77)


def wait_for(condition, what):
    """Waits until condition() is true, and returns its value."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.02)
    sys.exit(f"HANG: waited for {what}")


def children(pid):
    return [int(child) for child in subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()]


def descendants(pid):
    return [found for child in children(pid) for found in [child, *descendants(child)]]


def descendants_named(name, pid):
    """The processes whose program has that name."""

    def is_named(process):
        try:
            with open(f"/proc/{process}/comm") as comm:
                return comm.read().strip() == name[:15]
        except OSError:
            return False

    return list(filter(is_named, descendants(pid)))


def parents(pids):
    return {int(subprocess.run(["ps", "-o", "ppid=", "-p", str(pid)], capture_output=True, text=True).stdout) for pid in pids}


def is_alive(pid):
    """Whether any thread lives. The first one may have ended while others still hold files and locks."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return False
    return any(is_thread_alive(pid, thread) for thread in threads)


def is_thread_alive(pid, thread):
    try:
        with open(f"/proc/{pid}/task/{thread}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def kill(pids, number):
    """Sends a signal to those processes that still exist."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def kill_run(run):
    """Kills a run that was started here, with all its processes, when none can act on another one's end any more. Returns what finish() returns, after all have ended."""
    everybody = [*descendants(run.pid), run.pid]
    kill(everybody, signal.SIGSTOP)
    kill(everybody, signal.SIGKILL)
    done = finish(run)
    wait_for(lambda: not any(map(is_alive, everybody)), "the end of all processes")
    return done


def processes_of(program):
    """The processes of a program in the working directory: [(pid, parent, words of the command line)]."""
    found, here = [], os.getcwd()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline") as line, open(f"/proc/{pid}/stat") as stat:
                words = line.read().split("\0")
                if words[0] == program and os.readlink(f"/proc/{pid}/cwd") == here:
                    found.append((int(pid), int(stat.read().rsplit(")", 1)[1].split()[1]), words))
    return found


def open_files(pid):
    """The paths of the files that a process has open; none when it has ended. Descriptors may close meanwhile."""
    paths = []
    with contextlib.suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                paths.append(os.readlink(f"/proc/{pid}/fd/{number}"))
    return paths


def users_of(directory):
    """The processes that have a file of the directory open, also a file without a name: {pid}."""
    prefix = os.path.realpath(directory) + "/"
    return {int(pid) for pid in filter(str.isdigit, os.listdir("/proc")) if any(path.startswith(prefix) for path in open_files(pid))}


def have_in_environment(name, value):
    """The processes that were started with this variable: {pid}."""
    found, wanted = set(), f"{name}={value}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environment:
                if wanted in environment.read().split(b"\0") and is_alive(int(pid)):
                    found.add(int(pid))
        except OSError:
            pass
    return found


def is_logged(words):
    """Whether an event log below the working directory has the words."""
    return subprocess.run(["grep", "-rqF", "--include=events.log", words, "."]).returncode == 0


def wait_for_event(run, words):
    """Waits, during the run, until the event log has the words. `sluice run --notice-after 1` logs each wait
    after a second: "X waits for 'FILE' ..."."""

    def look():
        has_ended = run.poll() is not None
        if is_logged(words):
            return True
        if has_ended:
            finish(run)
            sys.exit(f"FAILED: the run ended, and its event log does not say: {words}")
        return False

    wait_for(look, "the event: " + words)


def allow(name):
    """Makes the file that a program waits for: `await NAME` of couple.c, or `until test -e NAME` in a shell."""
    open(name, "w").close()


def in_own_namespace():
    """Starts this test again in a namespace where it may mount file systems, or ends it as skipped."""
    if os.environ.get("SLUICE_TEST_NAMESPACE"):
        return
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode != 0:
        print("SKIPPED: no mount namespace can be made here")
        sys.exit(77)
    os.execvpe("unshare", ["unshare", "-rm", *sys.argv], {**os.environ, "SLUICE_TEST_NAMESPACE": "1"})


class SmallDisk:
    """A file system of that many MiB at a directory; needs in_own_namespace(). At the end the directory must
    be empty, unless `may_keep`."""

    def __init__(self, directory, mib, may_keep=False):
        self.directory, self.mib, self.may_keep = directory, mib, may_keep

    def __enter__(self):
        os.makedirs(self.directory, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={int(self.mib * 1024)}k", "tmpfs", self.directory], check=True)

    def __exit__(self, *_):
        left = os.listdir(self.directory)
        subprocess.run(["umount", "-l", self.directory], check=True)
        expect(self.may_keep or not left, f"left in {self.directory}: {left}")
