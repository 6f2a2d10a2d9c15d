#!/usr/bin/python3
"""on_disk.py BUILD CASE: netCDF-4 files of rules that leave files on disk go by hyperslabs; the files are as netCDF itself writes them."""
import os
import signal
import sys
import time

from flows import PYTHON, SLUICE, run, same_lines, script, write_flow  # before harness: it finds that
import harness
from harness import clear_directory, expect, finish, text

case = sys.argv[2]

# Puts of values and strings, a group, a user type, two growing dimensions, deflated chunks; PAUSE comes before the last records.
MODEL = """
import netCDF4, numpy, os, signal, sys, time
d = netCDF4.Dataset('a.nc', 'w')
d.title = 'a title'; d.createDimension('t', None); d.createDimension('u', None); d.createDimension('x', 1000)
v = d.createVariable('v', 'f4', ('t', 'x'), zlib=True, shuffle=True, fill_value=-5, chunksizes=(2, 500)); v.units = 'K'
label = d.createVariable('label', str, ('t',)); two = d.createVariable('two', 'i2', ('t', 'u'), chunksizes=(2, 2))
g = d.createGroup('g/h'); g.note = 'here'; q = g.createVariable('q', '>u8', ('x',), endian='big'); q[::3] = numpy.arange(334) + 2**60
pair = d.createCompoundType(numpy.dtype([('a', 'i4'), ('b', 'f8')]), 'pair'); p = g.createVariable('p', pair, ('x',), chunksizes=(10,)); p[3] = (1, 2.5)
for i in range(4): v[i] = numpy.arange(1000) + 1000 * i; label[i] = 'record %d' % i
two[0:3, 0:2] = 7
late = d.createVariable('late', 'i8', ('x',)); late[2] = 4
PAUSE
v[5, 2:5] = 99; label[4] = 'the last'; d.end = 1
d.close()
"""
LOOK = "ncdump -s a.nc"
WAIT = "while not os.path.exists('seen'): time.sleep(0.01)"


def on_disk(model, directory="disk"):
    """What the program's file on disk is."""
    os.makedirs(directory, exist_ok=True)
    harness.call(PYTHON, "-c", model, cwd=directory, status=0)
    harness.call("sh", "-c", f"{LOOK} > dump", cwd=directory, status=0)


def expect_on_disk(what, directory="disk"):
    harness.call("sh", "-c", f"{LOOK} > left", status=0)
    same_lines("left", f"{directory}/dump", what)


def kept():
    """With keep, and by burst-buffer logs, readers get hyperslabs, and the file has groups, types, chunks and filters."""
    model = MODEL.replace("PAUSE", "")
    on_disk(model)
    for more in (", keep: true", ", through: burst-buffer", ", keep: [v]"):
        write_flow(script("write.py", model), f"{LOOK} > read\ncp a.nc copy && ncdump -s -n a copy > copied", more=more)
        result = run()
        row = next(line for line in result.all.splitlines() if line.startswith("a.nc")).split()
        expect(int(row[4]) > 6, f"puts with{more}: {row}")
        for name in ("read", "copied"):
            same_lines(name, "disk/dump", name + more)
        expect_on_disk("the file" + more)
        expect(not [name for name in os.listdir(".") if "partial" in name], "a partial file is left")
        os.remove("a.nc")


def live():
    """Readers see synced records of a kept file before it is closed."""
    model = MODEL.replace("PAUSE", "d.sync()\n" + WAIT)
    on_disk(MODEL.replace("PAUSE", ""))
    read = "import netCDF4\nd = netCDF4.Dataset('a.nc')\nassert d['v'].shape == (4, 1000) and d['v'][3, 1] == 3001 and d['label'][3] == 'record 3'\nopen('seen', 'w').close()\n"
    write_flow(script("write.py", model), script("read.py", read), more=", keep: true, publish: sync")
    run()
    expect_on_disk("the kept file")


def killed():
    """The logs of a model that was killed, without a sync, become a netCDF-4 file of what it had put."""
    on_disk(MODEL.replace("PAUSE", "d.close(); sys.exit()"))
    write_flow(script("write.py", MODEL.replace("PAUSE", "os.kill(os.getpid(), signal.SIGKILL)")), "ncdump a.nc", more=", through: burst-buffer")
    run(status=None)
    expect(not os.path.exists("a.nc"), "the file of a killed model is there before its recovery")
    said = harness.call(SLUICE, "recover", ".", status=0).out
    expect("a new file" in said, said)
    expect_on_disk("the recovered file")
    again = harness.call(SLUICE, "recover", "--delete", ".", status=0).out
    expect("already has all data" in again, again)
    expect_on_disk("the file recovered twice")
    expect(not [name for name in os.listdir(".") if name.endswith((".meta", ".data"))], "logs are left")


