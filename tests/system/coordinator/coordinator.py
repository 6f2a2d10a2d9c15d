#!/usr/bin/python3
"""coordinator.py BUILD CASE [PROGRAM]: runs `sluice` with small components in the working directory. Checks
what a user sees: output, exit status, messages, and that nothing is left behind."""
import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import LIMIT_S, allow, clear_directory, descendants_named, expect, finish, is_alive, wait_for, wait_for_event

build, case = sys.argv[1:3]
sluice = build + "/bin/sluice"


def write(path, text, mode=0o644):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)
    return os.path.abspath(path)


def write_flow(components, files="[]", more=""):
    write("flow.yaml", f"version: 1\nname: test\n{more}components:\n" + "".join(f"  {name}: {text}\n" for name, text in components.items()) + f"files: {files}\n")


def shell(script, **keys):
    """A component that runs a shell script."""
    path = write(f"script.{len(glob.glob('script.*'))}.sh", script)
    return "{command: [sh, " + path + "]" + "".join(f", {key}: {value}" for key, value in keys.items()) + "}"


def start(*arguments, **options):
    return subprocess.Popen([sluice, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def run(*arguments, **options):
    return finish(start("run", *arguments, "flow.yaml", **options))


def pid_in(path):
    """The process id that a component has written to `path`."""

    def read():
        try:
            with open(path) as file:
                text = file.read()
            return int(text) if text.endswith("\n") else None
        except FileNotFoundError:
            return None

    return wait_for(read, path)


def run_directories(process):
    return [path for base in ["/tmp", "/dev/shm", os.environ.get("XDG_RUNTIME_DIR", "/tmp")] for path in glob.glob(f"{base}/sluice-{process.pid}-*")]


def output():
    write_flow({"one": shell("echo out; echo err >&2; printf partial"), "two": shell("printf 'a\\r\\nb\\rc\\n\\nd'"), "ranks": shell("echo rank", ranks=2)})
    result = run()
    expect(result.status == 0, f"exit status {result.status}")
    out = result.out.splitlines()
    expect([line for line in out if line.startswith("[one]")] == ["[one] out", "[one] partial"], "stdout of one")
    expect([line for line in out if line.startswith("[two]")] == ["[two] a", "[two] b", "[two] c", "[two] ", "[two] d"], "stdout of two")
    expect(out.count("[ranks] rank") == 2, "stdout of the ranks")
    expect("[one] err" in result.err.splitlines() and "[one] out" not in result.err, "stderr of one")
    expect("test: finished" in result.out, "the summary")
    quiet = run("--quiet")
    expect("[sluice]" not in quiet.err and "finished" not in quiet.out and "[one] out" in quiet.out, "--quiet")
    verbose = run("--verbose")
    expect(verbose.out.count("[ranks] rank") == 2, "stdout of the ranks in the second run")
    expect(re.search(r"\[sluice\] ranks: mpirun .*env .*LD_PRELOAD=", verbose.err), "--verbose")


def long_lines():
    write("many.py", "import sys\nfor i in range(20000): print(sys.argv[1] * 40, flush=i % 97 == 0)\nprint(sys.argv[1] * 1000000)\n")
    write_flow({name: "{command: [/usr/bin/python3, many.py, '" + name + "']}" for name in "abc"})
    result = run("--quiet")
    expect(result.status == 0, f"exit status {result.status}")
    lines = result.out.splitlines()
    for name in "abc":
        expect(lines.count(f"[{name}] " + name * 40) == 20000, f"lines of {name}")
        expect(sum(len(line) - 4 for line in lines if line.startswith(f"[{name}]")) == 40 * 20000 + 1000000, f"characters of {name}")
    expect(all(re.fullmatch(r"\[(.)\] \1+", line) and len(line) < 70000 for line in lines), "a line that is mixed or too long")


def rank_lines():
    write("many.py", """import os, sys
rank = os.environ["OMPI_COMM_WORLD_RANK"]
for i in range(20000): print(rank * 99)
sys.stdout.write("partial" + rank)
""")
    write_flow({"a": "{command: [/usr/bin/python3, many.py], ranks: 4}"})
    result = run("--quiet")
    expect(result.status == 0, f"exit status {result.status}")
    lines = result.out.splitlines()
    for rank in "0123":
        expect(lines.count("[a] " + rank * 99) == 20000 and lines.count("[a] partial" + rank) == 1, f"lines of rank {rank}")
    expect(len(lines) == 80004, "lines of several ranks are mixed")


def statuses():
    for script, status, text in [("exit 0", 0, "a finished"), ("exit 7", 7, "a exited with status 7"), ("kill -9 $$", 137, "a was killed by signal 9 (SIGKILL)"),
                                 ("kill -SEGV $$", 139, "a was killed by signal 11 (SIGSEGV)"), ("exit 255", 255, "a exited with status 255")]:
        write_flow({"a": shell(script)})
        result = run()
        expect(result.status == status, f"{script}: exit status {result.status}, expected {status}")
        expect(text in result.err, f"{script}: stderr does not say: {text}")


def first_failure():
    # `kill -0` finds a process until the coordinator has waited for it.
    ended = "until [ -s early.pid ] && ! kill -0 $(cat early.pid) 2>/dev/null; do sleep 0.05; done; "
    both_failed = "until grep -rqF 'late exited with status 4' .sluice; do sleep 0.05; done; "
    write_flow({"late": shell(ended + "exit 4"), "early": shell("echo $$ > early.pid; exit 5"), "good": shell(both_failed + "echo still here")})
    result = run()
    expect(result.status == 5, f"exit status {result.status}, expected 5")
    expect("[good] still here" in result.out, "the failure of one took down another")
    expect(re.search(r"early .*failed first", result.out) and not re.search(r"late .*failed first", result.out), "the summary")


def rank_killed():
    write_flow({"ranks": shell('[ "$OMPI_COMM_WORLD_RANK" = 1 ] && kill -9 $$; sleep 30', ranks=2), "other": shell("exit 0")})
    result = run()
    expect(result.status == 137, f"exit status {result.status}, expected 137")
    expect("ranks was killed by signal 9 (SIGKILL)" in result.err, "the signal is not named")


def mistakes():
    write("data", "x")
    write_flow({"none": "{command: ./none}", "path": "{command: no-such-program-anywhere}", "data": "{command: ./data}", "place": "{command: sh, directory: no/such/place}",
                "fine": "{command: 'true'}"})
    result = run()
    expect(result.status == 2, f"exit status {result.status}, expected 2")
    for text in [r"flow.yaml:4:19: .*'none': .*none' does not exist", r"flow.yaml:5:19: .*'path': 'no-such-program-anywhere' was not found in PATH",
                 r"flow.yaml:6:19: .*not executable", r"flow.yaml:7:3: .*no/such/place.*does not exist"]:
        expect(re.search(text, result.err), f"stderr does not say: {text}")
    expect("fine" not in result.err and "[" not in result.out, "something was started")
    expect(not os.path.exists(".sluice"), "a log directory was made")


def bad_yaml():
    write("flow.yaml", "version: 1\ncomponents:\n  a: {comand: b}\nfiles:\n  - {path: '*.nc', writer: b, reader: [a]}\n")
    for command in ["run", "check"]:
        result = finish(start(command, "flow.yaml"))
        expect(result.status == 2, f"exit status {result.status}")
        expect("flow.yaml:3:7: unknown key 'comand' in component 'a': did you mean 'command'?" in result.err, "the near match")
        expect("4 mistakes in flow.yaml" in result.err or "mistakes in flow.yaml" in result.err, "the number")


def command_line():
    for arguments, text in [([], "sluice run FLOW"), (["rum"], "did you mean 'run'"), (["run"], "no workflow file"), (["run", "none.yaml"], "none.yaml"), (["run", "."], "directory"),
                            (["run", "--fast", "flow.yaml"], "--fast"), (["run", "a", "b"], "more words"), (["run", "--notice-after", "0", "a"], "--notice-after"),
                            (["verify"], "no workflow file"), (["check"], "no workflow file"), (["exec"], "no program"), (["exec", "--", "no-such-program"], "no-such-program")]:
        result = finish(start(*arguments))
        expect(result.status == 2 and text in result.err, f"{arguments}: status {result.status}, expected 2 and: {text}")
    for arguments, text in [(["--version"], "sluice 0."), (["--help"], "sluice check FLOW"), (["run", "--help"], "--log-dir"), (["check", "--help"], "check"), (["exec", "--help"], "exec")]:
        result = finish(start(*arguments))
        expect(result.status == 0 and text in result.out, f"{arguments}: status {result.status}, expected 0 and: {text}")


def stop_by(number, expected):
    write_flow({"serial": shell("echo $$ > serial.pid; trap 'echo stopping; exit 0' TERM; while :; do sleep 0.1; done"),
                "ranks": shell("echo $$ > rank.$OMPI_COMM_WORLD_RANK.pid; exec sleep 300", ranks=2)})
    process = start("run", "flow.yaml")
    pids = [pid_in(path) for path in ["serial.pid", "rank.0.pid", "rank.1.pid"]]
    process.send_signal(number)
    result = finish(process)
    expect(result.status == expected, f"exit status {result.status}, expected {expected}")
    expect("[serial] stopping" in result.out, "the component was not asked to stop")
    expect(f"interrupted by {signal.Signals(number).name}" in result.out, "no summary")
    expect(not any(map(is_alive, pids)), "components are still running")
    expect("failed first" not in result.out, "a component that was stopped is said to have failed")


def interrupt():
    stop_by(signal.SIGINT, 130)


def terminate():
    stop_by(signal.SIGTERM, 143)


STUBBORN = "trap '' TERM INT HUP; echo $$ > stubborn.pid; while :; do sleep 0.1; done"


def stubborn():
    write_flow({"stubborn": shell(STUBBORN)})
    process = start("run", "flow.yaml")
    pid = pid_in("stubborn.pid")
    process.send_signal(signal.SIGINT)
    result = finish(process)
    expect(result.status == 130 and not is_alive(pid), f"exit status {result.status}, expected 130, or the component is still running")
    expect("stubborn was killed by signal 9 (SIGKILL)" in result.err, "the end of the component")


def twice():
    write_flow({"stubborn": shell(STUBBORN), "ranks": shell("trap '' TERM; echo $$ > rank.$OMPI_COMM_WORLD_RANK.pid; while :; do sleep 0.1; done", ranks=2)})
    process = start("run", "flow.yaml")
    pid = pid_in("stubborn.pid")
    ranks = [pid_in(path) for path in ["rank.0.pid", "rank.1.pid"]]
    process.send_signal(signal.SIGINT)
    wait_for_event(process, "received SIGINT")
    process.send_signal(signal.SIGINT)
    result = finish(process)
    expect(not any(map(is_alive, ranks)), "ranks are still running")
    expect(result.status == 130 and not is_alive(pid), f"exit status {result.status}, expected 130, or the component is still running")


def foreign_launcher():
    os.mkdir("bin")
    write("bin/mpirun", "#!/bin/sh\necho 'HYDRA build details:'\n", 0o755)
    write_flow({"a": shell("true", ranks=2)})
    result = run(env=dict(os.environ, PATH=os.getcwd() + "/bin:" + os.environ["PATH"]))
    expect(result.status == 0, "Open MPI's mpirun was not found under another name")
    result = run(env=dict(os.environ, PATH=os.getcwd() + "/bin"))
    expect(result.status == 2 and "is not one of Open MPI" in result.err and "HYDRA" in result.err, "another MPI's mpirun was used")
    result = run(env=dict(os.environ, PATH=os.getcwd() + "/nothing"))
    expect(result.status == 2 and "mpirun was not found" in result.err, "a missing mpirun")


def background():
    write_flow({"a": shell("sleep 300 & echo $! > background.pid; echo done")})
    result = run()
    expect(result.status == 0 and "[a] done" in result.out, f"exit status {result.status}")
    wait_for(lambda: not is_alive(pid_in("background.pid")), "the background process to end")


def coordinator_killed():
    write_flow({"serial": shell("echo $$ > serial.pid; sleep 300 & echo $! > child.pid; wait"), "stubborn": shell(STUBBORN),
                "ranks": shell("echo $$ > rank.$OMPI_COMM_WORLD_RANK.pid; exec sleep 300", ranks=2)})
    process = start("run", "flow.yaml")
    pids = [pid_in(path) for path in ["serial.pid", "child.pid", "stubborn.pid", "rank.0.pid", "rank.1.pid"]]
    expect(run_directories(process), "no run directory was seen")
    process.kill()
    process.communicate(timeout=LIMIT_S)
    wait_for(lambda: not any(map(is_alive, pids)), "components to end")
    wait_for(lambda: not run_directories(process), "the run directory to go")


def stopped_component():
    write_flow({"a": shell("echo $$ > a.pid; exec sleep 300")})
    process = start("run", "flow.yaml")
    os.kill(pid_in("a.pid"), signal.SIGSTOP)
    process.send_signal(signal.SIGTERM)
    expect(finish(process).status == 143, "a stopped component could not be ended")


def line_with(text, process):
    """Reads the run's output until a line has this text."""
    for line in process.stdout:
        print(line, end="")
        if text in line:
            return line
    expect(False, "nobody said: " + text)


def stopped_matcher():
    """A matcher that does not answer is reported while the components wait for it, and so is its next answer."""
    write_flow({"a": shell("until [ -e go ]; do sleep 0.05; done")})
    process = subprocess.Popen([sluice, "run", "flow.yaml"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    matcher = wait_for(lambda: descendants_named("sluice-matcher", process.pid), "the matcher")[0]
    line_with("1 component", process)
    os.kill(matcher, signal.SIGSTOP)
    line_with(f"the matcher (process {matcher}) is stopped (kill -CONT {matcher} continues it)", process)
    os.kill(matcher, signal.SIGCONT)
    line_with("the matcher answers again", process)
    write("go", "")
    process.communicate(timeout=LIMIT_S)
    expect(process.returncode == 0, f"exit status {process.returncode}")


def stopped_other_matcher():
    """The same of a matcher that the coordinator has no line to."""
    write_flow({"a": shell("until [ -e go ]; do sleep 0.05; done")}, more="staging: {matchers: 2}\n")
    process = subprocess.Popen([sluice, "run", "flow.yaml"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    line_with("1 component", process)  # all matchers are ready
    matchers = wait_for(lambda: descendants_named("sluice-matcher", process.pid), "the matchers")
    matcher = next(each for each in matchers if b"OMPI_COMM_WORLD_RANK=1\0" in open(f"/proc/{each}/environ", "rb").read())
    os.kill(matcher, signal.SIGSTOP)
    line = line_with("is stopped (kill -CONT", process)
    expect("matcher 1 on " in line and f"(process {matcher})" in line, line)
    os.kill(matcher, signal.SIGCONT)
    line_with("matcher 1 answers again", process)
    write("go", "")
    process.communicate(timeout=LIMIT_S)
    expect(process.returncode == 0, f"exit status {process.returncode}")


def slow_matcher():
    """The user sets how long matchers may take to start and to end."""
    os.mkdir("bin")
    write("bin/mpirun", "#!/bin/sh\n[ $1 = --version ] && exec echo 'mpirun (Open MPI) 4.1.4'\nexec sleep 300\n", 0o755)
    write_flow({"a": shell("true")}, more="staging: {matchers: 2}\n")
    result = run("--ready-timeout", "6", env=dict(os.environ, PATH=os.getcwd() + "/bin:" + os.environ["PATH"]))
    expect(result.status == 3, f"exit status {result.status}")
    expect("the matcher is not ready after 5 s; the run ends after 6 s (--ready-timeout)" in result.out + result.err, "nobody said that it takes long")
    expect("the matcher is not ready after 6 s; --ready-timeout allows more" in result.err, "the error")
    write_flow({"a": shell("pkill -STOP -x -P $PPID sluice-matcher")})
    result = run("--end-timeout", "2")
    expect(result.status == 3 and "the matcher has not ended after 2 s; --end-timeout allows more" in result.err, f"exit status {result.status}")
    result = run("--end-timeout", "-1")
    expect(result.status == 2 and "--end-timeout" in result.err, f"exit status {result.status}")


def environment():
    os.mkdir("place")
    write("show.sh", "pwd; env | grep -E '^(SLUICE|LD_PRELOAD|MINE|OUTER)' | sort; readlink /proc/self/fd/0; ls /proc/self/fd | wc -l\n")
    flow = "{command: [sh, %s/show.sh], directory: place, environment: {MINE: 'a b', OUTER: changed}%s}"
    write_flow({"serial": flow % (os.getcwd(), ""), "ranks": flow % (os.getcwd(), ", ranks: 1")}, "[{path: 'a b*.nc', writer: serial, readers: [ranks]}]")
    result = run(env=dict(os.environ, OUTER="1", LD_PRELOAD="libm.so.6"))
    expect(result.status == 0, f"exit status {result.status}")
    for name, rule in [("serial", "whop"), ("ranks", "rhop")]:
        lines = [line[len(name) + 3:] for line in result.out.splitlines() if line.startswith(f"[{name}] ")]
        for expected in [os.path.join(os.getcwd(), "place"), "MINE=a b", "OUTER=changed", f"SLUICE_COMPONENT={name}", f"SLUICE_RULES=0\t{rule}\tmemory\ta b*.nc"]:
            expect(expected in lines, f"{name} does not show: {expected}")
        expect(any(re.fullmatch(r"LD_PRELOAD=/.*/libsluice_preload.so:(/.*/libsluice_files.so:)?libm.so.6", line) for line in lines), f"{name}: LD_PRELOAD")
        socket = next(line for line in lines if line.startswith("SLUICE_SOCKET="))
        expect(len(socket) < 100, "the socket's path is long")
    serial = [line for line in result.out.splitlines() if line.startswith("[serial] ")]
    expect(serial[-2] == "[serial] /dev/null", "stdin is not /dev/null")
    expect(serial[-1] == "[serial] 4", "the component inherits descriptors beyond the standard ones and that of ls")


def nested_job():
    write_flow({"ranks": shell("echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE", ranks=2), "serial": shell("echo size=$OMPI_COMM_WORLD_SIZE pmix=$PMIX_RANK")})
    root = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    outer = subprocess.run(["mpirun", "--oversubscribe", "-n", "1", sluice, "run", "flow.yaml"], capture_output=True, text=True, env=root, timeout=LIMIT_S)
    print(outer.stdout, outer.stderr)
    expect(outer.returncode == 0, f"exit status {outer.returncode}")
    expect("[ranks] rank 0 of 2" in outer.stdout and "[ranks] rank 1 of 2" in outer.stdout, "the ranks")
    expect("[serial] size= pmix=" in outer.stdout, "the serial component believes to be in the outer job")


def concurrent_runs():
    all_are_here = "touch here.$$; until [ $(ls here.* | wc -l) = 12 ]; do sleep 0.05; done; "
    write_flow({name: shell(all_are_here + "echo rank $OMPI_COMM_WORLD_RANK", ranks=2) for name in "ab"})
    for result in [finish(process) for process in [start("run", "flow.yaml") for _ in range(3)]]:
        expect(result.status == 0, f"exit status {result.status}")
        for line in ["[a] rank 0", "[a] rank 1", "[b] rank 0", "[b] rank 1"]:
            expect(line in result.out.splitlines(), f"no line: {line}")


def launcher_options():
    write_flow({"a": shell("echo $FROM_OPTION", ranks=1, **{"launcher-options": "[-x, FROM_OPTION=seen]"})})
    result = run()
    expect(result.status == 0 and "[a] seen" in result.out, "the option was not passed")
    write_flow({"a": shell("echo rank=$OMPI_COMM_WORLD_RANK", ranks=1)}, more="launcher: none\n")
    result = run()
    expect(result.status == 0 and "[a] rank=\n" in result.out, "the launcher was used")


def launcher_misses_ends():
    """An mpirun that does not notice that its ranks have ended: it is ended, and the run goes on."""
    with open("mpirun", "w") as file:
        file.write("#!/usr/bin/python3\nimport subprocess, sys, time\nranks = [subprocess.Popen(sys.argv[2:]) for _ in range(2)]\ntime.sleep(1000)\n")
    os.chmod("mpirun", 0o755)
    write_flow({"a": shell("echo rank", ranks=2), "b": shell("sleep 1; echo over")}, more='launcher: {command: "./mpirun {ranks} {program}"}\n')
    result = run("--end-timeout", "5")
    expect(result.status != 0 and "[a] rank\n" in result.out and "[b] over\n" in result.out, "the status")
    told = "a: all processes of its launcher have ended, and the launcher has not noticed"
    expect(told in result.all, result.all)
    with open("mpirun", "a") as file:  # notices late
        file.write("sys.exit(max(rank.wait() for rank in ranks))\n")
    subprocess.run(["sed", "-i", "s/sleep(1000)/sleep(15)/", "mpirun"], check=True)
    for patience in ("0", "1000"):
        result = run("--end-timeout", patience)
        expect(result.status == 0 and told not in result.all, f"the patience is {patience} s: {result.all}")


LOCKED = """#!/usr/bin/python3
import ctypes, os, subprocess, sys
for rank in [subprocess.Popen(sys.argv[2:]) for _ in range(2)]: rank.wait()
if os.path.exists("again"): sys.exit(0)
open("again", "w").close()
ctypes.CDLL(None).syscall(202, ctypes.byref(ctypes.c_int(2)), 128, 2, None)  # futex, FUTEX_WAIT_PRIVATE
"""


def launcher_stands_still():
    """An mpirun that waits for a lock at its own end, as Open MPI's does at times when a rank is killed as it begins: it is ended, and a component with restarts starts again."""
    with open("mpirun", "w") as file:
        file.write(LOCKED)
    os.chmod("mpirun", 0o755)
    write_flow({"a": shell("echo rank", ranks=2, restarts=1)}, more='launcher: {command: "./mpirun {ranks} {program}"}\n')
    result = run("--end-timeout", "5")
    expect("a: all processes of its launcher have ended, and the launcher has not noticed" in result.all, result.all)
    expect(result.status == 0 and "restart 1 of 1" in result.all, result.all)


def launcher_left():
    """The matchers' mpirun stands still at its end, and sluice was killed: the guardian ends mpirun."""
    mpirun = shutil.which("mpirun")
    os.mkdir("bin")
    with open("bin/mpirun", "w") as file:
        file.write(f"#!/usr/bin/python3\nimport signal, subprocess, sys, time\nranks = subprocess.Popen(['{mpirun}', *sys.argv[1:]])\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nif '--version' in sys.argv: sys.exit(ranks.wait())\ntime.sleep(1000)\n")
    os.chmod("bin/mpirun", 0o755)
    write_flow({"a": shell("touch begun; sleep 1000")}, more="staging: {matchers: 2, prewarm: 0}\n")
    process = start("run", "flow.yaml", env=dict(os.environ, PATH=os.path.abspath("bin") + ":" + os.environ["PATH"]))
    wait_for(lambda: os.path.exists("begun"), "the component")
    launchers = [child for child in harness.children(process.pid) if is_in_bin(child)]
    expect(len(launchers) == 1, f"the matchers are started by bin/mpirun: {launchers}")
    process.kill()
    process.communicate()
    wait_for(lambda: not is_alive(launchers[0]), "the end of the launcher")


def is_in_bin(pid):
    with open(f"/proc/{pid}/cmdline") as words:
        return os.path.abspath("bin/mpirun") in words.read()


def custom_launcher():
    """Any launcher works: the library is preloaded only into the program, and the status is the launcher's."""
    write("start.sh", 'test -z "$LD_PRELOAD" || exit 5\nranks=$1; shift\ntest "$1" = --option || exit 6\nshift\nfor i in $(seq $ranks); do RANK=$i "$@" || exit; done\n')
    launcher = 'launcher: {command: "sh start.sh {ranks} {program}"}\n'
    write_flow({"a": shell("case $LD_PRELOAD in *libsluice_preload.so*) echo rank=$RANK;; esac", ranks=2, **{"launcher-options": "[--option]"})}, more=launcher)
    result = run()
    expect(result.status == 0 and "[a] rank=1\n" in result.out and "[a] rank=2\n" in result.out, "the launcher was not used")
    write_flow({"a": shell("exit 9", ranks=2, **{"launcher-options": "[--option]"})}, more=launcher)
    expect(run().status == 9, "the launcher's status")
    write_flow({"a": shell("true", ranks=2)}, more='launcher: {command: "no-such-launcher {ranks} {program}"}\n')
    result = run()
    expect(result.status == 2 and "no-such-launcher" in result.err, "a launcher that is not there")


def execute():
    result = finish(start("exec", "--", "sh", "-c", "echo $LD_PRELOAD; echo socket=$SLUICE_SOCKET; exit 9", env=dict(os.environ, SLUICE_SOCKET="stale")))
    expect(result.status == 9, f"exit status {result.status}")
    expect(result.out.splitlines()[0].endswith("/lib/libsluice_preload.so") and result.out.splitlines()[1] == "socket=", "the environment")


def blanks_in_path():
    for folder, name in [("bin", "sluice"), ("bin", "sluice-matcher"), ("lib", "libsluice_pnetcdf.so"), ("lib", "libsluice_preload.so")]:
        os.makedirs(f"a place/{folder}", exist_ok=True)
        shutil.copy(f"{build}/{folder}/{name}", f"a place/{folder}/{name}")
    os.mkdir("my flow")
    os.chdir("my flow")
    write_flow({"a": shell("echo hello; grep -c libsluice_preload /proc/self/maps >&2; exec cat /proc/self/maps")})
    process = subprocess.Popen(["../a place/bin/sluice", "run", "flow.yaml"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    result = finish(process)
    expect(result.status == 0 and "[a] hello" in result.out, f"exit status {result.status}")
    expect(re.search(r"\[a\] .*a place/lib/libsluice_preload.so", result.out), "the library was not preloaded")
    expect("cannot be preloaded" not in result.err, "the loader complains")


def closed_output():
    write_flow({"a": shell("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; echo done > a.done")})
    process = start("run", "flow.yaml")
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=LIMIT_S)
    expect(process.returncode == 0, f"exit status {process.returncode}: {err}")
    expect(os.path.exists("a.done"), "the component did not finish")


def no_standard_descriptors():
    write_flow({"a": shell("echo hello; echo done > a.done")})
    status = subprocess.run(["sh", "-c", f"exec {sluice} run flow.yaml <&- >&- 2>&-"], timeout=LIMIT_S).returncode
    expect(status == 0 and os.path.exists("a.done"), f"exit status {status}")
    with open(glob.glob(".sluice/*/events.log")[0]) as log:
        expect("[a] hello" not in log.read(), "output went into the log")


def hangup():
    write_flow({"a": shell("echo $$ > a.pid; until [ -e go ]; do sleep 0.05; done")})
    process = subprocess.Popen(["nohup", sluice, "run", "flow.yaml"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pid_in("a.pid")
    process.send_signal(signal.SIGHUP)
    allow("go")
    expect(finish(process).status == 0, "nohup has no effect")
    os.remove("a.pid")
    write_flow({"a": shell("echo $$ > a.pid; exec sleep 60")})
    process = start("run", "flow.yaml")
    pid_in("a.pid")
    process.send_signal(signal.SIGHUP)
    expect(finish(process).status == 129, "SIGHUP does not end the run")


def stale_directories():
    names = ["sluice-1-stale0", "sluice-2-fresh0", "sluice-3-other0", "sluice-0.1.0", "sluice-4-public"]
    stale, fresh, other, sources, public = paths = ["/tmp/" + name for name in names]
    for path in paths:
        shutil.rmtree(path, ignore_errors=True)
        os.mkdir(path, 0o755 if path == public else 0o700)
        if path == other:
            write(path + "/notes.txt", "not a run's")
        write(path + "/matcher", "")
        if path != fresh:
            os.utime(path, (1, 1))  # from here on, another run may consider it stale
    write_flow({"a": shell("true")})
    try:
        expect(run(env={key: value for key, value in os.environ.items() if key != "XDG_RUNTIME_DIR"}).status == 0, "the run")
        expect(not os.path.exists(stale), "a dead run's directory was left")
        for path in [fresh, other, sources, public]:
            expect(os.path.exists(path + "/matcher"), f"{path}, which is no dead run's directory, was removed")
    finally:
        for path in paths:
            shutil.rmtree(path, ignore_errors=True)


def log_directory():
    write_flow({"a": shell("exit 3")})
    run("--log-dir", "logs/of/this")
    expect(os.stat("logs/of/this").st_mode & 0o777 == 0o700, "the mode of the directory")
    expect(os.stat("logs/of/this/events.log").st_mode & 0o777 == 0o600, "the mode of the log")
    with open("logs/of/this/events.log") as log:
        text = log.read()
    expect("a exited with status 3" in text and "the run ended with exit status 3" in text, "the log")
    run()
    logs = glob.glob(".sluice/test-*-*/events.log")
    expect(len(logs) == 1 and os.stat(os.path.dirname(logs[0])).st_mode & 0o777 == 0o700, "the default directory")
    write("file", "")
    expect(run("--log-dir", "file").status == 3, "a log directory that cannot be")


def check():
    write("windows.sh", "#!/bin/sh\r\necho\r\n", 0o755)
    write_flow({"a": "{command: sh}", "b": "{command: cat, ranks: 100}", "c": "{command: ./windows.sh}", "d": "{command: nowhere}"},
               "[{path: x.nc, writer: a, readers: [b]}, {path: y.nc, writer: b, readers: [a]}]")
    result = finish(start("check", "flow.yaml"))
    expect(result.status == 2, f"exit status {result.status}")
    for text in ["carriage return", "'nowhere' was not found in PATH", "a -> b -> a", "processes share", "no file rule names component 'c'", "2 mistakes found"]:
        expect(text in result.err + result.out, f"it does not say: {text}")
    write_flow({"a": "{command: sh}"})
    result = finish(start("check", "flow.yaml"))
    expect(result.status == 0 and "no mistakes found" in result.out, f"exit status {result.status}")


def notes():
    """Notes of `check` also appear at the start of a run."""
    write_flow({"a": "{command: sh -c true}"})
    expect("flow.yaml:4:3: note: no file rule names component 'a'" in run().err, "the note")
    expect("note:" not in run("--quiet").err, "a note in spite of --quiet")


def directories():
    """Directories without permission are noted. Root has all permissions, so it gives that one up."""
    os.makedirs("closed")
    path = write("closed/flow.yaml", "version: 1\ncomponents: {a: {command: sh -c true}, b: {command: sh -c true}}\nfiles: [{path: x.nc, writer: a, readers: [b]}]\n")
    as_user = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"] if os.geteuid() == 0 else []
    for mode, are_noted in [(0o755, False), (0o555, True)]:
        os.chmod("closed", mode)
        for command, names_log in [(["check"], are_noted), (["run", "--log-dir", f"log.{mode}"], False)]:
            result = harness.call(*as_user, sluice, *command, path, status=0)
            expect(("component 'a' starts in" in result.err) == are_noted, f"{command[0]}, mode {mode:o}: the writer's directory")
            expect(("sluice run --log-dir" in result.err) == names_log, f"{command[0]}, mode {mode:o}: the place of the log")
            expect("component 'b' starts in" not in result.err, f"{command[0]}, mode {mode:o}: the reader")
    result = harness.call(*as_user, sluice, "run", path, status=3)
    expect("create the log directory" in result.err and "--log-dir" in result.err, "the run without a place for its log")
    os.chmod("closed", 0o755)


def descriptor_limit():
    """A limit that is too low is reported as such, before anything starts."""
    write_flow({"a": shell("true", ranks=2), "b": shell("true")})
    for command in ["run", "check"]:
        result = finish(start(command, "flow.yaml", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))))
        expect(result.status == 2 and "the limit on open files is 40" in result.err and "ulimit -n" in result.err, f"{command}: status {result.status}, or the text")
        expect("PATH" not in result.err and not os.path.exists(".sluice"), f"{command}: PATH is blamed, or something was started")
    resource.setrlimit(resource.RLIMIT_NOFILE, (90, 90))  # enough for pipes, too few for terminals
    write_flow({"a": shell("echo rank $OMPI_COMM_WORLD_RANK", ranks=8), "b": shell("echo serial")})
    result = run()
    expect(result.status == 0 and "[a] rank 7" in result.out and "[b] serial" in result.out, f"exit status {result.status} with few descriptors")


def full_output():
    """Output that cannot be written is an error of `sluice`, not of the components."""
    write_flow({"a": shell("echo line; echo line; echo done > a.done")})
    for command in ["run", "check"]:
        with open("/dev/full", "w") as full:
            result = subprocess.run([sluice, command, "flow.yaml"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S)
        expect(result.returncode == 3, f"{command}: exit status {result.returncode}, expected 3")
        expect("output" in result.stderr, f"{command}: nothing is said of the output")
    expect(os.path.exists("a.done"), "the component did not finish")
    write_flow({"a": shell("echo line; exit 5")})
    with open("/dev/full", "w") as full:
        status = subprocess.run([sluice, "run", "flow.yaml"], stdout=full, timeout=LIMIT_S).returncode
    expect(status == 5, f"exit status {status}, expected the component's")


def file_size_limit():
    """A limit on file sizes is reported like a full disk, and ends only processes that cannot work with it."""

    def set_limit():  # smaller than any event log
        resource.setrlimit(resource.RLIMIT_FSIZE, (128, 128))

    write_flow({"a": shell("echo done > a.done")})
    result = run(preexec_fn=set_limit)
    expect(result.status == 0, f"exit status {result.status}")
    expect("the event log is incomplete: File too large" in result.err, "the reason is not told")
    expect("'sluice status' and other commands do not find this run: " in result.err, "the record of the run")
    expect(os.path.exists("a.done"), "the component did not finish")
    write_flow({"a": shell("head -c 1000 /dev/zero > a.large")})
    expect(run(preexec_fn=set_limit).status == 128 + signal.SIGXFSZ, "components have the signal as ever")
    status = subprocess.run([sluice, "exec", "--", "sh", "-c", "head -c 1000 /dev/zero > a.large"], preexec_fn=set_limit, timeout=LIMIT_S).returncode
    expect(status in (-signal.SIGXFSZ, 128 + signal.SIGXFSZ), f"sluice exec: exit status {status}")


def full_log_directory():
    """Without room for its records, a run does its work, and says that it cannot be resumed."""
    harness.in_own_namespace()
    write_flow({"a": shell("echo done > a.done"), "b": shell("sleep 0")}, "[{path: x.nc, writer: a, readers: [b]}]")
    for kib in (4, 8, 16):
        with harness.SmallDisk("log", kib / 1024, may_keep=True):
            result = run("--log-dir", "log")
        expect(result.status == 0, f"{kib} KiB: exit status {result.status}")
        expect("the record of steps ends here" in result.err and "No space left on device" in result.err, f"{kib} KiB: the reason is not told")
        expect(os.path.exists("a.done"), "the component did not finish")
        os.remove("a.done")


def cannot_start():
    """A program that cannot be started is no mistake of the workflow once others run."""
    write("bad.sh", "#!/no/such/interpreter\n", 0o755)
    write_flow({"good": shell("echo still here"), "bad": "{command: ./bad.sh}"})
    result = run()
    expect(result.status == 3 and "[good] still here" in result.out, f"exit status {result.status}, expected 3")
    expect(re.search(r"bad: .*cannot start", result.err), "the text")


def left_of_jobs():
    """The files of this user's Open MPI processes outside Open MPI's session directory."""
    return set(glob.glob("/dev/shm/vader_segment.*")) | set(glob.glob("/tmp/ompi.*/pid.*"))


def nothing_left():
    """Ranks, a launcher and a serial MPI program are killed: Open MPI's files for them are removed."""
    write_flow({name: "{command: " + sys.argv[3] + f" {name}, ranks: {ranks}}}" for name, ranks in [("a", 2), ("b", 2), ("c", 0)]})
    process = start("run", "flow.yaml", env=dict(os.environ, TMPDIR="/tmp"))

    def pids(path):
        text = wait_for(lambda: open(path).read() if os.path.exists(path) else "", path)
        return list(map(int, text.split()))

    (rank, _), (_, launcher), (serial, _) = pids("a.0"), pids("b.0"), pids("c.0")
    for path in ["a.1", "b.1"]:
        pids(path)
    made = run_directories(process)
    segments = [path for directory in made for path in glob.glob(directory + "/vader_segment.*")]
    expect(len(segments) == 4, f"the jobs' shared memory is not where it is cleaned up: {made}, {segments}")
    expect(not any(f"/pid.{launcher}" in path for path in left_of_jobs()), "the session directory of a job is not where it is cleaned up")
    for pid in [rank, launcher, serial]:
        os.kill(pid, signal.SIGKILL)
    expect(finish(process).status == 137, "the status")
    expect(not [path for path in made if os.path.exists(path)], f"left behind: {made}")


clear_directory()
directory = os.getcwd()
globals()[case]()
print("as expected")
