#!/usr/bin/python3
"""parts_of_libraries.py BUILD CASE: a run tells its user who has read a part of a file, whatever library goes on in it."""
import os
import shutil
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import call, clear_directory, expect, script

build, case = sys.argv[1:3]
sluice = build + "/bin/sluice"
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's modules
AWAIT = "import os, time\nwhile not os.path.exists('read'): time.sleep(0.05)\n"


def run(writer, name, ranks=1, staging="", more=""):
    """The reader takes the first part. Its run says so at its end."""
    script("reader.sh", f"cat {name} > copy\ntouch read")
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: test\nstaging: {{prewarm: 0{staging}}}\ncomponents:\n  writer: {{command: {writer}, ranks: {ranks}}}\n  reader: {{command: ./reader.sh}}\n"
                   f'files:\n  - {{path: "{name}", writer: writer, readers: [reader]{more}}}\n')
    told = call(sluice, "run", "flow.yaml", status=0).all
    expect(f"'reader' has read only a part of '{name}'" in told, "the warning at the end")
    expect("publish: close:" in told and "publish: exit" in told, "the keys")


def mpi_io():
    """All ranks open a file again by MPI-IO."""
    with open("write.py", "w") as program:
        program.write("from mpi4py import MPI\nimport numpy\ncomm = MPI.COMM_WORLD\ndef write(begin):\n    file = MPI.File.Open(comm, 'a.raw', MPI.MODE_CREATE | MPI.MODE_RDWR)\n"
                      "    file.Write_at_all((begin + comm.rank) * 800, numpy.full(100, comm.rank, 'f8'))\n    file.Close()\nwrite(0)\n" + AWAIT + "comm.Barrier()\nwrite(comm.size)\n")
    for staging in ("", ", matchers: 2"):
        for more in ("", ", through: file"):
            for name in ("read", "copy", "a.raw"):
                if os.path.exists(name):
                    os.remove(name)
            run(f"{PYTHON} write.py", "a.raw", 2, staging, more)


def hdf5():
    """A program appends by HDF5."""
    with open("write.py", "w") as program:
        program.write("import h5py\nwith h5py.File('a.h5', 'w') as file: file['one'] = 1\n" + AWAIT + "with h5py.File('a.h5', 'a') as file: file['two'] = 2\n")
    run(f"{PYTHON} write.py", "a.h5")


def nco():
    """`ncks -A` adds to a file, in a command of its own."""
    if shutil.which("ncks") is None or shutil.which("ncgen") is None:
        print("SKIPPED: NCO is not installed")
        sys.exit(77)
    for name, variable in (("one", "v"), ("two", "w")):
        with open(name + ".cdl", "w") as text:
            text.write(f"netcdf {name} {{ variables: int {variable}; data: {variable} = 1; }}")
        call("ncgen", "-o", name + ".in", name + ".cdl", status=0)
    script("write.sh", "cp one.in a.nc\nuntil test -e read; do sleep 0.05; done\nncks -A two.in a.nc")
    run("./write.sh", "a.nc")


clear_directory()
globals()[case]()
