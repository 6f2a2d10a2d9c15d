#!/usr/bin/python3
"""full_disk.py BUILD PROGRAM CASE [FAKE_ROOM]: divided files on a disk that becomes full at a random moment.
All ranks get an error that says so, and existing files stay. PROGRAM is tests/system/coupled/couple.c,
with our library preloaded. With FAKE_ROOM (fake_room.c), no program knows in advance that the disk is
full."""
import os
import random
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import SmallDisk, call, clear_directory, expect, launch

build, program, case, *others = sys.argv[1:]
LENGTH = 300000  # numbers of 8 bytes


def couple(hints, *commands, status=None, before=""):
    return launch(3, "-x", f"LD_PRELOAD={before}{build}/lib/libsluice_pnetcdf.so", program, *commands, status=status, environment={"PNETCDF_HINTS": hints})


def moments(count, most_kib):
    """That many sizes of the disk in KiB, from none to enough. Prints the seed."""
    source = random.Random(harness.test_seed())
    return sorted(source.randrange(4, most_kib) for _ in range(count)) + [2 * most_kib]


def split(hints):
    needed = LENGTH * 8 // 1024
    for kib in moments(10, needed):
        with SmallDisk("disk", kib / 1024, may_keep=True):
            written = couple(hints, "write", "disk/a.nc", str(LENGTH))
            if written.status == 0:
                couple("", "read", "disk/a.nc", str(LENGTH), status=0)
            else:
                expect("NC_ENO_SPACE" in written.err, f"{kib} KiB: no word of the full disk")
            expect((written.status == 0) == (kib > needed), f"{kib} KiB: exit status {written.status}")


def subfiles():
    split("nc_num_subfiles=4")


def blobs():
    split("sluice_layout=blob")


def process_blobs():
    """HDF5 itself finds the disk full: all ranks get an error, and no partial or empty file is left."""
    hints, needed = "sluice_layout=blob-process", LENGTH * 8 // 1024
    for before in "", others[0] + ":":
        for kib in [4, 8] + moments(6, needed):
            with SmallDisk("disk", kib / 1024, may_keep=True):
                written = couple(hints, "write", "disk/a.nc", str(LENGTH), before=before)
                is_enough = kib > needed
                expect((written.status == 0) == is_enough, f"{kib} KiB: exit status {written.status}")
                expect(is_enough or "NC_ENO_SPACE" in written.err, f"{kib} KiB: no word of the full disk")
                expect(os.listdir("disk") == [] or is_enough, f"{kib} KiB: files on the disk: {os.listdir('disk')}")
                if is_enough:
                    couple("", "read", "disk/a.nc", str(LENGTH), status=0)


def merge():
    for hints in ("nc_num_subfiles=4", "sluice_layout=blob"):
        clear_directory()
        couple(hints, "write", "a.nc", str(LENGTH), status=0)
        needed = LENGTH * 8 // 1024
        for kib in moments(8, needed):
            with SmallDisk("disk", kib / 1024, may_keep=True):
                merged = call(build + "/bin/sluice", "merge", "a.nc", "disk/whole.nc")
                is_enough = kib > needed
                expect(merged.status == (0 if is_enough else 3), f"{kib} KiB: exit status {merged.status}")
                expect(is_enough or ("disk/.whole.nc.sluice-partial" in merged.err and "No space left" in merged.err), f"{kib} KiB: no word of the full disk")
                expect(os.listdir("disk") == (["whole.nc"] if is_enough else []), f"{kib} KiB: files on the disk: {os.listdir('disk')}")


harness.in_own_namespace()
clear_directory()
globals()[case]()
