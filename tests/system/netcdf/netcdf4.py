#!/usr/bin/python3
"""netcdf4.py BUILD COUPLE CALLS CASE: netCDF-4 datasets go by hyperslabs; programs see what they see of such files on disk."""
import os
import sys

from flows import BYTES, PYTHON, compile_model, run, same_lines, script, write_flow  # before harness: it finds that
import harness
from harness import clear_directory, expect

build, couple, calls, case = sys.argv[1:5]
# The last file of a writer: a reader that has it sees all that was written before.
END = "printf 'netcdf end { dimensions: x = 1; }' | ncgen -o end.nc -\n"
LOOK = "ncdump -h end.nc > /dev/null\n"


def same_outputs(write, look, outputs, **keys):
    """The shell's lines write, and others look, under Sluice and on disk: what these print is the same."""
    os.makedirs("disk", exist_ok=True)
    harness.call("sh", "-ec", write + look, cwd="disk", status=0)
    write_flow(write + END, LOOK + look, **keys)
    result = run()
    for output in outputs:
        same_lines(output, "disk/" + output, output)
    return result


def random_calls(*seeds):
    """Right and wrong calls of netCDF-C return and give the same as on disk: to who creates, to who opens for writing again, and to the reader."""
    lines = {kind: "".join(f"{calls} {kind} c{seed}.nc {seed} > {kind}.{seed}\n" for seed in seeds) for kind in ("write4", "append4", "read4")}
    result = same_outputs(lines["write4"] + lines["append4"], lines["read4"], [f"{kind}.{seed}" for kind in lines for seed in seeds])
    expect(not os.path.exists(f"c{seeds[0]}.nc"), "a coupled file is on disk")
    return result


MODEL = """
import netCDF4, numpy
d = netCDF4.Dataset('a.nc', 'w')
d.title = 'a title'; d.numbers = numpy.arange(5, dtype='i2'); d.words = ['one', 'two']
d.createDimension('t', None); d.createDimension('x', 7); d.createDimension('u', None)
v = d.createVariable('temperature', 'f4', ('t', 'x'), zlib=True, fill_value=-5, chunksizes=(2, 7)); v.units = 'K'
two = d.createVariable('two', 'i2', ('t', 'u'), chunksizes=(2, 2)); labels = d.createVariable('labels', str, ('t',))
for i in range(4): v[i, :] = numpy.arange(7) + 10 * i
w = d.createVariable('number', 'i4', ('x',)); w[:] = numpy.arange(7) * 3
g = d.createGroup('g/h'); g.createDimension('y', 3); g.note = 'here'
q = g.createVariable('v', '>u8', ('y', 'x'), endian='big'); q[1] = numpy.arange(7) + 2**60
s = d.createVariable('names', str, ('x',)); s[0] = 'first'; s[6] = 'last'
pair = d.createCompoundType(numpy.dtype([('a', 'i4'), ('b', 'f8')]), 'pair'); g.createVariable('p', pair, ('y',))[0] = (1, 2.5)
colour = d.createEnumType('i1', 'colour', {'red': 0, 'blue': 1}); d.createVariable('k', colour, ('x',))[:] = 1
many = d.createVLType('i4', 'many'); d.createVariable('m', many, ('x',))[2] = numpy.arange(4, dtype='i4')
v[5, 2:5] = 99
assert v.shape == (6, 7) and v[2, 3] == 23 and labels.shape == (6,) and labels[5] == '', (v.shape, labels[:])
two[0:6, 0:3] = numpy.full((6, 3), 5); labels[1] = 'second'
w[::2] = -1
d.createVariable('scalar', 'f8')[...] = 3
d.renameVariable('number', 'count'); d.createVariable('number', 'i8', ('x',))[3] = 4
d.close()
"""
LOOKS = """
import netCDF4, xarray
d = netCDF4.Dataset('a.nc')
print(d, d.groups, d['temperature'], d['temperature'].filters(), d['temperature'].chunking(), d['g/h/v'].endian(), d.cmptypes, d.enumtypes, d.vltypes)
for name in ('temperature', 'two', 'labels', 'count', 'number', 'g/h/v', 'g/h/p', 'names', 'k', 'm', 'scalar'): print(name, d[name][:])
print(d['temperature'][1:6:2, ::3], d['g/h/v'][1, 6:2:-2])
print(xarray.open_dataset('a.nc').load(), xarray.open_dataset('a.nc', group='g/h').v[1].values)
"""


