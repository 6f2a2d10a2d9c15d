#!/usr/bin/python3
"""appended.py BUILD CASE: files that programs open again, to append to them by the C library."""
import json
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import expect, finish, text

build, case = sys.argv[1:3]
sluice = build + "/bin/sluice"
PYTHON = "/usr/bin/python3"


def write_flow(writer, reader, more=""):
    for name, lines in (("writer.py", writer), ("reader.py", reader)):
        with open(name, "w") as file:
            file.write(lines)
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join([
            "version: 1", "name: test", "staging: {prewarm: 0}", "components:", f"  writer: {{command: {PYTHON} writer.py}}", f"  reader: {{command: {PYTHON} reader.py}}", "files:",
            f'  - {{path: "*.dat", writer: writer, readers: [reader]{more}}}'
        ]) + "\n")


def put_bytes():
    """What the report says that the writer has put."""
    report = json.loads(finish(harness.start(sluice, "report", "log", "--json"), 0).out)
    return report["files"][0]["put_bytes"]


APPENDING = """
import os
record = os.urandom(1 << 20)
for i in range(20):
    with open('a.dat', 'r+b' if i else 'w+b') as file:
        file.seek(0, 2)
        file.write(record)
        file.seek(0)
        file.write(i.to_bytes(4, 'big'))
"""


def what_is_added_counts_once():
    """A file that is opened again for each record counts with what was written, and each step has all of it."""
    write_flow(APPENDING, "import time\nwhile len(open('a.dat', 'rb').read()) < 20 << 20: time.sleep(0.01)\nopen('done', 'w').write('x')")
    finish(harness.start(sluice, "run", "--log-dir", "log", "flow.yaml"), 0)
    expect(text("done") == "x", "the reader has not seen the whole file")
    page = 4096  # what is changed within a page counts as a page
    expect(20 << 20 <= put_bytes() <= (20 << 20) + 20 * page, f"put: {put_bytes()}")


harness.clear_directory()
globals()[case]()
