#!/usr/bin/python3
"""Several hosts on one machine, for tests of runs on several nodes. Each host has its own network, host name,
processes, clocks, /tmp, /run and /dev/shm. Everything else is shared, as by a network file system. Nothing
that Open MPI or Sluice has on one node is on another.

All hosts live in namespaces below a namespace of the test (in_own_machine), and always end with it: the
kernel kills the processes, and removes the networks and the mounts.

hosts.py host NAME ADDRESS SHARED …: the first process of a host; Hosts starts it."""
import fcntl
import os
import signal
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
import remote_shell
from harness import expect

HERE = os.path.dirname(os.path.abspath(__file__))
NETWORK = "10.213.7."
OWN_DIRECTORIES = ("/tmp", "/run", "/dev/shm")
SKIPPED = 77
INSIDE = "SLUICE_TEST_HOSTS"
# The clocks of machines differ: each host's began that many seconds before the previous one's.
CLOCK_SHIFT_S = 100000


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    expect(result.returncode == 0, f"{' '.join(command)}: {result.stdout}{result.stderr}")


def skip(reason):
    print("SKIPPED:", reason)
    sys.exit(SKIPPED)


def in_own_machine():
    """Starts this test again in a namespace where it may make hosts, or ends it as skipped."""
    if os.environ.get(INSIDE):
        return
    namespaces = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    probe = "ip link add name sluice-probe type bridge && ip link add sluice-a type veth peer name sluice-b && mount -t tmpfs tmpfs /mnt && unshare --mount --uts --net --pid --fork --mount-proc true"
    if subprocess.run(["sh", "-c", "command -v unshare && command -v nsenter && command -v ip"], capture_output=True).returncode != 0:
        skip("there is no unshare, nsenter or ip: install util-linux and iproute2")
    tried = subprocess.run(["unshare", *namespaces, "sh", "-c", probe], capture_output=True, text=True)
    if tried.returncode != 0:
        skip("no hosts can be made here, which needs root or user namespaces, and the kernel's bridge and veth: " + tried.stderr.strip())
    os.execvpe("unshare", ["unshare", *namespaces, *sys.argv], {**os.environ, INSIDE: "1"})


def has_clocks():
    return subprocess.run(["unshare", "--time", "--monotonic", "1", "--fork", "true"], capture_output=True).returncode == 0


class Host:
    """One host. command() returns the words that start a command there from outside."""

    def __init__(self, number, name, shared, clocks):
        self.name, self.address, self.shared = name, NETWORK + str(number), [os.path.abspath(path) for path in shared]
        clock = ["--time", "--monotonic", str(number * CLOCK_SHIFT_S)] if clocks else []
        self.namespaces = ["--mount", "--uts", "--net", "--pid", "--ipc"] + (["--time"] if clocks else [])
        self.process = subprocess.Popen(["unshare", "--mount", "--uts", "--net", "--pid", "--ipc", *clock, "--fork", "--kill-child", "--mount-proc", sys.executable, __file__, "host", name, self.address, *shared],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=remote_shell.ENVIRONMENT)
        self.await_word("made")
        self.first_process = harness.children(self.process.pid)[0]
        run("ip", "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", str(self.first_process))
        run("ip", "link", "set", f"port{number}", "master", "switch", "up")
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        self.await_word("ready")
        self.first_files = self.all_files()

    def await_word(self, word):
        line = self.process.stdout.readline().strip()
        expect(line == word, f"{self.name} said '{line}', expected '{word}'")

    def command(self, *words):
        return ["nsenter", "--target", str(self.first_process), *self.namespaces, "--wdns=" + os.getcwd(), *words]

    def processes(self):
        """The host's processes except the first, as seen from outside."""
        own = os.readlink(f"/proc/{self.first_process}/ns/pid")
        found = set()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/ns/pid") == own and int(pid) != self.first_process and harness.is_alive(int(pid)):
                    found.add(int(pid))
            except OSError:
                pass
        return found

    def named(self, name):
        """The processes of this host whose program has that name."""
        found = []
        for pid in self.processes():
            try:
                with open(f"/proc/{pid}/comm") as comm:
                    if comm.read().strip() == name[:15]:
                        found.append(pid)
            except OSError:
                pass
        return sorted(found)

    def path(self, path):
        """A path in the host's own directories, as seen from outside."""
        return f"/proc/{self.first_process}/root{path}"

    def files(self):
        """The new files in the host's own directories."""
        return self.all_files() - self.first_files

    def all_files(self):
        """Without shared directories, which may lie below the host's own."""
        found = set()
        for own in OWN_DIRECTORIES:
            for directory, directories, names in os.walk(self.path(own)):
                here = directory[len(self.path("")):]
                directories[:] = [name for name in directories if os.path.join(here, name) not in self.shared]
                found.update(os.path.join(here, name) for name in directories + names)
        return found

    def bytes_sent(self):
        with open(f"/proc/{self.first_process}/net/dev") as devices:
            fields = next(line for line in devices if line.strip().startswith("eth0:")).split(":")[1].split()
        return int(fields[8])


class Hosts(list):
    """Several hosts. `shared`: directories that all of them see, even below directories of a host's own."""

    def __init__(self, names, shared):
        super().__init__()
        run("mount", "-t", "tmpfs", "tmpfs", "/mnt")
        lines = ["127.0.0.1 localhost"] + [f"{NETWORK}{number} {name}" for number, name in enumerate(names, 1)]
        with open("/mnt/hosts", "w") as table:
            table.write("\n".join(lines) + "\n")
        run("mount", "--bind", "/mnt/hosts", "/etc/hosts")
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "name", "switch", "type", "bridge")
        run("ip", "link", "set", "switch", "up")
        clocks = has_clocks()
        if not clocks:
            print("no time namespaces here: all hosts have the same clock")
        for number, name in enumerate(names, 1):
            self.append(Host(number, name, shared, clocks))

    def environment(self):
        """The environment that mpirun needs on them."""
        return {"OMPI_MCA_plm_rsh_agent": os.path.join(HERE, "remote_shell.py"), "OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_pml": "ob1",
                "OMPI_MCA_orte_tmpdir_base": "/tmp"}


def mount_own_directories(shared):
    """Gives a host its own directories, with the shared ones mounted in their places."""
    descriptors = {path: os.open(path, os.O_PATH) for path in shared}
    for own in OWN_DIRECTORIES:
        run("mount", "-t", "tmpfs", "tmpfs", own)
    os.chmod("/tmp", 0o1777)
    for path, descriptor in descriptors.items():
        if any(path.startswith(own + "/") for own in OWN_DIRECTORIES):
            os.makedirs(path, exist_ok=True)
            fcntl.fcntl(descriptor, fcntl.F_SETFD, 0)
            subprocess.run(["mount", "--no-canonicalize", "--bind", f"/proc/self/fd/{descriptor}", path], check=True, close_fds=False)


def be_host(name, address, *shared):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    run("mount", "--make-rprivate", "/")
    mount_own_directories(shared)
    run("hostname", name)
    print("made", flush=True)
    sys.stdin.readline()
    for words in (["link", "set", "lo", "up"], ["address", "add", address + "/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
        run("ip", *words)
    listener = remote_shell.listen(address)
    print("ready", flush=True)
    remote_shell.serve(listener)


if __name__ == "__main__":
    be_host(*sys.argv[2:])
