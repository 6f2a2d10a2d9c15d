#!/usr/bin/env python3
"""Checks that our pnetcdf.h declares everything that a reference pnetcdf.h declares.

check_prototypes.py CC OURS REFERENCE [INCLUDE_DIRECTORY...]

Every prototype of the reference is compiled after our header, so the compiler compares them. Constants are
compared by value.
"""
import re
import subprocess
import sys
import tempfile

compiler, ours, reference, *directories = sys.argv[1:]
includes = [f"-I{directory}" for directory in directories]
# What says how a library was built and of which version it is, and so may differ.
BUILD = re.compile(r"PNETCDF_(VERSION|RELEASE_DATE|ENABLE_|LARGE_SINGLE_REQ|THREAD_SAFE|BURST_BUFFERING|SUBFILING)|NC_EMULTIDEFINE_LAST$|_PNETCDF_H$")


def run(*arguments):
    return subprocess.run([compiler, "-std=c11", *includes, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def constants(header):
    names = re.findall(r"^#define ((?:NC|PNETCDF|_PNETCDF|_Fill)\w*) ", run("-dM", "-E", header), re.MULTILINE)
    return sorted(name for name in names if not BUILD.match(name))


def values(header, names):
    text = f'#include "{header}"\n' + "".join(f"value({name}) {name};\n" for name in names)
    with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
        source.write(text)
        source.flush()
        lines = run("-P", "-E", source.name).splitlines()
    return [re.sub(r"\s", "", line) for line in lines if line.startswith("value(")]


preprocessed = " ".join(run("-P", "-E", reference).split())
prototypes = re.findall(r"(?:int|const char ?\*) ?ncmpi_\w+ ?\([^)]*\);", preprocessed)
assert len(prototypes) > 900, "the reference is not a pnetcdf.h"
# These two are in the reference header but not in its library; ours are macros.
prototypes = [prototype for prototype in prototypes if "_att_ubyte" not in prototype]
with tempfile.NamedTemporaryFile("w", suffix=".c") as check:
    check.write(f'#include "{ours}"\n' + "\n".join(prototypes) + "\n")
    check.flush()
    run("-fsyntax-only", "-Wall", "-Werror", check.name)

names = constants(reference)
different = set(values(reference, names)) ^ set(values(ours, names))
for line in sorted(different):
    print(f"differs: {line}")
print(f"{len(prototypes)} prototypes and {len(names)} constants compared")
sys.exit(bool(different))
