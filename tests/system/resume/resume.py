#!/usr/bin/python3
"""resume.py BUILD PROGRAM CASE: runs that are killed as a whole, or stopped ahead of a time limit, and go on
by `sluice run --resume`."""
import array
import glob
import os
import random
import re
import signal
import sys
import time

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import allow, clear_directory, expect, finish, is_logged, kill, wait_for, wait_for_event

build, program, case = sys.argv[1:4]
sluice = build + "/bin/sluice"
STEPS = 8
MARK = "SLUICE_TEST_MARK"  # in the environment of all processes of a run


def start(*options, environment=None):
    mark = str(random.getrandbits(64))
    run = harness.start(sluice, "run", *options, "flow.yaml", environment={MARK: mark, **(environment or {})})
    run.mark = mark
    return run


def shell_flow(components, files):
    """Components: {name: (script, *more keys)}; each script has the number of resumes as $1."""
    lines = ["version: 1", "name: test", "staging: {prewarm: 0}", "components:"]
    for name, (script, *keys) in components.items():
        with open(name + ".sh", "w") as file:
            file.write(script + "\n")
        lines.append(f"  {name}: " + harness.mapping(f'command: [sh, {name}.sh, "{{resume}}"]', *keys))
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join([*lines, "files: " + files]) + "\n")


def kill_all(run, dice=random, at_once=False):
    """Kills every process of the run, in any order. `at_once`: none sees another one's end, as when the power fails."""
    found = [*harness.have_in_environment(MARK, run.mark) | {run.pid}]
    dice.shuffle(found)
    if at_once:
        kill(found, signal.SIGSTOP)
    kill(found, signal.SIGKILL)

    def is_empty():
        rest = harness.have_in_environment(MARK, run.mark)
        kill(rest, signal.SIGKILL)  # that have started meanwhile
        return not rest

    wait_for(is_empty, "the end of all processes")
    return finish(run)


def kill_component(run, name):
    """Kills the processes of a component, and waits until the run has noticed."""
    processes = harness.have_in_environment(MARK, run.mark) & harness.have_in_environment("SLUICE_COMPONENT", name)
    kill(processes, signal.SIGSTOP)  # a shell is not to go on because its child has been killed
    kill(processes, signal.SIGKILL)
    wait_for_event(run, name + " was killed")


def edit_log(name, change):
    """Replaces the text of a file of the only log directory."""
    (path,) = glob.glob(".sluice/*/" + name)
    text = change(text_of(path))
    with open(path, "w") as file:
        file.write(text)


def forget_machine(text):
    """The journal as it is after a power failure: the machine has started again since."""
    changed = re.sub("(?m)^(machine\t.*\t).*$", r"\1another-start", text)
    expect(changed != text, "the journal does not name the machine")
    return changed


def text_of(name):
    with open(name) as file:
        return file.read()


def log_text(name):
    """A file of the last run's log directory; empty before it is there."""
    found = sorted(glob.glob(".sluice/*/" + name), key=os.path.getmtime)
    return text_of(found[-1]) if found else ""


def wait_until(run, condition, what):
    wait_for(lambda: condition() or run.poll() is not None, what)


# Every byte, whenever everything is killed

def written():
    try:
        return int(text_of("written"))
    except FileNotFoundError:
        return 0


EVENTS = {
    "the writer has published {}": lambda number: written() >= number,
    "result {} is there": lambda number: os.path.exists(f"results/{number - 1:04d}"),
    "the log of step {} is begun": lambda number: glob.glob(f"wave_{number - 1:04d}.nc*"),
    "the file of step {} is on disk": lambda number: os.path.exists(f"wave_{number - 1:04d}.nc"),
}


def results_of(step, length):
    return array.array("d", [step * 1000003.0 + i / 4 for i in range(length)]).tobytes()


def check_results(length):
    for step in range(STEPS):
        with open(f"results/{step:04d}", "rb") as file:
            expect(file.read() == results_of(step, length), f"the numbers of step {step}")
    expect(len(os.listdir("results")) == STEPS, "too many results")


