#!/usr/bin/python3
"""step_logs.py CASE BUILD [SLOW_DISK]: workflows with data in burst-buffer logs (through: burst-buffer), killed runs, and
`sluice recover`."""
import filecmp
import glob
import os
import pathlib
import pwd
import random
import re
import signal
import sys
import time

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from burst_rows import check_rows, digest, rows_of, told
from harness import SmallDisk, call, clear_directory, descendants, descendants_named, expect, finish, is_logged, kill, launch, open_files, start, wait_for

CASE, BUILD = sys.argv[1:3]
SLUICE, WRITER, KEEP = (f"{BUILD}/bin/{name}" for name in ("sluice", "burst_writer", "keep"))
RULE = "through: burst-buffer"
MARK = "SLUICE_TEST_MARK"  # in the environment of all processes of a run


def log_files(directory):
    """Not the lock of a run."""
    return [name for name in os.listdir(directory) if not name.startswith(".sluice-")]


def clean(*directories):
    clear_directory()
    for directory in directories:
        os.mkdir(directory)


def run_flow(program, arguments, ranks, *keys, staging=("spill: logs",), reader="sleep 0", options=(), environment=None):
    """Starts a run whose component `model` writes files that no component reads."""
    harness.write_flow(program, {"model": (ranks, arguments, *keys)}, [("*.nc", "model", ["analysis"], RULE)], *staging)
    text = pathlib.Path("flow.yaml").read_text()
    pathlib.Path("flow.yaml").write_text(text.replace("\nfiles:", f"\n  analysis: {{command: {reader}}}\nfiles:"))
    return start_run(*options, environment=environment)


def start_run(*options, environment=None):
    mark = str(random.getrandbits(64))
    run = start(SLUICE, "run", *options, "flow.yaml", start_new_session=True, environment={MARK: mark, **(environment or {})})
    run.mark = mark
    return run


def write_script_flow(script, command, reader):
    """A workflow whose component `model` is a shell script."""
    pathlib.Path("model.sh").write_text(script)
    pathlib.Path("flow.yaml").write_text(f"""
version: 1
name: script
staging: {{spill: logs, prewarm: 0}}
components:
  model: {{command: {command}}}
  analysis: {{command: {reader}}}
files:
  - {{path: "*.nc", writer: model, readers: [analysis], {RULE}}}
""")


def sluice(*arguments, status=0):
    return call(SLUICE, *arguments, status=status).all


def end(run, victims):
    """Kills these processes, and waits until nothing of the run is left."""
    everything = descendants(run.pid)
    kill(victims, signal.SIGKILL)
    result = finish(run)
    # More processes may have started meanwhile.
    wait_for(lambda: not any(map(harness.is_alive, everything)) and not harness.have_in_environment(MARK, run.mark), "the end of all processes")
    return result


def end_everything(run):
    """Matchers first: otherwise they would clean up."""
    end(run, [*descendants_named("sluice-matcher", run.pid), run.pid, *descendants(run.pid)])


def killed():
    """A killed writer: its puts are recovered, twice with the same result. A new run does not overwrite the
    logs. After recovery it writes the same file."""
    clean("logs")
    run = run_flow(WRITER, "wave.nc 150 0", 3)
    wait_for(lambda: told(3) == [150] * 3, "puts")
    text = sluice("recover", "logs", status=1)
    expect("a running program writes the logs of this file" in text, "the logs of a run are touched")
    kill(descendants_named("burst_writer", run.pid), signal.SIGKILL)
    finish(run, 137)
    expect(is_logged("are kept: 'sluice recover"), "the event log does not say that logs are left")
    expect(not os.path.exists("wave.nc") and len(log_files("logs")) == 9, f"left: {os.listdir('.')} {os.listdir('logs')}")
    text = sluice("log", *sorted(glob.glob("logs/*.meta"))[:1])
    expect("of 3" in text and "150 complete puts" in text and "step" in text, "the log")
    text = sluice("recover", "logs")
    expect("wave.nc: 450 puts, 14.1 KiB, from 3 logs; 150 records; a new file" in text, "the summary")
    check_rows("wave.nc", [150] * 3)
    before = digest("wave.nc")
    sluice("recover", "logs")
    expect(digest("wave.nc") == before, "the second recovery changes the file")
    result = finish(run_flow(WRITER, "wave.nc -150 0", 3))
    expect(result.status != 0 and "NC_EEXIST" in result.all, "a new run goes over logs that are left")
    expect(is_logged("sluice recover --delete") or "sluice recover --delete" in result.all or digest("wave.nc") == before, "no advice")
    expect(digest("wave.nc") == before and len(log_files("logs")) == 9, "something was lost")
    sluice("recover", "--delete", "logs")
    expect(os.listdir("logs") == [], "the logs are not deleted")
    finish(run_flow(WRITER, "wave.nc -150 0", 3), 0)
    expect(digest("wave.nc") == before and os.listdir("logs") == [], "a good run writes another file, or leaves logs")


