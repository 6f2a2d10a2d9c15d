#!/usr/bin/python3
"""nodes.py BUILD SOURCE CASE: `sluice run` on the machines of hosts.py, with ranks, matchers and files where
a user of mpirun would put them. The reading programs compare every byte."""
import glob
import os
import pathlib
import re
import signal
import subprocess
import sys

import hosts
import slurm

sys.path += [os.path.dirname(sys.path[0]), os.path.join(os.path.dirname(sys.path[0]), "burst_buffer")]
import harness
from burst_rows import check_rows, digest, told
from harness import clear_directory, expect, finish, is_logged, kill, wait_for

BUILD, SOURCE, CASE = sys.argv[1:4]
hosts.in_own_machine()
harness.LIMIT_S = 180  # every step has dozens of collectives over TCP between processes of several sessions, so a busy machine slows these tests down more than others
clear_directory()
alpha, beta, gamma = everywhere = hosts.Hosts(["alpha", "beta", "gamma"], [SOURCE, BUILD])
SLUICE, COUPLE, FAULT, REPLAY, PATTERNS, ORDER, WRITER, APPEND, FOLLOW = (f"{BUILD}/bin/{name}" for name in ("sluice", "couple", "fault", "replay_steps", "patterns", "order", "burst_writer", "append_records", "follow"))


def on(*places):
    """The keys of a component with ranks on these machines: ("alpha:2", "beta:1")."""
    return "launcher-options: [--host, '" + ",".join(places) + "']"


def write_flow(program, components, rules, *staging, top=()):
    """harness.write_flow, with more keys at the top."""
    harness.write_flow(program, components, rules, *staging)
    text = pathlib.Path("flow.yaml").read_text()
    pathlib.Path("flow.yaml").write_text("".join(key + "\n" for key in top) + text)


def start(*arguments, host=alpha, flow="flow.yaml", environment=None, **options):
    return harness.start(*host.command(SLUICE, "run", *arguments, flow), environment={**everywhere.environment(), **(environment or {})}, **options)


def run(*arguments, status=0, **options):
    result = finish(start(*arguments, **options), status)
    expect_nothing_left()
    return result


def expect_nothing_left():
    """No machine has a process or a file of a run any more, at the latest when guardian and caretakers have
    finished. A killed mpirun leaves its session's files."""
    for host in everywhere:
        wait_for(lambda: not host.processes() and not files_of_runs(host), Description(host))


def files_of_runs(host):
    return [path for path in host.files() if not path.startswith("/tmp/ompi.")]


class Description:
    """The processes and files of a machine at this moment."""

    def __init__(self, host):
        self.host = host

    def __str__(self):
        processes = ",".join(map(str, self.host.processes()))
        shown = subprocess.run(["ps", "-o", "pid,ppid,args", "-p", processes or "0"], capture_output=True, text=True).stdout
        return f"{self.host.name} to be as before: files {files_of_runs(self.host)}, processes\n{shown}"


def matchers(*places):
    """The matchers' processes, once each machine has the same number: {host: count}."""
    return {host.name: len(host.named("sluice-matcher")) for host in places}


def wait_for_processes(name, host, count):
    return wait_for(lambda: found if len(found := host.named(name)) == count else None, f"{count} {name} on {host.name}")


def replayed(result, name):
    """How many gets of the files in a line of the summary were replayed."""
    line = next(line for line in result.out.splitlines() if line.startswith(name + " "))
    return int(re.split(r"  +", line[len(name):].strip())[5])


def apart():
    """The writer is on one machine, the reader on another. The data crosses the network between them once,
    and nothing else connects them."""
    numbers, steps = 200000, 6
    write_flow(COUPLE, {"model": (2, f"repeat {steps} write a%d.nc {numbers} read done%d.nc 2", on("alpha:2")), "analysis": (3, f"repeat {steps} read a%d.nc {numbers} write done%d.nc 2", on("beta:3"))},
               [("a*.nc", "model", ["analysis"]), ("done*.nc", "analysis", ["model"])])
    before = alpha.bytes_sent()
    result = run("--verbose")
    sent = alpha.bytes_sent() - before
    data = steps * numbers * 8
    expect(data < sent < 2 * data, f"{sent} bytes over the network for {data} of data")
    expect("on 2 nodes" in result.all, "the number of nodes")
    expect(replayed(result, "a1.nc") == 3, "the second step is not replayed")
    expect(is_logged("matcher 1 (node 1)") and not is_logged("matcher 2"), "there are others than two matchers")
    expect(glob.glob("*.nc") == [], "files on the disk")


