#!/usr/bin/env python3
"""Checks that a file made from a CDL header is the one that ncgen makes: compare_with_ncgen.py
CREATE_FROM_CDL FOLDER

For every *.cdl of the folder, compares the kinds of both files, and their headers as ncdump shows them.
"""
import pathlib
import re
import subprocess
import sys

program, folder = sys.argv[1:]
texts = sorted(pathlib.Path(folder).glob("*.cdl"))
different = not texts


def dump(file):
    return [line for options in (["-k"], ["-h", "-n", "x"])
            for line in subprocess.run(["ncdump", *options, file], check=True, stdout=subprocess.PIPE).stdout.decode().splitlines()]


for text in texts:
    kind = re.search(r"file format: CDF-(\d)", text.read_text())
    kind = {"1": "classic", "2": "64-bit offset", "5": "64-bit data"}[kind[1]]
    subprocess.run(["ncgen", "-k", kind, "-o", "expected.nc", text], check=True)
    subprocess.run([program, text, "made.nc"], check=True)
    expected, made = dump("expected.nc"), dump("made.nc")
    if expected != made:
        print(f"{text.name}: ncgen's", *expected, "ours", *made, sep="\n")
        different = True
sys.exit(different)