def model(**keys):
    """A dataset with all of netCDF-4's model: groups, types, strings, filters, several growing dimensions."""
    for name, lines in (("model.py", MODEL), ("looks.py", LOOKS)):
        with open(name, "w") as file:
            file.write(lines)
    here = os.path.abspath(".")
    look = f"ncdump -s a.nc > dump\n{PYTHON} {here}/looks.py > looks\nncks -v temperature a.nc part.txt && ncdump part.txt | sed 's/part//; /history/d; /NCO/d' > part\n"
    return same_outputs(f"{PYTHON} {here}/model.py\n", look + "cp a.nc copy.txt && ncdump -s copy.txt > copied\nh5dump -d /temperature a.nc > h5\n", ["dump", "looks", "part", "copied", "h5"], **keys)


def hyperslabs():
    """Each put is one of its own, and not a file."""
    row = next(line for line in model().all.splitlines() if line.startswith("a.nc")).split()
    expect(row[4] == "13", f"puts: {row}")


def by_bytes():
    """Readers that know nothing of hyperslabs get a file that is as good."""
    model(reader_key=BYTES)


def written_bytes():
    """What a writer writes by bytes is read as ever."""
    model(writer_key=BYTES)


def back():
    """A program reads, changes and copies what it has written."""
    change = "import netCDF4\nd = netCDF4.Dataset('a.nc'); print(d['temperature'][:], d['names'][:]); d.close()\n" \
             "d = netCDF4.Dataset('a.nc', 'a'); d['temperature'][7] = 8; d['names'][1] = 'second'; d.createVariable('late', 'i2', ('x',))[:] = 9; d.title = 'new'; d.close()\n"
    for name, lines in (("model.py", MODEL), ("change.py", change)):
        with open(name, "w") as file:
            file.write(lines)
    here = os.path.abspath(".")
    same_outputs(f"{PYTHON} {here}/model.py\n{PYTHON} {here}/change.py > own\ncp a.nc copy.txt\nncdump copy.txt > copied\n", "ncdump a.nc > dump\n", ["own", "copied", "dump"])


def to_pnetcdf():
    """A PnetCDF program on four ranks reads what ncgen writes as netCDF-4."""
    lines = [f"ncgen -k {kind} -o {name} {harness.cdl(name, 1001)}" for name, kind in (("four.nc", "nc4"), ("model.nc", "nc7"))]
    write_flow("\n".join(lines), "", reader=f"{couple} read four.nc 1001 whole four.nc 1001 halve model.nc 1001, ranks: 4")
    run()


XARRAY = """
import numpy, pandas, xarray
time = pandas.date_range('2000-01-01', periods=4)
s = xarray.Dataset({'v': (('time', 'x'), numpy.arange(12.).reshape(4, 3)), 'name': ('x', ['a', 'bb', 'ccc']), 'yes': ('x', [True, False, True])}, {'time': time, 'x': [1, 2, 3]}, {'title': 'a title'})
s.to_netcdf('a.nc', unlimited_dims=['time'], encoding={'v': {'zlib': True}})
s.to_netcdf('a.nc', mode='a', group='more')
"""


def xarrays():
    """xarray writes, with a second group in the same file, and xarray and ncdump read."""
    for name, lines in (("write.py", XARRAY), ("read.py", "import xarray\nfor group in (None, 'more'): print(xarray.open_dataset('a.nc', group=group).load())\n")):
        with open(name, "w") as file:
            file.write(lines)
    here = os.path.abspath(".")
    same_outputs(f"{PYTHON} {here}/write.py\n", f"{PYTHON} {here}/read.py > read\nncdump a.nc > dump\n", ["read", "dump"])


LIVE_WRITE = """
import netCDF4, os, time
d = netCDF4.Dataset('a.nc', 'w')
d.createDimension('t', None); d.createDimension('x', 3)
v = d.createVariable('v', 'f8', ('t', 'x'), zlib=True); label = d.createVariable('label', str, ('t',))
for i in range(3):
    v[i, :] = i + 1; label[i] = str(i)
    d.sync()
    while not os.path.exists(f'seen{i}'): time.sleep(0.01)
d.close()
"""
LIVE_READ = """
import netCDF4, time
d = netCDF4.Dataset('a.nc')
for i in range(3):
    while len(d.dimensions['t']) <= i:
        d.sync()
        time.sleep(0.01)
    assert d['v'][i].tolist() == [i + 1.0] * 3, d['v'][:]
    other = netCDF4.Dataset('a.nc'); assert len(other.dimensions['t']) == i + 1 and other['label'][i] == str(i); other.close()
    open(f'seen{i}', 'w').close()
d.close()
"""


