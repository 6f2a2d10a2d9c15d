#!/usr/bin/python3
"""for_each.py BUILD PROGRAM CASE: components that are started once for each file that PROGRAM (couple.c) publishes, or when it has ended. Orders are taken from
the event log."""
import filecmp
import glob
import json
import os
import re
import shutil
import signal
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import allow, call, clear_directory, expect, finish, launch, wait_for_event

build, program, case = sys.argv[1:4]
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's modules
LENGTH = 500


def write_flow(components, rules, staging="prewarm: 0"):
    """Components: {name: {key: value}}; rules: [(pattern, writer, readers, further keys…)]. YAML takes JSON's values."""
    if "SLUICE_TEST_MATCHERS" in os.environ:
        staging += ", matchers: " + os.environ["SLUICE_TEST_MATCHERS"]
    lines = ["version: 1", "name: test", f"staging: {{{staging}}}", "components:"]
    for name, keys in components.items():
        lines += [f"  {name}:"] + [f"    {key}: {json.dumps(value)}" for key, value in keys.items()]
    lines += ["files:"] + [f'  - {{path: "{pattern}", writer: {writer}, readers: [{", ".join(readers)}]{"".join(", " + key for key in keys)}}}' for pattern, writer, readers, *keys in rules]
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join(lines) + "\n")


def model(commands, ranks=2):
    return {"command": [program, *commands.split()], "ranks": ranks}


def writes(count, then=""):
    return " ".join(f"write a{i}.nc {LENGTH}" for i in range(count)) + " " + then


def job(script, *words, **keys):
    """A component with a job for each a*.nc: a script for the shell, with {name} as $1 and {file} as $2."""
    with open("job.sh", "w") as file:
        file.write("set -e\n" + script + "\n")
    return {"command": ["sh", "job.sh", "{name}", "{file}", *words], "for-each": "a*.nc", **{key.replace("_", "-"): value for key, value in keys.items()}}


def write_simple_flow(count, jobs, staging="prewarm: 0", then=""):
    write_flow({"model": model(writes(count, then)), "picture": jobs}, [("a*.nc", "model", ["picture"])], staging)


def start(*options, **more):
    return harness.start(build + "/bin/sluice", "run", *options, "flow.yaml", **more)


def run(status=0):
    return finish(start(), status)


def directly(commands, ranks=2):
    """What the program writes without a run, in direct/."""
    os.makedirs("direct")
    launch(ranks, program, *commands.split(), cwd="direct", status=0)


def expect_same(copy, original):
    expect(filecmp.cmp(copy, "direct/" + original, shallow=False), f"{copy} has other bytes than {original}, written directly")


def events():
    """The lines of the event log, without their times."""
    (log,) = glob.glob(".sluice/*/events.log")
    with open(log) as lines:
        return [line.rstrip("\n").split(" ", 1)[1] for line in lines]


def files_of(event, component="picture"):
    """The files of these events, in their order: started for, finished for, failed for, skipped."""
    found = [re.match(rf"{component} {event} ([^ :]+)", line) for line in events()]
    return [match[1] for match in found if match]


def first_event(words):
    found = [number for number, line in enumerate(events()) if words in line]
    expect(found, "the event log does not say: " + words)
    return found[0]


def expect_summary(result, words):
    (row,) = [line for line in result.out.splitlines() if re.match(r"picture +(-|\d+) ", line)]
    expect(row.endswith(words), f"the summary does not say '{words}': {row}")


def names(*numbers):
    return [f"a{i}.nc" for i in numbers]


def tools():
    """Tools that know nothing of Sluice, one call for each file."""
    if call("which", "ncks").status != 0:
        sys.exit(77)
    directly(writes(5))
    write_flow({"model": model(writes(5)), "picture": {"command": "ncks -O -h {file} {stem}.picked", "for-each": "a*.nc", "at-most": 2}}, [("a*.nc", "model", ["picture"])])
    result = run()
    for i in range(5):
        expect(not os.path.exists(f"a{i}.nc"), "a file is on disk")
        call("ncks", "-O", "-h", f"direct/a{i}.nc", "expected", status=0)
        with open(f"a{i}.picked", "rb") as picked, open("expected", "rb") as expected:
            expect(picked.read() == expected.read(), f"a{i}.picked")
    expect_summary(result, "5 jobs")


