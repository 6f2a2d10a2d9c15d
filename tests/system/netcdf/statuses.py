#!/usr/bin/python3
"""statuses.py BUILD STATUSES CASE: netCDF says the same of unusual and wrong calls as of files on disk."""
import os
import sys

from flows import run, same_lines, write_flow  # before harness: it finds that
import harness
from harness import clear_directory

statuses, case = sys.argv[2:4]


def programs():
    """The statuses of a writer and of a reader, and the values that they leave and get."""
    os.makedirs("disk")
    harness.call("sh", "-ec", f"{statuses} write > write\n{statuses} read > read", cwd="disk", status=0)
    write_flow(f"{statuses} write > write", f"{statuses} read > read")
    run()
    same_lines("write", "disk/write", "the writer")
    same_lines("read", "disk/read", "the reader")


def own_reader():
    """One program writes the files and reads them: of what it has closed it gets the bytes."""
    os.makedirs("disk")
    harness.call("sh", "-ec", f"{statuses} write > write\n{statuses} read > read", cwd="disk", status=0)
    write_flow(f"{statuses} write > write\n{statuses} read > read", "true")
    run()
    same_lines("read", "disk/read", "the reader")


CASES = {"programs": programs, "own_reader": own_reader}
clear_directory()
CASES[case]()