def overwritten():
    """With this hint the logs are given up."""
    clean("logs")
    run = run_flow(WRITER, "wave.nc 20 0", 2)
    wait_for(lambda: told(2) == [20] * 2, "puts")
    end_everything(run)
    expect(len(log_files("logs")) == 6, "there are no logs")
    finish(run_flow(WRITER, "wave.nc -30 0", 1, "environment: {PNETCDF_HINTS: nc_burst_buf_overwrite=enable}"), 0)
    check_rows("wave.nc", [30])
    expect(os.listdir("logs") == [], f"left: {os.listdir('logs')}")


def random_kills():
    """Kills any part of a run at any time: the file has every put that the program knew to be complete.
    SLUICE_TEST_KILLS is the number of kills (8)."""
    seed = harness.test_seed()
    kills = int(os.environ.get("SLUICE_TEST_KILLS", 8))
    killed_before = [0, 0]
    for turn in range(kills):
        print(f"kill {turn} of {kills}: SLUICE_TEST_SEED={seed + turn} SLUICE_TEST_KILLS=1", flush=True)
        killed_before[kill_once(random.Random(seed + turn))] += 1
    print(f"{kills} kills: {killed_before[False]} left logs, {killed_before[True]} found nothing put yet, or everything in its file")


def victims_of(run, dice):
    """Some of the run's processes: one rank, the whole writer, a matcher, the coordinator, some processes of
    any kind, or all."""
    writers, matchers = descendants_named("burst_writer", run.pid), descendants_named("sluice-matcher", run.pid)
    everything = [run.pid, *descendants(run.pid)]
    some = dice.sample(everything, dice.randint(1, len(everything)))
    return dice.choice([writers[:1], writers[-1:], writers, matchers[:1], matchers, [run.pid], some, [*matchers, *everything]]) or [run.pid]


def kill_once(dice):
    """Returns whether there was nothing to recover."""
    clean("logs")
    ranks, puts = dice.randint(1, 3), dice.choice([20000, -dice.randint(1, 4000)])
    every = dice.choice([0, 0, dice.randint(1, 50)])
    run = run_flow(WRITER, f"wave.nc {puts} 0 0 {every}", ranks, environment={"SLUICE_VIRTUAL_NODES": dice.choice("12")})
    # Most kills come during puts or close, some earlier. Any moment will do.
    if dice.random() < 0.85:
        wait_for(lambda: min(told(ranks)) > 0 or run.poll() is not None, "puts")
        time.sleep(dice.choice([0, dice.uniform(0, 0.1), dice.uniform(0, 0.5)]))
    else:
        time.sleep(dice.uniform(0, 1))
    end(run, victims_of(run, dice))
    counts = told(ranks)
    has_logs = any(path.endswith(".meta") for path in os.listdir("logs"))
    check_recovery(ranks, counts)
    return not has_logs


def check_recovery(ranks, counts):
    text = sluice("recover", "logs", status=None)
    expect("running program" not in text, "logs are in use, and nobody is there")
    # A put that was being written may be torn: then the status is 1, and the put is named.
    expect("torn" in text or "damaged" not in text, "damage")
    if not os.path.exists("wave.nc"):
        return expect(max(counts) == 0, f"there is no file, and {counts} were put")
    check_rows("wave.nc", counts)
    before = digest("wave.nc")
    sluice("recover", "logs", status=None)
    expect(digest("wave.nc") == before, "the second recovery changes the file")