GRID = """netcdf grid {{ dimensions: y = 2; x = 3;
variables: double y(y), x(x); float v(y, x);
data: y = 20, 10; x = 1, 2, 3; v = {values}; }}
"""


def gdal():
    """gdal_translate on each file, which a shell script writes; the same by hand is compared."""
    for tool in "gdal_translate", "ncgen":
        if call("which", tool).status != 0:
            sys.exit(77)
    os.makedirs("direct")
    for i in range(3):
        with open("grid.cdl", "w") as cdl:
            cdl.write(GRID.format(values=", ".join(str(10 * i + k) for k in range(6))))
        call("ncgen", "-o", f"direct/a{i}.nc", "grid.cdl", status=0)
        call("gdal_translate", "-q", "-of", "AAIGrid", f"NETCDF:direct/a{i}.nc:v", f"direct/a{i}.asc", status=0)
    write_flow({"model": {"command": ["sh", "-c", "for i in 0 1 2; do cp direct/a$i.nc a$i.nc; done"]},
                "picture": {"command": "gdal_translate -q -of AAIGrid NETCDF:{file}:v {stem}.asc", "for-each": "a*.nc", "at-most": 2}}, [("a*.nc", "model", ["picture"])])
    result = run()
    for i in range(3):
        expect(not os.path.exists(f"a{i}.nc"), "a file is on disk")
        expect_same(f"a{i}.asc", f"a{i}.asc")
    expect_summary(result, "3 jobs")


def script():
    """All placeholders, in the command and in the environment; output has the names of the component and the file."""
    with open("plot.py", "w") as file:
        file.write("import os, sys\npath, name, stem, step = sys.argv[1:]\n"
                   "print(name, stem, step, len(open(path, 'rb').read()), os.environ['STEM'], '{file' + '}', flush=True)\n"
                   "assert os.path.isabs(path) and os.path.basename(path) == name\n")
    directly(writes(4))
    picture = {"command": [PYTHON, "plot.py", "{file}", "{name}", "{stem}", "{step}"], "environment": {"STEM": "of {stem}"}, "for-each": "a*.nc"}
    write_simple_flow(4, picture)
    result = run()
    for i in range(4):
        size = os.path.getsize(f"direct/a{i}.nc")
        expect(f"[picture a{i}.nc] a{i}.nc a{i} {i + 1} {size} of a{i} {{file}}\n" in result.out, f"the output for a{i}.nc")
    expect(files_of("started for") == names(*range(4)) == files_of("finished for"), "one job at a time, in order")
    expect_summary(result, "4 jobs")


def mpi():
    """Each job is an MPI program that reads by PnetCDF."""
    picture = {"command": [program, "read", "{file}", str(LENGTH), "say", "done"], "ranks": 2, "for-each": "a*.nc", "at-most": 2}
    write_simple_flow(5, picture)
    result = run()
    for i in range(5):
        expect(f"[picture a{i}.nc] done" in result.out, f"the output for a{i}.nc")
    expect_summary(result, "5 jobs")


def many():
    """A thousand files, at most four at a time, each read exactly once."""
    harness.LIMIT_S = 350
    commands = "repeat 1000 write a%d.nc 20"
    directly(commands)
    os.makedirs("seen")
    write_flow({"model": model(commands), "picture": {"command": "cp {file} seen/{stem}", "for-each": "a*.nc", "at-most": 4}}, [("a*.nc", "model", ["picture"])])
    result = run()
    for i in range(1000):
        expect_same(f"seen/a{i}", f"a{i}.nc")
    expect(sorted(files_of("started for")) == sorted(names(*range(1000))), "not each file has one job")
    running = most = 0
    for line in events():
        running += line.startswith("picture started for")
        running -= line.startswith("picture finished for")
        most = max(most, running)
    expect(most == 4, f"{most} jobs at a time")
    expect_summary(result, "1000 jobs")


