"""Makes the burst-buffer logs of this folder, valid and damaged, and expected.txt: python3 make_files.py. The
bytes follow docs/formats/burst-buffer-log.md."""
import os
import struct

FOLDER = os.path.dirname(os.path.abspath(__file__))
VARA, VARS = -3, -4
TEXT, SCHAR, SHORT, INT, FLOAT, DOUBLE = 1, 2, 4, 6, 8, 9
expected = []


def name(text, pad=4):
    data = text.encode()
    return struct.pack("<i", len(data)) + data + bytes(-len(data) % pad)


def header(entries, order="<", external=1, ranks=4, rank=1, magic=b"PnetCDF0", form=b"CDF5\0\0\0\0", begin=None, max_dims=2, blocks=b""):
    names = name("/data/wave.nc") + name("n1")
    if order == ">":
        names = b"".join(struct.pack(">i", len(t)) + t + bytes(-len(t) % 4) for t in (b"/data/wave.nc", b"n1"))
    size = (64 + len(names) + 7) // 8 * 8
    fixed = struct.pack(order + "iiqqqqq", order == ">", external, ranks, rank, max_dims, entries, size + len(blocks) if begin is None else begin)
    return (magic + form + fixed + names).ljust(size, b"\0") + blocks


def step_mark(step, header_begin, check=None):
    both = step ^ header_begin
    check = (both ^ both >> 32 ^ 0x536C4D6B) & 0xFFFFFFFF if check is None else check
    return struct.pack("<qiIiiqqq", 48, -1, check, -1, 0, step, 0, header_begin)


def entry(kind, itype, varid, ndims, offset, length, numbers, order="<", esize=None):
    size = 40 + 8 * len(numbers) if esize is None else esize
    return struct.pack(order + "qiiiiqq%dq" % len(numbers), size, kind, itype, varid, ndims, offset, length, *numbers)


def pnetcdf(entries, count, order="<", path_length="i", max_dims_at=None):
    """As PnetCDF writes it: names end with a zero byte, and num_entries is where entry_begin should be. From
    1.13 on, the path's length has 8 bytes (path_length="q")."""
    fixed = struct.pack(order + "iiqqqq", order == ">", 0, 4, 1, 0, 0)
    data = b"PnetCDF0" + b"CDF0\0\0\0\0" + fixed + bytes(8) + struct.pack(order + path_length, 13) + b"/data/wave.nc\0" + struct.pack(order + "i", 2) + b"n1\0"
    size = (72 if path_length == "i" else 80) + 13 + 1 + 4 + 2 + 1
    size = (size + 15) // 16 * 16
    data = bytearray(data.ljust(size, b"\0"))
    data[56:64] = struct.pack(order + "q", size)
    if max_dims_at is not None:  # enddef writes it there
        data[max_dims_at:max_dims_at + 8] = struct.pack(order + "q", 2)
    if count is not None:
        data[56:64] = struct.pack(order + "q", count)
    return bytes(data) + entries


def write(case, meta, data=b"", says=""):
    with open(os.path.join(FOLDER, case + ".meta"), "wb") as file:
        file.write(meta)
    if data is not None:
        with open(os.path.join(FOLDER, case + ".data"), "wb") as file:
            file.write(b"PnetCDF0" + data)
    expected.append(f"{case}: {says}")


SHORTS = struct.pack(">3h", -1, 2, 300)
ONE = entry(VARA, SHORT, 0, 2, 8, 6, [1, 0, 1, 3, 0, 0])
TWO = entry(VARS, DOUBLE, 1, 1, 14, 16, [0, 2, 5])
LIST = entry(2, INT, 2, 1, 30, 12, [7, 0, 1, 2])
SCALAR = entry(VARA, SCHAR, 3, 0, 42, 1, [])
DATA = SHORTS + struct.pack(">2d", 0.5, 2.0) + struct.pack(">3i", 1, 2, 3) + b"\x07"
ALL = ONE + TWO + LIST + SCALAR

write("ok_worked_example", header(1) + ONE, SHORTS, "1 entries")
write("ok_every_kind", header(4) + ALL, DATA, "4 entries")
write("ok_empty", header(0), b"", "0 entries")
write("ok_room_ahead", header(1) + ONE + bytes(500), SHORTS + bytes(700), "1 entries")
write("ok_withdrawn", header(2) + entry(VARA, SHORT, 0, 2, 8, 0, [1, 0, 1, 3, 0, 0]) + TWO, DATA, "1 entries, 1 withdrawn")
write("ok_without_strides", header(1) + entry(VARA, SHORT, 0, 2, 8, 6, [1, 0, 1, 3]), SHORTS, "1 entries")
write("ok_list_without_counts", header(1) + entry(3, SHORT, 0, 1, 8, 6, [9, 4, 6]), SHORTS, "1 entries")
write("ok_big_endian", header(1, order=">", external=0) + entry(VARA, SHORT, 0, 2, 8, 6, [1, 0, 1, 3, 0, 0], ">"), SHORTS, "1 entries")
write("ok_pnetcdf", pnetcdf(ONE + TWO, 2), DATA, "2 entries")
write("ok_pnetcdf_long", pnetcdf(entry(VARA, 13, 0, 1, 8, 8, [0, 1, 0]), 1), bytes(8), "1 entries")
write("ok_pnetcdf_flushed", pnetcdf(ONE, 0), SHORTS, "0 entries; torn: entry 0 at byte 96: a put that was not complete when the program ended")