def logs():
    """Burst-buffer logs. One that was only being created says nothing, not even whose it is: it may be left."""

    def has_contents(name):
        try:
            with open(name, "rb") as file:
                return any(file.read())
        except FileNotFoundError:
            return False

    return list(filter(has_contents, glob.glob("*.meta")))


def kill_in_turns(keys, seed, *reader_keys):
    dice = random.Random(seed)
    clear_directory()
    os.mkdir("results")
    length = dice.choice([3, 3000, 30000])
    ranks = {word: dice.choice([0, 1, 2]) for word in ("write", "read")}
    print(f"length {length}, ranks {ranks}, {keys}", flush=True)
    harness.write_flow(program, {"write": (ranks["write"], f"write {STEPS} {length}"), "read": (ranks["read"], f"read {STEPS} {length}", *reader_keys)}, [("wave_*.nc", "write", ["read"], keys)])
    allow("go")
    run = start()
    for number in sorted(dice.sample(range(1, STEPS), 4)):
        what, has_happened = dice.choice([*EVENTS.items()])
        wait_until(run, lambda: has_happened(number), what.format(number))
        print("killed when " + what.format(number), flush=True)
        result = kill_all(run, dice)
        if result.status == 0:
            break
        run = start("--resume")
    else:
        result = finish(run, 0)
        expect("goes on where the last run ended" in result.all and "lost" not in result.all, "what is there again")
    check_results(length)
    expect(not logs(), f"burst-buffer logs are left: {logs()}")
    check_files(STEPS, length)


def check_files(steps, length, **options):
    """What is on disk, also in subfiles and blobs, without a workflow."""
    harness.call(*harness.MPIRUN, "1", program, "check", str(steps), str(length), status=0, environment={"LD_PRELOAD": build + "/lib/libsluice_pnetcdf.so"}, **options)


def in_turns(keys, *reader_keys, turns=3):
    seed = harness.test_seed()
    for turn in range(int(os.environ.get("SLUICE_TEST_KILLS", turns))):
        print(f"SLUICE_TEST_SEED={seed + turn} SLUICE_TEST_KILLS=1", flush=True)
        kill_in_turns(keys, seed + turn, *reader_keys)


def burst_buffer():
    in_turns("through: burst-buffer")


def files():
    in_turns("through: file")


def subfiles():
    in_turns("through: subfiles", turns=1)


def blobs():
    in_turns("through: blobs", turns=1)


def when_done():
    """The reader starts when the writer has ended, in this run or in an earlier one."""
    in_turns("through: burst-buffer", "start: when-done", turns=2)


def unnoted_logs():
    """Logs that the record does not know yet, because all were killed while they were made, go as others do."""
    length = 300000
    for _ in range(20):
        clear_directory()
        os.mkdir("results")
        harness.write_flow(program, {"write": (1, f"write 2 {length}"), "read": (1, f"read 2 {length}")}, [("wave_*.nc", "write", ["read"], "through: burst-buffer")])
        run = start()
        wait_until(run, logs, "a log")
        kill_all(run)
        if logs():
            break
    expect(logs(), "no log is left by the killed run")
    (record,) = glob.glob(".sluice/*/steps.tsv")
    lines = text_of(record).splitlines(True)
    with open(record, "w") as file:
        file.writelines([lines[0], *(line for line in lines if line.startswith("begin\t"))])
    allow("go")
    finish(start("--resume"), 0)
    expect(not glob.glob("wave_*.meta") and not glob.glob("wave_*.data") and not glob.glob("wave_*.header*"), "burst-buffer logs are left")
    check_files(2, length)


