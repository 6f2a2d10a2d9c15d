#!/usr/bin/python3
"""stores.py BUILD CASE: a store is a directory of many files at several depths, as Zarr's is. One rule covers it."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish, text

build, case = sys.argv[1:3]
PYTHON = "/usr/bin/python3"

# What a program does that keeps arrays in directories: a file is written beside its name, and renamed.
STORE = """
import json, os, sys
def put(name, data):
    path = os.path.join("store.zarr", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".partial", "wb") as file:
        file.write(data)
    os.replace(path + ".partial", path)
def get(name):
    try:
        with open(os.path.join("store.zarr", name), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
"""


def write_flow(writes, reads, more=""):
    for name, text in (("writer.py", writes), ("reader.py", reads)):
        with open(name, "w") as file:
            file.write(STORE + text)
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join([
            "version: 1", "name: test", "staging: {prewarm: 0}", "components:", f"  writer: {{command: {PYTHON} writer.py}}", f"  reader: {{command: {PYTHON} reader.py}}",
            "files:", f'  - {{path: "store.zarr/**", writer: writer, readers: [reader]{more}}}'
        ]) + "\n")


def run():
    return finish(harness.start(build + "/bin/sluice", "run", "--log-dir", "log", "flow.yaml"), 0)


def a_store_is_one_rule():
    """Files directly in the store, and some directories deep, come to the reader; none is on disk."""
    write_flow(
        """
for name in ("t", "t/deep/deeper"):
    for chunk in range(4): put(f"{name}/c/{chunk}/0", (name * (chunk + 1)).encode())
    put(f"{name}/zarr.json", json.dumps({"name": name}).encode())
put("zarr.json", b"root")
""", """
assert get("zarr.json") == b"root"
for name in ("t", "t/deep/deeper"):
    assert json.loads(get(f"{name}/zarr.json"))["name"] == name
    for chunk in range(4): assert get(f"{name}/c/{chunk}/0") == (name * (chunk + 1)).encode(), chunk
open("right", "w").close()
""")
    run()
    expect(os.path.exists("right"), "the reader has not read all")
    files = [name for _, _, names in os.walk("store.zarr") for name in names]
    expect(files == [], f"on disk: {files}")


def optional_files_are_missing_at_once():
    """The writer goes on only when the reader has found that a file is not there that the writer never makes: without `optional`, both would wait."""
    write_flow(
        """
import time
put("zarr.json", b"root")
while not os.path.exists("looked"): time.sleep(0.05)
put("t/0", b"chunk")
""", """
assert get("zarr.json") == b"root"
assert get(".zarray") is None and not os.path.exists("store.zarr/t/a.lock") and get("t/.zarray") is None
open("looked", "w").close()
assert get("t/0") == b"chunk"
open("right", "w").close()
""", ', optional: [".zarray", "*.lock"]')
    run()
    expect(os.path.exists("right"), "the reader has not read all")


def an_optional_file_that_is_made_is_coupled():
    """From its create on, an optional file is as any other: the reader waits until it is published, and gets it."""
    write_flow(
        """
import time
os.makedirs("store.zarr", exist_ok=True)
with open("store.zarr/a.lock", "w") as file:
    file.write("held")
    file.flush()
    open("begun", "w").close()
    while not os.path.exists("asks"): time.sleep(0.05)
    time.sleep(0.3)
    file.write(" and released")
""", """
import time
while not os.path.exists("begun"): time.sleep(0.05)
open("asks", "w").close()
assert get("a.lock") == b"held and released"
open("right", "w").close()
""", ', optional: ["*.lock"]')
    run()
    expect(os.path.exists("right"), "the reader has not read the file")


clear_directory()
globals()[case]()
