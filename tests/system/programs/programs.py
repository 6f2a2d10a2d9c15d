#!/usr/bin/python3
"""programs.py BUILD CASE [PROGRAM]: tools of Debian read the files of a run. Each must make of them what it makes of the files that a run with `keep: true` leaves,
bit for bit: what it prints, and what it writes. A case whose tools are not installed is skipped."""
import filecmp
import os
import shutil
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import call, clear_directory, expect, finish, launch, start

build, case = sys.argv[1:3]
program = sys.argv[3] if len(sys.argv) > 3 else None
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's modules
MODEL = f"{build}/examples/tsunami --flat-depth 4000 --resolution-minutes 120 --hours 1 --output-minutes 20"  # wave_0001.nc … wave_0004.nc
FLOW = """version: 1
name: test
staging: {prewarm: 0}
components:
  model: {command: MODEL, ranks: 2, directory: coupled}
  again: {command: MODEL, ranks: 2, directory: kept}
  reader: {command: sh reader.sh, directory: coupled}
files:
  - {path: "coupled/wave_*.nc", writer: model, readers: [reader]}
  - {path: "kept/wave_*.nc", writer: again, readers: [reader], keep: true}
"""


def need(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            skip(tool)


def need_modules(*modules):
    for module in modules:
        if start(PYTHON, "-c", f"import {module}").wait() != 0:
            skip("Python's " + module)


def skip(what):
    print(f"SKIPPED: {what} is not installed")
    sys.exit(77)


def script(commands):
    """What each command prints goes to a file of its own."""
    lines = ["set -e", "mkdir -p out"] + [f"{{ {command}\n}} > out/{i}.txt" for i, command in enumerate(commands)]
    return "\n".join(lines) + "\n"


def differing(one, other):
    """Files of two directories whose bytes differ, or that are in one of them alone."""
    found = []
    for name in sorted({*os.listdir(one), *os.listdir(other)}):
        a, b = os.path.join(one, name), os.path.join(other, name)
        if os.path.isdir(a) and os.path.isdir(b):
            found += differing(a, b)
        elif not (os.path.isfile(a) and os.path.isfile(b) and filecmp.cmp(a, b, shallow=False)):
            found.append(a)
    return found


def run_coupled(commands, files=None):
    """The commands in a run; what they print is in coupled/out/. The model's files are kept in kept/."""
    for directory in ("coupled", "kept"):
        os.makedirs(directory)
        for name, text in {"reader.sh": script(commands), **(files or {})}.items():
            with open(f"{directory}/{name}", "w") as file:
                file.write(text)
    with open("flow.yaml", "w") as flow:
        flow.write(FLOW.replace("MODEL", MODEL))
    finish(start(build + "/bin/sluice", "run", "flow.yaml"), 0)
    expect(not [name for name in os.listdir("coupled") if name.endswith(".nc")], "coupled files are on the disk")


def compare(*commands, files=None):
    """The commands in a run, and on the files that a run has kept: the contents of out/ must be the same."""
    run_coupled(commands, files)
    expect(len([name for name in os.listdir("kept") if name.endswith(".nc")]) == 4, "the kept files")
    finish(start("sh", "reader.sh", cwd="kept"), 0)
    found = differing("coupled/out", "kept/out")
    for name in found[:5]:
        finish(start("diff", "-a", name, name.replace("coupled/", "kept/", 1)))
    expect(not found, "different: " + ", ".join(found))


def netcdf():
    need("ncdump", "nccopy", "ncgen")
    compare("ncdump wave_0002.nc", "ncdump -k wave_0002.nc", "ncdump -h -s wave_0003.nc", "nccopy wave_0002.nc out/copied.nc", "nccopy -k cdf5 wave_0002.nc out/cdf5.nc",
            "ncdump wave_0002.nc | ncgen -o out/made.nc")


def nco():
    need("ncks")
    three = "wave_0001.nc wave_0002.nc wave_0003.nc"
    compare("ncks -O -h -v sea_level wave_0002.nc out/ncks.nc", "ncks --trd -H -d latitude,10 -v sea_level wave_0002.nc", f"ncra -O -h {three} out/ncra.nc",
            "ncra -O -h -n 4,4,1 wave_0001.nc out/ncra_n.nc", f"nces -O -h {three} out/nces.nc", f"ncrcat -O -h {three} out/ncrcat.nc", "ncwa -O -h -a latitude wave_0003.nc out/ncwa.nc",
            "ncatted -O -h -a title,global,o,c,another wave_0003.nc out/ncatted.nc", "ncdiff -O -h wave_0003.nc wave_0001.nc out/ncdiff.nc",
            "ncap2 -O -h -s 'speed=sqrt(eastward_velocity^2+northward_velocity^2)' wave_0003.nc out/ncap2.nc", "ncrename -O -h -v sea_level,eta wave_0003.nc out/ncrename.nc",
            "ncpdq -O -h -a -latitude wave_0003.nc out/ncpdq.nc", "ncflint -O -h -w 0.5,0.5 wave_0001.nc wave_0003.nc out/ncflint.nc")


def cdo():
    need("cdo")
    quietly, three = "cdo -s --no_history", "wave_0001.nc wave_0002.nc wave_0003.nc"
    compare("cdo -s info wave_0002.nc", "cdo -s sinfo wave_0002.nc", f"{quietly} fldmean wave_0003.nc out/fldmean.nc", f"{quietly} mergetime {three} out/merged.nc",
            f"{quietly} ensmean {three} out/ensmean.nc", f"{quietly} -timmax -cat {three} out/timmax.nc")


def modules():
    """Modules of Python that have C libraries of their own, and what Python itself does with files."""
    need_modules("netCDF4", "scipy.io", "numpy")
    compare(f"{PYTHON} look.py", files={"look.py": """
import concurrent.futures, hashlib, multiprocessing, os, pathlib, pickle, shutil, subprocess
import netCDF4, numpy
from scipy.io import netcdf_file

def sum_of(data):
    return hashlib.md5(bytes(data)).hexdigest()

def sum_of_file(number):
    return sum_of(pathlib.Path('wave_%04d.nc' % number).read_bytes())

if __name__ == '__main__':
    with netCDF4.Dataset('wave_0002.nc') as file:
        print(file, sum_of(file['sea_level'][:].tobytes()))
    with netCDF4.MFDataset(['wave_%04d.nc' % i for i in (1, 2, 3)], aggdim='time') as files:
        print(sum_of(files['sea_level'][:].tobytes()))
    with open('wave_0004.nc', 'rb') as file:
        print(netCDF4.Dataset('memory', memory=file.read())['time'][:])
    for mapped in (True, False):
        file = netcdf_file('wave_0003.nc', mmap=mapped)
        level = file.variables['sea_level']
        print(level.shape, sum_of(level.data.tobytes()))
        del level
        file.close()
    print(numpy.memmap('wave_0002.nc', mode='r').sum(), sum_of(numpy.fromfile('wave_0002.nc', dtype='u1')))
    shutil.copy('wave_0001.nc', 'out/copy.nc')
    shutil.copy2('wave_0002.nc', 'out/copy2.nc')
    shutil.copyfile('wave_0003.nc', 'out/copyfile.nc')
    path = pathlib.Path('wave_0002.nc')
    print(path.exists(), path.is_file(), path.is_symlink(), path.stat().st_size, path.stat().st_nlink, path.resolve().name, os.path.realpath(path) == os.path.abspath(path))
    print(path.samefile(os.path.join(os.getcwd(), 'wave_0002.nc')), path.samefile('wave_0003.nc'), isinstance(os.listxattr(path), list))
    print(subprocess.check_output(['ncdump', '-h', 'wave_0003.nc'], text=True), subprocess.check_output('md5sum < wave_0004.nc', shell=True, text=True))
    with multiprocessing.get_context('fork').Pool(2) as pool:
        print(pool.map(sum_of_file, [1, 2, 3, 4]))
    with multiprocessing.get_context('spawn').Pool(2) as pool:
        print(pool.map(sum_of_file, [4, 3, 2, 1]))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        print(list(pool.map(sum_of_file, [1, 2, 3, 4])))
"""})


def xarray():
    """Lazily by dask, with a pool of threads, and by two different engines."""
    need_modules("xarray", "dask", "pandas", "netCDF4", "scipy.io")
    compare(f"{PYTHON} look.py", files={"look.py": """
import hashlib, pathlib
import xarray

def tell(array):
    print(array.shape, hashlib.md5(array.values.tobytes()).hexdigest())

names = ['wave_%04d.nc' % i for i in (1, 2, 3, 4)]
for engine in ('netcdf4', 'scipy'):
    with xarray.open_dataset(names[1], engine=engine) as data:
        print(data)
        tell(data.sea_level)
with xarray.open_mfdataset(names, chunks={'latitude': 20}) as data:
    tell(data.sea_level.mean('time'))
    print(float(data.sea_level.max()))
with xarray.open_mfdataset(names, engine='scipy', parallel=True, combine='nested', concat_dim='time') as data:
    tell(data.eastward_velocity.std('time'))
with xarray.open_dataset(pathlib.Path(names[2]).resolve()) as data:
    print(data.sea_level.to_dataframe().describe())
    data.to_netcdf('out/written.nc', format='NETCDF3_64BIT')
"""})


def r():
    need("Rscript")
    if start("Rscript", "-e", "library(ncdf4)").wait() != 0:
        skip("R's ncdf4")
    compare("Rscript look.R", files={"look.R": """
library(ncdf4)
file <- nc_open("wave_0002.nc")
print(names(file$var))
level <- ncvar_get(file, "sea_level")
print(dim(level))
print(sum(level), digits = 17)
nc_close(file)
print(file.exists("wave_0003.nc"))
print(file.size("wave_0003.nc"))
print(file.copy("wave_0003.nc", "out/copy.nc"))
print(normalizePath("wave_0003.nc") == file.path(getwd(), "wave_0003.nc"))
print(unname(tools::md5sum("wave_0003.nc")))
print(length(readBin("wave_0004.nc", "raw", 1e6)))
"""})


def gdal():
    need("gdalinfo", "gdal_translate")
    compare("gdalinfo wave_0002.nc", "gdalinfo -stats NETCDF:wave_0003.nc:sea_level", "gdal_translate -q -of AAIGrid NETCDF:wave_0004.nc:sea_level out/level.asc",
            "gdalmdiminfo wave_0002.nc | grep -v description")


def fortran():
    """A program with netCDF-Fortran, which asks with `inquire` first."""
    compare(program)


def calls():
    """calls.c."""
    run_coupled([program])


def copies():
    """Programs that copy, pack and compare."""
    need("rsync", "zip", "gzip")
    compare("cp wave_0001.nc out/cp.nc", "cp -p wave_0002.nc out/cp_p.nc", "cp -a wave_0003.nc out/cp_a.nc", "cp --sparse=always --reflink=auto wave_0004.nc out/cp_sparse.nc",
            "install -m 600 wave_0001.nc out/installed.nc", "rsync wave_0002.nc out/rsync.nc", "rsync -aHAX wave_0003.nc out/rsync_a.nc", "cat wave_0001.nc wave_0002.nc",
            "dd if=wave_0003.nc bs=4k skip=1 count=2 status=none", "gzip -c wave_0001.nc | gunzip", "tar cf - wave_0002.nc wave_0003.nc | tar xOf -",
            "zip -q out.zip wave_0004.nc && unzip -p out.zip", "md5sum wave_0001.nc wave_0002.nc", "sha256sum < wave_0003.nc", "cmp wave_0002.nc wave_0003.nc || true", "cmp wave_0004.nc ./wave_0004.nc",
            "diff wave_0002.nc wave_0003.nc || true", "split -b 20000 wave_0001.nc out/part", "head -c 100 wave_0002.nc", "tail -c 100 wave_0002.nc", "wc wave_0003.nc")


def looks():
    """Programs that ask what a file is."""
    need("file", "perl", "gawk")
    compare("ls wave_0001.nc", "ls -l wave_0001.nc | cut -d ' ' -f 1-5", "stat -c '%n %s %F %a %h %u' wave_0002.nc", "du -b wave_0003.nc", "file wave_0001.nc",
            "find wave_0001.nc wave_0002.nc -newer reader.sh -type f -size +1k", "[ -f wave_0001.nc ] && [ -s wave_0001.nc ] && [ -r wave_0001.nc ] && ! [ -d wave_0001.nc ] && ! [ -L wave_0001.nc ]",
            "bash -c '[[ wave_0002.nc -nt reader.sh ]]'", "basename $(realpath wave_0001.nc)", "basename $(readlink -f wave_0001.nc)", "! readlink wave_0001.nc",
            "[ $(realpath wave_0003.nc) = $PWD/wave_0003.nc ]", "od -c wave_0004.nc | head -3", "strings wave_0001.nc", "grep -c -a sea_level wave_0002.nc", "sed -n 1p wave_0003.nc",
            r"""perl -e 'use Cwd "abs_path"; open F, "<", "wave_0001.nc"; binmode F; local $/; print unpack("%32C*", <F>), " ", -s "wave_0002.nc", " ", abs_path("wave_0003.nc") =~ s/.*\///r'""",
            """gawk 'BEGIN { BINMODE = 3; RS = "^$"; getline x < "wave_0001.nc"; print length(x) }'""", "df --output=target wave_0001.nc > /dev/null")


def languages():
    """Other languages, and scripts as people write them: a loop until a file is there, a rule of make, JSON by way of NCO."""
    need("make", "node", "tclsh", "jq", "ncks", "cdo", "xz", "csplit")
    need_modules("xarray", "dask", "pandas")
    compare("node -e \"const fs = require('fs'); const data = fs.readFileSync('wave_0001.nc'); console.log(data.length, fs.statSync('wave_0002.nc').size)\"",
            "echo 'set f [open wave_0003.nc rb]; puts [string length [read $f]]; puts [file size wave_0002.nc]' | tclsh", "ncks --jsn -v sea_level -d latitude,3 wave_0002.nc | jq -c '.variables.sea_level.type'",
            "ncks --cdl -m wave_0003.nc | grep -c float", "make -s -f rules", "until [ -s wave_0004.nc ]; do sleep 1; done; cksum wave_0004.nc", "xz -c wave_0002.nc | xz -dc | b2sum", "csplit -s -f out/piece wave_0001.nc 2",
            "ncecat -O -h wave_0001.nc wave_0002.nc out/ncecat.nc", "ncbo -O -h --op_typ=mlt wave_0002.nc wave_0003.nc out/ncbo.nc", "ncks -O -h -d latitude,2,30,4 wave_0002.nc out/part.nc",
            "cdo -s griddes wave_0002.nc", "cdo -s showname wave_0003.nc", "cdo -s --no_history sub wave_0003.nc wave_0001.nc out/sub.nc", "cdo -s outputtab,value -fldmax -selname,sea_level wave_0004.nc", f"{PYTHON} look.py",
            "for name in wave_000?.nc; do test -f $name && echo is there; done | sort -u", "tail -c +1 -f --pid=$$ wave_0002.nc | head -c 1000 | b2sum", files={"rules": """
all: out/one.sum out/two.sum
out/%.sum: names/%
\t@cksum $$(cat $<) > $@
names/one:
\t@mkdir -p names; echo wave_0001.nc > $@
names/two: wave_0002.nc
\t@mkdir -p names; echo $< > $@
""", "look.py": """
import glob, mmap, os, sys
import pandas, xarray
names = ['wave_%04d.nc' % i for i in (1, 2, 3)]
assert all(os.path.getmtime(name) > 0 for name in names)
with xarray.open_mfdataset(names, combine='nested', concat_dim='time', chunks={'time': 1}) as data:
    print(float(data.sea_level.max()), data.sea_level.shape)
print(pandas.Series(xarray.open_dataset('wave_0004.nc').sea_level.values.ravel()).describe())
with open('wave_0003.nc', 'rb') as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
    print(memory.find(b'sea_level'), len(memory))
"""})


def ncmpi():
    """PnetCDF's tools that read files by themselves."""
    need("ncvalidator", "ncoffsets")
    compare("ncvalidator wave_0001.nc", "ncoffsets -sgr wave_0002.nc")


def parallel_writer():
    """netCDF-C's parallel interface over PnetCDF writes: serial netCDF-C reads, and PnetCDF."""
    need("ncdump")
    with open("flow.yaml", "w") as flow:
        flow.write(f"""version: 1
components:
  model: {{command: {program} write a.nc, ranks: 2}}
  dump: {{command: "sh -c 'ncdump a.nc > dump; cp a.nc copy'"}}
files:
  - {{path: a.nc, writer: model, readers: [dump]}}
""")
    finish(start(build + "/bin/sluice", "run", "flow.yaml"), 0)
    expect(not os.path.exists("a.nc"), "a.nc is on the disk")
    os.mkdir("direct")
    launch(2, program, "write", "a.nc", cwd="direct", status=0)
    expect(filecmp.cmp("copy", "direct/a.nc", shallow=False), "the bytes differ")
    with open("dump") as dump:
        expect(dump.read() == call("ncdump", "a.nc", cwd="direct", status=0).out, "ncdump's text differs")


def parallel_reader():
    """Programs with MPI that look at a file's first bytes, or read all of it, without PnetCDF's shared library: netCDF-C's parallel interface, PnetCDF's tools."""
    need("ncmpidump", "ncmpidiff")
    with open("flow.yaml", "w") as flow:
        flow.write(f"""version: 1
staging: {{prewarm: 0}}
components:
  model: {{command: {program} write a.nc, ranks: 2}}
  two: {{command: {program} read a.nc, ranks: 2}}
  one: {{command: {program} read a.nc, ranks: 1}}
  dump: {{command: "sh -c 'ncmpidump a.nc > dump'"}}
  difference: {{command: ncmpidiff a.nc a.nc, ranks: 2}}
files:
  - {{path: a.nc, writer: model, readers: [two, one, dump, difference]}}
""")
    finish(start(build + "/bin/sluice", "run", "flow.yaml"), 0)
    expect(not os.path.exists("a.nc"), "a.nc is on the disk")
    os.mkdir("direct")
    launch(2, program, "write", "a.nc", cwd="direct", status=0)
    with open("dump") as dump:
        expect(dump.read() == call("ncmpidump", "a.nc", cwd="direct", status=0).out, "ncmpidump's text differs")


def chain(writer, *reader, files=None, publish="close"):
    """One component writes files w_*, another one reads them: as one after the other on the disk. The contents of out/ must be the same. `publish: exit` is for programs
    that open a file again after they have closed it."""
    for directory in ("coupled", "direct"):
        os.makedirs(directory)
        for name, text in {"writer.sh": "\n".join(["set -e", *writer]) + "\n", "reader.sh": script(reader), **(files or {})}.items():
            with open(f"{directory}/{name}", "w") as file:
                file.write(text)
            os.utime(f"{directory}/{name}", (1e9, 1e9))
    with open("flow.yaml", "w") as flow:
        flow.write(f"""version: 1
staging: {{prewarm: 0}}
components:
  writer: {{command: sh writer.sh, directory: coupled}}
  reader: {{command: sh reader.sh, directory: coupled}}
files:
  - {{path: "coupled/w_*", writer: writer, readers: [reader], publish: {publish}}}
""")
    finish(start(build + "/bin/sluice", "run", "flow.yaml"), 0)
    expect(not [name for name in os.listdir("coupled") if name.startswith("w_")], "coupled files are on the disk")
    for part in ("writer.sh", "reader.sh"):
        finish(start("sh", part, cwd="direct"), 0)
    found = differing("coupled/out", "direct/out")
    for name in found[:5]:
        finish(start("diff", "-a", name, name.replace("coupled/", "direct/", 1)))
    expect(not found, "different: " + ", ".join(found))


CDL = "netcdf in { dimensions: time = UNLIMITED ; x = 40 ; variables: double time(time) ; float v(time, x) ; v:units = \"m\" ; data: time = 1, 2 ; v = %s ; }" % ", ".join(map(str, range(80)))


def writers_shell():
    """What shells and their tools write."""
    need("rsync", "gzip")
    names = ["a.txt", "b.txt", "c.txt", "cp", "p", "mv", "tar", "gz", "dd", "rsync", "tee", "sorted", "split_aa", "split_ab", "a blank", "empty", "installed", "facts"]
    chain(["echo one > w_a.txt", "echo one > w_b.txt", "echo two >> w_b.txt", "{ echo first; (echo second; date +%C); } > w_c.txt", "cp reader.sh w_cp", "cp -p reader.sh w_p",
           "cp reader.sh temporary; mv temporary w_mv", "tar cf w_tar --owner=0 --group=0 --numeric-owner writer.sh reader.sh", "gzip -n -c reader.sh > w_gz", "dd if=reader.sh of=w_dd bs=7 status=none",
           "rsync reader.sh w_rsync", "seq 1000 | tee w_tee > /dev/null", "seq 1000 -1 1 | sort -n -o w_sorted", "split -n 2 reader.sh w_split_",
           "echo x > 'w_a blank'", ": > w_empty", "install -m 640 reader.sh w_installed", "chmod 600 w_a.txt", "touch -d 2020-02-02 w_a.txt",
           "chown -h $(id -u) w_a.txt", "stat -c %a w_a.txt > w_facts", "! chmod 600 w_none", "touch written"],
          "until test -e written; do sleep 0.05; done", *[f"md5sum 'w_{name}'" for name in names], "cat w_b.txt w_c.txt", "tar xOf w_tar reader.sh", "wc -c w_p w_empty")


def writers_netcdf():
    """netCDF's own tools, NCO and CDO write, other ones read; classic files are the same byte for byte."""
    need("ncgen", "ncks", "cdo", "h5dump")
    quietly = "cdo -s --no_history"
    chain(["ncgen -o w_ncgen.nc in.cdl", "ncgen -o in.nc in.cdl", "nccopy -k cdf5 in.nc w_cdf5.nc", "nccopy -k nc4 -d 1 in.nc w_nc4.nc", "ncap2 -O -h -s 'w=2*v' in.nc w_ncap2.nc",
           "ncks -O -h -v v in.nc w_ncks.nc", "ncatted -O -h -a units,v,o,c,km in.nc w_ncatted.nc", "ncks -O -h -v time in.nc w_more.nc", "ncks -A -h -v v in.nc w_more.nc",
           "ncra -O -h -v v in.nc w_ncra.nc", f"{quietly} -f nc2 timmean in.nc w_cdo.nc", f"{quietly} -f nc4 copy in.nc w_cdo4.nc"],
          *[f"md5sum w_{name}.nc" for name in ("ncgen", "cdf5", "ncap2", "ncks", "ncatted", "more", "ncra", "cdo")], "ncdump w_nc4.nc", "h5dump w_nc4.nc | tail -n +2 | head -5", "ncdump w_cdo4.nc",
          "ncrcat -O -h w_ncgen.nc w_cdf5.nc out/both.nc", f"{quietly} mergetime w_cdo.nc w_ncgen.nc out/merged.nc", "ncdiff -O -h w_ncatted.nc w_ncgen.nc out/difference.nc", files={"in.cdl": CDL}, publish="exit")


def writers_hdf5():
    """The tools of HDF5. h5copy leaves references behind that lead nowhere, and h5dump prints of those what is in its memory by chance."""
    need("h5repack", "h5diff", "h5dump", "h5ls", "h5copy", "nccopy")
    chain(["ncgen -k nc4 -o in.h5 in.cdl", "cp in.h5 w_in.h5", "h5repack -f GZIP=3 -l time:CHUNK=1 in.h5 w_packed.h5", "h5repack in.h5 w_again.h5", "h5copy -i in.h5 -o w_copied.h5 -s v -d w"],
          "h5diff w_packed.h5 w_in.h5 && echo equal", "h5diff w_again.h5 w_packed.h5 && echo equal", "h5ls -r w_packed.h5 | cut -c 1-30", "h5dump -d w w_copied.h5 | tail -n +2 | grep -v '^ *(0): (.* \"\"), ('", "h5dump -H w_packed.h5 | tail -n +2",
          "nccopy -3 w_packed.h5 out/classic.nc", "ncdump -h w_in.h5 | tail -n +2", files={"in.cdl": CDL}, publish="exit")


def writers_edited():
    """Databases, archives, and programs that change a file in its place."""
    need("sqlite3", "zip", "unzip", "ed", "perl", "vim", "patch", "node", "tclsh")
    chain(["sqlite3 w_table.db 'create table t(a, b); insert into t values(1, 2), (3, 4);'", "sqlite3 w_table.db 'insert into t select a + 10, b from t; vacuum;'", "echo one > w_sed.txt", "sed -i s/one/two/ w_sed.txt",
           "echo one > w_perl.txt", "perl -i -pe s/one/three/ w_perl.txt", "printf 'a\\nb\\n' > w_ed.txt", "printf '1d\\nw\\nq\\n' | ed -s w_ed.txt", "zip -q -X w_archive.zip reader.sh", "zip -q -X w_archive.zip writer.sh",
           "printf 'a\\nb\\n' > w_vim.txt", "vim -N -u NONE -n -es -c '%s/a/c/' -c 'wq' w_vim.txt < /dev/null", "printf 'x\\n' > w_patched.txt",
           "printf -- '--- w_patched.txt\\n+++ w_patched.txt\\n@@ -1 +1 @@\\n-x\\n+y\\n' | patch -s w_patched.txt",
           "node -e \"require('fs').writeFileSync('w_node.txt', 'node'); require('fs').appendFileSync('w_node.txt', ' more')\"", "echo 'set f [open w_tcl.txt w]; puts $f tcl; close $f' | tclsh",
           "awk 'BEGIN { print 1 > \"w_awk.txt\"; print 2 >> \"w_awk.txt\" }'", "make -s -f rules"],
          "sqlite3 -readonly w_table.db 'select sum(a), sum(b), count(*) from t'", "cat w_sed.txt w_perl.txt w_ed.txt w_vim.txt w_patched.txt w_node.txt w_tcl.txt w_awk.txt w_made.txt w_twice.txt", "unzip -p w_archive.zip reader.sh",
          files={"rules": "all: w_twice.txt\nw_made.txt:\n\t@echo made > $@\nw_twice.txt: w_made.txt\n\t@cat $< $< > $@\n"}, publish="exit")


def writers_python():
    """netCDF4 in all formats, xarray, h5py, numpy and pictures."""
    need_modules("netCDF4", "xarray", "h5py", "matplotlib", "scipy.io")
    chain([f"{PYTHON} write.py"], f"{PYTHON} read.py", "md5sum w_NETCDF3_CLASSIC.nc w_NETCDF3_64BIT_OFFSET.nc w_NETCDF3_64BIT_DATA.nc w_scipy.nc w_array.npy w_copied.npy w_copied2.npy w_picture.png w_table.csv",
          "ncdump w_NETCDF4.nc", "ncdump w_netcdf4.nc", "file w_picture.png", publish="exit", files={"write.py": """
import h5py, matplotlib, netCDF4, numpy, shutil, xarray
matplotlib.use('Agg')
import matplotlib.pyplot as plt

data = numpy.arange(60.0).reshape(3, 20)
for format in ('NETCDF3_CLASSIC', 'NETCDF3_64BIT_OFFSET', 'NETCDF3_64BIT_DATA', 'NETCDF4', 'NETCDF4_CLASSIC'):
    with netCDF4.Dataset('w_%s.nc' % format, 'w', format=format) as file:
        file.createDimension('time', None)
        file.createDimension('x', 20)
        file.createVariable('v', 'f8', ('time', 'x'))[:] = data
        file.title = format
with netCDF4.Dataset('w_NETCDF3_CLASSIC.nc', 'a') as file:
    file['v'][3] = data[0]
array = xarray.DataArray(data, dims=('time', 'x'), name='v')
array.to_netcdf('w_scipy.nc', engine='scipy')
array.to_netcdf('w_netcdf4.nc', engine='netcdf4')
with h5py.File('w_h5py.h5', 'w') as file:
    file['group/v'] = data
numpy.save('w_array.npy', data)
shutil.copy('w_array.npy', 'w_copied.npy')
shutil.copy2('w_array.npy', 'w_copied2.npy')
numpy.savetxt('w_table.csv', data, delimiter=',')
plt.plot(data[0])
plt.savefig('w_picture.png', metadata={'Software': None})
""", "read.py": """
import h5py, netCDF4, numpy, xarray

with netCDF4.Dataset('w_NETCDF3_CLASSIC.nc') as file:
    print(file['v'].shape, file['v'][:].sum())
with h5py.File('w_NETCDF4.nc') as file:
    print(file['v'].shape, file['v'][:].sum())
with h5py.File('w_h5py.h5') as file:
    print(file['group/v'].shape, file['group/v'][:].sum())
print(float(xarray.open_dataset('w_NETCDF4_CLASSIC.nc').v.sum()), float(xarray.open_dataset('w_scipy.nc').v.sum()))
print(numpy.load('w_array.npy', mmap_mode='r').sum(), numpy.loadtxt('w_table.csv', delimiter=',').sum())
"""})


def writers_r():
    need("Rscript", "ncdump")
    if start("Rscript", "-e", "library(ncdf4)").wait() != 0:
        skip("R's ncdf4")
    chain(["Rscript write.R"], "ncdump w_r.nc", "md5sum w_r.nc w_table.csv", "Rscript -e 'print(sum(read.csv(\"w_table.csv\")))'", files={"write.R": """
library(ncdf4)
x <- ncdim_def("x", "m", 1:10)
v <- ncvar_def("v", "K", x, -1)
file <- nc_create("w_r.nc", v)
ncvar_put(file, v, sqrt(1:10))
nc_close(file)
write.csv(data.frame(a = 1:3, b = 4:6), "w_table.csv", row.names = FALSE)
"""})


clear_directory()
globals()[case]()
