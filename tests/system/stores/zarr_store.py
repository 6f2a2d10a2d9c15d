#!/usr/bin/python3
"""zarr_store.py BUILD CASE: a Zarr store of version 2, with the calls of zarr's DirectoryStore, passes through a run."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, case = sys.argv[1:3]
PYTHON = "/usr/bin/python3"

# DirectoryStore writes beside the name, with a random part, and renames.
STORE = '''
import array, json, os, uuid
def put(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    beside = f"{path}.{uuid.uuid4().hex}.partial"
    with open(beside, "wb") as file: file.write(data)
    os.replace(beside, path)
def create(name):
    put(f"out.zarr/{name}/.zarray", json.dumps({"zarr_format": 2, "shape": [4, 4], "chunks": [2, 2], "dtype": "<i4"}).encode())
    put(f"out.zarr/{name}/.zattrs", json.dumps({"units": "m"}).encode())
def write(name, i, j, value): put(f"out.zarr/{name}/{i}.{j}", array.array("i", [value] * 4).tobytes())
def chunk(name, i, j):
    with open(f"out.zarr/{name}/{i}.{j}", "rb") as file: return list(array.array("i", file.read()))
'''
WRITER = '''
import sys
from store import *
for k in map(int, sys.argv[1:]):
    if k == 0: put("out.zarr/.zgroup", json.dumps({"zarr_format": 2}).encode())
    create(f"v{k}")
    for i in range(2):
        for j in range(2): write(f"v{k}", i, j, 10 * k + 2 * i + j)
'''
READER = '''
import sys
from store import *
assert json.load(open("out.zarr/.zgroup")) == {"zarr_format": 2}
for k in range(int(sys.argv[1])):
    assert json.load(open(f"out.zarr/v{k}/.zarray"))["chunks"] == [2, 2]
    assert json.load(open(f"out.zarr/v{k}/.zattrs")) == {"units": "m"}
    for i in range(2):
        for j in range(2): assert chunk(f"v{k}", i, j) == [10 * k + 2 * i + j] * 4, (k, i, j)
try: open("out.zarr/.zmetadata"); raise AssertionError("nobody has written it")
except FileNotFoundError: pass
left = [name for _, _, names in os.walk("out.zarr") for name in names if name.endswith(".partial")]
assert not left, left
open("right", "w").close()
'''


def run(components, files):
    for name, content in (("store.py", STORE), ("writer.py", WRITER), ("reader.py", READER)):
        with open(name, "w") as file:
            file.write(content)
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join(["version: 1", "name: zarr", "staging: {prewarm: 0}", "components:", *components, "files:", *files]) + "\n")
    result = finish(harness.start(build + "/bin/sluice", "run", "flow.yaml"), 0)
    expect(os.path.exists("right"), "the reader has not read all")
    expect("zmetadata" not in result.all, "an optional file is told: " + result.all)


def on_disk():
    return sorted(os.path.relpath(os.path.join(place, name), "out.zarr") for place, _, names in os.walk("out.zarr") for name in names)


def one_writer():
    """One rule covers the store; what lies directly in it may be missing."""
    run([f"  w: {{command: [{PYTHON}, writer.py, '0', '1']}}", f"  r: {{command: [{PYTHON}, reader.py, '2']}}"], ["  - {path: 'out.zarr/**', writer: w, readers: [r], optional: ['*.zmetadata']}"])
    expect(on_disk() == [], f"on disk: {on_disk()}")


def several_writers():
    """Each writer makes an array of its own in one store."""
    run([f"  w{k}: {{command: [{PYTHON}, writer.py, '{k}']}}" for k in range(3)] + [f"  r: {{command: [{PYTHON}, reader.py, '3']}}"],
        ["  - {path: 'out.zarr/.z*', writer: w0, readers: [r], optional: ['*.zmetadata']}"] + [f"  - {{path: 'out.zarr/v{k}/**', writer: w{k}, readers: [r]}}" for k in range(3)])
    expect(on_disk() == [], f"on disk: {on_disk()}")


def jobs_and_kept_files():
    """A job runs for the attributes of each array, once; all else is kept, under its own names alone."""
    run([f"  w: {{command: [{PYTHON}, writer.py, '0', '1', '2']}}", "  j: {command: [sh, -c, 'cat {file} >> jobs'], for-each: 'out.zarr/v*/.zattrs'}", f"  r: {{command: [{PYTHON}, reader.py, '3'], start: when-done}}"],
        ["  - {path: 'out.zarr/v*/.zattrs', writer: w, readers: [j, r]}", "  - {path: 'out.zarr/**', writer: w, readers: [r], optional: ['*.zmetadata'], keep: true}"])
    with open("jobs") as file:
        expect(file.read() == '{"units": "m"}' * 3, "a job for each file")
    expect(on_disk() == sorted([".zgroup"] + [f"v{k}/{name}" for k in range(3) for name in (".zarray", "0.0", "0.1", "1.0", "1.1")]), f"on disk: {on_disk()}")


clear_directory()
globals()[case]()