def live():
    """With publish: sync a reader that has the file open sees each record that was synced; one that opens it again sees strings, too."""
    write_flow(script("write.py", LIVE_WRITE), script("read.py", LIVE_READ), more=", publish: sync")
    run()


AT_ONCE_WRITE = """
import netCDF4, os, time
d = netCDF4.Dataset('a.nc', 'w')
d.createDimension('x', 3); g = d.createGroup('g'); g.note = 'in time'
v = g.createVariable('v', 'i4', ('x',)); v[0] = 1
while not os.path.exists('seen'): time.sleep(0.01)
v[1:] = 2
d.close()
"""
AT_ONCE_READ = """
import netCDF4
d = netCDF4.Dataset('a.nc')
assert d.data_model == 'NETCDF4' and d['g'].note == 'in time' and d['g/v'][0] == 1
open('seen', 'w').close()
assert d['g/v'][:].tolist() == [1, 2, 2]
"""


def at_once():
    """With publish: write a reader gets elements and groups while the writer goes on."""
    write_flow(script("write.py", AT_ONCE_WRITE), script("read.py", AT_ONCE_READ), more=", publish: write")
    run()


STEPS_WRITE = """
import netCDF4, numpy
for i in range(40):
    d = netCDF4.Dataset(NAME, 'w'); d.number = i; d.createDimension('t', None)
    d.createVariable('v', 'f8', ('t',))[:] = numpy.arange(500) + i; d.createVariable('s', str)[0] = str(i)
    d.close()
"""
STEPS_READ = """
import netCDF4, numpy
for i in range(40):
    d = netCDF4.Dataset(NAME)
    assert d.number == i and (d['v'][:] == numpy.arange(500) + i).all() and d['s'][0] == str(i), (i, d.number)
    d.close()
"""


def steps():
    """Many steps that are alike but for their values, of names of their own, and of a stream."""
    for more, name in (("", "'a%d.nc' % i"), (", steps: stream", "'a.nc'")):
        write_flow(script("write.py", STEPS_WRITE.replace("NAME", name)), script("read.py", STEPS_READ.replace("NAME", name)), more=more)
        run()


def kept():
    """With keep: true the file on disk has all of netCDF-4's model."""
    model(more=", keep: true")
    harness.call("sh", "-ec", "ncdump -s a.nc > kept", status=0)
    same_lines("kept", "disk/dump", "the kept file")


BYPASSES = """
program model
  use netcdf
  integer :: id, g, x, t, v, w, chunks(2), size, slots, percent, level
  logical :: is_contiguous, shuffles
  real :: a(6) = (/ 1, 2, 3, 4, 5, 6 /)
  call ok(nf90_create('a.nc', nf90_netcdf4, id))
  call ok(nf90_def_dim(id, 'x', 6, x))
  call ok(nf90_def_dim(id, 't', nf90_unlimited, t))
  call ok(nf90_def_var(id, 'v', nf90_real, (/ x, t /), v, chunksizes=(/ 3, 2 /), &
    deflate_level=3, shuffle=.true., cache_size=4, cache_nelems=11, cache_preemption=40))
  call ok(nf90_def_grp(id, 'g', g))
  call ok(nf90_def_var(g, 'w', nf90_int, (/ x /), w, contiguous=.true.))
  call ok(nf90_inquire_variable(id, v, contiguous=is_contiguous, chunksizes=chunks, &
    deflate_level=level, shuffle=shuffles, cache_size=size, cache_nelems=slots, cache_preemption=percent))
  print *, is_contiguous, chunks, level, shuffles, size, slots, percent
  call ok(nf90_inquire_variable(g, w, contiguous=is_contiguous))
  print *, is_contiguous, nf90_def_var(id, 'bad', nf90_real, (/ x /), v, chunksizes=(/ 7 /)) == nf90_noerr
  call ok(nf90_put_var(id, 1, a, start=(/ 1, 2 /), count=(/ 6, 1 /)))
  call ok(nf90_close(id))
"""


def bypasses():
    """netCDF-Fortran asks for chunks and caches past the table of a format, and gets what it gets on disk."""
    compile_model(BYPASSES)
    os.makedirs("disk")
    os.link("model", "disk/model")
    same_outputs("./model > said\n", "ncdump -hs a.nc | grep -v -e _Fill -e _NCPr > head\nncdump a.nc > values\n", ["said", "head", "values"])


