#!/usr/bin/python3
"""uncoupled.py BUILD PROGRAM CASE: files that a workflow means to couple and a run does not: PROGRAM
(couple.c) and others in the working directory, under `sluice run`. Most exit statuses are 0; the cases
check what users are told."""
import os
import re
import signal
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import MPIRUN, call, clear_directory, expect, finish, is_logged, start, wait_for

build, program, case = sys.argv[1:4]
sluice = build + "/bin/sluice"


def write_flow(components, *rules):
    """Components: {name: command}; a command that begins with 'couple' has one rank. Rules: (pattern, writer,
    reader)."""
    matchers = os.environ.get("SLUICE_TEST_MATCHERS", "1")
    lines = ["version: 1", "name: test", f"staging: {{prewarm: 0, matchers: {matchers}}}", "components:"]
    for name, command in components.items():
        is_ours = command.startswith("couple ")
        lines.append(f"  {name}: {{command: {command.replace('couple', program, 1) if is_ours else command}, ranks: {int(is_ours)}}}")
    lines += ["files:"] + [f'  - {{path: "{pattern}", writer: {writer}, readers: [{reader}]}}' for pattern, writer, reader in rules]
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join(lines) + "\n")


def run(*arguments, status=0):
    return call(sluice, "run", *arguments, "flow.yaml", status=status)


def warnings(result):
    return [line for line in result.err.splitlines() if line.startswith("[sluice] warning: ")]


def expect_warning(result, pattern):
    found = [line for line in warnings(result) if re.search(pattern, line)]
    expect(len(found) == 1, f"{len(found)} warnings, not one, say {pattern}: {warnings(result)}")


def make_old(name, length):
    """An ordinary file from long before the run."""
    call(*MPIRUN, "1", program, "write", name, str(length), status=0)
    os.utime(name, (1e9, 1e9))


def as_meant():
    """A run that couples everything says nothing. A component that fails by itself, and missed a file that was there for it, is told why that may be."""
    write_flow({"model": "couple write a.nc 10 write own.nc 10", "analysis": "couple read a.nc 10"}, ("a.nc", "model", "analysis"))
    expect(not warnings(run()), "a warning of nothing")
    write_flow({"model": "couple write a.nc 10", "analysis": "couple exit 5"}, ("a.nc", "model", "analysis"))
    expect_warning(run(status=5), "component 'analysis' is named by a file rule, but has used no coupled file")


def no_matcher():
    """A process that outlives its run writes and reads ordinary files, whatever rules of others say."""
    stale = {"LD_PRELOAD": build + "/lib/libsluice_pnetcdf.so", "SLUICE_SOCKET": os.path.abspath("gone"), "SLUICE_COMPONENT": "plot", "SLUICE_OTHERS": "0\ta.nc\n"}
    call(*MPIRUN, "1", "env", *(f"{name}={value}" for name, value in stale.items()), program, "write", "a.nc", "10", "read", "a.nc", "10", status=0)
    expect(os.path.exists("a.nc"), "there is no file")


def unused_rule():
    write_flow({"model": "couple write waves_1.nc 10", "analysis": "couple say nothing"}, ("wave_*.nc", "model", "analysis"))
    expect_warning(run(), r"the rule 'wave_\*\.nc' \(line 8 of flow\.yaml\) matched no file\. model wrote .*/waves_1\.nc, and no rule covers that file")
    expect(is_logged("matched no file"), "the event log does not say it")


def never_connected():
    """In a cleared environment the program reads an old file. A program without PnetCDF reads the coupled
    file."""
    make_old("a.nc", 10)
    environment = f"env -i PATH={os.environ['PATH']} OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    write_flow({"model": "couple write a.nc 10", "analysis": f"{environment} {program} read a.nc 10"}, ("a.nc", "model", "analysis"))
    result = run()
    expect(re.search(r"analysis: .*/couple is started with an environment without LD_PRELOAD \(env -i", result.err), result.all)
    expect_warning(result, r"'analysis' is a reader of 'a\.nc', but did not open the one file that was published\. It may have read an old file instead: .*/a\.nc, from 2001-09-09")
    write_flow({"model": "couple write a.nc 10", "analysis": "ncdump -h a.nc"}, ("a.nc", "model", "analysis"))
    result = run()
    expect("netcdf a {" in result.out, "ncdump did not read the file")
    expect(not warnings(result), "a warning of a program that reads files")


def outsider():
    """A component that the rule does not name gets an ordinary file: an old one or none."""
    make_old("a.nc", 10)
    write_flow({"model": "couple write a.nc 10", "analysis": "couple read a.nc 10", "plot": "couple read a.nc 10", "other": "couple write b.nc 10"},
               ("a.nc", "model", "analysis"), ("b.nc", "model", "analysis"))
    result = run()
    expect_warning(result, r"'plot' opened /.*/a\.nc as an ordinary file, because the rule 'a\.nc' \(line 10 of flow\.yaml\) does not name 'plot'\. It read an old file, from 2001-09-09.*'readers'")
    expect_warning(result, r"'other' wrote /.*/b\.nc as an ordinary file.*another name")
    expect(is_logged("plot opens"), "the event log does not say it")


