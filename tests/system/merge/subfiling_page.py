#!/usr/bin/python3
"""subfiling_page.py BUILD PROGRAM: opens and merges the files of PnetCDF's page on subfiling; ncgen makes
them from the printed text. The page shows an old release: no dimids_org, num_subfiles without its prefix,
subfiles without .nc. PROGRAM is blob_replay.c, which compares two datasets. Needs a directory of its own."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect, launch

build, program = sys.argv[1:3]
OWN = "var0_0:_PnetCDF_SubFiling."


def ncgen(name, text):
    open("text.cdl", "w").write(text)
    call("ncgen", "-k", "cdf5", "-o", name, "text.cdl", status=0)


def ranges(subfile, first, last):
    return "".join(f"{OWN}range\\(dim0_{d}\\).subfile.{subfile} = {bounds} ;\n" for d, bounds in enumerate((f"{first}, {last}", "0, 3", "0, 3")))


def numbers(first, count):
    return ", ".join(str(first + i) for i in range(count))


def write(suffix, count_name, dimids):
    ncgen("t1.nc", "netcdf t1 { dimensions: dim0_0 = 8 ; dim0_1 = 4 ; dim0_2 = 4 ; variables: int var0_0 ;\n"
          f"{OWN}par_dim_index = 0 ; {OWN}ndims_org = 3 ; {dimids} {OWN}num_subfiles = 2 ;\n" + ranges(0, 0, 3) + ranges(1, 4, 7) + f":{count_name} = 2 ;\ndata: var0_0 = 0 ; }}")
    for i in range(2):
        own = ", ".join(f"dim0_{d}.var0_0" for d in range(3))
        ncgen(f"t1.nc.subfile_{i}{suffix}", f"netcdf t1 {{ dimensions: {own.replace(',', ' = 4 ;')} = 4 ; variables: int var0_0({own}) ;\n" + ranges(i, 4 * i, 4 * i + 3)
              + f"{OWN}subfile_index = {i} ;\ndata: var0_0 = {numbers(64 * i, 64)} ; }}")


def check(status=0):
    call(build + "/bin/sluice", "merge", "--force", "t1.nc", "merged.nc", status=status)
    for ranks in (1, 3) if status == 0 else ():
        launch(ranks, "-x", f"LD_PRELOAD={build}/lib/libsluice_pnetcdf.so", program, "compare", "t1.nc", "plain.nc", status=0)
        call("ncmpidiff", "merged.nc", "plain.nc", status=0)


clear_directory()
ncgen("plain.nc", f"netcdf t1 {{ dimensions: dim0_0 = 8 ; dim0_1 = 4 ; dim0_2 = 4 ; variables: int var0_0(dim0_0, dim0_1, dim0_2) ;\ndata: var0_0 = {numbers(0, 128)} ; }}")
write("", "num_subfiles", "")
check()
# The same in the form of later releases.
os.remove("t1.nc.subfile_0"), os.remove("t1.nc.subfile_1")
write(".nc", "_PnetCDF_SubFiling.num_subfiles", OWN + "dimids_org = 0, 1, 2 ;")
check()
# An ordinary file may have an attribute of that name.
ncgen("plain.nc", "netcdf t1 { dimensions: x = 2 ; variables: int v(x) ; :num_subfiles = 2 ; data: v = 1, 2 ; }")
launch(1, "-x", f"LD_PRELOAD={build}/lib/libsluice_pnetcdf.so", program, "compare", "plain.nc", "plain.nc", status=0)
