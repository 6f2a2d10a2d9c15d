#!/usr/bin/env python3
"""Makes the golden CDF files: python3 make_files.py, in this folder.

ok_cdf[125].nc come from Debian's ncgen and ok.cdl. bad_FAULT.nc are the file of base() with one fault,
made byte by byte. expected.txt has the status of each. Its column `pnetcdf` has the status of Debian's
libpnetcdf 1.12.3 if that differs: "OK" means that it opens the file, "-" that it takes gigabytes of memory
and may crash.
"""
import struct
import subprocess

RECORD = {"name": "r", "dimids": [0, 1]}
FIXED = {"name": "a", "dimids": [1]}
TITLE = {"name": "title", "data": b"hello"}


class Header:
    """The bytes of a header in a version, big-endian."""

    def __init__(self, version):
        self.version, self.bytes = version, b""

    def count(self, n):
        self.bytes += struct.pack(">q", n) if self.version == 5 else struct.pack(">I", n & 0xFFFFFFFF)

    def tag(self, n):
        self.bytes += struct.pack(">I", n & 0xFFFFFFFF)

    def offset(self, n):
        self.bytes += struct.pack(">I", n & 0xFFFFFFFF) if self.version == 1 else struct.pack(">q", n)

    def padded(self, data):
        self.bytes += data + b"\0" * (-len(data) % 4)

    def name(self, name, length=None):
        name = name.encode() if isinstance(name, str) else name
        self.count(len(name) if length is None else length)
        self.padded(name)

    def attributes(self, attributes, tag=12, n=None):
        self.tag(tag if attributes or n else 0)
        self.count(len(attributes) if n is None else n)
        for a in attributes:
            self.name(a["name"], a.get("length"))
            self.tag(a.get("type", 2))
            self.count(a.get("n", len(a["data"])))
            self.padded(a["data"])


def base(version=1, magic=None, records=2, dimensions=(("t", 0), ("x", 3)), attributes=(TITLE,), variables=(FIXED, RECORD),
         tags=(10, 12, 11), counts=(None, None, None), cut=None):
    h = Header(version)
    h.bytes += magic if magic is not None else b"CDF" + bytes([version])
    h.count(records)
    h.tag(tags[0])
    h.count(len(dimensions) if counts[0] is None else counts[0])
    for d in dimensions:
        h.name(d[0], d[2] if len(d) > 2 else None)
        h.count(d[1])
    h.attributes(attributes, tags[1], counts[1])
    h.tag(tags[2])
    h.count(len(variables) if counts[2] is None else counts[2])
    for i, v in enumerate(variables):
        h.name(v["name"], v.get("length"))
        h.count(v.get("n", len(v["dimids"])))
        for d in v["dimids"]:
            h.count(d)
        h.attributes(v.get("attributes", ()), 12, v.get("attribute_count"))
        h.tag(v.get("type", 4))
        h.count(v.get("vsize", 12))
        h.offset(v.get("begin", 512 + 12 * i))
    if cut is not None:
        return h.bytes[:cut]
    return h.bytes.ljust(512, b"\0") + bytes(36)


def fixed(**other):
    return (dict(FIXED, **other), RECORD)


def record(**other):
    return (FIXED, dict(RECORD, **other))


def title(**other):
    return (dict(TITLE, **other),)


