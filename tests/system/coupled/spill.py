#!/usr/bin/python3
"""spill.py BUILD PROGRAM CASE: coupled runs of PROGRAM (couple.c) with staging.spill: more data than memory, full disks, kills."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

build, program, case = sys.argv[1:4]
LIMIT_S = 100  # far more than any case needs: a hang ends here
MIB = 131072  # numbers in a MiB


def expect(condition, text):
    if not condition:
        sys.exit("FAILED: " + text)


def write_flow(model, analysis, memory="4MiB", spill="scratch", model_ranks=3, analysis_ranks=2):
    with open("flow.yaml", "w") as flow:
        flow.write(f"""version: 1
name: spill
staging: {{memory: {memory}, spill: {spill}, matchers: {os.environ.get("SLUICE_TEST_MATCHERS", 1)}}}
components:
  model: {{command: {program} {model}, ranks: {model_ranks}}}
  analysis: {{command: {program} {analysis}, ranks: {analysis_ranks}}}
files:
  - {{path: "*.nc", writer: model, readers: [analysis]}}
""")


def start(command="run"):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return subprocess.Popen([build + "/bin/sluice", command, "flow.yaml"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


def finish(run, status=0):
    try:
        output, _ = run.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        subprocess.run(["ps", "-ef", "--forest"])
        run.kill()
        sys.exit("HANG: the run did not end")
    print(output, f"=> {run.returncode}", sep="\n")
    expect(run.returncode == status, f"exit status {run.returncode}, expected {status}")
    return output


def scratch():
    shutil.rmtree("scratch", ignore_errors=True)
    os.makedirs("scratch")


def spilled_mib(output):
    found = re.search(r"; ([\d.]+) MiB spilled to .*/scratch", output)
    return float(found[1]) if found else 0


def logged(words):
    return subprocess.run(["grep", "-rlF", "--include=events.log", words, "."], capture_output=True).returncode == 0


def many_files():
    """Eight times the memory, all written before the reader comes; gets of the later steps are replayed from disk."""
    scratch()
    write_flow(f"repeat 32 write a%d.nc {MIB}", f"sleep 2500 repeat 32 read a%d.nc {MIB}")
    output = finish(start())
    expect(spilled_mib(output) > 20, "hardly anything was spilled")
    figures = re.split(r"  +", re.search(r"\*\.nc.*32 files\).*", output)[0].strip())
    expect(int(figures[-2]) >= 32, "nothing was replayed: " + str(figures))
    expect(logged(".nc' goes on in "), "the event log does not tell")
    expect(os.listdir("scratch") == [], "something is left in the directory")


def large_file():
    """A put that is larger than all memory."""
    scratch()
    write_flow(f"write a.nc {32 * MIB} write b.nc {5 * MIB}", f"sleep 500 read a.nc {32 * MIB} read b.nc {5 * MIB} read a.nc {32 * MIB}")
    expect(spilled_mib(finish(start())) > 28, "hardly anything was spilled")


def keeps_up():
    """What is read gives the disk back: far more goes through it than it has room for."""
    with small_disk(12):
        write_flow(f"repeat 60 write a%d.nc {MIB}", f"sleep 1000 repeat 60 read a%d.nc {MIB}", memory="2MiB")
        expect(spilled_mib(finish(start())) > 12, "the disk was not used again")


def full_disk():
    """A put that finds no room anywhere fails, and nothing else: what was published is read, what comes later is written."""
    with small_disk(6):
        write_flow(f"write a.nc {3 * MIB} overflow b.nc {20 * MIB} write c.nc {3 * MIB}", f"read a.nc {3 * MIB} read c.nc {3 * MIB}", memory="2MiB", model_ranks=2)
        output = finish(start())
        expect(spilled_mib(output) > 0, "nothing was spilled")
        expect(logged("raise staging.memory or make room in staging.spill"), "no advice")


def waits_for_readers():
    """Memory and disk are full of what a reader has not read yet: the writer waits."""
    with small_disk(6):
        write_flow(f"repeat 24 write a%d.nc {MIB}", f"repeat 24 read a%d.nc {MIB} sleep 60", memory="2MiB", model_ranks=2)
        finish(start())


class small_disk:
    """A file system of so many MiB at scratch, in a mount namespace of this test's own."""

    def __init__(self, mib):
        self.mib = mib

    def __enter__(self):
        scratch()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.mib}m", "tmpfs", "scratch"], check=True)

    def __exit__(self, *_):
        expect(os.listdir("scratch") == [], "something is left in the directory")
        subprocess.run(["umount", "scratch"], check=True)


def in_own_namespace():
    if os.environ.get("SLUICE_TEST_NAMESPACE"):
        return
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode != 0:
        print("SKIPPED: no mount namespace can be made here")
        sys.exit(77)
    os.execvpe("unshare", ["unshare", "-rm", *sys.argv], dict(os.environ, SLUICE_TEST_NAMESPACE="1"))


def users_of(directory):
    """Processes that have a file of the directory open or mapped, with a name or without: {pid}."""
    found, prefix = set(), os.path.realpath(directory) + "/"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if any(os.readlink(f"/proc/{pid}/fd/{number}").startswith(prefix) for number in os.listdir(f"/proc/{pid}/fd")):
                found.add(int(pid))
        except OSError:
            pass
    return found


def wait_for(condition, what):
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.05)
    sys.exit(f"HANG: waited for {what}")


def below(pid):
    children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    return [int(child) for child in children] + [grandchild for child in children for grandchild in below(child)]


def everything_killed():
    scratch()
    write_flow(f"repeat 32 write a%d.nc {MIB}", f"sleep 60000 repeat 32 read a%d.nc {MIB}")
    run = start()
    wait_for(lambda: users_of("scratch"), "spilled segments")
    for pid in [run.pid, *below(run.pid)]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    run.communicate()
    wait_for(lambda: not users_of("scratch"), "the processes' ends")
    expect(os.listdir("scratch") == [], "something is left in the directory")


def missing_directory():
    shutil.rmtree("scratch", ignore_errors=True)
    write_flow("write a.nc 10", "read a.nc 10")
    for command in ("check", "run"):
        expect("flow.yaml:3:32: staging.spill cannot be used: " in finish(start(command), 2), "the mistake is not named")
    # A directory in which no files can be made; on another node only its matcher can see that.
    write_flow("write a.nc 10", "read a.nc 10", spill="/proc")
    expect("staging.spill cannot be used: " in finish(start("check"), 2), "the mistake is not named")


if case in ("keeps_up", "full_disk", "waits_for_readers"):
    in_own_namespace()
globals()[case]()
