"""What the tests of whole programs and runs have in common: workflows, starting and ending processes, waiting for something, looking up processes. Each test finds it by
`sys.path.append(os.path.dirname(sys.path[0]))`; nothing here knows what is tested."""
import os
import shutil
import subprocess
import sys
import time

LIMIT_S = 100  # far more than any case needs: a hang ends here
SHOWN = 100000  # characters of a program's output
MPIRUN = ("mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n")  # and the number of ranks
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def expect(condition, text):
    if not condition:
        sys.exit("FAILED: " + text)


def clear_directory():
    """Removes what an earlier run of a test has left in the working directory."""
    for name in os.listdir("."):
        shutil.rmtree(name) if os.path.isdir(name) and not os.path.islink(name) else os.remove(name)


def mapping(*keys):
    return "{" + ", ".join(key for key in keys if key) + "}"


def write_flow(program, components, rules, *staging):
    """flow.yaml: components as {name: (ranks, arguments of the program, *more keys)}, rules as [(pattern, writer, readers, *more keys)]; keys as "memory: 4MiB"."""
    if "SLUICE_TEST_MATCHERS" in os.environ:
        staging = ("matchers: " + os.environ["SLUICE_TEST_MATCHERS"], *staging)
    if not any("prewarm:" in key or "huge-pages:" in key for key in staging):  # what most tests put is little
        staging = ("prewarm: 0", *staging)
    lines = ["version: 1", "name: test"] + (["staging: " + mapping(*staging)] if any(staging) else [])
    lines += ["components:"] + [f"  {name}: " + mapping(f"command: {program} {arguments}", f"ranks: {ranks}", *keys) for name, (ranks, arguments, *keys) in components.items()]
    lines += ["files:"] + ["  - " + mapping(f'path: "{pattern}"', f"writer: {writer}", f"readers: [{', '.join(readers)}]", *keys) for pattern, writer, readers, *keys in rules]
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join(lines) + "\n")


class Result:
    """How a process ended, and what it printed."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err
        self.all = out + err


def start(*command, environment=None, **options):
    """A process whose output is kept, for finish(); `environment` is what is to be added."""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, **MPI_ENVIRONMENT, **(environment or {})}, **options)


def finish(process, status=None):
    """Waits for a process's end, shows what it printed, and checks its exit status where one is expected."""
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
    """What tells a hang from a machine that is too busy: how long each process has run, and how long it wanted to and could not."""
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
    """The same by mpirun, without Sluice."""
    return call(*MPIRUN, str(ranks), *command, **options)


def wait_for(condition, what):
    """The first true value of condition()."""
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
    """Those whose program has that name."""

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
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def kill(pids, number):
    """Sends a signal to those that are still there."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def users_of(directory):
    """Processes that have a file of the directory open, with a name or without: {pid}."""
    found, prefix = set(), os.path.realpath(directory) + "/"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if any(os.readlink(f"/proc/{pid}/fd/{number}").startswith(prefix) for number in os.listdir(f"/proc/{pid}/fd")):
                found.add(int(pid))
        except OSError:
            pass
    return found


def have_in_environment(name, value):
    """Processes that were started with this variable: {pid}."""
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


def in_own_namespace():
    """Starts this test again where it may mount file systems that nobody else sees, or ends it as skipped."""
    if os.environ.get("SLUICE_TEST_NAMESPACE"):
        return
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode != 0:
        print("SKIPPED: no mount namespace can be made here")
        sys.exit(77)
    os.execvpe("unshare", ["unshare", "-rm", *sys.argv], {**os.environ, "SLUICE_TEST_NAMESPACE": "1"})


class SmallDisk:
    """A file system of so many MiB at a directory, in_own_namespace(). In the end there is nothing left there, unless something may be kept."""

    def __init__(self, directory, mib, may_keep=False):
        self.directory, self.mib, self.may_keep = directory, mib, may_keep

    def __enter__(self):
        os.makedirs(self.directory, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={int(self.mib * 1024)}k", "tmpfs", self.directory], check=True)

    def __exit__(self, *_):
        left = os.listdir(self.directory)
        subprocess.run(["umount", "-l", self.directory], check=True)
        expect(self.may_keep or not left, f"left in {self.directory}: {left}")
