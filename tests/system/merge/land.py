#!/usr/bin/python3
"""land.py BUILD LAND REPLAY RAW_HDF5 CASE: E3SM's land (I) case. Three quarters of the grid are land; no map
has the ocean. Variables over two dimensions of the same length share a map. LAND is land.c, REPLAY is
blob_replay.c, both with another libpnetcdf than ours. Needs a directory of its own."""
import filecmp
import os
import random
import shutil
import sys

sys.path += [os.path.dirname(sys.path[0]), os.path.dirname(os.path.dirname(sys.path[0])) + "/support"]
from e3sm_blobs import Blobs, Dataset
from harness import call, clear_directory, expect, launch, test_seed

build, program, replay, raw_hdf5, case = sys.argv[1:6]
sluice, library = build + "/bin/sluice", build + "/lib/libsluice_pnetcdf.so"
LONGITUDES, LATITUDES, LEVELS, LAND = 144, 96, 15, 10428
GRID = LONGITUDES * LATITUDES
DIMENSIONS = [("time", 0), ("lon", LONGITUDES), ("lat", LATITUDES), ("levgrnd", LEVELS), ("levdcmp", LEVELS), ("string_length", 16), ("hist_interval", 2)]
VARIABLES = [("levgrnd", 5, [3], 0), ("levdcmp", 5, [4], 0), ("time", 5, [0], 0), ("mcdate", 4, [0], 0), ("time_bounds", 6, [0, 6], 0), ("date_written", 2, [0, 5], 0), ("lon", 5, [1], 0),
             ("area", 5, [2, 1], 1), ("landmask", 4, [2, 1], 1), ("ZSOI", 5, [3, 2, 1], 2), ("TSA", 5, [0, 2, 1], 1), ("TSOI", 6, [0, 3, 2, 1], 2), ("SOILC", 5, [0, 4, 2, 1], 2), ("depth", 5, [4, 2, 1], 2)]
DATASET = Dataset(DIMENSIONS, VARIABLES, [[2, 1], [3, 2, 1]], 2,
                  lambda varid, record, element: ord("a") + record if VARIABLES[varid][1] == 2 else (varid + 1) * 1000000 + record * 300000 + element)


def land(processes):
    """The pieces of the grid for each process: [(offset, length)], each within a row. Some processes have
    none."""
    source = random.Random(test_seed())
    elements = sorted(source.sample(range(GRID), LAND))
    pieces, owner = [[] for _ in range(processes)], 0
    for element in elements:
        of_owner = pieces[owner]
        if of_owner and sum(of_owner[-1]) == element and element % LONGITUDES != 0 and source.random() < 0.8:
            of_owner[-1] = (of_owner[-1][0], of_owner[-1][1] + 1)
        else:
            owner = source.choice([each for each in range(processes) if each != 2])
            pieces[owner].append((element, 1))
    with open("land.txt", "w") as file:
        for process, each in enumerate(pieces):
            file.writelines(f"{process} {offset} {length}\n" for offset, length in each)
    return pieces


def ours(ranks, *arguments, hints=""):
    return launch(ranks, "-x", "LD_PRELOAD=" + library, program, *arguments, status=0, environment={"PNETCDF_HINTS": hints})


def check_read(name):
    """`sluice merge` and several processes make the plain file."""
    call(sluice, "merge", "--force", name, "merged.nc", status=0)
    expect(filecmp.cmp("merged.nc", "plain.nc", shallow=False), name + " is merged into another file than the plain one")
    ours(3, "compare", name, "plain.nc")


def theirs(raw):
    """Files as E3SM's programs write them."""
    shares = [3, 1, 2]
    pieces = land(sum(shares))
    launch(sum(shares), program, "plain", "plain.nc", "land.txt", status=0)
    soil = [[(level * GRID + offset, length) for level in range(LEVELS) for offset, length in each] for each in pieces]
    first = 0
    for i, share in enumerate(shares):
        lists = [of_map[first:first + share] for of_map in (pieces, soil)]
        Blobs(DATASET, "<" if raw else ">", sum(shares), len(shares), lists).write(f"f.nc.{i:04}", raw)
        first += share
    check_read("f.nc")


def variable_centric():
    theirs(None)


def process_centric():
    theirs(raw_hdf5)


def own(layout):
    """Our files have the same two maps, and accept later puts to the ocean."""
    land(4)
    launch(4, program, "plain", "plain.nc", "land.txt", status=0)
    ours(4, "write", "b.nc", "land.txt", hints=f"sluice_layout={layout};nc_num_subfiles=3")
    text = call("ncdump", "-h", "b.nc", status=0).out
    expect("num_decompositions = 2" in text, text)
    for name, _, _, which in VARIABLES:
        expect(f"{name}:decomposition_ID = {which} " in text, text)
    check_read("b.nc")
    if layout == "blob":
        launch(4, replay, "replay", "b.nc", "3", "out.nc", status=0)
        call("ncmpidiff", "out.nc", "plain.nc", status=0)
    shutil.copy("plain.nc", "before.nc")
    launch(2, program, "fill", "plain.nc", status=0)
    ours(2, "fill", "b.nc")
    expect(not filecmp.cmp("before.nc", "plain.nc", shallow=False), "nothing was put")
    check_read("b.nc")


def own_blobs():
    own("blob")


def own_process_blobs():
    own("blob-process")


clear_directory()
globals()[case]()
