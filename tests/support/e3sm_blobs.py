"""Blob files as E3SM's programs write them, made byte by byte from docs/formats/blobs.md and blobs-hdf5.md."""
import math
import struct

from cdf5 import Header
from harness import call

TYPES = {2: "B", 4: "i", 5: "f", 6: "d", 10: "q"}


class Dataset:
    """`dimensions`: (name, length), first the record dimension with length 0. `variables`: (name, type,
    dimension ids, map number or 0). `maps`: the dimensions of each map. `value`: the value of (variable
    number, record, element)."""

    def __init__(self, dimensions, variables, maps, records, value):
        self.dimensions, self.variables, self.maps, self.records, self.value = dimensions, variables, maps, records, value

    def elements(self, dimids):
        """The number of elements of one record."""
        return math.prod(self.dimensions[each][1] for each in dimids if each != 0)


class Blobs:
    """The blobs of some processes, in one file."""

    def __init__(self, dataset, order, total, files, lists):
        """`lists`: for each process of the file its requests, by map."""
        self.dataset, self.order, self.lists = dataset, order, lists
        maps = dataset.maps
        self.counts = [[sum(length for _, length in requests) for requests in of_map] for of_map in lists]
        header = self.header = Header(order, dataset.records)
        header.attributes = [("global_nprocs", [total]), ("num_decompositions", [len(maps)]), ("num_subfiles", [files]), ("title", "what")]
        header.dimensions = dataset.dimensions + [("nblobs", len(lists[0]))]
        header.dimensions += [(f"D{i + 1}.nelems", sum(counts)) for i, counts in enumerate(self.counts)]
        header.dimensions += [(f"D{i + 1}.max_nreqs", max(map(len, of_map))) for i, of_map in enumerate(lists)]
        for i, dimids in enumerate(maps):
            blobs = len(dataset.dimensions)
            text, width = ("description", "what it is"), blobs + 1 + len(maps) + i
            header.variables += [(f"D{i + 1}.nreqs", [blobs], [text, ("global_dimids", dimids)], 4), (f"D{i + 1}.blob_start", [blobs], [text], 10),
                                 (f"D{i + 1}.blob_count", [blobs], [text], 10), (f"D{i + 1}.offsets", [blobs, width], [text], 4), (f"D{i + 1}.lengths", [blobs, width], [text], 4)]
        for name, kind, dimids, which in dataset.variables:
            own = [("decomposition_ID", [which]), ("global_dimids", dimids)] if which else []
            shape = (dimids[:1] if dimids[:1] == [0] else []) + [blobs + which] if which else dimids
            header.variables.append((name, shape, own + [("long_name", name)], kind))

    def pack(self, kind, values):
        return struct.pack(self.order + str(len(values)) + TYPES[kind], *values)

    def part(self, varid, record, process):
        """The data that a process has of a variable, or of one record of it."""
        _, kind, dimids, which = self.dataset.variables[varid]
        if which == 0:
            elements = range(self.dataset.elements(dimids)) if process == 0 else []
        else:
            elements = [offset + i for offset, length in self.lists[which - 1][process] for i in range(length)]
        return self.pack(kind, [self.dataset.value(varid, record, each) for each in elements])

    def map_values(self, which, process):
        requests, counts = self.lists[which][process], self.counts[which]
        return [(4, [len(requests)]), (10, [sum(counts[:process])]), (10, [counts[process]]), (4, [offset for offset, _ in requests]), (4, [length for _, length in requests])]

    def variable_centric(self):
        """The CDF-5 file of a dataset. Bytes behind the end of a list are arbitrary."""
        fixed, records, processes = [], [[] for _ in range(self.dataset.records)], range(len(self.lists[0]))
        for which, of_map in enumerate(self.lists):
            width = max(map(len, of_map))
            for i in range(5):
                values = [self.map_values(which, process)[i] for process in processes]
                fixed.append(b"".join(self.pack(kind, each + ([-7] * (width - len(each)) if i > 2 else [])) for kind, each in values))
        for varid, (_, _, dimids, _) in enumerate(self.dataset.variables):
            has_records = dimids[:1] == [0]
            for record in range(self.dataset.records if has_records else 1):
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
        """The contents of header_blob and data_blob."""
        data = b""
        for process in range(len(self.lists[0])):
            for which in range(len(self.dataset.maps)):
                data += b"".join(self.pack(kind, values) for kind, values in self.map_values(which, process))
            for varid, (_, _, dimids, _) in enumerate(self.dataset.variables):
                data += b"".join(self.part(varid, record, process) for record in range(self.dataset.records if dimids[:1] == [0] else 1))
        return self.header.encode([0] * len(self.header.variables)), data

    def write(self, path, raw_hdf5=None):
        """Writes one file. With `raw_hdf5`, that program writes the two datasets in HDF5."""
        if raw_hdf5 is None:
            with open(path, "wb") as file:
                file.write(self.variable_centric())
            return
        for name, data in zip(("header", "data"), self.process_centric()):
            with open(name, "wb") as file:
                file.write(data)
        call(raw_hdf5, path, "header", "data", status=0)
