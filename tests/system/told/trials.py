#!/usr/bin/python3
"""trials.py BUILD CASE: the workflow that `sluice init --trial` writes runs at once, and gives what the trial gave: also where programs depend on each other in other ways than by opening a file that another one has written once."""
import os
import shutil
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect, script, text

build, case = sys.argv[1:3]
sluice = build + "/bin/sluice"


def as_tried(writer, *readers, flow=(), inputs=None, warns=False):
    """The file o of the run is that of the trial. `flow`: texts that the workflow has; those that begin with ! it has not."""
    clear_directory()
    commands = []
    for number, lines in enumerate((writer, *readers)):
        script(f"program{number}.sh", lines)
        commands.append(f"./program{number}.sh")
    for name, contents in (inputs or {}).items():
        with open(name, "w") as file:
            file.write(contents)
    begin = {name: text(name) for name in os.listdir(".")}
    call(sluice, "init", "--trial", *commands, status=0)
    tried, found = text("o"), text("flow.yaml")
    for words in flow:
        expect((words[1:] not in found) if words.startswith("!") else (words in found), f"{words} in\n{found}")
    clear_directory()
    for name, contents in [*begin.items(), ("flow.yaml", found)]:
        with open(name, "w") as file:
            file.write(contents)
        os.chmod(name, 0o755)
    told = call(sluice, "run", "flow.yaml", status=0).all
    expect(text("o") == tried, f"the trial gave\n{tried}the run\n{text('o')}")
    expect("warning" not in told or warns, "the run warns")


def files_that_go():
    """Who reads a file and removes it, or gives it another name, reads it; temporary files are covered by no rule."""
    as_tried("for i in 1 2 3; do echo $i > d$i.nc; done", "for i in 1 2 3; do cat d$i.nc >> o; rm d$i.nc; done", flow=("!when-done", 'path: "d*.nc"'))
    as_tried("for i in 1 2 3; do sleep 0.3; echo $i > d$i.nc; done", "mkdir done; for i in 1 2 3; do mv d$i.nc done/e$i.nc; done; cat done/e?.nc > o", flow=("!when-done", ))
    as_tried("for i in 1 2 3; do echo $i > d_$i.nc; done", "for i in 1 2 3; do cat d_$i.nc > d_x.nc; cat d_x.nc >> o; rm d_x.nc; done", flow=("!when-done", "d_[0-9]*.nc"))
    as_tried("echo 1 > tmp; sleep 0.5; cat tmp > a.nc; rm tmp", "echo 2 > tmp; cat tmp a.nc > o; rm tmp", flow=("it writes 'tmp', as program0 does", ))


def changes():
    """What several programs change passes through the disk, in the order of the trial."""
    as_tried("sleep 0.3; echo 1 > a.log", "echo 2 >> a.log; cat a.log > o", flow=("through: file", "start: when-done  # it changes 'a.log', which program0 writes"))
    as_tried("sleep 0.3; echo 1 > a.log", "sleep 0.3; echo 2 >> a.log; cp a.log b.log", "cat a.log > o; echo 3 >> a.log", flow=("readers: [program1, program2]", "through: file"))
    as_tried("sleep 0.5; cat namelist > a.nc", "echo new > namelist; cat a.nc > o", inputs={"namelist": "old\n"}, flow=("it changes 'namelist', which program0 reads", ))
    as_tried("cat restart > a.nc; echo new > restart", "cat a.nc restart > o", inputs={"restart": "old\n"}, flow=("keep: true  # program0 begins with the file on the disk", ))
    expect(text("restart") == "new\n", "the restart file is the old one")


def looks():
    """Who looks for a file without opening it, lists a directory, or uses a directory or a link that another one makes begins when that has ended."""
    as_tried("sleep 0.5; echo 1 > a.nc; touch DONE", "test -e DONE; cat a.nc > o", flow=("it looks for 'DONE', which program0 writes", "!through: file"))
    as_tried("sleep 0.5; touch DONE", "test -e DONE; echo yes > o", flow=('path: "DONE"', "through: file"))
    as_tried("for i in 1 2; do sleep 0.3; echo $i > a_$i.nc; done", "cat a_*.nc > o", flow=("it lists the directory of the workflow, where program0 makes files", ))
    as_tried("sleep 0.5; mkdir out; echo 1 > out/a.nc", "cd out; cat a.nc > ../o", flow=("it uses 'out', which program0 makes", ))
    as_tried("mkdir run3; echo 1 > run3/a.nc; sleep 0.5; ln -s run3 latest", "cat latest/a.nc > o", flow=("it uses the link 'latest', which program0 makes", ))
    as_tried("mkdir tmp; echo 1 > tmp/a.nc; sleep 0.5; mv tmp out", "cat out/a.nc > o", flow=("it reads 'out/a.nc', whose directory program0 has renamed", ))
    # These wait for the files themselves.
    as_tried("mkdir -p out; sleep 0.5; echo 1 > out/a.nc", "mkdir -p out; cd out; test -e a.nc; cat a.nc > ../o", flow=("!when-done", ))
    as_tried("mkdir out; sleep 0.5; echo 1 > out/a.nc", "ln -s out/a.nc in.nc; cat in.nc > o", flow=("!when-done", ))


