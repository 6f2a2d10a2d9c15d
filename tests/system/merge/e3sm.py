#!/usr/bin/python3
"""e3sm.py BUILD PROGRAM RAW_HDF5 CASE, in a directory of its own: blobs between this library and E3SM's programs. Ours are replayed by a program that knows only E3SM's
description of them (PROGRAM, blob_replay.c); files as E3SM's programs write them, made here byte by byte from that description, are read and merged by ours."""
import math
import os
import random
import struct
import sys

sys.path += [os.path.dirname(sys.path[0]), os.path.dirname(os.path.dirname(sys.path[0])) + "/support"]
from cdf5 import Header
from harness import call, clear_directory, expect, launch

build, program, raw_hdf5, case = sys.argv[1:5]
sluice, library = build + "/bin/sluice", build + "/lib/libsluice_pnetcdf.so"


def ours(ranks, *arguments, hints="", status=0):
    return launch(ranks, "-x", "LD_PRELOAD=" + library, program, *arguments, status=status, environment={"PNETCDF_HINTS": hints})


def check_same(*arguments):
    call("ncmpidiff", *arguments, status=0)


def replay():
    """What we write is what such a program takes it for, in one file and in several."""
    launch(4, program, "write", "plain.nc", status=0)
    for files in 1, 2, 4:
        ours(4, "write", "b.nc", hints=f"sluice_layout=blob;nc_num_subfiles={files}")
        for file in range(files):
            call("ncvalidator", "-q", f"b.nc.{file:04}", status=0)
        launch(4, program, "replay", "b.nc", str(files), "out.nc", status=0)
        check_same("out.nc", "plain.nc")


# The dataset that PROGRAM writes, as E3SM's programs would put it into blobs.
LENGTHS, NAMES = [0, 3, 10, 2], ["time", "lev", "ncol", "nbnd"]
TYPES = {4: "i", 5: "f", 6: "d", 10: "q"}
VARIABLES = [("lev", 6, [1], 0), ("P0", 6, [], 0), ("area", 6, [2], 1), ("T", 5, [0, 1, 2], 2), ("Q", 6, [0, 1, 2], 2), ("time_bnds", 6, [0, 3], 0), ("time", 4, [0], 0), ("late", 4, [3, 1, 2], 3)]
MAPS = [[2], [1, 2], [3, 1, 2]]
RECORDS = 2


def value(varid, index):
    result = varid + 1
    for each in index:
        result = result * 11 + each
    return result


def index_of(element, dimids):
    index = []
    for dimid in reversed(dimids):
        element, rest = divmod(element, LENGTHS[dimid])
        index.insert(0, rest)
    return index


def lists_of(dimids, processes, source):
    """Which process has which elements, at random, as requests that end with a row; not always ascending. Each process has some."""
    requests, row, element, number = [[] for _ in range(processes)], LENGTHS[dimids[-1]], 0, 0
    while element < math.prod(LENGTHS[each] for each in dimids):
        length = min(1 if number < processes else source.randrange(1, 6), row - element % row)
        requests[number if number < processes else source.randrange(processes)].append((element, length))
        element, number = element + length, number + 1
    for each in requests:
        source.shuffle(each)
    return requests