def resumed():
    """A run that is killed as a whole goes on: netCDF-4 files on disk and in logs are there again for netCDF readers."""
    for more in (", through: burst-buffer", ", keep: true"):
        clear_directory()
        on_disk(MODEL.replace("PAUSE", ""))
        with open("write.py", "w") as file:
            file.write(MODEL.replace("PAUSE", "") + "open('ready', 'w').close()\ntime.sleep(100)")
        command = script("read.py", f"import os, sys, time\nif sys.argv[1] == '0': time.sleep(100)\nsys.exit(os.waitstatus_to_exitcode(os.system('{LOOK} > read')))\n")
        write_flow(f"if [ $1 -eq 0 ]; then {PYTHON} write.py; fi", "", writer="[sh, writer.sh, '{resume}']", reader=f"[{command.replace(' ', ', ')}, '{{resume}}']", more=more)
        first = harness.start(SLUICE, "run", "flow.yaml")
        last = "a.nc" if "keep" in more else "ready"  # what the run has written for this process, too
        while not os.path.exists(last) and first.poll() is None:
            time.sleep(0.05)
        first.send_signal(signal.SIGKILL)
        finish(first)
        finish(harness.start(SLUICE, "run", "--resume", "flow.yaml"), 0)
        same_lines("read", "disk/dump", "the reader of the resumed run" + more)


def again():
    """A kept file that is opened for writing again is the whole file at the end."""
    more = "d = netCDF4.Dataset('a.nc', 'a'); d['v'][7] = 8; d['label'][6] = 'again'; d.createVariable('new', 'f8', ('x',))[:] = 1; d.close()\n"
    model = MODEL.replace("PAUSE", "") + more
    on_disk(model)
    for rule in (", keep: true", ", through: burst-buffer"):
        write_flow(script("write.py", model), f"test -e a.nc && {LOOK} > read", more=rule)
        run()
        expect_on_disk("the file" + rule)
        os.remove("a.nc")


def verified():
    """`sluice verify` finds that the files are the same."""
    os.makedirs("flow")
    os.chdir("flow")
    write_flow(script("write.py", MODEL.replace("PAUSE", "")), "ncdump a.nc > dump", more=", keep: true")
    said = harness.call(SLUICE, "verify", "flow.yaml", status=0).out
    expect("equal file" in said, said)


CDL = """netcdf a { types: compound pair { int a; string b; }; int(*) list; dimensions: t = unlimited; x = 3; variables: int v(t, x); string s(x); pair p; list m(x);
  v:units = "K"; data: v = 1, 2, 3, 4, 5, 6; s = "a", "b", "c"; p = {1, "one"}; m = {1, 2}, {3}, {}; group: g { variables: double w(x); data: w = 1, 2, 3; } }"""


def compared():
    """Each difference of definitions and values of two netCDF-4 files is named; chunks and order of bytes count, too."""
    def make(name, old, new):
        expect(old in CDL, f"the text has no {old}")
        with open(name + ".cdl", "w") as file:
            file.write(CDL.replace(old, new))
        harness.call("ncgen", "-4", "-o", name + ".nc", name + ".cdl", status=0)

    make("one", "a {", "one {")
    changes = {"x = 3;": "x = 3; y = 2;", '"K"': '"M"', "5, 6": "5, 7", '"b"': '"B"', '"one"': '"two"', "{3}": "{4}", "w = 1": "w = 0", "v:units": 'v:_Endianness = "big"; v:units', "g {": "h {",
               "K\"; data": "K\"; s:_ChunkSizes = 1; data"}
    words = ["dimension y", "attribute v:units", "variable v from row", "variable s", "variable p", "variable m", "variable g/w", "variable v", "group", "variable s"]
    for (old, new), word in zip(changes.items(), words):
        make("two", old, new)
        said = harness.call(sys.argv[1] + "/bin/sluice-netcdf4", "one.nc", "two.nc", status=0).out
        expect(said.startswith("different: ") and word in said, f"{old} became {new}: {said}")
    make("two", "a {", "two {")
    expect(harness.call(sys.argv[1] + "/bin/sluice-netcdf4", "one.nc", "two.nc", status=0).out == "equal", "files that are equal")


CASES = {"compared": compared, "kept": kept, "live": live, "killed": killed, "resumed": resumed, "again": again, "verified": verified}
clear_directory()
CASES[case]()
