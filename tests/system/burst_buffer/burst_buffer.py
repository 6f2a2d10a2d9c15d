"""burst_buffer.py CASE SLUICE WRITER: programs with burst buffers that end too early, and their recovery."""
import functools
import glob
import os
import pathlib
import pwd
import random
import signal
import sys
import time

sys.path.append(os.path.dirname(sys.path[0]))
import burst_rows
import harness
from burst_rows import digest, told
from harness import allow, call, children, clear_directory, expect, finish, kill, wait_for

CASE, SLUICE, WRITER, STOP_AT_WRITE = sys.argv[1:]
check_rows = functools.partial(burst_rows.check_rows, holes=(0, None))  # a hole of the file
HINTS = "nc_burst_buf=enable;nc_burst_buf_dirname=logs"


def clean():
    clear_directory()
    os.mkdir("logs")


def start(ranks, puts, sleep_us=0, hints=HINTS):
    return harness.start(*harness.MPIRUN, str(ranks), WRITER, "wave.nc", str(puts), str(sleep_us), environment={"PNETCDF_HINTS": hints}, start_new_session=True)


def kill_ranks(launcher):
    kill(children(launcher.pid), signal.SIGKILL)
    finish(launcher)


def sluice(*arguments, status=0):
    return call(SLUICE, *arguments, status=status).all


def killed():
    """Everything that was put before a SIGKILL is recovered. A second recovery changes nothing. Then the logs
    are removed."""
    clean()
    launcher = start(3, 200)
    wait_for(lambda: told(3) == [200] * 3, "puts")
    sluice("log", "logs/wave.nc_0_1.meta")
    kill_ranks(launcher)
    text = sluice("log", "logs/wave.nc_0_1.meta")
    expect("process      1 of 3" in text and "200 complete puts" in text and "vara rows (int) start [7,1,0] count [1,1,8]" in text, "the log")
    text = sluice("recover", "logs")
    expect("wave.nc: 600 puts, 18.8 KiB, from 3 logs; 200 records" in text, "the summary")
    check_rows("wave.nc", [200] * 3)
    before = digest("wave.nc")
    sluice("recover", "logs")
    expect(digest("wave.nc") == before, "the second recovery changes the file")
    expect(len(os.listdir("logs")) == 6, "the logs are not kept")
    sluice("recover", "--delete", "logs")
    expect(os.listdir("logs") == [] and digest("wave.nc") == before, "the logs are not deleted")
    expect("no burst-buffer logs" in sluice("recover", "logs"), "an empty directory")
    # A program that ends well writes the same file, and needs no recovery.
    os.rename("wave.nc", "recovered.nc")
    finish(start(3, -200), 0)
    expect(digest("wave.nc") == before and os.listdir("logs") == [], "a normal end")


def random_kills():
    """Killed at any time: the file has every put that the program knew to be complete."""
    delays = random.Random(harness.test_seed())
    for _ in range(12):
        clean()
        launcher = start(2, 100000)
        wait_for(lambda: min(told(2)) > 0, "puts")
        time.sleep(delays.uniform(0, 0.1))  # any moment will do
        kill_ranks(launcher)
        counts = told(2)
        # A put that was being written may be torn: then the status is 1, and the put is named.
        text = sluice("recover", "logs", status=None)
        expect("torn" in text or "damaged" not in text, "damage")
        check_rows("wave.nc", counts)


def output_directory():
    """Copies are completed elsewhere; the file itself stays as the crash left it."""
    clean()
    launcher = start(2, 50)
    wait_for(lambda: told(2) == [50] * 2, "puts")
    kill_ranks(launcher)
    before = digest("wave.nc")
    os.mkdir("out")
    sluice("recover", "logs", "--output-directory", "out")
    expect(digest("wave.nc") == before, "the original was touched")
    check_rows("out/wave.nc", [50] * 2)
    after = digest("out/wave.nc")
    sluice("recover", "logs", "--output-directory", "out")
    expect(digest("out/wave.nc") == after, "the second recovery changes the copy")
    os.remove("wave.nc")
    text = sluice("recover", "logs", status=1)
    expect("wave.nc cannot be recovered: cannot open" in text and "No such file" in text, "a missing file")


def subfiles():
    """The data of a dataset with subfiles goes to them."""
    clean()
    launcher = start(2, 60, hints=HINTS + ";nc_num_subfiles=2")
    wait_for(lambda: told(2) == [60] * 2, "puts")
    kill_ranks(launcher)
    expect(len(glob.glob("wave.nc.subfile_*")) == 2, "there are no subfiles")
    sluice("recover", "logs")
    sluice("merge", "wave.nc", "merged.nc")
    check_rows("merged.nc", [60] * 2)
    os.mkdir("out")
    sluice("recover", "logs", "-o", "out")
    sluice("merge", "out/wave.nc", "merged_copy.nc")
    expect(digest("merged.nc") == digest("merged_copy.nc"), "the copy is another")


