#!/usr/bin/python3
"""followed.py BUILD CASE: readers of netCDF's own interface follow a writer by the keys of a rule, as those of PnetCDF do; what runs leave on disk is what netCDF leaves."""
import filecmp
import os
import signal
import sys
import time

from flows import PYTHON, SLUICE, run, same_lines, script, write_flow  # before harness: it finds that
import harness
from harness import clear_directory, expect, finish

case = sys.argv[2]
FILES = "f'a{i}.nc'"

RECORDS_WRITE = """
import netCDF4, os, time
d = netCDF4.Dataset('a.nc', 'w', format='NETCDF3_CLASSIC'); d.createDimension('t', None); d.createDimension('x', 3)
v = d.createVariable('v', 'f8', ('t', 'x')); d.sync(); open('begun', 'w').close()
for i in range(3):
    v[i, :] = i + 1
    AFTER
    while not os.path.exists(f'seen{i}'): time.sleep(0.01)
d.close()
"""
RECORDS_READ = """
import netCDF4, os, time
while not os.path.exists('begun'): time.sleep(0.01)
d = netCDF4.Dataset('a.nc')
for i in range(3):
    while len(d.dimensions['t']) <= i: time.sleep(0.01)
    assert d['v'].shape == (i + 1, 3) and d['v'][i].tolist() == [i + 1.0] * 3, d['v'][:]
    open(f'seen{i}', 'w').close()
"""


def asked_lengths():
    """A reader that has the file open sees new records when it asks for a length: with publish: sync those that are synced, with publish: write all."""
    for publish, after in (("sync", "d.sync()"), ("write", "pass")):
        for name in ("begun", "seen0", "seen1", "seen2"):
            os.path.exists(name) and os.remove(name)
        write_flow(script("write.py", RECORDS_WRITE.replace("AFTER", after)), script("read.py", RECORDS_READ), more=f", publish: {publish}")
        run()


def xarray():
    """xarray, also with dask's lazy arrays, sees each synced record in its next open."""
    read = """
import time, xarray
for i in range(3):
    while True:
        with xarray.open_dataset('a.nc', chunks={'x': 2} if i == 1 else None) as s:
            if s.sizes['t'] > i:
                assert s.v.mean('x').values.tolist() == [1, 2, 3][:i + 1], s
                break
        time.sleep(0.01)
    open(f'seen{i}', 'w').close()
"""
    write_flow(script("write.py", RECORDS_WRITE.replace("AFTER", "d.sync()")), script("read.py", read), more=", publish: sync")
    run()


SIX_WRITE = """
import netCDF4, sys
for i in range(int(sys.argv[1]), int(sys.argv[2])):
    d = netCDF4.Dataset(NAME, 'w', format='NETCDF3_64BIT_OFFSET'); d.createDimension('t', None); d.number = i
    d.createVariable('v', 'f8', ('t',))[:] = [i, i]; d.createVariable('w', 'i4', ('t',))[:] = [1, 2]; d.close()
"""
SIX_READ = """
import netCDF4
for i in range(6):
    with netCDF4.Dataset(NAME) as d: assert d.number == i and d['v'][:].tolist() == [i, i]
"""


def six(name, first=0, end=6):
    return script("write.py", SIX_WRITE.replace("NAME", name)) + f" {first} {end}"


def queue():
    """A writer waits for a place in the queue, and readers get all files."""
    write_flow(six(FILES), script("read.py", SIX_READ.replace("NAME", FILES)), more=", queue: 2, when-full: wait")
    result = run()
    expect("discarded" not in result.err, "a file was discarded")


def streams():
    """Opens go through the steps of a stream; a reader of the latest skips some, and gets the last one."""
    write_flow(six("'a.nc'"), script("read.py", SIX_READ.replace("NAME", "'a.nc'")), more=", steps: stream")
    run()
    latest = script("read.py", "import netCDF4\nlast = -1\nwhile last < 5:\n    with netCDF4.Dataset('a.nc') as d:\n        assert d.number > last and d['v'][1] == d.number; last = d.number\n")
    write_flow(six("'a.nc'"), latest, more=", steps: stream", readers="{reader: latest}")
    run()


def jobs():
    """A job is started for each file."""
    script("job.py", "import netCDF4, sys\nwith netCDF4.Dataset(sys.argv[1]) as d: open(f'job{d.number}', 'w').close()\n")
    write_flow(six(FILES), "", reader=f"[{PYTHON}, job.py, '{{file}}']", reader_key="for-each: '*.nc', at-most: 2")
    run()
    expect(all(os.path.exists(f"job{i}") for i in range(6)), "a job is missing")


def own_files():
    """A component reads what it has written, as a reader of its rule and without that."""
    for readers in ("[reader]", "[reader, writer]"):
        both = script("write.py", SIX_WRITE.replace("NAME", FILES) + SIX_READ.replace("NAME", FILES)) + " 0 6"
        write_flow(both, script("read.py", SIX_READ.replace("NAME", FILES)), readers=readers)
        run()


