#!/usr/bin/python3
"""example.py BUILD SOURCE NAME RESULT…: an example of workflows/examples as its README says, and its commands one after the other on files. The results, files in
demo-output/NAME, must have the same bytes, and the run must leave no coupled file on the disk. Where a module or a program of the example is missing, it is skipped."""
import filecmp
import glob
import os
import re
import shlex
import shutil
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system"))
import harness
from harness import call, clear_directory, expect, finish, launch, start

build, source, name = sys.argv[1:4]
results = sys.argv[4:]
NEEDS = {"growing-netcdf4": ["xarray"], "xarray-follows": ["xarray", "dask", "scipy.io"], "climate-operators": ["cdo", "ncap2"]}


def skip_without_needs():
    for need in NEEDS.get(name, []):
        is_there = shutil.which(need) or finish(start("/usr/bin/python3", "-c", f"import {need}")).status == 0
        if not is_there:
            print(f"SKIPPED: {need} is not installed")
            sys.exit(77)


def make_root(directory):
    """A directory in which the paths of the example lead to the right places."""
    os.makedirs(directory + "/workflows/examples")
    os.symlink(build, directory + "/build")
    shutil.copytree(f"{source}/workflows/examples/{name}", f"{directory}/workflows/examples/{name}")


def commands():
    """[(command, ranks)] of the workflow file, in its order; 0 ranks: a serial program."""
    with open(f"{source}/workflows/examples/{name}/flow.yaml") as flow:
        found = re.findall(r"^    command: (.*)\n(?:    ranks: (\d+))?", flow.read(), re.M)
    return [(shlex.split(command), int(ranks or 0)) for command, ranks in found]


def is_of_mpich(program):
    return "libmpich" in call("ldd", program).out


clear_directory()
skip_without_needs()
make_root("coupled")
make_root("files")
finish(start(build + "/bin/sluice", "run", f"workflows/examples/{name}/flow.yaml", cwd="coupled"), 0)
expect(not glob.glob("coupled/*.nc"), "coupled files are on the disk")
for command, ranks in commands():
    if ranks and is_of_mpich("files/" + command[0]):
        finish(start("mpiexec.mpich", "-n", str(ranks), *command, cwd="files"), 0)
    elif ranks:
        launch(ranks, *command, cwd="files", status=0)
    elif "{file}" in command:  # for-each
        for path in sorted(glob.glob("files/wave_*.nc")):
            file = os.path.basename(path)
            words = [word.replace("{file}", file).replace("{stem}", os.path.splitext(file)[0]) for word in command]
            finish(start(*words, cwd="files"), 0)
    else:
        finish(start(*command, cwd="files"), 0)
expect(glob.glob("files/*.nc"), "no files on the disk without a run")
for result in results:
    expect(filecmp.cmp(f"coupled/demo-output/{name}/{result}", f"files/demo-output/{name}/{result}", shallow=False), f"{result} differs")