def scripts_of_python():
    """A module that is looked for is no look at the data; a glob is."""
    writes = "sleep 0.5; echo 1 > a_1.nc; echo 2 > a_2.nc"
    as_tried(writes, "/usr/bin/python3 p.py > o", inputs={"p.py": "import fractions, decimal\nprint(open('a_1.nc').read(), open('a_2.nc').read())\n"}, flow=("!when-done", ))
    plugins = "import importlib.metadata\nlist(importlib.metadata.entry_points())\nprint(open('a_1.nc').read(), open('a_2.nc').read())\n"
    as_tried(writes, "/usr/bin/python3 p.py > o", inputs={"p.py": plugins}, flow=("!when-done", ))
    as_tried(writes, "/usr/bin/python3 p.py > o", inputs={"p.py": "import glob\nprint([open(name).read() for name in sorted(glob.glob('a_*.nc'))])\n"}, flow=("start: when-done", ))


def programs_that_list():
    """GDAL looks for files beside its own, which is no reason to wait; a program that expands patterns itself, as CDO does, has one, and finds the files of the run."""
    if not all(shutil.which(program) for program in ("gdalinfo", "gdal_translate", "cdo", "ncgen")):
        sys.exit(77)
    inputs = {"a.cdl": "netcdf a { dimensions: lat = 3; lon = 4; variables: double lat(lat); lat:units = \"degrees_north\"; double lon(lon); lon:units = \"degrees_east\"; float h(lat, lon); data: lat = 1, 2, 3; lon = 1, 2, 3, 4; h = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12; }"}
    as_tried("ncgen -o a.nc a.cdl; gdal_translate -q NETCDF:a.nc:h b.tif", "gdalinfo b.tif > o", inputs=inputs, flow=("!when-done", ))
    as_tried("sleep 0.5; ncgen -o a_1.nc a.cdl; ncgen -o a_2.nc a.cdl", 'cdo -s ensmean "a_*.nc" m.out; cdo -s outputf,%g m.out > o', inputs=inputs, flow=("start: when-done", ))


def several_closes():
    """A file that its writer begins anew, moves to its name, or goes on with is read as it was in the end."""
    as_tried("for i in 1 2 3; do echo $i > latest.nc; sleep 0.2; done", "cat latest.nc > o", flow=("publish: exit  # program0 writes it several times", ))
    as_tried("for i in 1 2; do echo $i > t; mv t latest.nc; sleep 0.2; done", "cat latest.nc > o", flow=("publish: close:2", ))
    as_tried("echo 1 > a; sleep 0.2; echo 2 > t; mv t a; sleep 0.2; echo 3 >> a", "cat a > o", flow=("publish: close:3", ))
    # As HDF5 looks first: an open that fails makes nothing.
    as_tried("/usr/bin/python3 -c 'import os\ntry: os.open(\"a\", os.O_RDWR)\nexcept OSError: os.write(os.open(\"a\", os.O_RDWR | os.O_CREAT | os.O_EXCL), b\"x\")\n"
             "try: os.open(\"a\", os.O_WRONLY | os.O_CREAT | os.O_EXCL)\nexcept OSError: pass'", "cat a > o", flow=("!publish", ))
    as_tried("echo 1 > .t; ln .t a.nc; rm .t", "cat a.nc > o", flow=("!publish", ))


def names():
    """Characters that mean something in a pattern stand for themselves."""
    odd = ["a b.nc", "x[1].nc", "p%d.nc", "q{1}.nc", "ü.nc", "c*.nc", "-d.nc", "w?.nc", "q\"u'.nc", "back\\slash.nc", "tab\tnew\nline.nc"]
    write = "/usr/bin/python3 -c 'import sys\nfor name in sys.argv[1:]: open(name, \"w\").write(repr(name))' " + " ".join("'" + name.replace("'", "'\\''") + "'" for name in odd) + """ "$(printf 'bytes\\377.nc')\""""
    read = write.replace('open(name, "w").write(repr(name))', "print(open(name).read())") + " > o"
    as_tried(write, read, flow=('path: "p[%]d.nc"', 'path: "q[{]1}.nc"', 'path: "c[*].nc"'))


clear_directory()
globals()[case]()
