"""What burst_writer.c writes and tells, as the tests of this folder see it."""
import hashlib
import pathlib

from harness import call, expect


def told(ranks):
    counts = []
    for rank in range(ranks):
        path = pathlib.Path(f"told.{rank}")
        text = path.read_text().strip() if path.exists() else ""
        counts.append(int(text) if text else 0)
    return counts


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def check_rows(path, counts, holes=(None,)):
    """Each rank's rows: those it was told are complete are there, and of the rest all or nothing of a row. `holes`: what nobody has put (None: fill values)."""
    call("ncvalidator", "-q", path, status=0)
    dump = call("ncdump", "-v", "rows", path, status=0).out
    data = dump[dump.index("rows =", dump.index("data:")) + 6:dump.rindex(";")]
    numbers = [None if word == "_" else int(word) for word in data.replace(",", " ").split()]
    ranks = len(counts)
    records = len(numbers) // (8 * ranks)
    expect(records >= max(counts), f"{records} records, and {counts} were put")
    for rank, count in enumerate(counts):
        for i in range(records):
            row = numbers[(i * ranks + rank) * 8:(i * ranks + rank + 1) * 8]
            is_there = row == [1000 * i + rank] * 8
            is_hole = row in [[hole] * 8 for hole in holes]
            expect(is_there or (i >= count and is_hole), f"row {i} of rank {rank} is {row}, {count} were put")