def two_programs():
    """A program's logs do not get into the file of a later program, and no existing file is written in place."""
    clean()
    launcher = start(3, 9)
    wait_for(lambda: told(3) == [9] * 3, "puts")
    kill_ranks(launcher)
    os.mkdir("other")
    for path in glob.glob("logs/*"):
        os.rename(path, path.replace("logs/", "other/")) if "_2." in path else os.remove(path)
    clear_told()
    launcher = start(2, 5)
    wait_for(lambda: told(2) == [5] * 2, "puts")
    kill_ranks(launcher)
    os.link("wave.nc", "as_it_was.nc")
    before = digest("wave.nc")
    text = sluice("recover", "other", status=1)
    expect("a later program has written " in text and digest("wave.nc") == before, "logs of an earlier program are put into the file")
    sluice("recover", "logs")
    check_rows("wave.nc", [5] * 2)
    expect(digest("as_it_was.nc") == before, "the file was written in place")
    expect(not glob.glob(".*.sluice-partial"), "a partial file is left")


def clear_told():
    for path in glob.glob("told.*"):
        os.remove(path)


def other_users():
    """Another user's files with the names of a program's logs do not disturb it, and stay untouched."""
    if os.geteuid() != 0:
        sys.exit(77)
    clean()
    nobody = pwd.getpwnam("nobody")
    for suffix in ("meta", "data"):
        path = pathlib.Path(f"logs/wave.nc_0_0.{suffix}")
        path.write_text("PnetCDF0")
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
    os.symlink("/etc/passwd", "logs/wave.nc_0_1.meta")
    os.chown("logs/wave.nc_0_1.meta", nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)
    theirs = sorted(os.listdir("logs"))
    finish(start(2, -20), 0)
    check_rows("wave.nc", [20] * 2)
    expect(sorted(os.listdir("logs")) == theirs, "another user's files are gone, or logs are left")
    clear_told()
    launcher = start(2, 30)
    wait_for(lambda: told(2) == [30] * 2, "puts")
    kill_ranks(launcher)
    text = sluice("recover", "--delete", "logs")
    expect("2 logs of user nobody were left out" in text, "it is not told whose logs are left out")
    check_rows("wave.nc", [30] * 2)
    expect(sorted(os.listdir("logs")) == theirs, f"left: {os.listdir('logs')}")


def in_use():
    """Recovery leaves the logs of a running program alone, and cannot disturb it."""
    clean()
    allow("hold")
    launcher = start(2, -600, sleep_us=5000)
    wait_for(lambda: min(told(2)) > 5, "puts")
    text = sluice("recover", "--delete", "logs", status=1)
    expect("a running program writes the logs of this file" in text, "in use")
    os.remove("hold")
    finish(launcher, 0)
    check_rows("wave.nc", [600] * 2)


def damaged():
    """Torn or damaged parts are named, and the rest is recovered. Those logs are not deleted."""
    clean()
    launcher = start(1, 40)
    wait_for(lambda: told(1) == [40], "puts")
    kill_ranks(launcher)
    log = pathlib.Path("logs/wave.nc_0_0.meta")
    # Without the reserved space: 40 entries of 40 + 3 * 3 * 8 bytes.
    whole = log.read_bytes()
    whole = whole[:int.from_bytes(whole[56:64], sys.byteorder) + 40 * 112]
    log.write_bytes(whole[:-50])
    text = sluice("log", str(log), status=1)
    expect("torn: entry 39" in text and "39 complete puts" in text, "a torn log")
    text = sluice("recover", "--delete", "logs", status=1)
    expect("39 puts" in text and "torn: entry 39" in text and "the logs are kept" in text, "a torn recovery")
    check_rows("wave.nc", [39])
    (log.parent / "other_0_0.meta").write_bytes(whole[:30])
    (log.parent / "notes.meta").write_text("not a log")
    text = sluice("recover", "logs", status=1)
    expect("other_0_0.meta: at byte 30: the file ends inside the header" in text and "notes.meta" not in text, "a cut header")
    sluice("log", "logs/notes.meta", status=1)


def lost_parts():
    """One of three logs has lost its metadata, or its first byte. This is reported, the others are recovered,
    and nothing is deleted."""
    clean()
    launcher = start(3, 20)
    wait_for(lambda: told(3) == [20] * 3, "puts")
    kill_ranks(launcher)
    log = pathlib.Path("logs/wave.nc_0_1.meta")
    whole = log.read_bytes()
    for damage, words in ((lambda: log.write_bytes(b"Q" + whole[1:]), "does not begin with"), (log.unlink, "is missing")):
        damage()
        before = sorted(os.listdir("logs"))
        text = sluice("recover", "--delete", "logs", status=1)
        expect(f"{log}" in text and words in text and "40 puts" in text and "the logs are kept" in text, f"a log that {words}")
        expect(sorted(os.listdir("logs")) == before, "something was deleted")
        check_rows("wave.nc", [20, 0, 20])
    log.write_bytes(whole)
    sluice("recover", "--delete", "logs")
    expect(os.listdir("logs") == [], "sound logs are not deleted")
    check_rows("wave.nc", [20] * 3)
    log.write_bytes(b"Q" + whole[1:])
    log.with_suffix(".data").write_bytes(b"PnetCDF0data")
    text = sluice("recover", "logs", status=1)
    expect("no burst-buffer logs" not in text, "a damaged log is none")