LARGE = """
import netCDF4, numpy
d = netCDF4.Dataset('a.nc', 'w')
d.createDimension('t', None); d.createDimension('z', 5); d.createDimension('y', 1000); d.createDimension('x', 500)
whole = numpy.arange(2500000).reshape(5, 1000, 500)
d.createVariable('plain', 'f8', ('z', 'y', 'x'))[:] = whole
d.createVariable('other_order', '>i8', ('z', 'y', 'x'), endian='big')[:] = whole * 3
d.createVariable('half', 'f8', ('z', 'y', 'x'), fill_value=-7)[1:3] = whole[1:3]
d.createVariable('chunks', 'f8', ('z', 'y', 'x'), chunksizes=(2, 700, 300), zlib=True, complevel=1)[:] = whole * 5
d.createVariable('scalar', 'f8')[...] = 11
one = d.createVariable('one', 'i8', ('t', 'y', 'x'), chunksizes=(3, 100, 500)); two = d.createVariable('two', 'i2', ('t', 'x'))
for i in range(8): one[i] = whole[i % 5] + i; two[i] = i
d.close()
"""
SUMS = """
import hashlib, netCDF4
d = netCDF4.Dataset('copy.txt')
for name, v in d.variables.items(): print(name, v.shape, v.chunking(), hashlib.sha256(v[:].filled().tobytes()).hexdigest())
"""


def large_by_bytes():
    """A program that reads bytes gets all values of variables of many megabytes: with and without chunks, records, and a fill value."""
    for name, lines in (("large.py", LARGE), ("sums.py", SUMS)):
        with open(name, "w") as file:
            file.write(lines)
    here = os.path.abspath(".")
    same_outputs(f"{PYTHON} {here}/large.py\n", f"cp a.nc copy.txt\n{PYTHON} {here}/sums.py > sums\n", ["sums"])


REMOVED = """
import netCDF4, os
def make(name, value, **keys):
    d = netCDF4.Dataset(name, 'w', **keys); d.createDimension('t', None); d.createVariable('v', 'i4', ('t',))[0] = value
    return d
def look(*names): print([(name, os.path.exists(name)) for name in names])
for keys in {}, {'format': 'NETCDF3_CLASSIC'}:
    first = make('a.nc', 1, **keys); os.remove('a.nc'); look('a.nc'); first['v'][1] = 5
    second = make('a.nc', 2, **keys); look('a.nc')
    first.sync(); first.close(); look('a.nc'); second['v'][1] = 3; second.close(); look('a.nc')
    gone = make('b.nc', 1, **keys); gone.sync(); os.remove('b.nc'); gone.close(); look('b.nc')
    try: os.remove('b.nc')
    except FileNotFoundError: print('not there')
    for i in range(4): make('c.nc', i, **keys).close()
    gone = make('c.nc', 9, **keys); os.remove('c.nc'); look('c.nc'); gone.close(); look('c.nc')
    moved = make('d.nc', 4, **keys); os.rename('d.nc', 'e.nc'); moved['v'][1] = 6; look('d.nc', 'e.nc')
    other = make('d.nc', 8, **keys); moved.close(); look('d.nc', 'e.nc'); os.rename('d.nc', 'f.nc'); os.rename('f.nc', 'g.nc'); other.close()
    print(netCDF4.Dataset('e.nc')['v'][:], netCDF4.Dataset('g.nc')['v'][:]); look('d.nc', 'f.nc')
    make('h.nc', 1, **keys).close(); moved = make('i.nc', 2, **keys); os.rename('i.nc', 'h.nc'); moved.close(); print(netCDF4.Dataset('h.nc')['v'][:])
"""


def removed():
    """What a program removes or renames while it writes it, readers get by the name that it has at the end, if any; another file may get the former one."""
    with open("removed.py", "w") as file:
        file.write(REMOVED)
    look = "for i in a e g h; do ncdump $i.nc; done > dump\nfor i in b c d f i; do test ! -e $i.nc; done\n"
    same_outputs(f"{PYTHON} {os.path.abspath('.')}/removed.py > said\n", look, ["said", "dump"], reader_key="start: when-done")


CASES = {"removed": removed, "bypasses": bypasses, "large_by_bytes": large_by_bytes, "model": hyperslabs, "by_bytes": by_bytes, "written_bytes": written_bytes, "back": back, "to_pnetcdf": to_pnetcdf, "xarrays": xarrays, "live": live, "at_once": at_once, "steps": steps, "kept": kept}
clear_directory()
if case.startswith("calls"):
    random_calls(*range(int(case[5:]), int(case[5:]) + 6))
else:
    CASES[case]()