def appended():
    """Steps that continue each other are recovered together. The result is as if they had been written
    directly."""
    clean("logs", "direct")
    launch(2, KEEP, "append", "a.nc", "6", cwd="direct", status=0)
    run = run_flow(KEEP, "append a.nc 6 sleep 60000", 2)
    wait_for(lambda: closed_steps() == ["6", "6"], "six steps")
    expect(not any(map(is_open, glob.glob("logs/*"))), "logs of a file that is closed are open")
    end_everything(run)
    expect(len(log_files("logs")) == 6, f"each step has made logs: {os.listdir('logs')}")
    # Recovery knows which steps were drained, whatever the file's time is.
    if os.path.exists("a.nc"):
        os.utime("a.nc", (time.time() + 3600,) * 2)
    for is_drained in (True, False):
        sluice("recover", "logs")
        expect(glob.glob("a.nc*") == ["a.nc"], f"left: {glob.glob('a.nc*')}")
        expect(filecmp.cmp("a.nc", "direct/a.nc", shallow=False), "the recovered file is not the one that was written directly")
        os.remove("a.nc")


def closed_steps():
    """The last step that each process has closed."""
    marks = []
    for path in sorted(glob.glob("logs/*.data")):
        try:
            marks.append(os.getxattr(path, "user.sluice.origin").decode().removeprefix("sluice1 closed "))
        except OSError:
            marks.append("")
    return marks


def resumed():
    """Of a log that goes on, a resumed run takes the published steps: neither the puts nor the header of the step
    that was being written."""
    clean("logs")
    script = f'test "$1" = 0 && exec {WRITER} wave.nc 25 0 0 10\nncmpidump wave.nc >got.cdl || ncdump wave.nc >got.cdl\n'
    write_script_flow(script, '[sh, model.sh, "{resume}"]', "sh -c 'sleep 1'")
    for is_noted in (True, False):
        for name in glob.glob("wave.nc*") + glob.glob("told.*") + glob.glob("got.cdl"):
            os.remove(name)
        run = start_run()
        wait_for(lambda: told(1) == [25], "puts")
        end_everything(run)
        expect(len(log_files("logs")) == 3, f"each step has made logs: {os.listdir('logs')}")
        if os.path.exists("wave.nc"):
            os.remove("wave.nc")  # the drain of a step
        if not is_noted:
            forget_publications()
        result = finish(start(SLUICE, "run", "--resume", "flow.yaml"), 0)
        expect("lost" not in result.all, "a published step is lost")
        text = pathlib.Path("got.cdl").read_text()
        expect("time = UNLIMITED ; // (20 currently)" in text and "part = 1 ;" in text, f"another step:\n{text[:600]}")
        expect(not glob.glob("logs/*.meta"), "logs are left")


def appended_full():
    """The disk of logs that go on fills. The records before are there, and no byte is lost."""
    clean("logs", "direct")
    with SmallDisk("logs", 2):
        result = finish(run_flow(KEEP, "append a.nc 400", 2))
        expect(result.status != 0 and "NC_ENO_SPACE" in result.all, "a full disk")
        expect(len(log_files("logs")) == 6, f"each step has made logs: {os.listdir('logs')}")
        sluice("recover", "--delete", "logs")
        expect(os.listdir("logs") == [], "the logs are not deleted")
        call("ncvalidator", "-q", "a.nc", status=0)
        recovered = pathlib.Path("a.nc").read_bytes()
        complete = int.from_bytes(recovered[4:12], "big") - 1
        expect(complete > 20, f"{complete} records")
        launch(2, KEEP, "append", "a.nc", str(complete), cwd="direct", status=0)
        direct = pathlib.Path("direct/a.nc").read_bytes()
        expect(recovered[12:len(direct)] == direct[12:], "the complete records are not those that were written directly")


def forget_publications():
    """As if the matcher had been killed before it heard of any close."""
    record = max(glob.glob(".sluice/*/steps.tsv"), key=os.path.getmtime)
    lines = pathlib.Path(record).read_text().splitlines(True)
    pathlib.Path(record).write_text("".join(line for line in lines if line.split("\t")[0].strip() in ("sluice-steps", "logs", "begin")))


def given_up():
    """A step that was discarded is not recovered, when another process has gone on from the step before."""
    clean("logs")
    kill_it = "until grep -q ' 25$' told.0; do sleep 0.05; done\nkill -9 $!\nwait $!\nrm told.0\n"
    write_script_flow(f"{WRITER} wave.nc 25 0 0 10 &\n{kill_it}{WRITER} wave.nc 3 0 -1\n", "[sh, model.sh]", "sleep 600")
    run = start_run()
    wait_for(lambda: len(glob.glob("logs/*.meta")) == 2 and told(1) == [3], "the second program")
    end_everything(run)
    for _ in range(2):
        sluice("recover", "logs", status=None)
        check_rows("wave.nc", [20])
        expect(rows_of("wave.nc", 1)[1] == 20, "puts of the discarded step are in the file")
        os.remove("wave.nc")