def leave_logs(hints):
    """A program is killed whose puts are in logs beside its file."""
    clear_directory()
    launcher = start(2, 30, hints="nc_burst_buf=enable;" + hints)
    wait_for(lambda: told(2) == [30] * 2, "puts")
    kill_ranks(launcher)


def is_opened(path, hints=""):
    """Whether an open succeeds; if not, it says that logs hold data. The program does not find its variable then."""
    library = os.path.dirname(SLUICE) + "/../lib/libsluice_pnetcdf.so"
    result = harness.launch(2, "-x", f"LD_PRELOAD={library}", os.path.dirname(SLUICE) + "/couple", "read", path, "16", environment={"PNETCDF_HINTS": hints})
    is_refused = "logs of wave.nc still hold data" in result.all
    expect(is_refused == ("NC_EFILE" in result.all), "the status is another")
    return not is_refused


def beside():
    """Files that lack what logs beside them hold: an open and a merge say so, until the logs have been recovered."""
    words = "2 logs of wave.nc still hold data (./wave.nc_0_0.meta, …)"
    for layout in "nc_num_subfiles=2", "sluice_layout=blob;nc_num_subfiles=2":
        leave_logs(layout)
        expect(not is_opened("wave.nc"), "a reader is given old data")
        expect(is_opened("wave.nc", "nc_burst_buf_overwrite=enable"), "the data cannot be given up")
        expect(words in sluice("merge", "wave.nc", "merged.nc", status=3) and not os.path.exists("merged.nc"), "a merge of old data")
        sluice("merge", "--without-logs", "wave.nc", "merged.nc")
        os.remove("merged.nc")
        os.mkdir("out")
        sluice("recover", ".", "-o", "out")
        if "blob" in layout:
            before = digest("wave.nc")
            text = sluice("recover", ".", status=1)
            expect("cannot be put into blobs" in text and "--output-directory" in text and digest("wave.nc") == before, "logs are put into blobs")
            check_rows("out/wave.nc", [30] * 2)
            continue
        sluice("merge", "out/wave.nc", "merged.nc")
        check_rows("merged.nc", [30] * 2)
        expect(not is_opened("wave.nc"), "a copy was recovered, not the file")
        sluice("recover", ".")
        expect(is_opened("wave.nc") and len(glob.glob("*.meta")) == 2, "recovered, and still refused")
        sluice("merge", "--force", "wave.nc", "merged.nc")
        check_rows("merged.nc", [30] * 2)
    # Logs that a program has left on purpose, when everything is in the file.
    clear_directory()
    finish(start(2, -30, hints="nc_burst_buf=enable;nc_burst_buf_del_on_close=disable;nc_num_subfiles=2"), 0)
    expect(len(glob.glob("*.meta")) == 2 and is_opened("wave.nc"), "a false alarm")
    sluice("merge", "wave.nc", "merged.nc")
    check_rows("merged.nc", [30] * 2)
    # Logs of blobs of processes could not be recovered: there are none.
    if os.path.exists(os.path.dirname(SLUICE) + "/../lib/libsluice_hdf5.so"):
        clear_directory()
        allow("hold")
        launcher = start(2, -30, hints="nc_burst_buf=enable;sluice_layout=blob-process;nc_num_subfiles=2")
        wait_for(lambda: told(2) == [30] * 2, "puts")
        expect(not glob.glob("*.meta"), "logs that nobody can recover")
        os.remove("hold")
        finish(launcher, 0)
        sluice("merge", "wave.nc", "merged.nc")
        check_rows("merged.nc", [30] * 2)


def interrupted():
    """A signal ends a recovery at once: the file is as it was, and nothing else is left."""
    for layout in "", "nc_num_subfiles=2":
        leave_logs(layout)
        names = sorted(os.listdir("."))
        before = {name: digest(name) for name in names}
        os.mkdir("out")
        for number in signal.SIGTERM, signal.SIGINT:
            for at in 1, 2:
                for options in [], ["-o", "out"]:
                    stop = {"LD_PRELOAD": STOP_AT_WRITE, "STOP_AT": str(at), "STOP_SIGNAL": str(int(number))}
                    result = call(SLUICE, "recover", *options, "--delete", ".", environment=stop, status=128 + number)
                    expect(number.name in result.err, "no word of the signal")
                    expect({name: digest(name) for name in os.listdir(".") if name != "out"} == before and os.listdir("out") == [], f"left: {os.listdir('.')} {os.listdir('out')}")
        sluice("recover", "--delete", ".")
        if layout:
            sluice("merge", "wave.nc", "merged.nc")
        check_rows("merged.nc" if layout else "wave.nc", [30] * 2)


def command_line():
    clean()
    expect("write sluice recover DIRECTORY" in sluice("recover", status=2), "no directory")
    sluice("recover", "absent", status=2)
    sluice("recover", "--what", "logs", status=2)
    expect("--output-directory" in sluice("recover", "--help"), "help")
    expect("write sluice log FILE.meta" in sluice("log", status=2), "no log")
    sluice("log", "absent.meta", status=2)
    sluice("log", "--help")


globals()[CASE]()
