#!/usr/bin/python3
"""copy_threads.py BUILD PROGRAM: a reader gets 16 MiB by one thread, and by as many as `staging.copy-threads` allows; with PROGRAM (copy_threads.c), in the
working directory."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, write_flow

build, program = sys.argv[1:3]
for threads, staging in (1, []), (3, ["copy-threads: 3"]):
    clear_directory()
    write_flow(program, {"model": (2, "write"), "viewer": (1, f"read {threads}")}, [("s_*.nc", "model", ["viewer"])], *staging)
    call(build + "/bin/sluice", "run", "flow.yaml", status=0)