HUGE, NEGATIVE = 0x7FFFFFFF, -1
# fault: (bytes, our status, PnetCDF's status if it differs)
FAULTS = {
    "empty": (b"", "NC_EFILE"),
    "magic_only": (base(cut=4), "NC_EFILE"),
    "wrong_magic": (base(magic=b"CDG\1"), "NC_ENOTNC"),
    "version_0": (base(magic=b"CDF\0"), "NC_ENOTNC"),
    "version_3": (base(magic=b"CDF\3"), "NC_ENOTNC"),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(64), "NC_ENOTBUILT"),
    "cut_in_dimensions": (base(cut=30), "NC_ENOTNC", "NC_EUNLIMIT"),
    "cut_in_attributes": (base(cut=70), "NC_ENOTNC", "OK"),
    "cut_in_variables": (base(cut=100), "NC_ENOTNC", "NC_EBADTYPE"),
    "cut_in_last_begin": (base(cut=159), "NC_ENOTNC"),
    "cdf5_cut": (base(5, cut=100), "NC_ENOTNC", "OK"),
    "dimension_tag": (base(tags=(11, 12, 11)), "NC_ENOTNC"),
    "attribute_tag": (base(tags=(10, 11, 11)), "NC_ENOTNC"),
    "variable_tag": (base(tags=(10, 12, 99)), "NC_ENOTNC"),
    "absent_with_elements": (base(tags=(0, 12, 11)), "NC_ENOTNC"),
    "too_many_dimensions": (base(counts=(NEGATIVE, None, None)), "NC_EMAXDIMS"),
    "too_many_attributes": (base(counts=(None, NEGATIVE, None)), "NC_EMAXATTS"),
    "too_many_variables": (base(counts=(None, None, NEGATIVE)), "NC_EMAXVARS"),
    "cdf5_negative_dimensions": (base(5, counts=(NEGATIVE, None, None)), "NC_EMAXDIMS"),
    "cdf5_least_dimensions": (base(5, counts=(-(2**63), None, None)), "NC_EMAXDIMS"),
    "huge_dimension_count": (base(counts=(HUGE, None, None)), "NC_EMAXNAME", "NC_ENOMEM"),
    "huge_attribute_count": (base(counts=(None, HUGE, None)), "NC_EBADTYPE", "NC_ENOMEM"),
    "huge_variable_count": (base(counts=(None, None, HUGE)), "NC_EBADTYPE", "NC_ENOMEM"),
    "huge_variable_attribute_count": (base(variables=fixed(attribute_count=HUGE)), "NC_EBADTYPE", "NC_ENOMEM"),
    "huge_rank": (base(variables=fixed(n=HUGE)), "NC_EBADDIM"),
    "negative_rank": (base(variables=fixed(n=NEGATIVE)), "NC_EMAXDIMS"),
    "huge_attribute": (base(attributes=title(n=HUGE)), "NC_ENOTNC", "-"),
    "huge_double_attribute": (base(attributes=title(n=HUGE, type=6)), "NC_ENOTNC", "-"),
    "negative_attribute": (base(attributes=title(n=NEGATIVE)), "NC_ENOTNC", "-"),
    "cdf5_negative_attribute": (base(5, attributes=title(n=NEGATIVE)), "NC_ENOTNC"),
    "cdf5_least_attribute": (base(5, attributes=title(n=-(2**63), type=6)), "NC_ENOTNC", "NC_EMAXVARS"),
    "long_name": (base(dimensions=(("t", 0), ("x" * 257, 3))), "NC_EMAXNAME"),
    "huge_name": (base(variables=fixed(length=HUGE)), "NC_EMAXNAME"),
    "cdf5_negative_name": (base(5, attributes=title(length=NEGATIVE)), "NC_EMAXNAME"),
    "two_record_dimensions": (base(dimensions=(("t", 0), ("x", 0))), "NC_EUNLIMIT"),
    "cdf5_negative_dimension": (base(5, dimensions=(("t", 0), ("x", NEGATIVE))), "NC_EDIMSIZE", "OK"),
    "cdf5_negative_records": (base(5, records=NEGATIVE), "NC_ENOTNC", "OK"),
    "type_0": (base(variables=fixed(type=0)), "NC_EBADTYPE"),
    "type_12": (base(variables=fixed(type=12)), "NC_EBADTYPE"),
    "type_huge": (base(variables=fixed(type=NEGATIVE)), "NC_EBADTYPE"),
    "cdf1_type_of_cdf5": (base(variables=fixed(type=7)), "NC_EBADTYPE"),
    "cdf2_attribute_type_of_cdf5": (base(2, attributes=title(type=11, n=0, data=b"")), "NC_EBADTYPE"),
    "dimension_id_beyond": (base(variables=fixed(dimids=[2])), "NC_EBADDIM"),
    "dimension_id_negative": (base(variables=fixed(dimids=[NEGATIVE])), "NC_EBADDIM"),
    "cdf5_dimension_id_negative": (base(5, variables=fixed(dimids=[NEGATIVE])), "NC_EBADDIM"),
    "record_dimension_second": (base(variables=fixed(dimids=[1, 0])), "NC_EUNLIMPOS"),
    "record_dimension_twice": (base(variables=record(dimids=[0, 0])), "NC_EUNLIMPOS"),
    "size_overflow": (base(dimensions=tuple((n, 0x7FFFFFF0) for n in "xyz"), variables=(dict(FIXED, dimids=[0, 1, 2]),)),
                      "NC_EVARSIZE"),
    "large_variable_not_last": (base(2, dimensions=(("x", 0x7FFFFFF0), ("y", 3)),
                                     variables=(dict(FIXED, dimids=[0]), dict(FIXED, name="b"))), "NC_EVARSIZE"),
    "large_variable_in_records": (base(2, dimensions=(("t", 0), ("x", 0x7FFFFFF0), ("y", 3)), variables=(FIXED, dict(RECORD, dimids=[0, 2]))),
                                  "NC_ENOTNC"),
    "large_variable_before_records": (base(2, dimensions=(("t", 0), ("x", 0x7FFFFFF0), ("y", 3)),
                                           variables=(FIXED, dict(RECORD, dimids=[0, 2], begin=2**40))), "NC_EVARSIZE"),
    "begin_in_header": (base(variables=fixed(begin=156)), "NC_ENOTNC"),
    "begin_0": (base(variables=fixed(begin=0)), "NC_ENOTNC"),
    "cdf2_begin_negative": (base(2, variables=fixed(begin=NEGATIVE)), "NC_ENOTNC"),
    "cdf5_begin_overflow": (base(5, variables=record(begin=2**63 - 4)), "NC_ENOTNC", "OK"),
    "overlap": (base(variables=(FIXED, dict(FIXED, name="b", begin=516))), "NC_ENOTNC"),
    "same_begin": (base(variables=(FIXED, dict(FIXED, name="b", begin=512))), "NC_ENOTNC"),
    "begins_out_of_order": (base(variables=(dict(FIXED, begin=524), dict(FIXED, name="b", begin=512))), "NC_ENOTNC"),
    "records_overlap_fixed": (base(variables=record(begin=516)), "NC_ENOTNC"),
    "records_before_fixed": (base(variables=(dict(FIXED, begin=600), dict(RECORD, begin=512))), "NC_ENOTNC"),
}