def created_again():
    """A file that was complete and drained, and then created again. It has the puts of the second step and
    none of the first, whatever the files' times are."""
    clean("logs")
    keep_logs = "environment: {PNETCDF_HINTS: nc_burst_buf_del_on_close=disable}"
    run = run_flow(WRITER, "wave.nc 3 0 7", 2, keep_logs)
    wait_for(lambda: os.path.exists("wave.nc"), "the drain")
    check_rows("wave.nc", [7] * 2)
    pathlib.Path("go").touch()
    wait_for(lambda: told(2) == [3] * 2, "the second step")
    end_everything(run)
    expect(len(glob.glob("logs/*.meta")) == 4, "the logs of both steps are not there")
    os.utime("wave.nc", (time.time() + 3600,) * 2)
    for _ in range(2):
        sluice("recover", "logs")
        check_rows("wave.nc", [3] * 2)
        expect(rows_of("wave.nc", 2)[1] == 3, "there are records of the first step")
    sluice("recover", "--delete", "logs")
    expect(os.listdir("logs") == [] and glob.glob("wave.nc*") == ["wave.nc"], f"left: {os.listdir('logs')} {glob.glob('wave.nc*')}")


def two_runs():
    """Logs of an earlier, larger run appear after a later run has written its file. They are not mixed with
    it, and do not replace it."""
    for later_is_killed in (False, True):
        clean("logs", "other")
        run = run_flow(WRITER, "wave.nc 9 0", 3)
        wait_for(lambda: told(3) == [9] * 3, "puts")
        end_everything(run)
        for path in glob.glob("logs/*"):
            os.rename(path, path.replace("logs/", "other/")) if re.search(r"_2\.\w+$", path) else os.remove(path)
        expect(len(log_files("other")) == 3, "the logs of one rank")
        for rank in range(3):
            os.remove(f"told.{rank}")
        run = run_flow(WRITER, "wave.nc 5 0" if later_is_killed else "wave.nc -5 0", 2)
        if later_is_killed:
            wait_for(lambda: told(2) == [5] * 2, "puts")
            end_everything(run)
            sluice("recover", "logs")
        else:
            finish(run, 0)
        before = digest("wave.nc")
        check_rows("wave.nc", [5] * 2)
        text = sluice("recover", "other", status=1)
        expect("wave.nc is from a later run (began " in text and "than 1 log (other/wave.nc_" in text, "it is not told which is which")
        expect(digest("wave.nc") == before and len(log_files("other")) == 3, "the later run's file was changed")
        # Also when they are in one directory.
        for path in glob.glob("other/*"):
            os.rename(path, path.replace("other/", "logs/"))
        sluice("recover", "logs", status=1)
        expect(digest("wave.nc") == before, "the later run's file was changed")
        os.mkdir("out")
        sluice("recover", "--force", "-o", "out", "logs")
        expect(glob.glob("wave.nc*") == ["wave.nc"], f"left: {glob.glob('wave.nc*')}")


