#!/usr/bin/python3
"""foreign_forms.py BUILD CASE: what `sluice check` says of keys and commands that are written as another system has them."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect, script

build, case = sys.argv[1:3]


def check(reader, said):
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: x\ncomponents:\n  w: {{command: 'true'}}\n  r: {{{reader}}}\nfiles:\n  - {{path: a.nc, writer: w, readers: [r]}}\n")
    told = call(build + "/bin/sluice", "check", "flow.yaml", status=2).all
    expect(said in told, f"{reader}: it does not say '{said}': {told}")


def keys():
    """Keys with an underscore, and words for an order."""
    for key, meant in (("depends_on: w", "start"), ("needs: [w]", "start"), ("requires: w", "start"), ("working_directory: out", "directory"), ("launcher_options: x", "launcher-options"), ("mpi_options: x", "launcher-options")):
        check(f"command: 'true', {key}", f"unknown key '{key.split(':')[0]}' in component 'r': did you mean '{meant}'?")


def lists_of_one_text():
    """A whole command as the one element of a list."""
    script("read.sh", "true")
    check("command: [cat a.nc]", "In a list, each word is an element: write [cat, a.nc], or the text without a list")
    check("command: ['./read.sh a.nc']", "write [./read.sh, a.nc]")


clear_directory()
globals()[case]()