def spread():
    """Writers and readers are on all machines, in different orders, with one and two matchers on each
    machine. Each step repeats the first one or changes something."""
    for count, seed, steps in (1, harness.test_seed(), 20), (2, harness.test_seed(672863831), 25):
        write_flow(REPLAY, {"writer": (4, f"writer {seed} {steps} 4 3", on("alpha:1", "beta:2", "gamma:1")), "reader": (3, f"reader {seed} {steps} 4 3", on("gamma:1", "beta:1", "alpha:1"))},
                   [("step_*.nc", "writer", ["reader"]), ("done_*.nc", "writer", ["reader"])], f"matchers: {count}")
        result = run()
        expect(replayed(result, "step_*.nc") > 0, "nothing was replayed")
        expect(is_logged(f"matcher {3 * count - 1} (node 2)"), "the matchers of the third machine")


def patterns():
    """Random puts and gets."""
    for writers, readers in (3, 2), (2, 4):
        seed = harness.test_seed()
        write_flow(PATTERNS, {"writer": (writers, f"writer coupled {seed} {writers}", on("beta:2", "alpha:2")), "reader": (readers, f"reader coupled {seed} {writers}", on("alpha:2", "gamma:2"))},
                   [("pattern*.nc", "writer", ["reader"])])
        run()


def serial():
    """A serial program runs on the machine of `sluice`, and exchanges files with ranks on other machines."""
    write_flow(COUPLE, {"model": (2, "repeat 3 write a%d.nc 50000 read c%d.nc 100", on("beta:1", "gamma:1")), "picture": (0, "repeat 3 read a%d.nc 50000 write b%d.nc 1000"),
                        "last": (1, "repeat 3 read b%d.nc 1000 write c%d.nc 100", on("gamma"))},
               [("a*.nc", "model", ["picture"]), ("b*.nc", "picture", ["last"]), ("c*.nc", "last", ["model"])])
    run()
    expect(is_logged("matcher 2 (node 2)"), "the matchers of three machines")


def hostfile():
    """A list of nodes for all components, in another order. Some nodes are for one component. The machine of
    `sluice` is not in the list."""
    pathlib.Path("lists").mkdir()
    pathlib.Path("lists/nodes.txt").write_text("gamma slots=2\nbeta slots=2\n")
    components = {"model": (3, "repeat 4 write a%d.nc 30000"), "analysis": (2, "repeat 4 read a%d.nc 30000", on("beta"))}
    write_flow(COUPLE, components, [("a*.nc", "model", ["analysis"])], top=["hostfile: lists/nodes.txt"])
    result = run("--verbose")
    expect("on 3 nodes" in result.all and is_logged(" --host alpha:1 ") and is_logged(" --host gamma:1,beta:1 "), "the matchers' machines")
    # The same with mpirun's own variable.
    write_flow(COUPLE, components, [("a*.nc", "model", ["analysis"])])
    result = run(environment={"OMPI_MCA_orte_default_hostfile": os.path.abspath("lists/nodes.txt")})
    expect("on 3 nodes" in result.all, "the matchers' machines")
    # The machine of `sluice` by its address and by an alias; then the run is on this machine alone.
    for name in alpha.address, "localhost":
        pathlib.Path("lists/nodes.txt").write_text(f"{name} slots=4\n")
        write_flow(COUPLE, {"model": (2, "write a.nc 1000"), "analysis": (2, "read a.nc 1000")}, [("a*.nc", "model", ["analysis"])], top=["hostfile: lists/nodes.txt"])
        expect("on 3 nodes" not in (text := run().all) and "core" in text, f"{name} is another machine")