def continues():
    """A job that fails is counted; the others go on. The run has its status."""
    write_simple_flow(5, job('if [ $1 = a2.nc ]; then exit 7; fi; cat "$2" > "$1.copy"'))
    result = run(7)
    expect(files_of("started for") == names(*range(5)), "not all jobs were started")
    expect(files_of("failed for") == names(2), "the failure")
    expect("picture a2.nc exited with status 7" in result.err, "the terminal does not tell of the failure")
    expect("failed: picture failed (exit status 7)" in result.out, "the summary's first line")
    expect_summary(result, "5 jobs, 1 of them failed  <- failed first")


def stops():
    """on-failure: stop ends the whole run."""
    write_simple_flow(3, job("if [ $1 = a1.nc ]; then exit 7; fi", on_failure="stop"), then="await never")
    result = run(7)
    expect(files_of("started for")[:2] == names(0, 1), "the first jobs")
    expect(len(files_of("failed for")) >= 1, "the failure")
    expect("on-failure: stop" in result.err, "the reason")


def retries():
    """A job that fails is started again, so often; its file stays readable."""
    write_simple_flow(3, job('echo x >> "$1.tries"\ncat "$2" > "$1.copy"\nn=$(wc -l < "$1.tries")\n'
                             'case $1 in a0.nc) test $n -ge 3;; a1.nc) exit 5;; esac', on_failure="retry 2"), "prewarm: 0, retain: 0")
    directly(writes(3))
    result = run(5)
    expect(files_of("failed for") == names(0, 0, 1, 1, 1), "failures")
    expect(files_of("started for") == names(0, 0, 0, 1, 1, 1, 2), "starts")
    for i in range(3):
        expect_same(f"a{i}.nc.copy", f"a{i}.nc")
    expect_summary(result, "3 jobs, 1 of them failed, 4 retries  <- failed first")


def every():
    write_simple_flow(8, job("true", every=3))
    result = run()
    expect(files_of("started for") == names(0, 3, 6), "the first, and each third behind it")
    expect(files_of("skipped") == names(1, 2, 4, 5, 7), "the others")
    expect_summary(result, "3 jobs; 5 files skipped")


WAIT = 'until test -e go; do sleep 0.05; done\ncat "$2" > "$1.copy"'


def latest():
    """While a job runs, only the newest file waits."""
    write_simple_flow(6, job(WAIT, latest=True))
    process = start()
    wait_for_event(process, "picture skipped a4.nc")
    allow("go")
    result = finish(process, 0)
    expect(files_of("started for") == names(0, 5) and files_of("skipped") == names(1, 2, 3, 4), "jobs")
    directly(writes(6))
    expect_same("a5.nc.copy", "a5.nc")
    expect_summary(result, "2 jobs; 4 files skipped")


def run_in_order(order):
    write_simple_flow(5, job(WAIT, order=order))
    process = start()
    wait_for_event(process, "model exited with status 0")
    allow("go")
    finish(process, 0)
    directly(writes(5))
    for i in range(5):
        expect_same(f"a{i}.nc.copy", f"a{i}.nc")
    return files_of("started for")


def order():
    expect(run_in_order("publication") == names(*range(5)), "the order of publication")


def newest_first():
    expect(run_in_order("any") == names(0, 4, 3, 2, 1), "the newest file first")


