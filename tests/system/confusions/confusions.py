#!/usr/bin/python3
"""confusions.py BUILD SOURCE PROGRAM ROW: makes a mistake of the table in docs/troubleshooting.md with PROGRAM (couple.c) and others, and looks for the line that
the table quotes: it has to name the cause and the fix. `…` in it stands for anything."""
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import MPIRUN, allow, call, clear_directory, descendants_named, expect, finish, is_logged, start, wait_for, wait_for_event

build, source, program, row = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
SLUICE = build + "/bin/sluice"


def table():
    """The rows: [(mistake, message)]."""
    with open(source + "/docs/troubleshooting.md") as page:
        text = page.read()
    part = text[text.index("## The twenty commonest mistakes"):].split("\n## ")[0]
    rows = [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in part.splitlines() if line.startswith("| ")]
    return rows[1:]


def write_flow(components, *rules, staging="prewarm: 0"):
    """Components: {name: command or keys}; a command that begins with 'couple' has one rank. Rules: texts."""
    lines = ["version: 1", "name: test", f"staging: {{{staging}}}", "components:"]
    for name, keys in components.items():
        if keys.startswith("couple "):
            keys = f"{{command: {keys.replace('couple', program, 1)}, ranks: 1}}"
        lines.append(f"  {name}: {keys}")
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join(lines + ["files:"] + ["  - " + rule for rule in rules]) + "\n")


def check():
    """What `sluice check` says of a mistake; `sluice run` refuses to start."""
    call(SLUICE, "run", "flow.yaml", status=2)
    return call(SLUICE, "check", "flow.yaml", status=2).err


def run(*options, status=None):
    return call(SLUICE, "run", "--log-dir", "log", *options, "flow.yaml", status=status).err


def couple(model, analysis, pattern="a.nc", more=""):
    write_flow({"model": model, "analysis": analysis}, f'{{path: "{pattern}", writer: model, readers: [analysis]{more}}}')


def make_old(name):
    """An ordinary file from long before the run."""
    call(*MPIRUN, "1", program, "write", name, "10", status=0)
    os.utime(name, (1e9, 1e9))


def misspelt_component():
    write_flow({"model": "couple write a.nc 10", "analysis": "couple read a.nc 10"}, "{path: a.nc, writer: modl, readers: [analysis]}")
    return check()


def misspelt_key():
    write_flow({"model": f"{{command: {program} write a.nc 10, rank: 2}}"}, "{path: a.nc, writer: model, readers: [model]}")
    return check()


def printf_pattern():
    couple("couple write wave_0001.nc 10", "couple read wave_0001.nc 10", "wave_%04d.nc")
    return check()


def unquoted_star():
    write_flow({"model": "couple write a.nc 10"}, "{path: *.nc, writer: model, readers: [model]}")
    return check()


def pattern_matches_nothing():
    couple("couple write waves_1.nc 10", "couple say nothing", "wave_*.nc")
    return run(status=0)


def misspelt_file():
    couple("couple write height.nc 10", "couple missing hieght.nc", "*.nc")
    return run(status=0)


def other_directory():
    os.makedirs("d1")
    os.makedirs("d2")
    write_flow({"model": f"{{command: {program} write a.nc 10, ranks: 1, directory: d1}}", "analysis": f"{{command: {program} missing a.nc, ranks: 1, directory: d2}}"},
               "{path: a.nc, writer: model, readers: [analysis]}")
    return run(status=0)


def forgotten_close():
    couple("couple half a.nc", "couple missing a.nc")
    return run(status=3)


def cycle():
    write_flow({"model": "couple read b.nc 10 write a.nc 10", "analysis": "couple read a.nc 10 write b.nc 10"}, "{path: a.nc, writer: model, readers: [analysis]}",
               "{path: b.nc, writer: analysis, readers: [model]}")
    return run(status=1)


def static_program():
    with open("tool.c", "w") as code:
        code.write("int main(void) { return 0; }\n")
    if subprocess.run(["cc", "-static", "tool.c", "-o", "tool"]).returncode != 0:
        print("SKIPPED: nothing can be linked statically here")
        sys.exit(77)
    couple("couple write a.nc 10", "{command: ./tool a.nc}")
    return call(SLUICE, "check", "flow.yaml", status=2).err