def mpich():
    """Programs with MPICH on several machines, by options and by a list of nodes; those of Open MPI on others."""
    hydra = {"HYDRA_LAUNCHER": "rsh", "HYDRA_LAUNCHER_EXEC": os.path.join(hosts.HERE, "remote_shell.py"), "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}
    program = COUPLE + "_mpich"
    harness.write_flow("", {"model": (2, program + " repeat 3 write a%d.nc 30000", "launcher-options: [-hosts, 'alpha:1,beta:1']"),
                            "analysis": (2, COUPLE + " repeat 3 read a%d.nc 30000", on("beta:1", "gamma:1"))}, [("a*.nc", "model", ["analysis"])])
    expect("on 3 nodes" in run(environment=hydra).all and is_logged(" --host beta:1,gamma:1 "), "the matchers' machines")
    pathlib.Path("nodes.txt").write_text("gamma slots=1\nbeta slots=1\n")
    harness.write_flow("", {"model": (2, COUPLE + " repeat 3 write a%d.nc 30000", on("alpha:2")), "analysis": (2, program + " repeat 3 read a%d.nc 30000")}, [("a*.nc", "model", ["analysis"])])
    flow = pathlib.Path("flow.yaml")
    flow.write_text("hostfile: nodes.txt\n" + flow.read_text())
    expect("on 3 nodes" in run(environment=hydra).all, "the matchers' machines")


def order():
    """The later of two puts wins, although its machine's clock is far behind."""
    waiting = f"[sh, -c, 'until [ -e written ]; do sleep 0.05; done; exec {ORDER} reader a.nc']"
    for places in ("alpha", "beta"), ("beta", "alpha"):
        write_flow(ORDER, {"model": (2, "writer a.nc", on(*places))}, [("a.nc", "model", ["analysis"])])
        text = pathlib.Path("flow.yaml").read_text()
        pathlib.Path("flow.yaml").write_text(text.replace("\nfiles:", f"\n  analysis: {{command: {waiting}, ranks: 3, {on('gamma', 'beta', 'alpha')}}}\nfiles:"))
        run()
        os.remove("written")


def append():
    """Writers on both machines reopen a file for each record."""
    seed = harness.test_seed()
    write_flow(APPEND, {"writer": (2, f"writer {seed} 30", on("beta", "alpha")), "reader": (3, f"reader {seed} 30", on("alpha", "beta", "gamma"))},
               [("history.nc", "writer", ["reader"]), ("done*.nc", "writer", ["reader"]), ("seen*.nc", "reader", ["writer"])])
    run()


def follow():
    """Files are read while they are written."""
    for publish, reader in ("sync", "records"), ("write", "rows"):
        write_flow(FOLLOW, {"model": (2, "write a.nc 30" + (" 1" if publish == "sync" else ""), on("alpha", "beta")), "first": (2, f"{reader} a.nc 30", on("gamma", "beta")), "second": (1, "reopen a.nc 30", on("beta"))},
                   [("*.nc", "model", ["first", "second"], "publish: " + publish)])
        run()


def little_memory():
    """Writers wait for readers on another machine. With a spill directory on each machine they need not wait."""
    for spill in ["spill: none"], ["spill: /tmp/scratch"]:
        for host in everywhere:
            os.makedirs(host.path("/tmp/scratch"), exist_ok=True)
            host.first_files.add("/tmp/scratch")
        write_flow(COUPLE, {"model": (2, "repeat 20 write a%d.nc 200000", on("alpha", "beta")), "analysis": (2, "repeat 20 whole a%d.nc 200000", on("beta", "gamma"))}, [("a*.nc", "model", ["analysis"])],
                   "memory: 8MiB", *spill)
        run()


def files():
    """Data in files; with subfiles, one for each machine."""
    for through, count in ("file", 0), ("subfiles", 3), ("blobs", 0):
        write_flow(COUPLE, {"model": (3, "write a.nc 3000", on("gamma", "beta", "alpha")), "analysis": (2, "read a.nc 3000", on("beta", "alpha"))}, [("a.nc", "model", ["analysis"], "through: " + through)])
        run()
        expect(len(glob.glob("a.nc.subfile_*")) == count, f"files: {glob.glob('a.nc*')}")
        for path in glob.glob("a.nc*"):
            os.remove(path)


def keep():
    """Each machine writes its part of the file."""
    write_flow(COUPLE, {"model": (4, "repeat 3 write a%d.nc 100000", on("alpha:2", "beta:2")), "analysis": (1, "repeat 3 read a%d.nc 100000", on("gamma"))}, [("a*.nc", "model", ["analysis"], "keep: true")])
    run()
    kept = {path: digest(path) for path in glob.glob("a*.nc")}
    expect(len(kept) == 3, f"kept: {kept}")
    finish(harness.start(*alpha.command("mpirun", "--oversubscribe", "-n", "4", COUPLE, "repeat", "3", "write", "a%d.nc", "100000"), environment=everywhere.environment()), 0)
    expect(kept == {path: digest(path) for path in kept}, "other files than without Sluice")


def make_log_directories():
    for host in everywhere:
        os.makedirs(host.path("/tmp/logs"), exist_ok=True)
        host.first_files.add("/tmp/logs")


def logs(host):
    """Not the lock of a run."""
    return sorted(name for name in os.listdir(host.path("/tmp/logs")) if not name.startswith(".sluice-"))


def start_with_logs(puts):
    """A run whose writer has logs on local disks of two machines."""
    make_log_directories()
    write_flow(WRITER, {"model": (4, f"wave.nc {puts} 0", on("alpha:2", "beta:2"))}, [("*.nc", "model", ["analysis"], "through: burst-buffer")], "spill: /tmp/logs")
    text = pathlib.Path("flow.yaml").read_text()
    pathlib.Path("flow.yaml").write_text(text.replace("\nfiles:", "\n  analysis: {command: sleep 0}\nfiles:"))
    return start()


def burst_buffer():
    """Logs on both machines become the file that a program writes without Sluice, and are removed."""
    finish(start_with_logs(-150), 0)
    expect_nothing_left()
    before = digest("wave.nc")
    check_rows("wave.nc", [150] * 4)
    os.remove("wave.nc")
    finish(harness.start(*alpha.command("mpirun", "--oversubscribe", "-n", "4", WRITER, "wave.nc", "-150", "0"), environment=everywhere.environment()), 0)
    expect(digest("wave.nc") == before, "another file than without Sluice")


def recover():
    """Both machines lose all their processes. The puts are recovered from the logs of one machine, then of
    the other."""
    process = start_with_logs(150)
    wait_for(lambda: told(4) == [150] * 4, "puts")
    while any(host.processes() for host in everywhere):
        for host in everywhere:
            kill(host.processes(), signal.SIGKILL)
    finish(process)
    for host in alpha, beta:
        expect(len(logs(host)) == 6, f"{host.name} has {logs(host)}")
    for host in beta, alpha, beta:
        # The system may still be ending threads of the killed processes, and their locks last until then.
        command = host.command(SLUICE, "recover", "/tmp/logs")
        wait_for(lambda: subprocess.run(command).returncode == 0, f"the recovery on {host.name}")
    check_rows("wave.nc", [150] * 4)
    # The next run on a machine removes the files that such an end has left.
    for host in alpha, beta:
        os.utime(directory := glob.glob(host.path("/tmp/sluice-*"))[0], (0, 0))
        harness.write_flow("true", {"model": (0, "")}, [])
        finish(start(host=host), 0)
        expect(not os.path.exists(directory), f"{directory} is still there")


def resume():
    """A resume says which nodes have logs that it cannot reach, and goes on when they are in the file."""
    process = start_with_logs(150)
    wait_for(lambda: told(4) == [150] * 4, "puts")
    while any(host.processes() for host in everywhere):
        for host in everywhere:
            kill(host.processes(), signal.SIGKILL)
    finish(process)
    (record,) = glob.glob(".sluice/*/steps.tsv")
    with open(record, "rb+") as file:  # as if all had closed the file
        text = file.read().rstrip(b"\0")
        file.truncate(0)
        file.seek(0)
        file.write(text + b"published\t1\t5\t1\t0\n")
    flow = pathlib.Path("flow.yaml")
    flow.write_text(flow.read_text().replace("wave.nc 150", "wave.nc -150"))
    result = finish(start("--resume"), 3)
    expect("'wave.nc' are not all here" in result.err and "on each of alpha, beta" in result.err and "/tmp/logs" in result.err, "what is told")
    for host in beta, alpha:
        expect(len(logs(host)) == 6, f"{host.name} has {logs(host)}")
        command = host.command(SLUICE, "recover", "--delete", "/tmp/logs")
        wait_for(lambda: subprocess.run(command).returncode == 0, f"the recovery on {host.name}")
    expect("1 published file is there again" in finish(start("--resume"), 0).all, "what is there")
    check_rows("wave.nc", [150] * 4)


def start_slurm():
    if not slurm.is_there():
        hosts.skip("Slurm is not installed: apt-get install slurm-wlm")
    return slurm.Slurm(everywhere)


def in_job(cluster, *options, statuses=(0,), run_options=""):
    """Runs `sluice run` as a batch job; nothing of it is left on any machine."""
    text = cluster.batch(f"{SLUICE} run --verbose {run_options} flow.yaml 2>&1\necho status $?\n", *options, statuses=statuses)
    for host in everywhere:
        wait_for(lambda: not host.named("sluice-matcher") and not host.named("sluice-caretaker") and not host.named("couple") and not glob.glob(host.path("/tmp/sluice-*")), Description(host))
    return text


def slurm_mpirun():
    """mpirun takes the nodes from the allocation, and so do the matchers."""
    cluster = start_slurm()
    write_flow(COUPLE, {"model": (6, "repeat 4 write a%d.nc 60000"), "analysis": (2, "repeat 4 read a%d.nc 60000", on("beta")), "picture": (0, "repeat 4 read a%d.nc 60000")},
               [("a*.nc", "model", ["analysis", "picture"])], "matchers: 2")
    text = in_job(cluster, "-N", "2", "-n", "6", "--ntasks-per-node=3")
    expect("on 2 nodes" in text and is_logged("matcher 3 (node 1)") and not is_logged("matcher 4"), "the matchers of two machines")
    text = in_job(cluster, "-N", "1", "-n", "6", statuses=(2,))
    expect("cannot place the ranks of component 'analysis'" in text, "a machine outside of the allocation")


def slurm_srun():
    """srun starts everything, as steps that share the allocation."""
    cluster = start_slurm()
    rules = [("a*.nc", "model", ["analysis", "picture"]), ("done*.nc", "analysis", ["model"])]
    components = {"model": (4, "repeat 4 write a%d.nc 60000 read done%d.nc 2", "launcher-options: [--ntasks-per-node=2]"), "analysis": (2, "repeat 4 read a%d.nc 60000 write done%d.nc 2"),
                  "picture": (0, "repeat 4 read a%d.nc 60000")}
    for count in 1, 2:
        write_flow(COUPLE, components, rules, f"matchers: {count}", top=["launcher: srun"])
        text = in_job(cluster, "-N", "2", "--ntasks-per-node=4")
        expect("on 2 nodes" in text and is_logged(f"matcher {2 * count - 1} (node 1)"), "the matchers of two machines")
    # One node: a matcher needs no launcher.
    write_flow(COUPLE, components, rules, top=["launcher: srun"])
    pathlib.Path("flow.yaml").write_text(pathlib.Path("flow.yaml").read_text().replace("[--ntasks-per-node=2]", "[--label]"))
    in_job(cluster, "-N", "1", "-n", "4")
    # A rank on the other machine is killed. The other rank notices, or srun ends it by SIGTERM; srun reports
    # one of their ends. The reader is told in any case.
    write_flow(FAULT, {"writer": (2, "writer put", "launcher-options: [--ntasks-per-node=1]"), "reader": (2, "reader none NC_ENOENT", "launcher-options: [--ntasks-per-node=1]")},
               [("case.*.nc", "writer", ["reader"])], top=["launcher: srun"])
    text = in_job(cluster, "-N", "2", "--ntasks-per-node=4", statuses=(1, 128 + signal.SIGKILL, 128 + signal.SIGTERM))
    expect("[reader] second open: NC_ENOENT" in text, "the reader's second open")


CHECKPOINTS = """i=$(cat state || echo 0)
trap 'echo $i > state; exit 0' TERM
while test $i -lt 4; do
  n=$((i + 1)); echo $n > a$n.txt; i=$n
  if test $i = 2 && test $1 = 0; then while :; do sleep 0.1; done; fi
done
echo $i > state
"""
FOLLOWS = "for i in 1 2 3 4; do test -e seen.$i && continue; cat a$i.txt > part || exit 0; mv part seen.$i; done\n"


def slurm_time_limit():
    """A job with a time limit: the run stops in order before it, and a second job resumes it."""
    cluster = start_slurm()
    pathlib.Path("model.sh").write_text(CHECKPOINTS)
    pathlib.Path("analysis.sh").write_text(FOLLOWS)
    pathlib.Path("flow.yaml").write_text("""version: 1
name: test
staging: {prewarm: 0}
components:
  model: {command: [sh, model.sh, "{resume}"]}
  analysis: {command: [sh, analysis.sh]}
files: [{path: "a?.txt", writer: model, readers: [analysis], keep: true}]
""")
    text = in_job(cluster, "-N", "1", "-n", "2", "--time=2", statuses=(75,), run_options="--stop-before 90s")
    expect("model finished after" in text and "to be resumed by 'sluice run --resume'" in text, "the end in order")
    expect(pathlib.Path("state").read_text() == "2\n" and [os.path.exists(f"seen.{i}") for i in range(1, 5)] == [True, True, False, False], "what was read before the limit")
    in_job(cluster, "-N", "1", "-n", "2", run_options="--resume")
    expect([pathlib.Path(f"seen.{i}").read_text() for i in range(1, 5)] == [f"{i}\n" for i in range(1, 5)], "what was read")


def slurm_outside():
    """Without an allocation, srun is refused before anything starts."""
    start_slurm()
    write_flow(COUPLE, {"model": (2, "write a.nc 10")}, [], top=["launcher: srun"])
    result = finish(start(), 2)
    expect("needs an allocation" in result.err, "the reason")


def write_fault_flow(writer, reader, expected="ANY"):
    """Each component has a rank on both machines. The last rank, which is killed at a stage, is on the other
    machine."""
    write_flow(FAULT, {"writer": (2, f"writer {writer}", on("alpha", "beta")), "reader": (2, f"reader {reader} {expected}", on("alpha", "beta"))}, [("case.*.nc", "writer", ["reader"])])


def writer_killed():
    for stage, second in ("put", "NC_ENOENT"), ("close", "NC_NOERR"):
        write_fault_flow(stage, "none", second)
        output = run(status=128 + signal.SIGKILL).all
        expect(re.search(r"writer.*(SIGKILL|signal 9)", output), "the output does not say that the writer was killed")
        expect(f"[reader] second open: {second}" in output, f"the reader's second open was not {second}")


def reader_killed():
    write_fault_flow("none", "get")
    output = run(status=128 + signal.SIGKILL).all
    expect(re.search(r"reader.*(SIGKILL|signal 9)", output), "the output does not say that the reader was killed")
    expect(not re.search(r"\[writer\] .*expected NC_NOERR", output), "the writer got an error")


def start_sleeping():
    """A run whose reader waits for a file that the writer will not write."""
    write_fault_flow("sleep", "none")
    process = start()
    for host in alpha, beta:
        wait_for_processes("fault", host, 2)
        wait_for_processes("sluice-matcher", host, 1)
    return process


def matcher_killed():
    """On this or on the other machine."""
    for host in alpha, beta:
        process = start_sleeping()
        kill(host.named("sluice-matcher"), signal.SIGKILL)
        expect("matcher" in finish(process, 3).all, "the output does not name the matcher")
        expect_nothing_left()


def coordinator_killed():
    process = start_sleeping()
    kill(alpha.named("sluice"), signal.SIGKILL)
    finish(process)
    expect_nothing_left()


def everything_killed_here():
    """All processes on the machine of `sluice` except its guardian, as when a batch system ends a job there."""
    process = start_sleeping()
    kill(alpha.processes() - set(alpha.named("sluice-guardian")), signal.SIGKILL)
    finish(process)
    expect_nothing_left()


def interrupted():
    process = start_sleeping()
    kill(alpha.named("sluice"), signal.SIGINT)
    finish(process, 128 + signal.SIGINT)
    expect_nothing_left()


def background():
    """Processes that a component leaves on another machine end with the run."""
    write_flow("sh", {"model": (2, "-c 'setsid sleep 1000 >/dev/null 2>&1 & exit 0'", on("alpha", "beta"))}, [])
    run()


def two_runs():
    """A run starts on a machine where another run's ranks are. It leaves that run alone, however old that is."""
    write_flow(COUPLE, {"model": (1, "write a.nc 1000 read go.nc 10 write b.nc 1000", on("alpha")), "analysis": (1, "read a.nc 1000 write there.nc 10 read b.nc 1000", on("beta")),
                        "gate": (0, "until there.nc 10 write go.nc 10")},
               [("[ab].nc", "model", ["analysis"]), ("go.nc", "gate", ["model"]), ("there.nc", "analysis", ["gate"])])
    # The gate reads an ordinary file that this test makes.
    text = pathlib.Path("flow.yaml").read_text()
    waiting = f"[sh, -c, 'until [ -e gate ]; do sleep 0.05; done; exec {COUPLE} read there.nc 10 write go.nc 10']"
    pathlib.Path("flow.yaml").write_text(re.sub(r"gate: \{command: [^,]*,", f"gate: {{command: {waiting},", text))
    first = start()
    wait_for_processes("couple", beta, 1)
    directory = next(path for path in glob.glob(beta.path("/tmp/sluice-*")))
    os.utime(directory, (0, 0))
    pathlib.Path("other").mkdir()
    write_flow_of_two = "version: 1\ncomponents: {one: {command: " + COUPLE + " write x.nc 10}, two: {command: " + COUPLE + " read x.nc 10}}\nfiles: [{path: x.nc, writer: one, readers: [two]}]\n"
    pathlib.Path("other/flow.yaml").write_text(write_flow_of_two)
    finish(start(host=beta, flow="other/flow.yaml"), 0)
    expect(os.path.exists(directory), "the other run's directory has gone")
    pathlib.Path("gate").touch()
    finish(first, 0)
    expect_nothing_left()


def no_matcher():
    """A process on a machine that the run does not know gets an error that says what to do, and no process
    hangs."""
    pathlib.Path("elsewhere.sh").write_text(f'exec mpirun -n 1 --host gamma -x LD_PRELOAD -x SLUICE_SOCKET -x SLUICE_COMPONENT -x SLUICE_RULES -x SLUICE_MATCHERS -x SLUICE_VIRTUAL_NODES {COUPLE} "$@"\n')
    write_flow(COUPLE, {"model": (2, "write a.nc 1000", on("alpha", "beta"))}, [("a.nc", "model", ["analysis"])])
    text = pathlib.Path("flow.yaml").read_text()
    pathlib.Path("flow.yaml").write_text(text.replace("\nfiles:", "\n  analysis: {command: [sh, elsewhere.sh, read, a.nc, '1000']}\nfiles:"))
    output = run(status=1).all
    expect("NC_EIO" in output, "no error")


def refused():
    """A workflow that mpirun cannot place is refused before anything starts, with mpirun's words."""
    write_flow(COUPLE, {"model": (5, "write a.nc 1000", "launcher-options: [--nooversubscribe, --host, 'alpha:1,beta:1']")}, [])
    result = run(status=2)
    expect("flow.yaml:" in result.err and "cannot place the ranks of component 'model'" in result.err and "slots" in result.err, "the reason")
    write_flow(COUPLE, {"model": (2, "write a.nc 1000")}, [], top=["hostfile: nowhere.txt"])
    expect("nowhere.txt" in run(status=2).err, "the missing hostfile is not named")
    write_flow(COUPLE, {"model": (2, "write a.nc 1000", on("alpha", "nowhere"))}, [])
    expect("nowhere" in run(status=3).all, "the machine that is not there is not named")
    write_flow(COUPLE, {"model": (2, "write a.nc 1000", on("alpha", "beta"))}, [])
    expect("unset" in run(status=3, environment={"SLUICE_VIRTUAL_NODES": "2"}).err, "virtual nodes of several machines")


cases = {name: value for name, value in globals().items() if callable(value) and getattr(value, "__module__", "") == __name__}
cases[CASE]()
print("as expected")
