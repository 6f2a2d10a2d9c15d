#!/usr/bin/env python3
"""split_seeds.py FOLDER: writes seeds of the target `split`: small datasets in subfiles and in both kinds of blobs. The bytes are those of docs/formats."""
import pathlib
import struct
import sys


class Header:
    """A CDF-5 header in either byte order."""

    def __init__(self, order, records):
        self.order, self.records = order, records
        self.dimensions, self.attributes, self.variables = [], [], []

    def name(self, text):
        return struct.pack(self.order + "q", len(text)) + text.encode() + bytes(-len(text) % 4)

    def attribute(self, name, value):
        if isinstance(value, str):
            return self.name(name) + struct.pack(self.order + "iq", 2, len(value)) + value.encode() + bytes(-len(value) % 4)
        return self.name(name) + struct.pack(self.order + f"iq{len(value)}i", 4, len(value), *value)

    def entries(self, tag, entries):
        return struct.pack(self.order + "iq", tag if entries else 0, len(entries)) + b"".join(entries)

    def encode(self, places):
        dimensions = [self.name(name) + struct.pack(self.order + "q", length) for name, length in self.dimensions]
        attributes = [self.attribute(*each) for each in self.attributes]
        variables = [
            self.name(name) + struct.pack(self.order + f"q{len(ids)}q", len(ids), *ids) + self.entries(12, [self.attribute(*each) for each in own])
            + struct.pack(self.order + "iqq", kind, 0, place)
            for (name, ids, own, kind), place in zip(self.variables, places)]
        start = b"CDF\5" + struct.pack(self.order + "q", self.records)
        return start + self.entries(10, dimensions) + self.entries(12, attributes) + self.entries(11, variables)

    def file(self, sizes=None):
        """With places behind one another, behind the header; and as many zeros."""
        sizes = sizes or [0] * len(self.variables)
        at, places = len(self.encode([0] * len(sizes))), []
        for size in sizes:
            places.append(at)
            at += size
        return self.encode(places)


OWN = [("decomposition_ID", [1]), ("global_dimids", [0, 1])]


def master(layout):
    header = Header(">", 1)
    header.dimensions = [("t", 0), ("x", 4)]
    header.attributes = [("global_nprocs", [2]), ("num_decompositions", [1]), ("num_subfiles", [1]), ("sluice_layout", layout)]
    header.variables = [("v", [], OWN, 4)]
    return header.file()


def blob_header(order):
    header = Header(order, 1)
    header.dimensions = [("t", 0), ("x", 4), ("nblobs", 2), ("D1.nelems", 4), ("D1.max_nreqs", 2)]
    header.attributes = [("global_nprocs", [2]), ("num_decompositions", [1]), ("num_subfiles", [1])]
    header.variables = [("D1.nreqs", [2], [("global_dimids", [1])], 4), ("D1.blob_start", [2], [], 10), ("D1.blob_count", [2], [], 10),
                        ("D1.offsets", [2, 4], [], 4), ("D1.lengths", [2, 4], [], 4), ("v", [0, 3], OWN, 4)]
    return header


def seed(*parts):
    return b"".join(struct.pack("<H", len(part)) + part for part in parts)


folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
lists = struct.pack(">2i4q4i4i", 2, 2, 0, 2, 2, 2, 0, 2, 1, 3, 1, 1, 1, 1)
(folder / "blob").write_bytes(seed(master("blob"), blob_header(">").file([8, 16, 16, 16, 16, 16]) + lists + struct.pack(">4i", 0, 2, 1, 3)))
for order, name in ("<", "little"), (">", "big"):
    blobs = b"".join(struct.pack(order + "iqq2i2i2i", 2, 2 * p, 2, p, p + 2, 1, 1, p, p + 2) for p in range(2))
    (folder / f"process_{name}").write_bytes(seed(master("blob-process"), blob_header(order).encode([0] * 6), blobs))
golden = pathlib.Path(__file__).parent.parent / "golden" / "subfiles"
(folder / "subfiles").write_bytes(seed(*((golden / name).read_bytes() for name in ("ok_cdf5.nc", *(f"ok_cdf5.nc.subfile_{i}.nc" for i in range(3))))))
