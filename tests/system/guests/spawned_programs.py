#!/usr/bin/python3
"""spawned_programs.py BUILD CASE: MPI_Comm_spawn of other programs, of several at once, in several components, and of children that read what their parents write, by PnetCDF and by the C library."""
import os
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, case = sys.argv[1:3]
ENVIRONMENT = {"OMPI_MCA_rmaps_base_oversubscribe": "1"}

COMMON = """
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void expect(int is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "wrong: %s\\n", what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}
/* `others` come to a barrier when the file has been created, and may open it from then on. */
static void write_ranks(MPI_Comm comm, const char* path, MPI_Comm others) {
  int file, dimension, variable, rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  expect(!ncmpi_create(comm, path, NC_CLOBBER, MPI_INFO_NULL, &file) && !ncmpi_def_dim(file, "x", ranks, &dimension) &&
         !ncmpi_def_var(file, "v", NC_INT, 1, &dimension, &variable) && !ncmpi_enddef(file), path);
  if (others != MPI_COMM_NULL) MPI_Barrier(others);
  MPI_Offset start = rank, count = 1;
  expect(!ncmpi_put_vara_int_all(file, variable, &start, &count, &rank) && !ncmpi_close(file), path);
}
static void read_ranks(MPI_Comm comm, const char* path) {
  int file, value = -1;
  MPI_Offset at = 1;
  expect(!ncmpi_open(comm, path, NC_NOWRITE, MPI_INFO_NULL, &file) && !ncmpi_begin_indep_data(file) && !ncmpi_get_var1_int(file, 0, &at, &value) &&
         !ncmpi_end_indep_data(file) && !ncmpi_close(file) && value == 1, path);
}
static void write_text(const char* path) {
  FILE* text = fopen(path, "w");
  expect(text != NULL && fputs("text\\n", text) >= 0 && fclose(text) == 0, path);
}
static void read_text(const char* path) {
  char line[9] = "";
  FILE* text = fopen(path, "r");
  expect(text != NULL && fgets(line, 9, text) != NULL && strcmp(line, "text\\n") == 0 && fclose(text) == 0, path);
}
static char* name(const char* begin, const char* end) {
  static char text[100];
  snprintf(text, sizeof text, "%s%s", begin, end);
  return text;
}
"""

PARENT = COMMON + """
int main(int count, char** words) {
  MPI_Comm children;
  int rank;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* of = words[2];
  if (strcmp(words[1], "multiple") == 0) {
    char* programs[2] = {"./child", "./other"};
    char* first[3] = {"write", (char*)of, NULL};
    char* second[3] = {"write", (char*)of, NULL};
    char** arguments[2] = {first, second};
    int ranks[2] = {1, 1};
    MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm_spawn_multiple(2, programs, arguments, ranks, infos, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  } else {
    char* arguments[3] = {words[1], (char*)of, NULL};
    MPI_Comm_spawn("./child", arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  }
  if (rank == 0) write_text(name(of, "_parents.txt"));
  write_ranks(MPI_COMM_WORLD, name(of, "_parents.nc"), children);
  if (strcmp(words[1], "read") != 0) {
    read_ranks(MPI_COMM_WORLD, name(of, "_children.nc"));
    read_text(name(of, "_children.txt"));
  }
  MPI_Comm_disconnect(&children);
  MPI_Finalize();
  return 0;
}
"""

CHILD = COMMON + """
int main(int count, char** words) {
  MPI_Comm parent;
  int rank;
  MPI_Init(&count, &words);
  MPI_Comm_get_parent(&parent);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  expect(parent != MPI_COMM_NULL, "a parent");
  const char* of = words[2];
  if (strcmp(words[1], "write") == 0) {
    if (rank == 0) write_text(name(of, "_children.txt"));
    write_ranks(MPI_COMM_WORLD, name(of, "_children.nc"), MPI_COMM_NULL);
  }
  MPI_Barrier(parent);
  read_ranks(MPI_COMM_WORLD, name(of, "_parents.nc"));
  read_text(name(of, "_parents.txt"));
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 0;
}
"""


def run(way, components):
    for program, source in (("parent", PARENT), ("child", CHILD)):
        with open(program + ".c", "w") as text:
            text.write(source)
        subprocess.run(["mpicc.openmpi", "-Wall", "-Wno-unused-function", f"-I{build}/api/generated", "-o", program, program + ".c", f"-L{build}/lib", "-lsluice_pnetcdf", f"-Wl,-rpath,{build}/lib"], check=True)
    os.link("child", "other")
    with open("flow.yaml", "w") as flow:
        flow.write("version: 1\nname: spawned\nstaging: {prewarm: 0}\ncomponents:\n")
        flow.write("".join(f"  {name}: {{command: [./parent, {way}, {name}], ranks: 2}}\n" for name in components))
        reads = "; ".join(f"ncdump {name}_parents.nc; cat {name}_parents.txt" for name in components)
        flow.write(f"  r: {{command: [sh, -c, '({reads}) > read']}}\nfiles:\n")
        flow.write("".join(f"  - {{path: '{name}_*', writer: {name}, readers: [r]}}\n" for name in components))
    finish(harness.start(build + "/bin/sluice", "run", "flow.yaml", environment=ENVIRONMENT), 0)
    expect(not any("_parents." in name or "_children." in name for name in os.listdir(".")), "nothing is on disk")
    read = open("read").read()
    expect(read.count("v = 0, 1 ;") == len(components) and read.count("text\n") == len(components), "what is read: " + read)


def another_program():
    """Parents and children run different programs, and read each other's files."""
    run("write", ["a"])


def multiple():
    """MPI_Comm_spawn_multiple starts two programs, which have one MPI_COMM_WORLD."""
    run("multiple", ["a"])


def several_components():
    """Each component's children belong to it."""
    run("write", ["a", "b"])


def children_read():
    """Children read what their parents have created and not closed: they wait for the close."""
    run("read", ["a"])


clear_directory()
globals()[case]()
