"""Reads what burst_writer.c writes and reports, for the tests of this folder."""
import array
import hashlib
import pathlib
import re
import sys

from harness import call, expect

FILL_INT = -2147483647


def told(ranks):
    counts = []
    for rank in range(ranks):
        path = pathlib.Path(f"told.{rank}")
        text = path.read_text().strip() if path.exists() else ""
        counts.append(int(text) if text else 0)
    return counts


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def rows_of(path, ranks):
    """All numbers of the only variable, with fill values as None, and the number of records. A file may end
    with a hole, which reads as zeros."""
    begin = int(re.search(r"rows\(.*\n\s*start file offset = *(\d+)", call("ncoffsets", path, status=0).out)[1])
    file = pathlib.Path(path).read_bytes()
    records = int.from_bytes(file[4:12], "big")
    numbers = array.array("i", file[begin:].ljust(records * ranks * 8 * 4, b"\0"))
    if sys.byteorder == "little":
        numbers.byteswap()
    return [None if number == FILL_INT else number for number in numbers], records


def check_rows(path, counts, holes=(None,)):
    """Checks each rank's rows: rows that it knew to be complete are in the file. Of other rows, all or
    nothing is there. `holes`: the values of unwritten elements (None: fill values)."""
    call("ncvalidator", "-q", path, status=0)
    numbers, records = rows_of(path, len(counts))
    ranks = len(counts)
    expect(records >= max(counts), f"{records} records, and {counts} were put")
    for rank, count in enumerate(counts):
        for i in range(records):
            row = numbers[(i * ranks + rank) * 8:(i * ranks + rank + 1) * 8]
            is_there = row == [1000 * i + rank] * 8
            is_hole = row in [[hole] * 8 for hole in holes]
            expect(is_there or (i >= count and is_hole), f"row {i} of rank {rank} is {row}, {count} were put")
