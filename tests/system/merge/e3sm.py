#!/usr/bin/python3
"""e3sm.py BUILD PROGRAM RAW_HDF5 CASE: exchanges blobs with E3SM's programs. PROGRAM (blob_replay.c) knows
only E3SM's description, and replays our blobs. This test makes files as E3SM's programs write them, byte
by byte from that description; our library reads and merges them. Needs a directory of its own."""
import math
import os
import random
import sys

sys.path += [os.path.dirname(sys.path[0]), os.path.dirname(os.path.dirname(sys.path[0])) + "/support"]
from e3sm_blobs import Blobs, Dataset
from harness import call, clear_directory, expect, launch, test_seed

build, program, raw_hdf5, case = sys.argv[1:5]
sluice, library = build + "/bin/sluice", build + "/lib/libsluice_pnetcdf.so"


def ours(ranks, *arguments, hints="", status=0):
    return launch(ranks, "-x", "LD_PRELOAD=" + library, program, *arguments, status=status, environment={"PNETCDF_HINTS": hints})


def check_same(*arguments):
    call("ncmpidiff", *arguments, status=0)


def replay():
    """Such a program reads our files correctly, one file and several."""
    launch(4, program, "write", "plain.nc", status=0)
    for files in 1, 2, 4:
        ours(4, "write", "b.nc", hints=f"sluice_layout=blob;nc_num_subfiles={files}")
        for file in range(files):
            call("ncvalidator", "-q", f"b.nc.{file:04}", status=0)
        launch(4, program, "replay", "b.nc", str(files), "out.nc", status=0)
        check_same("out.nc", "plain.nc")


# The dataset that PROGRAM writes, in blobs as E3SM's programs write them.
LENGTHS, NAMES = [0, 3, 10, 2], ["time", "lev", "ncol", "nbnd"]
VARIABLES = [("lev", 6, [1], 0), ("P0", 6, [], 0), ("area", 6, [2], 1), ("T", 5, [0, 1, 2], 2), ("Q", 6, [0, 1, 2], 2), ("time_bnds", 6, [0, 3], 0), ("time", 4, [0], 0), ("late", 4, [3, 1, 2], 3)]
MAPS = [[2], [1, 2], [3, 1, 2]]


def index_of(element, dimids):
    index = []
    for dimid in reversed(dimids):
        element, rest = divmod(element, LENGTHS[dimid])
        index.insert(0, rest)
    return index


def value(varid, record, element):
    dimids = VARIABLES[varid][2]
    result = varid + 1
    for each in ([record] if dimids[:1] == [0] else []) + index_of(element, [each for each in dimids if each != 0]):
        result = result * 11 + each
    return result


DATASET = Dataset(list(zip(NAMES, LENGTHS)), VARIABLES, MAPS, 2, value)


def lists_of(dimids, processes, source):
    """Random elements for each process, as requests that end with a row, not always ascending. Each process
    has some."""
    requests, row, element, number = [[] for _ in range(processes)], LENGTHS[dimids[-1]], 0, 0
    while element < math.prod(LENGTHS[each] for each in dimids):
        length = min(1 if number < processes else source.randrange(1, 6), row - element % row)
        requests[number if number < processes else source.randrange(processes)].append((element, length))
        element, number = element + length, number + 1
    for each in requests:
        source.shuffle(each)
    return requests


def datasets(order):
    """Datasets of some processes in some files. The files may have different numbers of processes. [blobs of
    each file]."""
    source = random.Random(test_seed())
    for shares in [1], [4], [1, 3], [3, 1, 2]:
        lists = [lists_of(dimids, sum(shares), source) for dimids in MAPS]
        firsts = [sum(shares[:i]) for i in range(len(shares))]
        yield [Blobs(DATASET, order, sum(shares), len(shares), [of_map[first:first + share] for of_map in lists]) for first, share in zip(firsts, shares)]


def check_read():
    """f.nc does not exist, and stands for f.nc.0000 and so on."""
    call(sluice, "merge", "--force", "f.nc", "merged.nc", status=0)
    check_same("merged.nc", "plain.nc")
    for ranks in 1, 3:
        ours(ranks, "compare", "f.nc", "plain.nc")
    expect(not os.path.exists("f.nc"), "a master was made")


def variable_centric():
    launch(1, program, "write", "plain.nc", status=0)
    for files in datasets(">"):
        for i, blobs in enumerate(files):
            blobs.write(f"f.nc.{i:04}")
            call("ncvalidator", "-q", f"f.nc.{i:04}", status=0)
        check_read()
    os.remove("f.nc.0002")
    done = call(sluice, "merge", "--force", "f.nc", "merged.nc", status=3)
    expect("f.nc.0002" in done.err, done.err)
    open("other.nc.0000", "wb").write(open("plain.nc", "rb").read())
    done = call(sluice, "merge", "--force", "other.nc", "merged.nc", status=3)
    expect("other.nc.0000" in done.err and "nblobs" in done.err, done.err)
    expect(ours(2, "compare", "no.nc", "plain.nc", status=None).status != 0, "a file that is not there was opened")


def process_centric():
    launch(1, program, "write", "plain.nc", status=0)
    for order in "<>":
        for files in datasets(order):
            for i, blobs in enumerate(files):
                blobs.write(f"f.nc.{i:04}", raw_hdf5)
            check_read()
    # Our own files when the master is lost.
    ours(4, "write", "own.nc", hints="sluice_layout=blob-process;nc_num_subfiles=2")
    os.remove("own.nc")
    call(sluice, "merge", "own.nc", "own_merged.nc", status=0)
    check_same("own_merged.nc", "plain.nc")


clear_directory()
globals()[case]()