class Blobs:
    """The blobs of some processes: what is in one file."""

    def __init__(self, order, total, files, lists):
        """`lists`: the requests of each process of the file, by map."""
        self.order, self.lists = order, lists
        self.counts = [[sum(length for _, length in requests) for requests in of_map] for of_map in lists]
        header = self.header = Header(order, RECORDS)
        header.attributes = [("global_nprocs", [total]), ("num_decompositions", [len(MAPS)]), ("num_subfiles", [files]), ("title", "what")]
        header.dimensions = list(zip(NAMES, LENGTHS)) + [("nblobs", len(lists[0]))]
        header.dimensions += [(f"D{i + 1}.nelems", sum(counts)) for i, counts in enumerate(self.counts)]
        header.dimensions += [(f"D{i + 1}.max_nreqs", max(map(len, of_map))) for i, of_map in enumerate(lists)]
        for i, dimids in enumerate(MAPS):
            text, width = ("description", "what it is"), 5 + len(MAPS) + i
            header.variables += [(f"D{i + 1}.nreqs", [4], [text, ("global_dimids", dimids)], 4), (f"D{i + 1}.blob_start", [4], [text], 10),
                                 (f"D{i + 1}.blob_count", [4], [text], 10), (f"D{i + 1}.offsets", [4, width], [text], 4), (f"D{i + 1}.lengths", [4, width], [text], 4)]
        for name, kind, dimids, which in VARIABLES:
            own = [("decomposition_ID", [which]), ("global_dimids", dimids)] if which else []
            shape = (dimids[:1] if dimids[:1] == [0] else []) + [4 + which] if which else dimids
            header.variables.append((name, shape, own + [("long_name", name)], kind))

    def pack(self, kind, values):
        return struct.pack(self.order + str(len(values)) + TYPES[kind], *values)

    def part(self, varid, record, process):
        """What a process has of a variable: of a record of it."""
        _, kind, dimids, which = VARIABLES[varid]
        rest = [each for each in dimids if each != 0]
        start = [record] if len(rest) < len(dimids) else []
        if which == 0:
            elements = range(math.prod(LENGTHS[each] for each in rest)) if process == 0 else []
        else:
            elements = [offset + i for offset, length in self.lists[which - 1][process] for i in range(length)]
        return self.pack(kind, [value(varid, start + index_of(each, rest)) for each in elements])

    def map_values(self, which, process):
        requests, counts = self.lists[which][process], self.counts[which]
        return [(4, [len(requests)]), (10, [sum(counts[:process])]), (10, [counts[process]]), (4, [offset for offset, _ in requests]), (4, [length for _, length in requests])]

    def variable_centric(self):
        """A file of a dataset in CDF-5. Behind the end of a list is anything."""
        fixed, records, processes = [], [[] for _ in range(RECORDS)], range(len(self.lists[0]))
        for which, of_map in enumerate(self.lists):
            width = max(map(len, of_map))
            for i in range(5):
                values = [self.map_values(which, process)[i] for process in processes]
                fixed.append(b"".join(self.pack(kind, each + ([-7] * (width - len(each)) if i > 2 else [])) for kind, each in values))
        for varid, (_, _, dimids, _) in enumerate(VARIABLES):
            has_records = dimids[:1] == [0]
            for record in range(RECORDS if has_records else 1):
                data = b"".join(self.part(varid, record, process) for process in processes)
                (records[record] if has_records else fixed).append(data + bytes(-len(data) % 4))
        return self.lay_out(fixed, records)

    def lay_out(self, fixed, records):
        sizes, places, left = [], [], [iter(fixed), iter(records[0])]
        for _, shape, _, _ in self.header.variables:
            sizes.append(len(next(left[shape[:1] == [0]])))
        ends = [len(self.header.encode([0] * len(sizes)))] * 2
        ends[1] += sum(map(len, fixed))
        for (_, shape, _, _), size in zip(self.header.variables, sizes):
            places.append(ends[shape[:1] == [0]])
            ends[shape[:1] == [0]] += size
        return self.header.encode(places, sizes) + b"".join(fixed) + b"".join(b"".join(record) for record in records)

    def process_centric(self):
        """header_blob and data_blob."""
        data = b""
        for process in range(len(self.lists[0])):
            for which in range(len(MAPS)):
                data += b"".join(self.pack(kind, values) for kind, values in self.map_values(which, process))
            for varid, (_, _, dimids, _) in enumerate(VARIABLES):
                data += b"".join(self.part(varid, record, process) for record in range(RECORDS if dimids[:1] == [0] else 1))
        return self.header.encode([0] * len(self.header.variables)), data


def datasets(order):
    """Datasets of some processes in some files, which need not have the same number of them: [blobs of each file]."""
    seed = random.randrange(1 << 30)
    print("seed", seed)
    source = random.Random(seed)
    for shares in [1], [4], [1, 3], [3, 1, 2]:
        lists = [lists_of(dimids, sum(shares), source) for dimids in MAPS]
        firsts = [sum(shares[:i]) for i in range(len(shares))]
        yield [Blobs(order, sum(shares), len(shares), [of_map[first:first + share] for of_map in lists]) for first, share in zip(firsts, shares)]


def check_read():
    """f.nc, which is not there, stands for f.nc.0000 and so on."""
    call(sluice, "merge", "--force", "f.nc", "merged.nc", status=0)
    check_same("merged.nc", "plain.nc")
    for ranks in 1, 3:
        ours(ranks, "compare", "f.nc", "plain.nc")
    expect(not os.path.exists("f.nc"), "a master was made")


def variable_centric():
    launch(1, program, "write", "plain.nc", status=0)
    for files in datasets(">"):
        for i, blobs in enumerate(files):
            open(f"f.nc.{i:04}", "wb").write(blobs.variable_centric())
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
                for name, data in zip(("header", "data"), blobs.process_centric()):
                    open(name, "wb").write(data)
                call(raw_hdf5, f"f.nc.{i:04}", "header", "data", status=0)
            check_read()
    # Our own, when the master is lost.
    ours(4, "write", "own.nc", hints="sluice_layout=blob-process;nc_num_subfiles=2")
    os.remove("own.nc")
    call(sluice, "merge", "own.nc", "own_merged.nc", status=0)
    check_same("own_merged.nc", "plain.nc")


clear_directory()
globals()[case]()
