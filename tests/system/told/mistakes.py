#!/usr/bin/python3
"""mistakes.py BUILD CASE: mistakes in workflow files and commands get a message that says what to write instead."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect, script, text

build, case = sys.argv[1:3]
sluice = build + "/bin/sluice"


def check(words, component="command: ./model", rule="path: out.nc", top="", status=2):
    script("model", "echo hi > out.nc")
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\n{top}\ncomponents:\n  w: {{{component}}}\n  r: {{command: cat out.nc}}\nfiles:\n  - {{{rule}, writer: w, readers: [r]}}\n")
    told = call(sluice, "check", "flow.yaml", status=status).err
    expect(words in told, f"{component}, {rule}, {top}: it does not say: {words}")


def keys():
    """A key of another program's language, and a key at another place than its own."""
    for key, own in (("env: {A: b}", "environment"), ("dir: x", "directory"), ("cwd: x", "directory"), ("workdir: x", "directory"), ("np: 2", "ranks"), ("ntasks: 2", "ranks"), ("args: [x]", "command")):
        check(f"unknown key '{key.partition(':')[0]}' in component 'w': did you mean '{own}'?", f"command: ./model, {key}")
    check("unknown key 'memory' at the top level: it stands in 'staging'.", top="memory: 1GiB")
    check("unknown key 'ranks' in file rule 1: it stands in a component.", rule="path: out.nc, ranks: 2")
    check("unknown key 'pattern' in file rule 1: did you mean 'path'?", rule="pattern: out.nc")
    check("unknown key 'keep' in component 'w': it stands in a file rule.", "command: ./model, keep: true")
    check("'keep' in file rule 1 is 'T': it must be true, false, or a list of variables, as in [T", rule="path: out.nc, keep: T")
    check("'keep' in file rule 1 is empty", rule="path: out.nc, keep: []")
    with open("flow.yaml", "w") as flow:
        flow.write("version: 1\ncomponents:\n   w:\n     command: ./model\n  r:\n     command: ./model\n")
    expect("flow.yaml:5:3: this is not YAML: the line begins at another column than the keys" in call(sluice, "check", "flow.yaml", status=2).err, "the indentation")


def paths():
    """What only a shell, a text processor or another system understands."""
    for pattern, words in (("'“out.nc”'", "'“' is no quote here"), ("' out.nc'", "write '[ ]' for one in the name"), ("'out.nc '", "begins or ends with a blank"), ("C:/out.nc", "the letter of a drive")):
        check(words, rule=f"path: {pattern}")
    for key in ("spill", "hostfile"):
        for place, words in (("~/x", "nothing expands '~'"), ("$TMPDIR", "nothing expands $TMPDIR"), ("'a\\b'", "separated by '/'")):
            check(words, top=f"staging: {{spill: {place}}}" if key == "spill" else f"hostfile: {place}")
    check("nohosts' does not exist, or is no file: write one with the names of nodes", top="hostfile: nohosts")


def commands():
    """Words of a shell, commands that submit jobs, and names of another system."""
    for command, words in (("'! ./model'", "'!' is a command of a shell"), ("'function f'", "'function' is a command of a shell"), ("sbatch job.sh", "'sbatch' only submits a job"),
                           ("'.\\model'", "has no effect"), ("['.\\model']", "write '/' between directories"), ("[./model, ‘a’]", "'‘' is no quote here"), ("./nothing", "the file is empty")):
        open("nothing", "w").close()
        os.chmod("nothing", 0o755)
        check(words, f"command: {command}")
    check("warning: nothing expands the '~' of '--in=~/x'", "command: ./model --in=~/x", status=0)


def launchers_of_init():
    """The number of ranks, in each way in which it can be written."""
    script("model", "echo hi > out.nc")
    for command, ranks in (("mpirun -n4", 4), ("mpirun --np=3", 3), ("srun -n8 -N2", 8), ("srun --ntasks=5 -c 2", 5), ("srun -N 2 -c2 -n 6", 6), ("mpiexec -n 2 -ppn 1", 2)):
        call(sluice, "init", "--force", command + " ./model", status=0)
        expect(f"ranks: {ranks}  #" in text("flow.yaml") and '["./model"]' in text("flow.yaml"), f"{command}:\n" + text("flow.yaml"))


def any_name():
    """A shell that looks for its programs in each directory of PATH waits for none of them by a rule for all names; `log` shows the run's events, `graph` the last run."""
    os.makedirs("tools/bin")
    with open("flow.yaml", "w") as flow:
        flow.write("version: 1\ncomponents:\n  w: {command: [sh, -c, 'echo 1 > a']}\n  r: {command: [sh, -c, 'export PATH=\"$PWD/tools/bin:$PATH\"; cat a; ls > /dev/null']}\nfiles:\n  - {path: '*', writer: w, readers: [r]}\n")
    told = call(sluice, "run", "flow.yaml", status=0).all
    expect("[r] 1" in told and "cannot open" not in told, "it waits")
    expect("workflow flow, 2 components" in call(sluice, "log", "flow.yaml", status=0).out, "the events")
    expect("w (serial)" in call(sluice, "graph", status=0).out, "the graph")


clear_directory()
globals()[case]()