def rewritten():
    """A path that is published again before its job begins has one job, with the newest bytes; while its job runs, no other begins for it."""
    commands = f"write a0.nc {LENGTH} write a1.nc 10 write a1.nc 20 write a0.nc 30"
    write_flow({"model": model(commands), "picture": job('until test -e go; do sleep 0.05; done\ncat "$2" > "$1.$3"', "{step}", at_most=1)}, [("a*.nc", "model", ["picture"])])
    process = start()
    wait_for_event(process, "model exited with status 0")
    allow("go")
    finish(process, 0)
    directly("write a0.nc 30 write a1.nc 20")
    expect(files_of("started for") == names(0, 1, 0), "jobs")
    expect(files_of("skipped") == names(1), "the first a1.nc")
    expect_same("a1.nc.3", "a1.nc")
    expect_same("a0.nc.4", "a0.nc")


def stream():
    """A job of a stream has its own step, however many programs open the file, and also when it is tried again."""
    commands = " ".join(f"write a0.nc {length}" for length in (10, 20, 30, 40))
    script = ('until test -e go; do sleep 0.05; done\ncat "$2" > "$1.$3.first"\ncat "$2" > "$1.$3.second"\n'
              'test -e "$1.$3.tried" || { touch "$1.$3.tried"; exit 4; }')
    write_flow({"model": model(commands), "picture": job(script, "{step}", on_failure="retry 1")}, [("a*.nc", "model", ["picture"], "steps: stream")])
    process = start()
    wait_for_event(process, "model exited with status 0")
    allow("go")
    result = finish(process, 0)
    expect_summary(result, "2 jobs, 2 retries; 2 files skipped")
    for step, length in (1, 10), (4, 40):
        os.makedirs(f"direct/{step}")
        launch(2, program, "write", "a0.nc", str(length), cwd=f"direct/{step}", status=0)
        for copy in "first", "second":
            expect_same(f"a0.nc.{step}.{copy}", f"{step}/a0.nc")


def stream_tools():
    """Programs that open their file several times make of a job's step what they make of the file on disk."""
    tools = [tool for tool in ("ncatted", "ncwa", "cdo") if shutil.which(tool)]
    if not tools:
        print("SKIPPED: there is neither NCO nor CDO")
        sys.exit(77)
    lengths = 10, 20, 30
    line = {"ncatted": 'ncatted -O -h -a note,global,c,c,x {} {}', "ncwa": 'ncwa -O -h {} {}', "cdo": 'cdo -s --no_history copy {} {}'}
    script = 'trap \'touch "$3.done"\' EXIT\n' + "\n".join(line[tool].format('"$2"', f'"$3.{tool}"') for tool in tools)
    commands = " ".join(f"write a.nc {length} await {step}.done" for step, length in enumerate(lengths, 1))
    write_flow({"model": model(commands), "picture": job(script, "{step}")}, [("a*.nc", "model", ["picture"], "steps: stream")])
    run()
    for step, length in enumerate(lengths, 1):
        os.makedirs(f"direct/{step}")
        launch(2, program, "write", "a.nc", str(length), cwd=f"direct/{step}", status=0)
        for tool in tools:
            call("sh", "-c", line[tool].format(f"direct/{step}/a.nc", f"direct/{step}.{tool}"), status=0)
            expect_same(f"{step}.{tool}", f"{step}.{tool}")


def queue():
    """A job that does not open its file has read it, and no file is taken from a job that is to begin."""
    for when_full in "wait", "discard":
        clear_directory()
        write_flow({"model": model(writes(6)), "picture": job('case $1 in a[135].nc) cat "$2" > "$1.copy";; esac')},
                   [("a*.nc", "model", ["picture"], "queue: 2", "when-full: " + when_full)])
        result = run()
        expect(not any("beyond the queue" in line or "is discarded" in line for line in events()), "a job has not counted")
        expect_summary(result, "6 jobs")
        directly(writes(6))
        for i in 1, 3, 5:
            expect_same(f"a{i}.nc.copy", f"a{i}.nc")


def writer_dies():
    """What was published before has its jobs; what was not closed has none."""
    write_simple_flow(3, job('cat "$2" > "$1.copy"'), then=f"half a9.nc kill {signal.SIGKILL.value}")
    result = run(137)
    expect(files_of("finished for") == names(0, 1, 2), "jobs")
    expect_summary(result, "3 jobs")


