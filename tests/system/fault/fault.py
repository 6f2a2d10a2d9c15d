#!/usr/bin/python3
"""fault.py BUILD PROGRAM CASE: kills a component, the matcher or the coordinator at a stage of a coupled run.
Nothing hangs, the exit status tells, published data stays readable, and nothing is left behind."""
import os
import random
import re
import signal
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, descendants_named, expect, finish, is_alive, wait_for, wait_for_event

build, program, case = sys.argv[1:4]


def write_flow(writer, reader):
    harness.write_flow(program, {"writer": (2, "writer " + writer), "reader": (2, "reader " + reader)}, [("case.*.nc", "writer", ["reader"])])


runs = []


def start(*arguments):
    runs.append(harness.start(build + "/bin/sluice", "run", *arguments, "flow.yaml"))
    return runs[-1]


def components(run):
    def all_of_them():
        found = descendants_named("fault", run.pid)
        return found if len(found) == 4 else None

    return wait_for(all_of_them, "the components")


def writer_killed(stage):
    second = "NC_NOERR" if stage == "close" else "NC_ENOENT"
    write_flow(stage, f"none {second if stage != 'start' else 'ANY'}")
    output = finish(start(), 128 + signal.SIGKILL).all
    expect(re.search(r"writer.*(SIGKILL|signal 9)", output), "the output does not say that the writer was killed")
    if stage != "start":
        expect(f"[reader] second open: {second}" in output, f"the reader's second open was not {second}")


def reader_killed(stage):
    write_flow("none", f"{stage}")
    output = finish(start(), 128 + signal.SIGKILL).all
    expect(re.search(r"reader.*(SIGKILL|signal 9)", output), "the output does not say that the reader was killed")
    expect(not re.search(r"\[writer\] .*expected NC_NOERR", output), "the writer got an error")


def reader_killed_in_mid_transfer():
    """Whenever one of two readers dies, the other one reads all files correctly, while memory is recycled."""
    delays = random.Random(harness.test_seed())
    for _ in range(3):
        microseconds = delays.randrange(1, 40000)
        harness.write_flow(program, {"writer": (2, "many 8"), "victim": (2, f"all 8 {microseconds}"), "survivor": (2, "all 8 0")},
                           [("large.*.nc", "writer", ["victim", "survivor"])], "memory: 24MiB")
        output = finish(start(), 128 + signal.SIGKILL).all
        expect(re.search(r"victim.*(SIGKILL|signal 9)", output), "the output does not say that the victim was killed")
        expect(not re.search(r"\[(writer|survivor)\] .*fault.c", output), "another component got an error")


def start_waiting():
    """A run whose reader waits in its second open for a file that the writer does not write."""
    write_flow("sleep", "none ANY")
    run = start("--log-dir", "log", "--notice-after", "1")
    wait_for_event(run, "waits for 'case.2.nc' from writer")
    return run


def matcher_killed():
    run = start_waiting()
    matcher = wait_for(lambda: descendants_named("sluice-matcher", run.pid), "the matcher")[-1]
    wait_for(lambda: has_figures("log"), "figures of the files")
    os.kill(matcher, signal.SIGKILL)
    output = finish(run, 3).all
    expect("matcher" in output, "the output does not name the matcher")
    expect("the matchers gave no final figures" in output and re.search(r"^case\.\*\.nc +\d", output, re.M), "the figures that were told last")


def has_figures(log):
    """Whether the coordinator has had an answer to what the run does."""
    with open(log + "/timeline.tsv") as timeline:
        return any(line.startswith("published\t") for line in timeline)


def launcher_killed():
    """The matchers' mpirun is killed, and one matcher is stopped, so that its line is still open when
    everything else has ended."""
    write_flow("sleep", "none ANY")
    run = start()
    matchers = wait_for(lambda: descendants_named("sluice-matcher", run.pid), "the matchers")
    ranks = components(run)
    harness.kill(matchers, signal.SIGSTOP)
    harness.kill(harness.parents(matchers), signal.SIGKILL)
    wait_for(lambda: harness.is_logged("the matcher was killed"), "the end of the launcher")
    harness.kill(ranks, signal.SIGKILL)
    expect("matcher" in finish(run, 3).all, "the output does not name the matcher")
    wait_for(lambda: not any(map(is_alive, matchers)), "the end of the matchers")


def coordinator_killed():
    run = start_waiting()
    matchers = wait_for(lambda: descendants_named("sluice-matcher", run.pid), "the matcher")
    programs = components(run)
    run.kill()
    run.communicate()
    wait_for(lambda: not any(is_alive(pid) for pid in matchers + programs), f"processes {matchers + programs} to end")


def interrupted():
    run = start_waiting()
    programs = components(run)
    run.send_signal(signal.SIGINT)
    finish(run, 128 + signal.SIGINT)
    expect(not any(is_alive(pid) for pid in programs), "components are still running")


clear_directory()
kind, _, stage = case.partition(".")
{"writer": lambda: writer_killed(stage), "reader": lambda: reader_killed_in_mid_transfer() if stage == "transfer" else reader_killed(stage), "matcher": matcher_killed, "launcher": launcher_killed, "coordinator": coordinator_killed,
 "interrupt": interrupted}[kind]()
# A killed process cannot clean up; the guardian does it a moment later.
wait_for(lambda: not [name for name in os.listdir("/dev/shm") if any(name.startswith(f"sluice-{run.pid}-") for run in runs)], "what is left in /dev/shm to go")
print("as expected")