def ensemble():
    """Each member goes on with its own files."""
    members, steps, length = 3, 5, 3000
    for i in range(members):
        os.makedirs(f"m{i}/results")
        allow(f"m{i}/go")
    with open("flow.yaml", "w") as flow:
        flow.write(f"""version: 1
name: test
staging: {{prewarm: 0}}
components:
  write: {{command: {program} write {steps} {length}, ranks: 1, instances: {members}, directory: "m{{instance}}"}}
  read: {{command: {program} read {steps} {length}, ranks: 1, instances: {members}, directory: "m{{instance}}"}}
files: [{{path: "m{{instance}}/wave_*.nc", writer: write, readers: [read], through: burst-buffer}}]
""")
    run = start()
    for event in "m1/results/0000", "m2/results/0002":
        wait_until(run, lambda: os.path.exists(event), event)
        kill_all(run)
        run = start("--resume")
    result = finish(run, 0)
    expect("lost" not in result.all, "what is lost")
    for i in range(members):
        expect(sorted(os.listdir(f"m{i}/results")) == [f"{step:04d}" for step in range(steps)], f"the results of member {i}")
        for step in range(steps):
            with open(f"m{i}/results/{step:04d}", "rb") as file:
                expect(file.read() == results_of(step, length), f"the numbers of step {step} of member {i}")
        check_files(steps, length, cwd=f"m{i}")


# What is there again, and what is not

READS = "cat a1.txt > seen; until test -e go; do sleep 0.05; done; cat a1.txt a2.txt a3.txt > part && mv part seen"
WRITES = "test $1 -gt 0 && exit 0; for i in 1 2 3; do echo $i > a$i.txt; done; touch all; until test -e go; do sleep 0.05; done"


def kept():
    """Files that are kept are read after the resume; {resume} is the number of resumes."""
    shell_flow({"model": (WRITES,), "analysis": (READS,), "other": ("echo $1 >> turns",)}, '[{path: "a?.txt", writer: model, readers: [analysis], keep: true}]')
    run = start()
    wait_until(run, lambda: os.path.exists("a3.txt") and os.path.exists("turns") and os.path.exists("seen"), "the files")
    kill_all(run)
    run = start("--resume")
    wait_for_event(run, "3 published files are there again")
    kill_all(run)
    allow("go")
    result = finish(start("--resume"), 0)
    expect(text_of("seen") == "1\n2\n3\n", "what was read")
    expect("(resume 2): 3 published files are there again" in result.all, "what is told")
    expect(text_of("turns").split()[0] == "0", "the number of a run that begins anew")
    expect("'other' had ended" in result.all or text_of("turns").split()[-1] in "12", "the number of a resume")


def memory():
    """What was in memory only is named, the first five by name; what was read is not."""
    shell_flow({"model": ("echo 1 > a1.txt; until test -e one; do sleep 0.05; done; for i in 2 3 4 5 6 7 8; do echo $i > a$i.txt; done; touch all; until test -e go; do sleep 0.05; done",), "analysis": ("test $1 -gt 0 || cat a1.txt; touch one; until test -e go; do sleep 0.05; done",)},
               '[{path: "a?.txt", writer: model, readers: [analysis]}]')
    run = start()
    wait_until(run, lambda: os.path.exists("all") and os.path.exists("one"), "the files")
    wait_until(run, lambda: log_text("steps.tsv").count("published") == 8 and re.search("^(read|gone)\\t1\\b", log_text("steps.tsv"), re.MULTILINE), "the record")
    kill_all(run)
    allow("go")
    result = finish(start("--resume"), 0)
    expect("lost, because they were in memory only: 'a2.txt', 'a3.txt', 'a4.txt', 'a5.txt', 'a6.txt' and 2 more" in result.all, "what is lost")
    expect("no published file is there again" in result.all, "what is there")


def memory_read_last():
    """What was read is not named as lost, although nothing was published after it was read."""
    shell_flow({"model": ("echo 1 > a1.txt; echo 2 > a2.txt; touch all; until test -e go; do sleep 0.05; done",), "analysis": ("until test -e all; do sleep 0.05; done; test $1 -gt 0 || cat a1.txt; touch one; until test -e go; do sleep 0.05; done",)},
               '[{path: "a?.txt", writer: model, readers: [analysis]}]')
    run = start()
    wait_until(run, lambda: os.path.exists("one"), "the reader")
    wait_until(run, lambda: re.search("^(read|gone)\\t1\\b", log_text("steps.tsv"), re.MULTILINE), "the record")
    kill_all(run)
    allow("go")
    result = finish(start("--resume"), 0)
    expect("lost, because it was in memory only: 'a2.txt'" in result.all and "'a1.txt'" not in result.all, "what is lost")