def exchanged():
    """Writer and reader are exchanged in the rule, and the program does not look at statuses."""
    write_flow({"model": "couple forbidden a.nc", "analysis": "couple missing a.nc"}, ("a.nc", "analysis", "model"))
    result = run()
    expect(re.search(r'model: it may not create a\.nc: the workflow\'s rule for "a\.nc" names model as a reader only\. Make model the writer in this rule', result.err), result.all)
    expect(not re.search("component 'model' .* has used no coupled file", result.err), result.all)


def near_miss():
    """A reader that asks for a file that can no longer come is told which files there were."""
    write_flow({"model": "couple repeat 11 write wave_%d.nc 10 write height.nc 10", "analysis": "couple missing wave_11.nc read wave_10.nc 10 missing hieght.nc missing picture.nc"},
               ("*.nc", "model", "analysis"))
    result = run()
    expect(re.search(r"wave_11\.nc' will not be published: .*; 'wave_10\.nc' was published: did you mean that\?", result.err), "the nearest number")
    expect(re.search(r"hieght\.nc' will not be published: .*; 'height\.nc' was published: did you mean that\?", result.err), "the nearest name")
    expect(re.search(r"picture\.nc' will not be published: [^;]*$", result.err, re.MULTILINE), "something far away is named")


def other_name():
    """A reader that asks for a name that no rule covers, and that is not there, is told what it asked for, also when it fails for that."""
    write_flow({"model": "couple write Wave.nc 10", "analysis": "couple read wave.nc 10"}, ("Wave.nc", "model", "analysis"))
    expect_warning(run(status=None), r"'analysis' is a reader of 'Wave\.nc', but did not open the one file that was published\. It opened /.*/wave\.nc, which is not there, and no rule covers that name: correct the name in analysis, or 'path' in line 8 of flow\.yaml")


def unread():
    """A reader that opens nothing is told how much was published: files, or steps where a name was published several times."""
    for commands, pattern, told in (("repeat 3 write w%d.nc 10", "w*.nc", "opened none of the 3 files that were published"),
                                    ("write a.nc 10 write a.nc 10", "a.nc", "opened none of the 2 steps that were published"), ("write a.nc 10", "a.nc", "did not open the one file that was published")):
        write_flow({"model": "couple " + commands, "analysis": "couple say nothing"}, (pattern, "model", "analysis"))
        expect_warning(run(), f"'analysis' is a reader of '{re.escape(pattern)}', but {told}")


def nothing_written():
    """A reader whose writer ends before it has written anything is told so."""
    write_flow({"model": "couple say nothing", "analysis": "couple missing a.nc"}, ("*.nc", "model", "analysis"))
    expect(re.search(r"'a\.nc' will not be published: its writer model exited with status 0 before it had published any file of '\*\.nc': look at the output of model, or compare 'path'", run(status=0).err), "the reason")


def lost_step():
    """A file that its writer has not closed is lost. The exit status says so, unless a component's status is
    not 0."""
    write_flow({"model": "couple half a.nc", "analysis": "couple missing a.nc"}, ("a.nc", "model", "analysis"))
    expect("1 file was lost: the event log says why (exit status 3)" in run(status=3).out, "the summary")
    write_flow({"model": "couple half a.nc", "analysis": "couple missing a.nc exit 7"}, ("a.nc", "model", "analysis"))
    run(status=7)


def polling():
    """A reader that waits until a file is on the disk is reported while it waits, and at the end."""
    write_flow({"model": "couple write a.nc 10", "analysis": "[sh, -c, 'while ! env -u LD_PRELOAD ls | grep -q a.nc; do sleep 0.1; done']"}, ("a.nc", "model", "analysis"))
    process = start(sluice, "run", "--notice-after", "1", "flow.yaml")
    wait_for(lambda: is_logged("analysis has opened no file of 'a.nc'"), "the notice")
    process.send_signal(signal.SIGINT)
    result = finish(process, 130)
    expect("[sluice] analysis has opened no file of 'a.nc'" in result.err, "the notice is not shown")
    expect_warning(result, r"'analysis' is a reader of 'a\.nc', but did not open the one file that was published\. .*static programs, .* never see it")


def few_lines():
    """Details are only in the log."""
    write_flow({"model": "couple write a.nc 10", "analysis": "couple read a.nc 10"}, ("a.nc", "model", "analysis"))
    expect("pages" not in run().all and is_logged("large segments have"), "a line about pages, or none in the log")
    expect("large segments have" in run("--verbose").err, "--verbose does not show it")


clear_directory()
globals()[case]()
print("as expected")
