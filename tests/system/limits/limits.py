"""limits.py CASE BUILD: programs that have no free descriptor for some of their calls."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish, start

CASE, BUILD = sys.argv[1:]


def descriptors():
    """Each call that needs a descriptor fails alone, and succeeds when it is repeated."""
    clear_directory()
    program = f"{BUILD}/bin/limits"
    harness.write_flow(program, {"model": (1, "write 24"), "viewer": (1, "read 24")}, [("*.nc", "model", ["viewer"])])
    result = finish(start(f"{BUILD}/bin/sluice", "run", "flow.yaml"), 0)
    expect("discarded" not in result.all, "something was discarded")


globals()[CASE]()
