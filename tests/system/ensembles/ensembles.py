#!/usr/bin/python3
"""ensembles.py BUILD COUPLE CASE: components with `instances: N`, by shell scripts and by couple.c."""
import os
import re
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish, is_logged

build, couple, case = sys.argv[1:4]
sluice = build + "/bin/sluice"


def write_flow(components, rules):
    """Components: {name: [key, …]}. Rules: [(pattern, writer, readers, *more keys)]."""
    lines = ["version: 1", "name: test", "staging: {prewarm: 0}", "components:"]
    lines += [f"  {name}: " + harness.mapping(*keys) for name, keys in components.items()]
    lines += ["files:" if rules else "files: []"] + ["  - " + harness.mapping(f'path: "{pattern}"', f"writer: {writer}", f"readers: [{', '.join(readers)}]", *keys) for pattern, writer, readers, *keys in rules]
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join(lines) + "\n")


def script(name, text):
    with open(name, "w") as file:
        file.write(text + "\n")
    return os.path.abspath(name)


def run(*arguments, status=0):
    return finish(harness.start(sluice, "run", *arguments, "flow.yaml"), status)


def most_at_a_time(ensemble):
    """The largest number of members that ran at a time, by the event log."""
    running = most = 0
    for directory, _, names in os.walk(".sluice"):
        if "events.log" not in names:
            continue
        with open(os.path.join(directory, "events.log")) as log:
            for line in log:
                if re.match(rf"\S+ {ensemble}\.\d+ starts in", line):
                    running += 1
                elif re.match(rf"\S+ {ensemble}\.\d+ (exited|was killed)", line):
                    running -= 1
                most = max(most, running)
    return most


def fan_in():
    """A hundred serial members, at most eight at a time, and one reader of all."""
    for i in range(100):
        os.mkdir(f"m{i:03}")
    member = script("member.sh", "echo member $1 $WHO > out.txt")
    reader = script("reader.sh", "for d in m???; do cat $d/out.txt; done > all.txt")
    write_flow({"model": [f"command: [sh, {member}, '{{instance}}']", 'directory: "m{instance:03}"', 'environment: {WHO: "i{instance:02}"}', "instances: 100", "at-most: 8"], "analysis": [f"command: [sh, {reader}]"]},
               [("m{instance:03}/out.txt", "model", ["analysis"])])
    result = run()
    with open("all.txt") as file:
        expect(file.read().splitlines() == [f"member {i} i{i:02}" for i in range(100)], "what the reader has read")
    expect(not os.path.exists("m007/out.txt"), "a file is on disk")
    expect(1 < most_at_a_time("model") <= 8, f"{most_at_a_time('model')} members at a time")
    expect(re.search(r"model \(100 instances\) .*100 finished", result.out) and re.search(r"m\{instance:03\}/out.txt  \(100 files\) +100 ", result.out), "the summary")
    expect("model.7 " not in result.out and "model: all 100 instances have ended" in result.all, "each member is told")


def members_of_mpi():
    """Ten MPI members, each coupled with the member of the same number of another ensemble."""
    write_flow({"model": [f'command: [{couple}, write, "x{{instance}}.nc", "5000"]', "ranks: 2", "instances: 10", "at-most: 3"], "post": [f'command: [{couple}, read, "x{{instance}}.nc", "5000"]', "ranks: 1", "instances: 10", "at-most: 3"]},
               [("x{instance}.nc", "model", ["post"])])
    result = run()
    expect(result.out.count("10 finished") == 2, "the summary")
    expect(1 <= most_at_a_time("post") <= 3, "at-most")


def fan_out():
    """One writer: a file that all members read, and a file for each member."""
    writer = script("writer.sh", "echo all > common.txt; for i in 0 1 2 3 4; do echo own $i > in$i.txt; done")
    member = script("member.sh", "cat common.txt in$1.txt > out$1")
    write_flow({"driver": [f"command: [sh, {writer}]"], "model": [f'command: [sh, {member}, "{{instance}}"]', "instances: 5"]},
               [("common.txt", "driver", ["model"]), ("in{instance}.txt", "driver", ["model"])])
    run()
    for i in range(5):
        with open(f"out{i}") as file:
            expect(file.read() == f"all\nown {i}\n", f"what member {i} has read")


