#!/usr/bin/python3
"""python_module.py BUILD CASE: the Python module beside a run that goes on, and one that has ended."""
import atexit
import os
import signal
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish, wait_for

build, case = sys.argv[1:3]
os.environ["SLUICE"] = build + "/bin/sluice"
sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(sys.path[0]))) + "/python")
try:
    import netCDF4  # noqa: F401
    import pandas
    import xarray
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)
import sluice

PYTHON = "/usr/bin/python3"
MODEL = """
import netCDF4, sys, time
for step in range(3):
    with netCDF4.Dataset(f"wave_{step}.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("x", 4)
        file.createVariable("height", "f8", ("x",))[:] = [step, step + 1, step + 2, step + 3]
print("written", flush=True)
while True:
    time.sleep(0.1)
    try:
        open("stop").close()
        break
    except FileNotFoundError:
        pass
"""


def fails(words, function, *arguments):
    try:
        function(*arguments)
    except sluice.SluiceError as error:
        return expect(words in str(error), f"the error is {error}")
    sys.exit(f"FAILED: no error with '{words}'")


clear_directory()
with open("model.py", "w") as file:
    file.write(MODEL)
with open("flow.yaml", "w") as file:
    file.write(f"version: 1\nname: waves-{case}\ncomponents:\n  model: {{command: {PYTHON} model.py}}\n  reader: {{command: sh -c 'cat wave_2.nc | wc -c; cat never.nc'}}\n"
               "files:\n  - {path: 'wave_*.nc', writer: model, readers: [reader]}\n  - {path: never.nc, writer: model, readers: [reader]}\n")
fails("report", sluice.report)
process = harness.start(os.environ["SLUICE"], "run", "flow.yaml")
atexit.register(process.terminate)
name = f"waves-{case}"
wait_for(lambda: any(run.name == name and run.state == "goes on" for run in sluice.runs()), "the run")
run = next(run for run in sluice.runs() if run.name == name)


def published():
    try:
        return len(sluice.files(run)) == 3
    except sluice.SluiceError:
        return False  # its matcher is not there yet


wait_for(published, "three files")
if case == "open":
    expect([os.path.basename(file.path) for file in sluice.files(name)] == ["wave_2.nc", "wave_1.nc", "wave_0.nc"], "the newest first, also of one millisecond")
    expect(all(file.in_memory and file.bytes > 32 for file in sluice.files(run)), f"{sluice.files(run)}")
    newest = sluice.open(run, "wave_*.nc")
    expect(isinstance(newest, xarray.Dataset) and list(newest.height.values) == [2, 3, 4, 5], f"{newest}")
    expect(list(sluice.open(name, "wave_0.nc").height.values) == [0, 1, 2, 3], "a file by its name")
    fails("no file that fits 'temperature*'", sluice.open, run, "temperature*")
    fails("no run is called", sluice.files, "absent-" + name)
    expect("components" in sluice.status(run), f"{sluice.status(run)}")
elif case == "report":
    with open("stop", "w"):
        pass
    finish(process)
    ended = next(run for run in sluice.runs() if run.name == name)
    expect(ended.exit_status != 0 and ended.state == "failed" and ended.can_be_resumed, f"{ended}")
    report = sluice.report("flow.yaml")
    expect(isinstance(report.components, pandas.DataFrame) and set(report.components.index) == {"model", "reader"}, f"{report.components}")
    expect(report.rules.loc["wave_*.nc", "steps"] == 3, f"{report.rules}")
    expect(set(report.files.index) == {f"wave_{i}.nc" for i in range(3)}, f"{report.files}")
    os.environ["SLUICE"] = "/nowhere/sluice"
    fails("cannot be started", sluice.runs)
else:
    sys.exit(f"no case {case}")
