#!/usr/bin/env python3
"""split_seeds.py FOLDER: writes seeds of the target `split`: small datasets in subfiles and in both kinds of blobs. The bytes are those of docs/formats."""
import pathlib
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from cdf5 import Header


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