def other_users():
    """Another user's files in a shared directory are not replayed, not removed, and disturb no one."""
    if os.geteuid() != 0:
        sys.exit(77)
    clean("logs")
    os.chmod("logs", 0o1777)
    nobody = pwd.getpwnam("nobody")
    run = run_flow(WRITER, "wave.nc 4 0", 1)
    wait_for(lambda: told(1) == [4], "puts")
    end_everything(run)
    expect(all(os.stat(path).st_mode & 0o777 == 0o600 for path in glob.glob("logs/*")), "others can read the logs")
    # The same logs with another owner: for this file, and for a file of someone else.
    path = os.path.realpath("wave.nc")
    for log in glob.glob("logs/*"):
        for name, target in (("for_mine", path), ("profile", path[:-7] + "profile")):
            copy = log.replace("wave.nc_", f"wave.nc_{name}")
            pathlib.Path(copy).write_bytes(pathlib.Path(log).read_bytes().replace(path.encode(), target.encode()))
            os.chown(copy, nobody.pw_uid, nobody.pw_gid)
            os.chmod(copy, 0o644)
    theirs = sorted(glob.glob("logs/*_for_mine*") + glob.glob("logs/*_profile*"))
    expect(len(theirs) == 6, f"logs: {os.listdir('logs')}")
    pathlib.Path("profile").write_text("mine")
    text = sluice("recover", "--delete", "logs")
    expect("2 logs of user nobody were left out" in text, "it is not told whose logs are left out")
    check_rows("wave.nc", [4])
    expect(pathlib.Path("profile").read_text() == "mine" and sorted(glob.glob("logs/*")) == theirs, "another user's logs were taken, or removed")
    before = digest("wave.nc")
    # A run that is killed, and one that ends well.
    os.remove("told.0")
    run = run_flow(WRITER, "wave.nc 2 0", 1)
    wait_for(lambda: told(1) == [2], "puts")
    end_everything(run)
    sluice("recover", "--delete", "logs")
    finish(run_flow(WRITER, "wave.nc -4 0", 1), 0)
    expect(digest("wave.nc") == before and sorted(glob.glob("logs/*")) == theirs, "another user's logs are in the way, or gone")
    # Root acts as that user, who may not write here, but may write his own file.
    text = sluice("recover", "--any-owner", "logs", status=1)
    expect("profile cannot be recovered" in text and pathlib.Path("profile").read_text() == "mine" and digest("wave.nc") == before, "a log made root write a file")
    his = pathlib.Path("his")
    his.mkdir()
    os.chown(his, nobody.pw_uid, nobody.pw_gid)
    as_nobody = ("setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups")
    call(*as_nobody, SLUICE, "recover", "--any-owner", "logs", status=2)
    call(*as_nobody, SLUICE, "recover", "-o", "his", "logs", status=0)
    expect(os.stat("his/profile").st_uid == nobody.pw_uid, "the owner himself cannot recover")
    os.remove("his/profile")
    sluice("recover", "--any-owner", "-o", "his", "logs")
    expect(os.stat("his/profile").st_uid == nobody.pw_uid, "what root recovers is not its owner's")