def interrupted():
    """^C: running jobs are asked to stop, files that wait are skipped, nothing is left."""
    write_simple_flow(4, job('trap "echo asked to stop; exit 3" TERM\ntouch begun\nwhile true; do sleep 0.05; done'))
    process = start()
    wait_for_event(process, "model exited with status 0")
    harness.wait_for(lambda: os.path.exists("begun"), "the first job")
    process.send_signal(signal.SIGINT)
    result = finish(process, 130)
    expect("[picture a0.nc] asked to stop" in result.out, "the job was not asked to stop")
    expect(files_of("skipped") == names(1, 2, 3), "the others")
    expect_summary(result, "1 job, 1 of them failed; 3 files skipped")


def killed():
    """A second ^C kills jobs, of MPI programs, too."""
    picture = {"command": [program, "read", "{file}", str(LENGTH), "say", "begun", "await", "never"], "ranks": 2, "for-each": "a*.nc", "at-most": 2}
    write_simple_flow(3, picture)
    mark = str(os.getpid())  # other tests have such components, too
    process = start(environment={"SLUICE_TEST_MARK": mark})
    wait_for_event(process, "model exited with status 0")
    wait_for_event(process, "picture started for a1.nc")
    process.send_signal(signal.SIGINT)
    wait_for_event(process, "received SIGINT")
    process.send_signal(signal.SIGINT)
    finish(process, 130)
    expect(not harness.have_in_environment("SLUICE_TEST_MARK", mark), "a process of a job is left")


def spilled():
    """Files stay until their jobs have ended, beyond staging.memory; the writer does not wait."""
    commands = "repeat 10 write a%d.nc 100000"
    directly(commands)
    write_flow({"model": model(commands), "picture": job(WAIT)}, [("a*.nc", "model", ["picture"])], "prewarm: 0, memory: 4MiB, retain: 0")
    process = start()
    wait_for_event(process, "model exited with status 0")
    allow("go")
    result = finish(process, 0)
    for i in range(10):
        expect_same(f"a{i}.nc.copy", f"a{i}.nc")
    expect("spilled" in result.out, "nothing was spilled")


def chain():
    """Jobs write coupled files for the jobs of another component."""
    directly(writes(6))
    jobs = {"command": "cp {file} b_{stem}.nc", "for-each": "a*.nc", "at-most": 2}
    seconds = {"command": "cp {file} {name}.copy", "for-each": "b_*.nc", "at-most": 2}
    write_flow({"model": model(writes(6)), "second": seconds, "picture": jobs},
               [("a*.nc", "model", ["picture"]), ("b_*.nc", "picture", ["second"])])
    result = run()
    for i in range(6):
        expect_same(f"b_a{i}.nc.copy", f"a{i}.nc")
    expect_summary(result, "6 jobs")
    expect(first_event("picture ended after") < first_event("second ended after"), "the order of ends")


def never_comes():
    """A model that waits for a file which no job will write gets its error, during the run."""
    jobs = {"command": ["sh", "-c", 'test "$2" = a0 || cp "$1" "b_$2.nc"', "sh", "{file}", "{stem}"], "for-each": "a*.nc"}
    commands = f"write a0.nc {LENGTH} missing b_a0.nc write a1.nc {LENGTH} missing b_a2.nc"
    write_flow({"model": model(commands, 1), "picture": jobs}, [("a*.nc", "model", ["picture"]), ("b_*.nc", "picture", ["model"])])
    result = run()
    expect(files_of("finished for") == names(0, 1), "jobs")
    expect_summary(result, "2 jobs")


def cannot_start():
    """A program that has gone since the check is a failure of its job."""
    with open("tool", "w") as file:
        file.write("#!/bin/sh\nrm tool\n")
    os.chmod("tool", 0o755)
    write_simple_flow(3, {"command": "./tool {file}", "for-each": "a*.nc"})
    result = run(127)
    expect(files_of("finished for") == names(0) and files_of("failed for") == names(1, 2), "jobs")
    expect_summary(result, "3 jobs, 2 of them failed  <- failed first")