# Files that can be read, although such names cannot be defined.
NAMES = {
    "empty_name": base(dimensions=(("t", 0), ("", 3))),
    "slash_in_name": base(variables=fixed(name="a/b")),
    "control_character_in_name": base(attributes=title(name="a\nb")),
    "zero_byte_in_name": base(variables=fixed(name="a\0b")),
    "name_not_utf8": base(variables=fixed(name=b"\xff\xfe")),
    "name_with_surrogate": base(variables=fixed(name=b"\xed\xa0\x80")),
    "name_ends_inside_character": base(variables=fixed(name=b"a\xc3")),
}


def main():
    for version, kind in ((1, "classic"), (2, "64-bit offset"), (5, "64-bit data")):
        source = "ok_cdf5.cdl" if version == 5 else "ok.cdl"
        subprocess.run(["ncgen", "-k", kind, "-o", f"ok_cdf{version}.nc", source], check=True)
    with open("ok_streaming.nc", "wb") as f:
        f.write(base(records=NEGATIVE))
    with open("ok_no_data.nc", "wb") as f:
        f.write(base(cut=10**6))
    # The headers are well formed, but offsets of data are close to 2^63 - 1, or beyond.
    with open("ok_cdf5_far_records.nc", "wb") as f:
        f.write(base(5, records=2**63 - 1))
    # Gaps between the record variables, so that records share bytes with the next record.
    with open("ok_records_overlap.nc", "wb") as f:
        f.write(base(variables=(dict(FIXED, dimids=[0]), RECORD)))
    with open("ok_cdf5_far_begin.nc", "wb") as f:
        f.write(base(5, variables=record(begin=2**63 - 1 - 2**16)))
    for name, content in NAMES.items():
        with open(f"ok_{name}.nc", "wb") as f:
            f.write(content)
    with open("expected.txt", "w", encoding="ascii") as expected:
        for fault, (content, *statuses) in FAULTS.items():
            with open(f"bad_{fault}.nc", "wb") as f:
                f.write(content)
            print(f"bad_{fault}.nc", statuses[0], statuses[-1], file=expected)


main()
