#!/usr/bin/python3
"""seen_closes.py BUILD PROGRAM TELL: who has seen a close, by a barrier, a pipe or a signal, sees it in its next open,
stat and listing, whatever matchers the processes have. PROGRAM is seen_closes.c."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect

build, program, tell = sys.argv[1:4]
TIMES = 40

clear_directory()
os.mkdir("many")
for name in ("there", "back"):
    os.mkfifo(name)
reader = "true" if tell == "barrier" else f"sh -c 'exec {program} reader {tell} {TIMES} > out'"
writer = f"{program} writer {tell} {TIMES}"
if tell == "barrier":
    writer = f"sh -c 'if [ ${{OMPI_COMM_WORLD_RANK}} = 0 ]; then exec {writer} > out; fi; exec {writer}'"
rules = "".join(f"  - {{path: '{path}', writer: writer, readers: [reader]}}\n"
                for path in ("*_c.nc", "*_pnetcdf.nc", "*_stat.nc", "many/*.nc"))
matchers = os.environ.get("SLUICE_TEST_MATCHERS")
with open("flow.yaml", "w") as flow:
    flow.write("version: 1\nname: test\n" + (f"staging: {{matchers: {matchers}}}\n" if matchers else "") +
               f"components:\n  writer: {{command: \"{writer}\", ranks: 2}}\n"
               f"  reader: {{command: \"{reader}\", ranks: 1}}\nfiles:\n{rules}")
result = harness.finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"))
with open("out") as file:
    lines = file.read().splitlines()
print("\n".join(lines))
expect(result.status == 0, f"status {result.status}:\n{result.out}")
expect(len(lines) == 12, f"not all ways were tried:\n{result.out}")
old = [line for line in lines if " old 0 of " not in line]
expect(not old, "old contents were seen:\n" + "\n".join(old))