ONE_BIG = entry(VARA, SHORT, 0, 2, 8, 6, [1, 0, 1, 3, 0, 0], ">")
write("ok_pnetcdf_big_endian", pnetcdf(ONE_BIG, 1, ">", max_dims_at=51), SHORTS, "1 entries")
write("ok_pnetcdf_1_13", pnetcdf(ONE + TWO, 2, path_length="q", max_dims_at=55), DATA, "2 entries")
write("ok_pnetcdf_1_13_big_endian", pnetcdf(ONE_BIG, 1, ">", "q", 55), SHORTS, "1 entries")
for case, order, path_length, at in (("", "<", "i", 51), ("_big_endian", ">", "i", 51), ("_1_13", "<", "q", 55), ("_1_13_big_endian", ">", "q", 55)):
    write(f"ok_pnetcdf{case}_nothing_put", pnetcdf(b"", None, order, path_length, at), b"", "0 entries")
write("ok_pnetcdf_1_13_flushed", pnetcdf(ONE, 0, path_length="q"), SHORTS, "0 entries; torn: entry 0 at byte 112: a put that was not complete when the program ended")
write("ok_pnetcdf_1_13_never_defined", pnetcdf(b"", None, path_length="q"), b"", "0 entries")

write("torn_behind_the_last", header(1) + ONE + TWO[:50], DATA,
      "1 entries; torn: entry 1 at byte 184: a put that was not complete when the program ended")
write("torn_inside_an_entry", header(2) + ONE + TWO[:50], DATA,
      "1 entries; torn: entry 1 at byte 184: an entry of 64 bytes, and the file ends after 50; 1 of 2 entries cannot be read")
write("torn_before_an_entry", header(2) + ONE, DATA, "1 entries; torn: entry 1 at byte 184: the file ends inside an entry; 1 of 2 entries cannot be read")
write("torn_data", header(2) + ONE + TWO, SHORTS + bytes(8),
      "1 entries; torn: entry 1 at byte 184: the data log ends too early for a put to variable 1: the put needs 16 bytes from byte 14, and the log has 22 bytes")
write("bad_no_data_log", header(1) + ONE, None, "0 entries; damaged: entry 0 at byte 0: its data log: cannot open bad_no_data_log.data: No such file or directory")

BEGIN = len(header(0))


def refused(case, offset, what, meta):
    write(case, meta, SHORTS, f"bad_{case[4:]}.meta: at byte {offset}: {what}")


refused("bad_magic", 0, 'this is not the metadata log of a burst buffer: it does not begin with "PnetCDF0"', header(0, magic=b"PnetCDFx"))
refused("bad_format", 8, "a log of a file that is not in a CDF format; only those are known here", header(0, form=b"\211HDF\r\n\032\n"))
refused("bad_version", 11, "not a version of the CDF format", header(0, form=b"CDFx\0\0\0\0"))
refused("bad_cut_header", 60, "the file ends inside the header of a metadata log", header(0)[:60])
refused("bad_cut_name", 70, "the file ends inside the header of a metadata log", header(0)[:70])
refused("bad_empty_file", 0, "the file ends inside the header of a metadata log", b"")
refused("bad_flag", 20, "is_external is 2, neither TRUE nor FALSE", header(0, external=2))
refused("bad_rank", 24, "rank 4 of 4 processes", header(0, rank=4))
refused("bad_no_ranks", 24, "rank 0 of 0 processes", header(0, ranks=0, rank=0))
refused("bad_entries", 48, "-1 entries", header(-1))
refused("bad_begin_in_header", 56, "the first entry cannot be at byte 64", header(0, begin=64))
refused("bad_begin_beyond", 56, "the first entry cannot be at byte 1000000", header(0, begin=1000000))
refused("bad_name_length", 64, "a name of 1000000000 bytes", header(0)[:64] + struct.pack("<i", 1000000000) + header(0)[68:])
refused("bad_name_zero_byte", 68, "a name with a zero byte in it", header(0)[:70] + b"\0" + header(0)[71:])


def damaged(case, what, *bad, stops=False):
    """One bad entry between two good ones."""
    bad = bad[0]
    says = "1 entries" if stops else "2 entries"
    tail = "; 2 of 3 entries cannot be read" if stops else ""
    text = what if stops else f"{case}.meta: at byte {BEGIN + len(ONE)}: {what}"
    write(case, header(3) + ONE + bad + TWO, DATA, f"{says}; damaged: entry 1 at byte {BEGIN + len(ONE)}: {text}{tail}")