def all_to_all():
    """Each member reads what each member has written, of its own ensemble and of another one."""
    member = script("member.sh", "echo member $1 > m$1.txt; cat m0.txt m1.txt m2.txt > seen$1")
    post = script("post.sh", "cat m0.txt m1.txt m2.txt > out$1")
    write_flow({"model": [f'command: [sh, {member}, "{{instance}}"]', "instances: 3"], "post": [f'command: [sh, {post}, "{{instance}}"]', "instances: 2"]},
               [("m{instance}.txt", "model", ["model.*", "post.*"])])
    run()
    for name in "seen0", "seen1", "seen2", "out0", "out1":
        with open(name) as file:
            expect(file.read() == "member 0\nmember 1\nmember 2\n", name)
    expect(not os.path.exists("m0.txt"), "a file is on disk")


def queue_of_turns():
    """Members that have not had their turn hold a queue: its writer goes on when those that run wait for it."""
    writer = script("writer.sh", "for i in 0 1 2 3; do echo file $i > w$i.txt; done")
    member = script("member.sh", "cat w0.txt w1.txt w2.txt w3.txt > out$1")
    write_flow({"driver": [f"command: [sh, {writer}]"], "model": [f'command: [sh, {member}, "{{instance}}"]', "instances: 3", "at-most: 1"]}, [("w*.txt", "driver", ["model"], "queue: 1", "when-full: wait")])
    run()
    for i in range(3):
        with open(f"out{i}") as file:
            expect(file.read() == "file 0\nfile 1\nfile 2\nfile 3\n", f"what member {i} has read")
    expect(is_logged("model.1 has not read 'w0.txt'; it starts when model.0 has ended"), "the log")


def one_fails():
    """One member fails. The others go on, and the reader is told which file does not come."""
    member = script("member.sh", "[ $1 = 2 ] && exit 5; echo fine > out$1.txt")
    reader = script("reader.sh", "cat out0.txt out1.txt out3.txt && ! cat out2.txt")
    write_flow({"model": [f'command: [sh, {member}, "{{instance}}"]', "instances: 4"], "analysis": [f"command: [sh, {reader}]"]}, [("out{instance}.txt", "model", ["analysis"])])
    result = run(status=5)
    expect(re.search(r"model \(4 instances\) .*3 finished, 1 failed", result.out) and re.search(r"model.2 .*exited with status 5  <- failed first", result.out), "the summary")
    expect(result.out.count("[analysis] fine") == 3, "what was read")
    expect("'out2.txt' will not be published: its writer model.2 exited with status 5" in result.all, "the reason")


def one_restarts():
    """One member fails, and is started again."""
    member = script("member.sh", "[ $1 = 2 ] && ! test -e again && touch again && exit 5; echo fine > out$1.txt")
    reader = script("reader.sh", "cat out0.txt out1.txt out2.txt out3.txt > all.txt")
    write_flow({"model": [f'command: [sh, {member}, "{{instance}}"]', "instances: 4", "restarts: 1", "restart-delay: 10ms", "at-most: 2"], "analysis": [f"command: [sh, {reader}]"]}, [("out{instance}.txt", "model", ["analysis"])])
    result = run()
    with open("all.txt") as file:
        expect(file.read() == "fine\n" * 4, "what was read")
    expect(re.search(r"model.2 .*exited with status 0 after 1 restart", result.out), "the summary")
    expect(most_at_a_time("model") <= 2, "at-most")


def one_stops_all():
    """With `on-failure: stop` the failure of one member ends the run, also for members that have not begun."""
    member = script("member.sh", "[ $1 = 1 ] && exit 6; sleep 1000")
    write_flow({"model": [f'command: [sh, {member}, "{{instance}}"]', "instances: 20", "at-most: 2", "on-failure: stop"]}, [])
    result = run(status=6)
    expect(re.search(r"model \(20 instances\) .*2 failed, 18 not started", result.out), "the summary")
    expect(is_logged("model.2 is not started any more"), "the log")


def check():
    """`sluice check` shows an ensemble as one."""
    os.mkdir("m0")
    write_flow({"model": ["command: cat", "instances: 50", 'environment: {N: "{instance}"}'], "analysis": ["command: cat"]}, [("m{instance}.txt", "model", ["analysis"])])
    result = finish(harness.start(sluice, "check", "flow.yaml"), 0)
    expect("model x 50" in result.out and "model.1" not in result.all and result.out.split("What will happen")[0].count("m{instance}.txt") == 1, "the overview")
    write_flow({"model": ["command: cat", "instances: 50", 'directory: "m{instance}"']}, [("m{instance}.txt", "model", ["model"])])
    result = finish(harness.start(sluice, "check", "flow.yaml"), 2)
    expect(result.err.count("does not exist") == 1 and "m1" in result.err, "missing directories")


clear_directory()
globals()[case]()