def little_memory():
    write_flow({"model": "couple write a.nc 1000000", "analysis": "couple read a.nc 1000000"}, "{path: a.nc, writer: model, readers: [analysis]}",
               staging="memory: 1MiB, spill: none")
    return run(status=1)


def missing_rank():
    write_flow({"model": "couple write a.nc 10", "analysis": f"{{command: {program} late go read a.nc 10, ranks: 2}}"}, "{path: a.nc, writer: model, readers: [analysis]}")
    process = start(SLUICE, "run", "--log-dir", "log", "--notice-after", "1", "flow.yaml")
    wait_for_event(process, "of analysis is in open of a.nc")
    allow("go")
    return finish(process, 0).err


def polling():
    couple("couple write a.nc 10", "{command: [sh, -c, 'while ! env -u LD_PRELOAD ls | grep -q a.nc; do sleep 0.1; done']}")
    process = start(SLUICE, "run", "--log-dir", "log", "--notice-after", "1", "flow.yaml")
    wait_for_event(process, "analysis has opened no file")
    process.send_signal(signal.SIGINT)
    return finish(process, 130).err


def two_writers():
    write_flow({"model": "couple write b.nc 10", "other": "couple write b.nc 10", "analysis": "couple read b.nc 10"}, "{path: b.nc, writer: model, readers: [analysis]}")
    return run(status=0)


def undeclared_reader():
    make_old("a.nc")
    write_flow({"model": "couple write a.nc 10", "analysis": "couple read a.nc 10", "plot": "couple read a.nc 10"}, "{path: a.nc, writer: model, readers: [analysis]}")
    return run(status=0)


def cleared_environment():
    environment = f"env -i PATH={os.environ['PATH']} OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    couple("couple write a.nc 10", f"{{command: {environment} {program} missing a.nc}}")
    return run(status=0)


def old_file():
    make_old("a.nc")
    couple("couple write a.nc 10", "{command: [sh, -c, 'env -u LD_PRELOAD cat a.nc > copy.nc']}")
    text = run(status=0)
    with open("a.nc", "rb") as old, open("copy.nc", "rb") as copy:
        expect(old.read() == copy.read(), "the reader has not read the old file")
    return text


def netcdf4_for_pnetcdf():
    if not shutil.which("ncgen"):
        print("SKIPPED: there is no ncgen")
        sys.exit(77)
    with open("a.cdl", "w") as text:
        text.write("netcdf a { dimensions: x = 10; variables: double v(x); }\n")
    couple("{command: ncgen -k nc4 -o a.nc a.cdl, environment: {SLUICE_NETCDF: bytes}}", "couple not-cdf a.nc")  # it says nothing of its error
    return run(status=0)


def few_descriptors():
    couple("couple write a.nc 10", "couple read a.nc 10")
    return call("sh", "-c", f"ulimit -n 40 && exec {SLUICE} run flow.yaml", status=2).err


def killed_launcher():
    couple("couple write a.nc 10 await never", "couple read a.nc 10")
    process = start(SLUICE, "run", "--log-dir", "log", "flow.yaml")
    wait_for(lambda: is_logged("analysis exited with status 0"), "the end of the reader")
    for launcher in wait_for(lambda: descendants_named("mpirun", process.pid) or descendants_named("orterun", process.pid), "the launcher"):
        os.kill(launcher, signal.SIGKILL)
    return finish(process, 137).err


CASES = [misspelt_component, misspelt_key, printf_pattern, unquoted_star, pattern_matches_nothing, misspelt_file, other_directory, forgotten_close, cycle, static_program, little_memory,
         missing_rank, polling, two_writers, undeclared_reader, cleared_environment, old_file, netcdf4_for_pnetcdf, few_descriptors, killed_launcher]

clear_directory()
rows = table()
expect(len(rows) == len(CASES) == 20 and all(len(each) == 2 for each in rows), f"the table has {len(rows)} rows, and there are {len(CASES)} cases")
mistake, message = rows[row - 1]
quoted = re.fullmatch(r'"(.*)"', message)
expect(quoted and len(quoted[1]) > 40, f"no message is quoted: {message}")
pattern = ".*".join(re.escape(part.strip()) for part in quoted[1].split("…"))
text = CASES[row - 1]()
found = [line for line in text.splitlines() if re.search(pattern, line)]
expect(found, f"{mistake}: no line says {quoted[1]}")
print("as expected:", found[0])