def unfinished():
    """A file that was being written is named, and written again."""
    shell_flow({"model": ("exec 3> a1.txt; echo half >&3; touch all; test $1 -gt 0 || sleep 1000; echo whole >&3",), "analysis": ("cat a1.txt > seen",)},
               '[{path: "a?.txt", writer: model, readers: [analysis], keep: true}]')
    run = start()
    wait_until(run, lambda: os.path.exists("all"), "the file")
    kill_all(run)
    result = finish(start("--resume"), 0)
    expect("not published when the run ended: 'a1.txt'" in result.all, "what is told")
    expect(text_of("seen") == "half\nwhole\n", "what was read")


def jobs():
    """Jobs that had ended well are not repeated; the others are, each for its file."""
    shell_flow({"model": ("test $1 -gt 0 && exit 0; for i in 1 2 3 4; do echo $i > a$i.txt; done; touch all; until test -e go; do sleep 0.05; done",)}, "[]")
    flow = text_of("flow.yaml").replace("files: []", '  picture: {command: [sh, picture.sh, "{file}", "{stem}"], for-each: "a?.txt"}\nfiles: [{path: "a?.txt", writer: model, readers: [picture], keep: true}]')
    with open("flow.yaml", "w") as file:
        file.write(flow)
    with open("picture.sh", "w") as file:
        file.write("test $2 = a1 || until test -e go; do sleep 0.05; done; cat $1 > $2.part; cat $2.part >> $2.seen\n")
    run = start()
    wait_until(run, lambda: os.path.exists("a4.txt") and is_logged("started for a2.txt"), "the second job")
    wait_until(run, lambda: "\tpicture" in log_text("steps.tsv"), "the record")
    kill_all(run)
    allow("go")
    result = finish(start("--resume"), 0)
    expect([text_of(f"a{i}.seen") for i in range(1, 5)] == ["1\n", "2\n", "3\n", "4\n"], "what the jobs read")
    expect("3 jobs" in result.out, "the number of jobs")


def counting():
    """`every: N` goes on counting where the run ended, also behind files that are gone."""
    shell_flow({"model": ("n=$((3 * $1)); for i in 1 2 3; do echo $((n + i)) > a$((n + i)).txt; done; test $1 -gt 0 && exit 0; touch all; until test -e go; do sleep 0.05; done",),
                "archive": ("n=$((3 * $1)); cat a$((n + 1)).txt a$((n + 2)).txt a$((n + 3)).txt; until test -e go; do sleep 0.05; done",)}, "[]")
    flow = text_of("flow.yaml").replace("files: []", '  picture: {command: [sh, -c, "cat $0 > {stem}.{step}", "{file}"], for-each: "a?.txt", every: 2}\nfiles: [{path: "a?.txt", writer: model, readers: [picture, archive]}]')
    with open("flow.yaml", "w") as file:
        file.write(flow)
    run = start()
    wait_until(run, lambda: os.path.exists("all") and os.path.exists("a3.3") and is_logged("finished for a3.txt"), "the second job")
    wait_until(run, lambda: "gone\t3" in log_text("steps.tsv"), "the record")
    kill_all(run)
    allow("go")
    finish(start("--resume"), 0)
    expect(sorted(glob.glob("a?.?")) == ["a1.1", "a3.3", "a5.5"], f"the jobs: {sorted(glob.glob('a?.?'))}")


def stream_flow(key):
    with open("flow.yaml", "w") as flow:
        flow.write(f"""version: 1
name: test
components:
  model: {{command: [{program}, write, "{{resume}}", 3], ranks: 1}}
  analysis: {{command: [{program}, read], ranks: 1}}
files: [{{path: state.nc, writer: model, readers: [analysis], steps: stream, {key}}}]
""")


def kill_stream(has_happened=lambda: True, before_resume=lambda: None):
    """Kills all when three steps are there, and one of them is read; returns the result of the resume."""
    run = start()
    wait_until(run, lambda: os.path.exists("all") and os.path.exists("first") and has_happened(), "three steps")
    kill_all(run, at_once=True)
    before_resume()
    allow("go")
    return finish(start("--resume"), 0)


