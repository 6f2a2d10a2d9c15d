#!/usr/bin/python3
"""dtf.py BUILD CASE WRITER READER: two programs with DTF's calls run coupled, by the workflow that `sluice
import-dtf` makes from their DTF configuration. CASE is steps (a file for each step), or early or all (the
file stays open; dtf_transfer_multiple or dtf_transfer_all_files publishes)."""
import os
import re
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect, launch

build, case, writer, reader = sys.argv[1:5]
sluice = build + "/bin/sluice"
CONFIGURATION = """[INFO]
ncomp=2
comp_name="model"
comp_name="analysis"
ioreq_distrib_mode="range"
log_ioreqs=1
[FILE]
filename="step_%.nc"
comp1="model"
comp2="analysis"
mode="memory"
replay_io=1
"""


def fill_in(component, command, ranks):
    """Replaces the command and ranks of a component, which import-dtf has left open."""
    with open("flow.yaml") as flow:
        text = flow.read()
    text, count = re.subn(rf'(?m)^(  {component}:\n    command: )"\?\?\?".*\n    ranks: 1 .*$', rf"\g<1>{command}\n    ranks: {ranks}", text)
    expect(count == 1, f"there is one place for the command of {component}")
    with open("flow.yaml", "w") as flow:
        flow.write(text)


clear_directory()
with open("pair.ini", "w") as ini:
    ini.write(CONFIGURATION)
imported = call(sluice, "import-dtf", "pair.ini", "-o", "flow.yaml", status=0)
expect("pair.ini:6:1: note: 'log_ioreqs=1'" in imported.err, "what has no equivalent is told")
call(sluice, "import-dtf", "pair.ini", "-o", "flow.yaml", status=2)  # the file exists
to_stdout = call(sluice, "import-dtf", "pair.ini", status=0)
with open("flow.yaml") as flow:
    expect(flow.read() == to_stdout.out, "stdout and -o have the same workflow")

unfinished = call(sluice, "check", "flow.yaml", status=2)
for component in "model", "analysis":
    expect(f"the command of component '{component}' is still ???" in unfinished.err, f"check says that the command of {component} is to be filled in")
roles = ("writer", "reader") if case == "steps" else (case + "-writer", case + "-reader")
fill_in("model", f"{writer} {roles[0]} step_ pair.ini", 3)
fill_in("analysis", f"{reader} {roles[1]} step_ pair.ini", 2)
if case != "steps":
    with open("flow.yaml", "a") as flow:
        flow.write("    publish: sync\n")
call(sluice, "check", "flow.yaml", status=0)
call(sluice, "run", "flow.yaml", status=0)
expect(not [name for name in os.listdir(".") if name.endswith(".nc")], "no file is on the disk")

if case == "steps":  # without a run, the calls do nothing, and the files are ordinary
    launch(3, writer, "writer", "step_", "pair.ini", status=0)
    launch(2, reader, "reader", "step_", "pair.ini", status=0)
