#!/usr/bin/python3
"""fault.py BUILD PROGRAM CASE: kills a component, the matcher or the coordinator at a stage of a coupled run, and checks that nothing hangs, that the exit status
tells, that published data stays readable and that nothing is left behind."""
import os
import re
import signal
import subprocess
import sys
import time

build, program, case = sys.argv[1:4]
LIMIT_S = 60  # far more than any case needs: a hang ends here


def write_flow(writer, reader, writer_ranks=2, reader_ranks=2):
    with open("flow.yaml", "w") as flow:
        flow.write(f"""version: 1
name: fault
staging: {{matchers: {os.environ.get("SLUICE_TEST_MATCHERS", 1)}}}
components:
  writer: {{command: {program} writer {writer}, ranks: {writer_ranks}}}
  reader: {{command: {program} reader {reader}, ranks: {reader_ranks}}}
files:
  - {{path: "case.*.nc", writer: writer, readers: [reader]}}
""")


def start():
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return subprocess.Popen([build + "/bin/sluice", "run", "flow.yaml"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


def finish(run):
    try:
        output, _ = run.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        subprocess.run(["ps", "-ef", "--forest"])
        run.kill()
        sys.exit("HANG: the run did not end")
    print(output)
    return run.returncode, output


def children_named(name, parent):
    """Processes of that name below `parent`: [pid]."""
    found, queue = [], [parent]
    while queue:
        pids = subprocess.run(["pgrep", "-P", str(queue.pop())], capture_output=True, text=True).stdout.split()
        for pid in map(int, pids):
            queue.append(pid)
            try:
                with open(f"/proc/{pid}/comm") as comm:
                    if comm.read().strip() == name[:15]:
                        found.append(pid)
            except OSError:
                pass
    return found


def wait_for(condition, what):
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.02)
    sys.exit(f"HANG: waited for {what}")


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def expect(condition, text):
    if not condition:
        sys.exit("FAILED: " + text)


def writer_killed(stage):
    second = "NC_NOERR" if stage == "close" else "NC_ENOENT"
    write_flow(stage, f"none {second if stage != 'start' else 'ANY'}")
    status, output = finish(start())
    expect(status == 128 + signal.SIGKILL, f"exit status {status}, expected 137")
    expect(re.search(r"writer.*(SIGKILL|signal 9)", output), "the output does not say that the writer was killed")
    if stage != "start":
        expect(f"[reader] second open: {second}" in output, f"the reader's second open was not {second}")


def reader_killed(stage):
    write_flow("none", f"{stage}")
    status, output = finish(start())
    expect(status == 128 + signal.SIGKILL, f"exit status {status}, expected 137")
    expect(re.search(r"reader.*(SIGKILL|signal 9)", output), "the output does not say that the reader was killed")
    expect(not re.search(r"\[writer\] .*expected NC_NOERR", output), "the writer got an error")


def matcher_killed():
    write_flow("sleep", "none ANY")
    run = start()
    matcher = wait_for(lambda: children_named("sluice-matcher", run.pid), "the matcher")[-1]
    wait_for(lambda: len(children_named("fault", run.pid)) == 4, "the components")
    time.sleep(1)  # let the reader reach its second open
    os.kill(matcher, signal.SIGKILL)
    status, output = finish(run)
    expect(status == 3, f"exit status {status}, expected 3")
    expect("matcher" in output, "the output does not name the matcher")


def coordinator_killed():
    write_flow("none", "none ANY")
    write_flow("sleep", "none ANY")
    run = start()
    matchers = wait_for(lambda: children_named("sluice-matcher", run.pid), "the matcher")
    programs = wait_for(lambda: (lambda found: found if len(found) == 4 else None)(children_named("fault", run.pid)), "the components")
    time.sleep(1)
    run.kill()
    run.communicate()
    wait_for(lambda: not any(is_alive(pid) for pid in matchers + programs), f"processes {matchers + programs} to end")


def interrupted():
    write_flow("sleep", "none ANY")
    run = start()
    programs = wait_for(lambda: (lambda found: found if len(found) == 4 else None)(children_named("fault", run.pid)), "the components")
    time.sleep(1)
    run.send_signal(signal.SIGINT)
    status, output = finish(run)
    expect(status == 128 + signal.SIGINT, f"exit status {status}, expected 130")
    expect(not any(is_alive(pid) for pid in programs), "components are still running")


before = set(os.listdir("/dev/shm"))
kind, _, stage = case.partition(".")
{"writer": lambda: writer_killed(stage), "reader": lambda: reader_killed(stage), "matcher": matcher_killed, "coordinator": coordinator_killed,
 "interrupt": interrupted}[kind]()
left = [name for name in set(os.listdir("/dev/shm")) - before if "sluice" in name]
expect(not left, f"left in /dev/shm: {left}")
print("as expected")