def stream():
    """Each unread step of a stream is read after the resume, in order; new ones follow."""
    stream_flow("through: burst-buffer")
    result = kill_stream()
    expect(text_of("seen").split() == ["0", "1", "2", "3", "4", "5"], "the steps: " + text_of("seen"))
    expect("2 published files are there again" in result.all, "what is told")
    expect(not glob.glob(".sluice/*/steps/*"), "copies are left")


def forget_last_rename():
    """The record as it is when the matcher is killed between the rename of step 3's file and the note of it."""
    edit_log("steps.tsv", lambda text: re.sub("(?m)^file\t.*\n", "", text).rstrip("\0") + f"file\t2\t{os.path.abspath('state.nc')}\n")


def stream_on_disk():
    """A later step has replaced the file on disk, and the record does not know it: the unread step before it is in its log only."""
    stream_flow("through: burst-buffer")
    result = kill_stream(is_third_kept, forget_last_rename)
    expect(text_of("seen").split() == ["0", "1", "2", "3", "4", "5"], "the steps: " + text_of("seen"))
    expect("2 published files are there again" in result.all, "what is told")


def is_third_kept():
    """Whether the record says that the third step is a file; numbers of steps may be left out."""
    record = log_text("steps.tsv")
    published = re.findall(r"^published\t(\d+)\t", record, re.MULTILINE)
    return len(published) == 3 and f"file\t{published[2]}\t" in record


def kept_stream():
    """The file of a stream has its newest step, as without Sluice: the unread ones before it are named."""
    stream_flow("keep: true")
    result = kill_stream(is_third_kept)
    expect(text_of("seen").split() == ["0", "2", "3", "4", "5"], "the steps: " + text_of("seen"))
    expect("1 published file is there again" in result.all, "what is there")
    expect("lost, because it was in memory only: 'state.nc'" in result.all, "what is lost")


def reader_first():
    """A reader is killed before all others, and the run goes on without it for a while: what it has not read is lost, and named."""
    stream_flow("keep: true")
    run = start()
    wait_until(run, lambda: os.path.exists("all") and os.path.exists("first") and is_third_kept(), "three steps")
    kill_component(run, "analysis")
    run.send_signal(signal.SIGTERM)  # the matcher has taken all messages before it ends
    finish(run, 143)
    allow("go")
    result = finish(start("--resume"), 0)
    expect(text_of("seen").split() == ["0", "2", "3", "4", "5"], "the steps: " + text_of("seen"))
    expect("lost, because it was in memory only: 'state.nc'" in result.all, "what is lost")


def writer_first():
    """A writer is killed before all others: what it had not published is named."""
    shell_flow({"model": ("exec 3> a1.txt; echo half >&3; touch all; test $1 -gt 0 || sleep 1000; echo whole >&3",), "analysis": ("cat a1.txt > seen",)},
               '[{path: "a?.txt", writer: model, readers: [analysis], keep: true}]')
    run = start()
    wait_until(run, lambda: os.path.exists("all"), "the file")
    kill_component(run, "model")
    finish(run, 137)
    result = finish(start("--resume"), 0)
    expect("not published when the run ended: 'a1.txt'" in result.all, "what is told")
    expect(text_of("seen") == "half\nwhole\n", "what was read")


def stopped_reader():
    """A reader that ends well because it was asked to has not done its work: its unread steps are there after the resume."""
    stream_flow("through: burst-buffer")
    with open("reader.sh", "w") as script:
        script.write("trap 'exit 0' TERM\ntest $1 -gt 0 || { cp state.nc first; until test -e go; do sleep 0.05; done; }\ni=0\nwhile cp state.nc copy.$i; do i=$((i + 1)); done\n")
    with open("flow.yaml") as flow:
        text = re.sub("analysis: .*", 'analysis: {command: [sh, reader.sh, "{resume}"]}', flow.read())
    with open("flow.yaml", "w") as flow:
        flow.write(text)
    run = start(environment={"PBS_JOBID": "7"})
    wait_until(run, lambda: os.path.exists("all") and os.path.exists("first"), "three steps")
    run.send_signal(signal.SIGTERM)
    expect("analysis finished" in finish(run, 75).all, "how the reader ended")
    allow("go")
    result = finish(start("--resume"), 0)
    expect("2 published files are there again" in result.all and "lost" not in result.all, "what is told")
    numbers = []
    for name in sorted(glob.glob("copy.*")):
        with open(name, "rb") as file:
            numbers.append(int.from_bytes(file.read()[-4:], "big"))
    expect(numbers == [1, 2, 3, 4, 5], f"the steps: {numbers}")


