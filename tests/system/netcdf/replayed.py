#!/usr/bin/python3
"""replayed.py BUILD CALLS CASE: many netCDF-4 files of one process, most of which are defined by the same calls, are as on disk."""
import os
import sys

from flows import PYTHON, run, same_lines, write_flow  # before harness: it finds that
import harness
from harness import clear_directory, expect, text

calls, case = sys.argv[2:4]
END = "printf 'netcdf end { dimensions: x = 1; }' | ncgen -o end.nc -\n"
LOOK = "ncdump -h end.nc > /dev/null\n"


def same_as_on_disk(write, look, outputs, **keys):
    """The shell's lines write, and others look, under Sluice and on disk: what these print is the same."""
    os.makedirs("disk", exist_ok=True)
    harness.call("sh", "-ec", write + look, cwd="disk", status=0)
    write_flow(write + END, LOOK + look, rule="*.nc*", **keys)
    run()
    for output in outputs:
        same_lines(output, "disk/" + output, output)


def run_steps(seeds, **keys):
    """Nine files, each with the calls of the first one up to a random place. Returns the shadows that the writers and readers have made."""
    lines = {kind: "".join(f"{calls} {kind} c{seed}.nc {seed} > {kind}.{seed} 2> made.{kind}.{seed}\n" for seed in seeds) for kind in ("steps4", "looks4")}
    write_flow(lines["steps4"] + END, LOOK + lines["looks4"], rule="*.nc*", **keys)
    run()
    return [[int(text(f"made.{kind}.{seed}").split()[0]) for seed in seeds] for kind in lines]


def random_calls(seeds):
    """Results, errors and inquiries are the same with and without replay, which makes fewer shadows."""
    made = run_steps(seeds, more=", replay: off")
    expect(made == [[9] * len(seeds)] * 2, f"shadows of nine files without replay: {made}")
    outputs = [f"{kind}.{seed}" for kind in ("steps4", "looks4") for seed in seeds]
    for output in outputs:
        os.rename(output, "off." + output)
    made = run_steps(seeds)
    expect(all(sum(counts) <= 7 * len(seeds) for counts in made), f"shadows of nine files: {made}")  # files with values in the shadow are not replayed
    for output in outputs:
        same_lines(output, "off." + output, output)


MODEL = """
import netCDF4, numpy
def begin(name, x, note):
    d = netCDF4.Dataset(name, 'w'); d.createDimension('t', None); d.createDimension('x', x); d.note = note
    v = d.createVariable('v', 'f4', ('t', 'x'), zlib=True, fill_value=-5); v.units = 'K'; v[0] = numpy.arange(x)
    g = d.createGroup('g/h'); g.createDimension('y', 3); g.numbers = numpy.arange(4, dtype='i2')
    g.createEnumType('i1', 'colour', {'red': 0, 'blue': 1})
    g.createCompoundType(numpy.dtype([('a', 'i4'), ('b', 'f8')]), 'pair')
    return d
def end(d, i):
    w = d['g/h'].createVariable('w', '>u8', ('y', 'x'), endian='big', chunksizes=(1, 2)); w[:] = i
    w.words = ['one', 'two']
    d.renameVariable('v', 'temperature'); d['temperature'][i % 3] = i
    d.sync(); d.close()
for i in range(8):
    d = begin(f'a.nc{i}', 5 if i == 4 else 4, 'late' if i > 5 else 'early')
    other = begin(f'b.nc{i}', 4, 'early')
    if i == 3: del d['v'].units
    end(other, i); end(d, i)
"""
LOOKS = """
import netCDF4
for i in range(8):
    for name in (f'a.nc{i}', f'b.nc{i}'):
        d = netCDF4.Dataset(name)
        print(d, d['temperature'], d['temperature'][:], d['g/h/w'], d['g/h/w'][:], d['g/h/w'].chunking(), d['g/h'].numbers, d['g/h'].enumtypes, d['g/h'].cmptypes)
        if i % 2: d['temperature'].set_var_chunk_cache(1000, 10, 0.5)
        print(d['temperature'].get_var_chunk_cache())
        d.close()
"""


def model(**keys):
    """Two files are open at once, with groups, types, strings, names and attributes that change in some of them."""
    for name, lines in (("model.py", MODEL), ("looks.py", LOOKS)):
        with open(name, "w") as file:
            file.write(lines)
    here = os.path.abspath(".")
    dumps = "for i in 0 1 2 3 4 5 6 7; do ncdump -n file -s a.nc$i; ncdump -n file -s b.nc$i; done > dumps\n"
    same_as_on_disk(f"{PYTHON} {here}/model.py\n", f"{PYTHON} {here}/looks.py > looks\n" + dumps, ["looks", "dumps"], **keys)


def attributes():
    """Definitions are replayed where attributes have other values in each file, and readers, images and the disk have those."""
    dumps = "for i in $(seq 0 15); do ncdump -n file -s v.nc.$i; cp v.nc.$i copy; ncdump -n file copy; done > dumps\n"
    same_as_on_disk(f"{calls} put_varied4 v.nc 1 > puts 2> made.puts\n", f"{calls} get_varied4 v.nc 1 > gets 2> made.gets\n" + dumps, ["puts", "gets", "dumps"], reader_key="start: when-done", more=", keep: true")
    harness.call("sh", "-ec", dumps, status=0)
    same_lines("dumps", "disk/dumps", "the kept files")
    made = [int(text("made." + kind).split()[0]) for kind in ("puts", "gets")]
    expect(made[0] <= 8 and made[1] <= 9, f"shadows of 16 files: {made}")


clear_directory()
if case.startswith("calls"):
    random_calls(range(int(case[5:]), int(case[5:]) + 6))
else:
    {"model": model, "attributes": attributes}[case]()