def when_done():
    """It starts when the writer has ended, and reads what is still in memory."""
    directly(writes(4))
    script = "for i in 0 1 2 3; do cp a$i.nc copy$i; done"
    write_flow({"post": {"command": ["sh", "-c", script], "start": "when-done"}, "model": model(writes(4))}, [("a*.nc", "model", ["post"])])
    run()
    for i in range(4):
        expect(not os.path.exists(f"a{i}.nc"), "a file is on disk")
        expect_same(f"copy{i}", f"a{i}.nc")
    expect(first_event("model exited with status 0") < first_event("post starts in"), "it started earlier")


def when_done_queue():
    """Nobody reads before the writer has ended, so it does not wait for a place in the queue."""
    directly(writes(4))
    script = "for i in 0 1 2 3; do cp a$i.nc copy$i; done"
    write_flow({"post": {"command": ["sh", "-c", script], "start": "when-done"}, "model": model(writes(4))}, [("a*.nc", "model", ["post"], "queue: 1", "when-full: wait")])
    run()
    for i in range(4):
        expect_same(f"copy{i}", f"a{i}.nc")
    first_event("model goes on beyond the queue of 'a*.nc', because its readers cannot go on before: a place in the queue of 'a*.nc' (post has not read 'a0.nc'; it starts when model has ended)")


def when_done_memory():
    """Nobody reads before the writer has ended, and there is no room for what it writes: nobody waits for ever, and it is told what does not count."""
    writer = "for i in 1 2 3; do head -c 700000 /dev/zero > b$i.nc; done"
    write_flow({"post": {"command": ["sh", "-c", "cat b1.nc b2.nc b3.nc > copy"], "start": "when-done"}, "model": {"command": ["sh", "-c", writer]}}, [("b*.nc", "model", ["post"])], "memory: 2MiB, spill: none, prewarm: 0")
    run()
    expect(os.path.getsize("copy") == 3 * 700000, "what was read")
    first_event("b3.nc does not count in staging.memory")
    first_event("(post has not read 'b1.nc'; it starts when model has ended)")


def when_done_chain():
    """After jobs; and one that would start later does not when the run is interrupted."""
    jobs = {"command": "cp {file} b_{stem}.nc", "for-each": "a*.nc"}
    script = "for i in 0 1 2; do cp b_a$i.nc copy$i; done; touch copied; until test -e go; do sleep 0.05; done"
    components = {"model": model(writes(3)), "picture": jobs, "post": {"command": ["sh", "-c", script], "start": "when-done"},
                  "last": {"command": "touch never", "start": "when-done"}}
    write_flow(components, [("a*.nc", "model", ["picture"]), ("b_*.nc", "picture", ["post"]), ("c.nc", "post", ["last"])])
    directly(writes(3))
    process = start()
    harness.wait_for(lambda: os.path.exists("copied"), "the copies")
    process.send_signal(signal.SIGTERM)
    finish(process, 143)
    for i in range(3):
        expect_same(f"copy{i}", f"a{i}.nc")
    expect(first_event("picture ended after 3 jobs") < first_event("post starts in"), "it started earlier")
    expect(not os.path.exists("never"), "a component was started after the signal")
    first_event("last is not started: the run ends")


def check():
    write_simple_flow(1, job("true"))
    result = call(build + "/bin/sluice", "check", "flow.yaml", status=0)
    expect("one job for each 'a*.nc'" in result.out, "the overview does not tell of jobs")
    write_flow({"model": model(writes(1)), "picture": {"command": "./gone {file}", "for-each": "b*.nc"}}, [("a*.nc", "model", ["picture"])])
    result = call(build + "/bin/sluice", "check", "flow.yaml", status=2)
    expect("flow.yaml:10:15: 'for-each' of component 'picture' is 'b*.nc', which is not the 'path' of a file rule" in result.err, "the mistake")


clear_directory()
globals()[case]()