def power_failure():
    """What logs lack after a power failure reads as zeros: they are not taken for whole, and stay until a user has decided."""
    stream_flow("through: burst-buffer")
    run = start()
    wait_until(run, lambda: os.path.exists("all") and os.path.exists("first") and is_third_kept(), "three steps")
    kill_all(run, at_once=True)
    edit_log("journal.tsv", forget_machine)
    result = finish(start("--resume"))
    expect(result.status != 0 and "the machine was started again since" in result.err and "sluice recover" in result.err, "what is told")
    expect(logs(), "the logs have gone")
    allow("go")
    result = finish(start("--resume", "--without-logs"), 0)
    expect("lost, because it was in memory only: 'state.nc'" in result.all, "what is lost")


def power_failure_in_files():
    """Files that programs write themselves may lack their last bytes after a power failure: those that are still to be read are named."""
    os.mkdir("results")
    with open("flow.yaml", "w") as flow:
        flow.write(f"""version: 1
name: test
components:
  write: {{command: {program} write 3 10, ranks: 1}}
  read: {{command: [sh, -c, "test {{resume}} -gt 0 || sleep 1000; exec {program} read 3 10"]}}
files: [{{path: "wave_*.nc", writer: write, readers: [read], through: file}}]
""")
    run = start()
    wait_until(run, lambda: log_text("steps.tsv").count("published\t") == 2, "two files")
    kill_all(run)
    edit_log("journal.tsv", forget_machine)
    allow("go")
    result = finish(start("--resume"), 0)
    expect("may be incomplete: look at 'wave_0000.nc', 'wave_0001.nc'" in result.all, "what is told")


def lost_lines():
    """A power failure may take the last lines of the record: a file that is on disk says by its mark which step it has."""
    shell_flow({"model": (WRITES,), "analysis": (READS,)}, '[{path: "a?.txt", writer: model, readers: [analysis], keep: true}]')
    run = start()
    wait_until(run, is_third_kept, "the files")
    kill_all(run)
    edit_log("steps.tsv", lambda text: "".join(line for line in text.splitlines(True) if line.startswith(("sluice-steps", "begin"))))
    allow("go")
    result = finish(start("--resume"), 0)
    expect("3 published files are there again" in result.all and text_of("seen") == "1\n2\n3\n", "what is there")


def done():
    """A component that had ended well is not started again."""
    shell_flow({"model": ("echo x >> starts; echo 1 > a1.txt",), "analysis": ("touch begun; until test -e go; do sleep 0.05; done; cat a1.txt > seen",)},
               '[{path: "a?.txt", writer: model, readers: [analysis], keep: true}]')
    run = start()
    wait_until(run, lambda: os.path.exists("a1.txt") and os.path.exists("begun"), "the file")
    wait_until(run, lambda: "ended\tmodel" in log_text("journal.tsv"), "the end of the model")
    kill_all(run)
    allow("go")
    result = finish(start("--resume"), 0)
    expect("not started again, because it had ended well: 'model'" in result.all, "what is told")
    expect("has used no coupled file" not in result.all, "a component that was not started is blamed")
    expect(text_of("starts") == "x\n" and text_of("seen") == "1\n", "the components")
    again = finish(start("--resume"), 0)
    expect("has ended well, so there is nothing to resume" in again.out, "a second resume")


def lost_again():
    """A component that had ended well is started again where its files are lost."""
    shell_flow({"model": ("echo x >> starts; echo 1 > a1.txt",), "analysis": ("touch begun; until test -e go; do sleep 0.05; done; cat a1.txt > seen",)},
               '[{path: "a?.txt", writer: model, readers: [analysis]}]')
    run = start()
    wait_until(run, lambda: "ended\tmodel" in log_text("journal.tsv"), "the end of the model")
    kill_all(run)
    allow("go")
    result = finish(start("--resume"), 0)
    expect("in memory only: 'a1.txt'" in result.all and text_of("seen") == "1\n" and text_of("starts") == "x\nx\n", "the lost file")


