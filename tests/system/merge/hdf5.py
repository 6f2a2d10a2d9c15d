#!/usr/bin/python3
"""hdf5.py PROGRAM SLUICE BUILD CASE: files with one HDF5 blob for each process, as other tools see them,
damaged, and without libsluice_hdf5.so. PROGRAM is tests/c_api/process_blobs.c. Needs a directory of its
own."""
import fcntl
import glob
import os
import pwd
import random
import shutil
import struct
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect, launch, test_seed

program, sluice, build, case = sys.argv[1:5]


def ranks(count, *arguments, status=None, **environment):
    return launch(count, program, *arguments, status=status, environment=environment)


def bytes_of(path, dataset):
    call("h5dump", "-d", "/" + dataset, "-b", "NATIVE", "-o", "bytes", path, status=0)
    return open("bytes", "rb").read()


class Header:
    """A CDF-5 header in little-endian byte order, by the grammar of docs/formats/cdf.md."""

    def __init__(self, data):
        self.data, self.at = data, 12
        expect(data[:4] == b"CDF\5", "the magic is another")
        self.records = struct.unpack_from("<q", data, 4)[0]
        self.dimensions = dict(self.elements(10, lambda: (self.name(), self.number("q"))))
        self.attributes = self.values()
        self.variables = dict(self.elements(11, self.variable))
        expect(self.at == len(data), "bytes are left behind the header")

    def number(self, form):
        self.at += struct.calcsize(form)
        return struct.unpack_from("<" + form, self.data, self.at - struct.calcsize(form))[0]

    def name(self):
        length = self.number("q")
        self.at += (length + 3) // 4 * 4
        return self.data[self.at - (length + 3) // 4 * 4:][:length].decode()

    def elements(self, tag, element):
        found, count = self.number("i"), self.number("q")
        expect(found == (tag if count else 0), f"tag {found}, not {tag}")
        return [element() for _ in range(count)]

    def values(self):
        return dict(self.elements(12, self.attribute))

    def attribute(self):
        name, kind, count = self.name(), self.number("i"), self.number("q")
        size = count * {2: 1, 4: 4}[kind]
        self.at += (size + 3) // 4 * 4
        raw = self.data[self.at - (size + 3) // 4 * 4:][:size]
        return name, raw.decode() if kind == 2 else list(struct.unpack(f"<{count}i", raw))

    def variable(self):
        name = self.name()
        dimensions = [self.number("q") for _ in range(self.number("q"))]
        attributes, kind, size, begin = self.values(), self.number("i"), self.number("q"), self.number("q")
        return name, (dimensions, attributes, kind, size, begin)


def structure():
    """The files are as docs/formats/blobs-hdf5.md says, byte for byte."""
    ranks(2, "example", "example.nc", status=0)
    dump = call("h5dump", "-p", "-H", "example.nc.0000", status=0).out
    for text in 'DATASET "data_blob"', 'DATASET "header_blob"', "H5T_STD_U8LE", "CONTIGUOUS":
        expect(text in dump, dump)
    expect(dump.count("DATASET ") == 2 and "ATTRIBUTE" not in dump and dump.count("GROUP") == 1, dump)
    header = Header(bytes_of("example.nc.0000", "header_blob"))
    expect(header.records == 2, f"{header.records} records")
    expect(header.dimensions == {"time": 0, "ncol": 4, "nblobs": 2, "D1.nelems": 4, "D1.max_nreqs": 2}, str(header.dimensions))
    expect(header.attributes == {"global_nprocs": [2], "num_decompositions": [1], "num_subfiles": [1]}, str(header.attributes))
    expect(list(header.variables) == ["D1.nreqs", "D1.blob_start", "D1.blob_count", "D1.offsets", "D1.lengths", "t", "day"], str(header.variables))
    expect(header.variables["t"] == ([0, 3], {"decomposition_ID": [1], "global_dimids": [0, 1]}, 5, 16, 0), str(header.variables["t"]))
    expect(header.variables["D1.offsets"][0] == [2, 4] and header.variables["D1.nreqs"][1]["global_dimids"] == [1], str(header.variables))
    first = struct.pack("<iqq2i2i", 2, 0, 2, 0, 2, 1, 1) + struct.pack("<4f2h", 0, 2, 10, 12, 1, 2)
    second = struct.pack("<iqq2i2i", 2, 2, 2, 1, 3, 1, 1) + struct.pack("<4f", 1, 3, 11, 13)
    expect(bytes_of("example.nc.0000", "data_blob") == first + second, "data_blob has other bytes")
    text = call("ncdump", "-h", "example.nc", status=0).out
    expect('sluice_layout = "blob-process"' in text and "t:decomposition_ID = 1" in text, text)
    call(sluice, "merge", "example.nc", "merged.nc", status=0)
    text = call("ncdump", "merged.nc", status=0).out
    expect("0, 1, 2, 3,\n  10, 11, 12, 13 ;" in text and "day = 1, 2 ;" in text, text)


def merge():
    """All kinds of variables have the same values as when they are written directly."""
    ranks(3, status=0)
    done = call(sluice, "merge", "several.nc", "merged.nc")
    expect(done.status == 0 and " merged " in done.err, f"status {done.status}: {done.err}")
    call("ncmpidiff", "merged.nc", "plain.nc", status=0)
    done = call(sluice, "merge", "several.nc", "several.nc.0000", "--force")
    expect(done.status == 2, f"status {done.status}: {done.err}")


def refuse(what):
    """`sluice merge` and the library refuse the file, and name it."""
    done = call(sluice, "merge", "--force", "x.nc", "out.nc")
    expect(done.status == 3 and "x.nc" in done.err, f"{what}: status {done.status}: {done.err}")
    expect(not os.path.exists("out.nc") and not glob.glob(".*.sluice-partial"), f"{what}: something is left")


def damaged():
    ranks(2, "example", "good.nc", status=0)
    good, master = open("good.nc.0000", "rb").read(), open("good.nc", "rb").read()

    def damage(data, name="x.nc.0000"):
        open("x.nc", "wb").write(master)
        open("x.nc.0000", "wb").write(good)
        open(name, "wb").write(data)

    for size in 0, 7, 100, len(good) // 2, len(good) - 40, len(good) - 1:
        damage(good[:size])
        refuse(f"cut to {size} bytes")
    done = ranks(2, "read", "x.nc")
    expect(done.status == 1 and done.out.count("x.nc.0000") == 2, done.all)
    damage(master)
    refuse("no HDF5 file")
    os.remove("x.nc.0000")
    refuse("missing")
    call("h5mkgrp", "x.nc.0000", "group", status=0)
    refuse("other HDF5")
    call("h5repack", "-l", "CHUNK=16", "good.nc.0000", "chunked", status=0)
    damage(open("chunked", "rb").read())
    refuse("chunked")
    header, data = bytes_of("good.nc.0000", "header_blob"), bytes_of("good.nc.0000", "data_blob")
    begin = good.index(data)
    for offset, value in (0, 3), (4, 1), (12, 3), (20, 9), (28, 0), (8, 255), (56, 200):
        changed = bytearray(good)
        changed[begin + offset] = value
        damage(bytes(changed))
        refuse(f"byte {offset} of data_blob is {value}")
    # Arbitrary blobs give an error or other values, never a crash.
    seed = test_seed()
    source = random.Random(seed)
    for _ in range(60):
        changed = bytearray(good)
        which, size = source.choice([(good.index(header), len(header)), (begin, len(data))])
        for _ in range(source.randrange(1, 4)):
            changed[which + source.randrange(size)] = source.choice([0, 1, 0x7F, 0x80, 0xFF, source.randrange(256)])
        damage(bytes(changed))
        done = call(sluice, "merge", "--force", "--quiet", "x.nc", "out.nc")
        expect(done.status in (0, 3), f"seed {seed}: status {done.status}: {done.err}")


def absent():
    """Without libsluice_hdf5.so: the error says what to install, and no file is touched."""
    ranks(2, "example", "example.nc", status=0)
    os.makedirs("alone/bin"), os.makedirs("alone/lib")
    shutil.copy(build + "/lib/libsluice_pnetcdf.so", "alone/lib")
    shutil.copy(sluice, "alone/bin/sluice")
    library = os.path.abspath("alone/lib/libsluice_pnetcdf.so")
    for arguments in ("example", "new.nc"), ("read", "example.nc"):
        done = ranks(2, *arguments, LD_PRELOAD=library)
        expect(done.status == 1 and "NC_ENOTBUILT" in done.out and "libhdf5-openmpi-dev" in done.out, done.all)
    expect(not glob.glob("new.nc*"), "a file was made")
    done = call("alone/bin/sluice", "merge", "example.nc", "out.nc")
    expect(done.status == 3 and "libhdf5-openmpi-dev" in done.err, f"status {done.status}: {done.err}")
    open("alone/lib/libsluice_hdf5.so", "w").write("no library")
    done = call("alone/bin/sluice", "merge", "example.nc", "out.nc")
    expect(done.status == 3 and "cannot be loaded" in done.err, f"status {done.status}: {done.err}")


def clash():
    """A program that uses the serial HDF5, as Python's netCDF4 does."""
    serial = glob.glob("/usr/lib/*/libhdf5_serial.so.103")
    expect(serial, "there is no libhdf5_serial.so.103")
    ranks(2, LD_PRELOAD=serial[0], status=0)


clear_directory()


def partials():
    """Partial files of another run, or of another user, are neither written nor removed; those of a killed run go."""
    for owner in ["another run", "nobody", "killed"]:
        clear_directory()
        with open(".example.nc.sluice-partial", "w") as master, open(".example.nc.0000.sluice-partial", "w") as blob:
            master.write("another run's master")
            blob.write("another run's blob")
            master.flush()
            if owner == "another run":
                fcntl.fcntl(master, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
            if owner == "nobody":
                if os.geteuid() != 0:
                    continue
                nobody = pwd.getpwnam("nobody")
                for name in glob.glob(".*.sluice-partial"):
                    os.chown(name, nobody.pw_uid, nobody.pw_gid)
            ranks(2, "example", "example.nc", status=0)
        is_left = owner != "killed"
        expect(sorted(glob.glob(".*.sluice-partial")) == ([".example.nc.0000.sluice-partial", ".example.nc.sluice-partial"] if is_left else []), f"{owner}: {os.listdir('.')}")
        if is_left:
            expect(open(".example.nc.0000.sluice-partial").read() == "another run's blob" and open(".example.nc.sluice-partial").read() == "another run's master", f"{owner}: partial files were written")
        call(sluice, "merge", "example.nc", "merged.nc", status=0)
    umask = os.umask(0)
    os.umask(umask)
    for name in "example.nc", "example.nc.0000":
        expect(os.stat(name).st_mode & 0o777 == 0o666 & ~umask, f"the permissions of {name} are another")


globals()[case]()
