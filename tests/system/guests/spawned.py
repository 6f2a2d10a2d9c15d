#!/usr/bin/python3
"""spawned.py BUILD CASE: ranks that MPI_Comm_spawn has started belong to the component of their parents."""
import os
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, case = sys.argv[1:3]

PROGRAM = """
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <string.h>
static void write_ranks(MPI_Comm comm, const char* path) {
  int file, dimension, variable, rank, ranks, failed;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  failed = ncmpi_create(comm, path, NC_CLOBBER, MPI_INFO_NULL, &file) || ncmpi_def_dim(file, "x", ranks, &dimension) ||
           ncmpi_def_var(file, "v", NC_INT, 1, &dimension, &variable) || ncmpi_enddef(file);
  MPI_Offset start = rank, count = 1;
  if (failed || ncmpi_put_vara_int_all(file, variable, &start, &count, &rank) || ncmpi_close(file)) MPI_Abort(comm, 3);
}
int main(int count, char** words) {
  MPI_Comm parent, children, all;
  MPI_Init(&count, &words);
  MPI_Comm_get_parent(&parent);
  const int is_parent = parent == MPI_COMM_NULL;
  if (is_parent) MPI_Comm_spawn(words[0], words + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  MPI_Comm between = is_parent ? children : parent;
  if (strcmp(words[1], "alone") == 0) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    write_ranks(MPI_COMM_WORLD, is_parent ? "parents.nc" : "children.nc");
    if (!is_parent && rank == 0) {
      FILE* text = fopen("children.txt", "w");
      fputs("of children\\n", text);
      fclose(text);
    }
  } else {
    MPI_Intercomm_merge(between, !is_parent, &all);
    write_ranks(all, "merged.nc");
    MPI_Comm_free(&all);
  }
  MPI_Comm_disconnect(&between);
  MPI_Finalize();
  return 0;
}
"""


def run(way, reads, keys="", environment=None):
    with open("program.c", "w") as source:
        source.write(PROGRAM)
    subprocess.run(["mpicc.openmpi", "-Wall", f"-I{build}/api/generated", "-o", "program", "program.c", f"-L{build}/lib", "-lsluice_pnetcdf", f"-Wl,-rpath,{build}/lib"], check=True)
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: guests\nstaging: {{prewarm: 0}}\ncomponents:\n  w: {{command: [./program, {way}], ranks: 2{keys}}}\n  r: {{command: [sh, -c, '{reads}']}}\n"
                   "files:\n  - {path: '*.nc', writer: w, readers: [r]}\n  - {path: '*.txt', writer: w, readers: [r]}\n")
    finish(harness.start(build + "/bin/sluice", "run", "flow.yaml", environment={"OMPI_MCA_rmaps_base_oversubscribe": "1", **(environment or {})}), 0)
    expect(not any(name.endswith((".nc", ".txt")) for name in os.listdir(".")), "nothing is on disk")
    return open("read").read()


def together():
    """Parents and children create a file together, by one communicator."""
    expect("v = 0, 1, 2, 3 ;" in run("together", "ncdump merged.nc > read", environment={"OMPI_MCA_mca_base_env_list": "OF_USER=1"}), "all ranks have put their values")


def alone():
    """Children write files of their own, by PnetCDF and by the C library."""
    read = run("alone", "ncdump children.nc > read; ncdump parents.nc >> read; cat children.txt >> read")
    expect(read.count("v = 0, 1 ;") == 2 and read.endswith("of children\n"), "both files: " + read)


def by_option():
    """The same where the user hands on variables of his own by -x, which Open MPI does not mix with its other way."""
    expect("v = 0, 1, 2, 3 ;" in run("together", "ncdump merged.nc > read", ", launcher-options: [-x, OF_USER=1]"), "all ranks have put their values")


clear_directory()
globals()[case]()