damaged("bad_entry_size_small", "an entry of 39 bytes", entry(VARA, SHORT, 0, 0, 8, 2, [], esize=39), stops=True)
damaged("bad_entry_size_negative", "an entry of -40 bytes", entry(VARA, SHORT, 0, 0, 8, 2, [], esize=-40), stops=True)
damaged("bad_kind", "an entry of the unknown kind -5", entry(-5, SHORT, 0, 1, 8, 2, [0, 1, 0]))
damaged("bad_kind_zero", "an entry of the unknown kind 0", entry(0, SHORT, 0, 1, 8, 2, [0, 1, 0]))
damaged("bad_dimensions", "an entry of -1 dimensions", entry(VARA, SHORT, 0, -1, 8, 2, [0, 1, 0]))
damaged("bad_dimensions_many", "an entry of 64 bytes cannot hold 1 hyperslabs of 1000000000 dimensions", entry(VARA, SHORT, 0, 1000000000, 8, 2, [0, 1, 0]))
damaged("bad_list_too_long", "an entry of 56 bytes cannot hold 2147483647 hyperslabs of 1 dimensions", entry(2147483647, SHORT, 0, 1, 8, 2, [0, 1]))
damaged("bad_scalar_numbers", "an entry of 48 bytes cannot hold 1 hyperslabs of 0 dimensions", entry(VARA, SHORT, 0, 0, 8, 2, [1]))
damaged("bad_type", "an entry whose data is of the unknown type 12", entry(VARA, 12, 0, 1, 8, 2, [0, 1, 0]))
damaged("bad_variable", "an entry of the variable -7", entry(VARA, SHORT, -7, 1, 8, 2, [0, 1, 0]))
damaged("bad_data_offset", "an entry whose data begins at byte 7", entry(VARA, SHORT, 0, 1, 7, 2, [0, 1, 0]))
damaged("bad_data_length", "an entry that selects 2 bytes and has 4", entry(VARA, SHORT, 0, 1, 8, 4, [0, 1, 0]))
damaged("bad_data_negative", "an entry that selects 2 bytes and has -2", entry(VARA, SHORT, 0, 1, 8, -2, [0, 1, 0]))
damaged("bad_start", "an entry whose selection makes no sense", entry(VARA, SHORT, 0, 1, 8, 2, [-1, 1, 0]))
damaged("bad_count", "an entry whose selection makes no sense", entry(VARA, SHORT, 0, 1, 8, 2, [0, -1, 0]))
damaged("bad_stride", "an entry whose selection makes no sense", entry(VARS, SHORT, 0, 1, 8, 2, [0, 1, 0]))
damaged("bad_count_overflow", "an entry whose selection makes no sense", entry(VARA, SHORT, 0, 2, 8, 2, [0, 0, 1 << 62, 1 << 62, 0, 0]))

# A workflow's log: of step 9, which was opened on step 7 of the file that step 3 created, and of step 12.
BLOCKS = b"SluiceWF" + struct.pack("<qq", 9, 3) + b"SluiceID" + struct.pack("<qqq", 21, 1000, 5) + b"SluiceBS" + struct.pack("<qq", 7, ~7)
PUT = entry(VARA, SHORT, 0, 2, 8, 6, [1, 0, 1, 3, 0, 0, 500])
LATER = entry(VARA, SHORT, 0, 2, 14, 6, [2, 0, 1, 3, 0, 0, 900])
write("ok_steps", header(3, external=0, blocks=BLOCKS) + PUT + step_mark(12, 0) + LATER, 2 * SHORTS, "2 entries")
AT = len(header(0, blocks=BLOCKS)) + len(PUT)
write("bad_step_mark", header(3, external=0, blocks=BLOCKS) + PUT + step_mark(12, 0, check=5) + LATER, 2 * SHORTS,
      f"2 entries; damaged: entry 1 at byte {AT}: bad_step_mark.meta: at byte {AT}: an entry that begins a step, and contradicts itself")
write("bad_step_order", header(3, external=0, blocks=BLOCKS) + PUT + step_mark(8, 0) + LATER, 2 * SHORTS,
      f"2 entries; damaged: entry 1 at byte {AT}: an entry that begins step 8, behind puts of step 9")
WRONG_BASE = BLOCKS[:-8] + struct.pack("<q", ~5)
write("bad_base", header(1, external=0, blocks=WRONG_BASE) + PUT, SHORTS,
      f"bad_base.meta: at byte {len(header(0)) + 56}: the number of the step that this log continues contradicts itself")

with open(os.path.join(FOLDER, "expected.txt"), "w") as file:
    file.write("\n".join(expected) + "\n")