def mistakes():
    """Nothing to resume, a run that goes on, times that are none, and time limits that nobody knows."""
    shell_flow({"model": ("until test -e go; do sleep 0.05; done",)}, "[]")
    for options, words in {("--resume",): "there is no run of 'test' to resume",
                           ("--stop-before", "soon"): "--stop-before is 'soon'",
                           ("--time-limit", "5min"): "--time-limit is for --stop-before",
                           ("--stop-before", "5min"): "neither SLURM_JOB_ID nor PBS_JOBID is set"}.items():
        result = finish(start(*options), 2)
        expect(words in result.err, words)
    run = start()
    wait_for_event(run, "model starts")
    result = finish(start("--resume"), 2)
    expect("still goes on" in result.err, "a run that goes on")
    allow("go")
    finish(run, 0)


# Time limits

CHECKPOINTS = ("i=$(cat state || echo 0); trap 'echo $i > state; exit 0' TERM; "
               "while test $i -lt 6; do n=$((i + 1)); echo $n > a$n.txt; i=$n; touch at.$i; "
               "test $i = 3 && test $1 = 0 && { until test -e never; do sleep 0.05; done; }; done; echo $i > state")


def limited(*options, send=None, environment=None):
    """The writer is asked to end first; the reader comes to the end of what is there; the run is resumed."""
    shell_flow({"model": (CHECKPOINTS,), "analysis": ("for i in 1 2 3 4 5 6; do test -e seen.$i && continue; cat a$i.txt > part || exit 0; mv part seen.$i; done",)},
               '[{path: "a?.txt", writer: model, readers: [analysis], keep: true}]')
    run = start(*options, environment=environment)
    if send:
        wait_until(run, lambda: os.path.exists("at.3"), "the third file")
        run.send_signal(send)
    result = finish(run, 75)
    expect("to be resumed by 'sluice run --resume' (exit status 75)" in result.out, "the verdict")
    expect("model finished after" in result.all, "the writer's end")
    last = int(text_of("state"))
    expect(0 < last < 6 and [os.path.exists(f"seen.{i}") for i in range(1, 7)] == [i <= last for i in range(1, 7)], "what was read before the end")
    finish(start("--resume"), 0)
    expect([text_of(f"seen.{i}") for i in range(1, 7)] == [f"{i}\n" for i in range(1, 7)], "what was read")


def time_limit():
    limited("--stop-before", "40s", "--time-limit", "46s")


def slurm_end_time():
    limited("--stop-before", "40s", environment={"SLURM_JOB_ID": "7", "SLURM_JOB_END_TIME": str(int(time.time()) + 46)})


def user_signal():
    limited(send=signal.SIGUSR2)


def batch_term():
    limited(send=signal.SIGTERM, environment={"PBS_JOBID": "7"})


def squeue():
    """A squeue that says how much time is left."""
    with open("squeue", "w") as file:
        file.write("#!/bin/sh\ntest \"$*\" = '-h -j 7 -o %L' && echo 0:46\n")
    os.chmod("squeue", 0o755)
    limited("--stop-before", "40s", environment={"SLURM_JOB_ID": "7", "SLURM_JOB_END_TIME": "", "PATH": os.getcwd() + ":" + os.environ["PATH"]})


def qstat():
    """A qstat of OpenPBS that says when the job has started, and what it had used some time ago."""
    stime = time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(time.time() - 60))
    with open("qstat", "w") as file:
        file.write(f"""#!/bin/sh
test "$*" = '-f 7.server' || exit 1
echo 'Job Id: 7.server
    Job_Name = model
    resources_used.walltime = 00:00:01
    job_state = R
    Resource_List.nodect = 1
    Resource_List.walltime = 00:01:46
    stime = {stime}
    session_id = 4711'
""")
    os.chmod("qstat", 0o755)
    limited("--stop-before", "40s", environment={"PBS_JOBID": "7.server", "PATH": os.getcwd() + ":" + os.environ["PATH"]})


clear_directory()
globals()[case]()