def is_open(path):
    """Whether a program under test has the file open (the matcher has, too)."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            is_writer = pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "keep"
            if is_writer and os.path.realpath(path) in open_files(pid):
                return True
        except OSError:
            pass
    return False


def kept():
    """nc_burst_buf_del_on_close=disable: the logs remain after a good run, and contain the same file."""
    clean("logs", "out")
    finish(run_flow(KEEP, "layout a.nc types 2 b.nc overwrite 2 c.nc", 2, "environment: {PNETCDF_HINTS: nc_burst_buf_del_on_close=disable}"), 0)
    expect(glob.glob("logs/a.nc*") and glob.glob("logs/b.nc*") and glob.glob("logs/c.nc*"), "the logs are gone")
    sluice("recover", "-o", "out", "logs")
    for name in ("a.nc", "b.nc", "c.nc"):  # in the last file, one time decides whose puts are there
        expect(filecmp.cmp(name, "out/" + name, shallow=False), f"the logs hold another {name}")


def nothing_put():
    """A writer that is killed before its first put leaves no log. When its run is killed, too, its logs disturb nobody, and the file is unchanged."""
    clean("logs")
    pathlib.Path("wave.nc").write_text("old")
    result = finish(run_flow(KEEP, "create wave.nc kill 9", 2))
    expect(result.status == 137 and log_files("logs") == [], f"logs are left: {log_files('logs')}")
    run = run_flow(KEEP, "create wave.nc sleep 100000", 2)
    wait_for(lambda: len(glob.glob("logs/*.header")) == 2, "the logs")
    end_everything(run)
    expect(len(glob.glob("logs/*.meta")) == 2, "no logs are left")
    expect("the program had put nothing" in sluice("recover", "logs") and pathlib.Path("wave.nc").read_text() == "old", "a file without data took the place of the old one")
    finish(run_flow(WRITER, "wave.nc -3 0", 2), 0)
    check_rows("wave.nc", [3] * 2)


def directories():
    """The hint has priority over the workflow's directory. Without both, the logs are beside the file. A
    missing directory is an error of create."""
    clean("logs", "mine", "data")
    run = run_flow(WRITER, "data/wave.nc 5 0", 1, "environment: {PNETCDF_HINTS: nc_burst_buf_dirname=mine}")
    wait_for(lambda: told(1) == [5], "puts")
    expect(len(log_files("mine")) == 3 and os.listdir("logs") == [], "the hint is not followed")
    end_everything(run)
    os.remove("told.0")
    run = run_flow(WRITER, "data/wave.nc 5 0", 1, staging=())
    wait_for(lambda: told(1) == [5], "puts")
    expect(len(glob.glob("data/wave.nc_*")) == 3, "the logs are not beside the file")
    end_everything(run)
    result = finish(run_flow(WRITER, "other.nc 5 0", 1, "environment: {PNETCDF_HINTS: nc_burst_buf_dirname=nowhere}"))
    expect(result.status != 0 and "NC_EBAD_FILE" in result.all, "a missing directory")
    sluice("recover", "mine")
    check_rows("data/wave.nc", [5])


def full_disk():
    """A put that does not fit into the burst buffer fails, and nothing else."""
    clean("logs")
    with SmallDisk("logs", 6):
        result = finish(run_flow(KEEP, "large a.nc 12", 1))
        expect(result.status != 0 and "NC_ENO_SPACE" in result.all, "a full disk")
        # The earlier puts are recovered, which frees space.
        sluice("recover", "--delete", "logs")
        call("ncvalidator", "-q", "a.nc", status=0)
        expect(os.listdir("logs") == [], "the logs are not deleted")
        finish(run_flow(KEEP, "large b.nc 3 types 1 c.nc", 1), 0)
        call("ncvalidator", "-q", "b.nc", status=0)
    # Logs that the user wants to keep return no space when their steps end.
    with SmallDisk("logs", 5, may_keep=True):
        keys = ("environment: {PNETCDF_HINTS: nc_burst_buf_del_on_close=disable}",)
        result = finish(run_flow(KEEP, "repeat 4 large d%d.nc 2", 1, *keys))
        expect(result.status != 0 and "NC_ENO_SPACE" in result.all, "a disk full of logs that are kept")
        expect(is_logged("no process can free space"), "the reason is not told")


def waits_for_room():
    """Ten files through a disk with space for three. The writer waits until some files have been read and
    drained, and all files are correct."""
    clean("logs")
    with SmallDisk("logs", 7.5):
        # No process reads before the writer has reached the fourth file, which does not fit.
        reader = f"[sh, -c, 'until test -e go; do sleep 0.05; done; exec {KEEP} repeat 10 check a%d.nc 2']"
        run = run_flow(KEEP, "repeat 10 large a%d.nc 2", 2, reader=reader)
        wait_for(lambda: len(glob.glob("logs/a3.nc_*.meta")) == 2, "the fourth file")
        pathlib.Path("go").touch()
        finish(run, 0)
        launch(1, KEEP, "repeat", "10", "check", "a%d.nc", "2", status=0)


def slow_removals():
    """Another matcher than the first needs longer than --end-timeout to remove its logs, and tells of its progress."""
    clean("logs")
    slow = {"LD_PRELOAD": sys.argv[3], "SLUICE_TEST_SLOW_UNLINK_MS": "100", "SLUICE_TEST_SLOW_RANK": "1"}
    finish(run_flow(KEEP, "repeat 30 types 2 a%d.nc", 2, options=("--end-timeout", "2"), environment=slow), 0)
    expect(is_logged("matcher 1 removes burst-buffer logs"), "no progress was told: the removals were not slow")
    expect(len(glob.glob("a*.nc")) == 30 and os.listdir("logs") == [], f"left: {os.listdir('logs')}")


def told_at_the_end():
    """A signal while matchers still remove logs lets them do so. A second one ends this, and `sluice run --resume` does the rest."""
    slow = {"LD_PRELOAD": sys.argv[3], "SLUICE_TEST_SLOW_UNLINK_MS": "100"}

    def begin():
        clean("logs")
        run = run_flow(KEEP, "repeat 12 types 2 a%d.nc", 2, environment=slow)
        wait_for(lambda: is_logged("model exited with status 0") and glob.glob("logs/*.removed") and len(glob.glob("a*.nc")) == 12, "the removal of logs")
        time.sleep(0.5)  # all files are written, and the run waits for the matchers alone
        run.send_signal(signal.SIGTERM)
        wait_for(lambda: is_logged("received SIGTERM"), "the event")
        return run

    expect("the run is about to end" in finish(begin(), 143).err, "it is not told what happens")
    expect(os.listdir("logs") == [], f"left: {os.listdir('logs')}")
    run = begin()
    run.send_signal(signal.SIGTERM)
    finish(run, 143)
    expect(glob.glob("logs/*.removed"), "no removal was cut off")
    finish(start_run("--resume"), 0)
    expect(os.listdir("logs") == [], f"left after --resume: {os.listdir('logs')}")


if CASE in ("full_disk", "waits_for_room", "appended_full"):
    harness.in_own_namespace()
globals()[CASE]()