def kept():
    """Kept files, and those of burst-buffer logs, have the bytes of the files that netCDF itself writes."""
    os.makedirs("disk")
    harness.call(*six(FILES).replace("write.py", "../write.py").split(), cwd="disk", status=0)
    for more in (", keep: true", ", through: burst-buffer"):
        write_flow(six(FILES), script("read.py", SIX_READ.replace("NAME", FILES)), more=more)
        run()
        for i in range(6):
            expect(filecmp.cmp(f"a{i}.nc", f"disk/a{i}.nc", shallow=False), f"a{i}.nc has other bytes with{more}")
            os.remove(f"a{i}.nc")


def restarted():
    """A writer that is killed and started again goes on with its files."""
    lines = f"if [ ! -e begun ]; then touch begun; {six(FILES, 0, 4)}; kill -9 $$; fi; {PYTHON} write.py 4 6"
    write_flow(lines, "", reader=script("read.py", SIX_READ.replace("NAME", FILES)), writer_key="restarts: 1, restart-delay: 10ms")
    run()


def resumed():
    """A run that is killed as a whole goes on: files of burst-buffer logs are there again for netCDF readers, and others follow."""
    lines = f"if [ $1 -eq 0 ]; then {six(FILES, 0, 4)}; touch ready; sleep 100; else {PYTHON} write.py 4 6; fi"
    read = SIX_READ.replace("NAME", FILES).replace("for i", "import sys, time\nif sys.argv[1] == '0': time.sleep(100)\nfor i")
    command = script("read.py", read)
    write_flow(lines, "", writer="[sh, writer.sh, '{resume}']", reader=f"[{command.replace(' ', ', ')}, '{{resume}}']", more=", through: burst-buffer")
    first = harness.start(SLUICE, "run", "flow.yaml")
    while not os.path.exists("ready") and first.poll() is None:
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    finish(first)
    finish(harness.start(SLUICE, "run", "--resume", "flow.yaml"), 0)


def verified():
    """`sluice verify` compares what such programs write; what netCDF gets by hyperslabs in one run, and by the C library in the other, is left out."""
    os.makedirs("flow")
    os.chdir("flow")
    more = "with netCDF4.Dataset('a1.nc') as d, open('sum', 'w') as sum: sum.write(str(d['v'][:].sum()))\n"
    write_flow(six(FILES), script("read.py", SIX_READ.replace("NAME", FILES) + more) + "\ncp a2.nc copy.out")
    result = harness.call(SLUICE, "verify", "flow.yaml", status=0)
    expect("8 equal files" in result.out and "read by the C library: 1 equal file" in result.out, "what was compared")


R_WRITE = """
library(ncdf4)
x <- ncdim_def("x", "m", 1:4); t <- ncdim_def("t", "s", 1:3, unlim = TRUE)
v <- ncvar_def("v", "K", list(x, t), -1, prec = "double")
for (name in c("three.nc", "four.nc")) {
  d <- nc_create(name, v, force_v4 = name == "four.nc")
  for (i in 1:3) { ncvar_put(d, v, i * 1:4, start = c(1, i), count = c(4, 1)); nc_sync(d) }
  ncatt_put(d, "v", "note", "by R"); nc_close(d)
}
"""
R_READ = """
library(ncdf4)
for (name in c("three.nc", "four.nc")) {
  d <- nc_open(name)
  stopifnot(all(ncvar_get(d, "v") == outer(1:4, 1:3)), ncvar_get(d, "v", start = c(2, 3), count = c(1, 1)) == 6, ncatt_get(d, "v", "note")$value == "by R")
  nc_close(d)
}
"""


def tools():
    """R's ncdf4 writes both formats; R, CDO and ncdump, each with its own netCDF, make of them what they make of files on disk."""
    for name, lines in (("write.R", R_WRITE), ("read.R", R_READ)):
        with open(name, "w") as file:
            file.write(lines)
    here = os.getcwd()
    reads = f"Rscript {here}/read.R\n" + "".join(f"ncdump {name}.nc > {name}.dump\ncdo -s -infon {name}.nc > {name}.info\ncdo -s outputf,%g,4 -timmean {name}.nc > {name}.mean\n" for name in ("three", "four"))
    os.makedirs("disk")
    harness.call("sh", "-c", f"set -e\nRscript ../write.R\n{reads}", cwd="disk", status=0)
    write_flow("Rscript write.R", reads)
    run()
    for name in ("three.dump", "three.info", "three.mean", "four.dump", "four.info", "four.mean"):
        same_lines(name, "disk/" + name, "what is in " + name)


CASES = {each.__name__: each for each in (asked_lengths, xarray, queue, streams, jobs, own_files, kept, restarted, resumed, verified, tools)}
clear_directory()
CASES[case]()
